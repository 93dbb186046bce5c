/* SPDX-License-Identifier: MIT */
#include "cli/args.h"

#include "base/check.h"
#include "cli/cli.h"
#include "source/quantity.h"
#include <getopt.h>
#include <stdarg.h>

enum { MAX_OPTIONS = 24, HELP_COLUMN = 26, FIRST_LONG = 256 };

int rondo_args_mistake(const struct rondo_args *args, const char *fmt, ...) {
    fprintf(stderr, "rondo %s: ", args->command);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "; see rondo %s --help\n", args->command);
    return RONDO_EXIT_USAGE;
}

static void print_option(char letter, const char *name, const char *value, const char *help) {
    char left[64];
    char short_form[8] = "    ";
    if (letter) snprintf(short_form, sizeof short_form, "-%c, ", letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", short_form, name, value ? " " : "",
             value ? value : "");
    if (strlen(left) < HELP_COLUMN)
        printf("%-*s%s\n", HELP_COLUMN, left, help);
    else
        printf("%s\n%*s%s\n", left, HELP_COLUMN, "", help);
}

static void print_help(const struct rondo_args *args) {
    printf("usage: rondo %s %s\n\n%s\n\noptions:\n", args->command, args->synopsis, args->about);
    for (size_t i = 0; i < args->n_options; i++) {
        const struct rondo_arg *o = &args->options[i];
        print_option(o->letter, o->name, o->value, o->help);
    }
    print_option('h', "help", NULL, "print this and exit");
    if (args->examples) printf("\nexamples:\n%s", args->examples);
}

static bool set_count(const struct rondo_args *args, const struct rondo_arg *o, const char *text) {
    uint64_t v, max = o->max ? o->max : UINT64_MAX;
    if (rondo_quantity_count(text, &v) == NULL && v >= o->min && v <= max) {
        *(uint64_t *)o->out = v;
        return true;
    }
    if (o->max)
        rondo_args_mistake(args, "--%s %s: a whole number from %llu to %llu is wanted", o->name,
                           text, (unsigned long long)o->min, (unsigned long long)o->max);
    else
        rondo_args_mistake(args, "--%s %s: a whole number from %llu up is wanted", o->name, text,
                           (unsigned long long)o->min);
    return false;
}

static bool set_choice(const struct rondo_args *args, const struct rondo_arg *o, const char *text) {
    char allowed[128] = "";
    size_t len = 0;
    for (unsigned i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *(unsigned *)o->out = i;
            return true;
        }
        int n = snprintf(allowed + len, sizeof allowed - len, "%s%s", i ? ", " : "", o->choices[i]);
        len += n > 0 ? (size_t)n : 0;
        RONDO_CHECK(len < sizeof allowed);
    }
    rondo_args_mistake(args, "--%s %s: one of %s is wanted", o->name, text, allowed);
    return false;
}

static bool set_duration(const struct rondo_args *args, const struct rondo_arg *o,
                         const char *text) {
    const char *allowed = rondo_quantity_duration(text, (uint64_t *)o->out);
    if (allowed == NULL) return true;
    rondo_args_mistake(args, "--%s %s: %s", o->name, text, allowed);
    return false;
}

static bool set_threads(const struct rondo_args *args, const struct rondo_arg *o,
                        const char *text) {
    struct rondo_threads t;
    if (rondo_quantity_threads(text, &t) == NULL && t.kind != RONDO_THREADS_RANGE) {
        *(struct rondo_threads *)o->out = t;
        return true;
    }
    rondo_args_mistake(args, "--%s %s: auto, 0 or a number up to 1024 is wanted", o->name, text);
    return false;
}

static bool set(const struct rondo_args *args, const struct rondo_arg *o, const char *text) {
    if (o->given) *o->given = true;
    switch (o->kind) {
    case RONDO_ARG_FLAG:
        *(bool *)o->out = true;
        return true;
    case RONDO_ARG_TEXT:
        *(const char **)o->out = text;
        return true;
    case RONDO_ARG_COUNT:
        return set_count(args, o, text);
    case RONDO_ARG_DURATION:
        return set_duration(args, o, text);
    case RONDO_ARG_THREADS:
        return set_threads(args, o, text);
    case RONDO_ARG_CHOICE:
        return set_choice(args, o, text);
    }
    return false;
}

/* getopt's two tables; long options without a letter are numbered from
 * FIRST_LONG. */
static void make_tables(const struct rondo_args *args, struct option *longs, char *letters) {
    *letters++ = ':';
    size_t i = 0;
    for (; i < args->n_options; i++) {
        const struct rondo_arg *o = &args->options[i];
        bool has_value = o->kind != RONDO_ARG_FLAG;
        longs[i] = (struct option){o->name, has_value ? required_argument : no_argument, NULL,
                                   FIRST_LONG + (int)i};
        if (!o->letter) continue;
        *letters++ = o->letter;
        if (has_value) *letters++ = ':';
    }
    longs[i++] = (struct option){"help", no_argument, NULL, 'h'};
    longs[i] = (struct option){NULL, 0, NULL, 0};
    *letters++ = 'h';
    *letters = 0;
}

static const struct rondo_arg *find(const struct rondo_args *args, int c) {
    size_t i = c >= FIRST_LONG ? (size_t)(c - FIRST_LONG) : 0;
    if (c < FIRST_LONG)
        while (i < args->n_options && args->options[i].letter != c) i++;
    RONDO_CHECK(i < args->n_options); /* getopt knows only letters of the table */
    return &args->options[i];
}

static enum rondo_args_outcome complain(const struct rondo_args *args, char **argv, int c) {
    const char *word = argv[optind - 1];
    if (c == ':')
        rondo_args_mistake(args, "%s: a value is wanted", word);
    else if (optopt > 0 && optopt < FIRST_LONG)
        rondo_args_mistake(args, "unknown option -%c", optopt);
    else
        rondo_args_mistake(args, "unknown option %s", word);
    return RONDO_ARGS_USAGE;
}

enum rondo_args_outcome rondo_args_parse(const struct rondo_args *args, int argc, char **argv,
                                         int *first_operand) {
    RONDO_CHECK(args->n_options <= MAX_OPTIONS);
    struct option longs[MAX_OPTIONS + 2];
    char letters[2 * MAX_OPTIONS + 4];
    make_tables(args, longs, letters);
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (c == 'h') {
            print_help(args);
            return RONDO_ARGS_HELP;
        }
        if (c == ':' || c == '?') return complain(args, argv, c);
        if (!set(args, find(args, c), optarg)) return RONDO_ARGS_USAGE;
    }
    *first_operand = optind;
    if (argc - optind > (int)args->max_operands) {
        rondo_args_mistake(args, "unexpected argument '%s'",
                           argv[optind + (int)args->max_operands]);
        return RONDO_ARGS_USAGE;
    }
    return RONDO_ARGS_RUN;
}
