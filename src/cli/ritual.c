/* SPDX-License-Identifier: MIT */
/* The subcommand `rondo ritual`: options, the comparison, what is printed. */
#include "cli/ritual.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/args.h"
#include "cli/cli.h"
#include <jansson.h>

enum single_flight { SINGLE_FLIGHT_ON, SINGLE_FLIGHT_OFF, SINGLE_FLIGHT_COMPARE };
static const char *const single_flight_words[] = {"on", "off", "compare", NULL};

struct ritual_cli {
    struct rondo_ritual_options ritual;
    const char *names; /* as given */
    unsigned single_flight;
    bool json;
};

/* What the second article measured, for the table of the comparison. */
static const struct {
    const char *threads, *single_flight;
    unsigned loads, hits, elapsed_ms;
} original[] = {{"0", "off", 6, 4, 30132}, {"10", "off", 5, 5, 5153}};

/* ---- output ---- */

static void thread_word(const struct rondo_ritual_result *r, bool is_remote, char *out,
                        size_t size) {
    if (is_remote)
        snprintf(out, size, "the server's");
    else
        snprintf(out, size, "%u", r->threads);
}

static json_t *to_json(const struct ritual_cli *cli, const struct rondo_ritual_result *r,
                       bool single_flight) {
    json_t *j = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "callers",
                          (json_int_t)r->callers, "hits", (json_int_t)r->hits, "misses",
                          (json_int_t)r->misses, "joined", (json_int_t)r->joined, "loads",
                          (json_int_t)r->loads, "answers", (json_int_t)r->answers, "absent",
                          (json_int_t)r->absent, "failed", (json_int_t)r->failed, "elapsed_ms",
                          (double)r->elapsed_ns / 1e6);
    RONDO_CHECK(j != NULL);
    /* Over a connection the server's configuration decides both. */
    bool is_remote = cli->ritual.connect != NULL;
    json_object_set_new(j, "threads", is_remote ? json_null() : json_integer(r->threads));
    json_object_set_new(j, "single_flight", is_remote ? json_null() : json_boolean(single_flight));
    return j;
}

static void print_json(json_t *j) {
    json_dumpf(j, stdout, JSON_REAL_PRECISION(8));
    putchar('\n');
    json_decref(j);
}

static void print_result(const struct ritual_cli *cli, const struct rondo_ritual_result *r) {
    char threads[32];
    thread_word(r, cli->ritual.connect != NULL, threads, sizeof threads);
    printf("%llu callers, threads: %s, %llu hits, %llu misses (%llu joined), %llu loads; "
           "%llu answers, %llu absent, %llu failed\n",
           (unsigned long long)r->callers, threads, (unsigned long long)r->hits,
           (unsigned long long)r->misses, (unsigned long long)r->joined,
           (unsigned long long)r->loads, (unsigned long long)r->answers,
           (unsigned long long)r->absent, (unsigned long long)r->failed);
    printf("Summoning time for %zu AOs: %llu\n", cli->ritual.n_ancient_ones,
           (unsigned long long)(r->elapsed_ns / RONDO_MS));
}

static void print_row(const char *who, const char *threads, const char *single_flight,
                      uint64_t loads, uint64_t hits, uint64_t elapsed_ms) {
    printf("  %-12s  %7s  %13s  %5llu  %4llu  %9llu\n", who, threads, single_flight,
           (unsigned long long)loads, (unsigned long long)hits, (unsigned long long)elapsed_ms);
}

/* ---- one run, or four ---- */

static enum rondo_err run_once(const struct rondo_ritual_options *o,
                               struct rondo_ritual_result *r) {
    enum rondo_err err = o->connect ? rondo_ritual_run_remote(o, r) : rondo_ritual_run_local(o, r);
    if (!err && r->failed) {
        fprintf(stderr, "rondo ritual: %llu of %llu callers got an error: %s\n",
                (unsigned long long)r->failed, (unsigned long long)r->callers, r->failure);
        err = RONDO_ERR_LOAD;
    }
    return err;
}

static int single(struct ritual_cli *cli) {
    struct rondo_ritual_options *o = &cli->ritual;
    o->no_single_flight = cli->single_flight == SINGLE_FLIGHT_OFF;
    o->is_silent = cli->json;
    struct rondo_ritual_result r = {0};
    enum rondo_err err = run_once(o, &r);
    if (err && r.callers == 0) return RONDO_EXIT_FAILED;
    if (cli->json)
        print_json(to_json(cli, &r, !o->no_single_flight));
    else
        print_result(cli, &r);
    return err ? RONDO_EXIT_FAILED : RONDO_EXIT_DONE;
}

static int compare(struct ritual_cli *cli) {
    struct rondo_ritual_options *o = &cli->ritual;
    o->is_silent = o->has_threads = o->has_single_flight = true;
    json_t *rows = json_array();
    RONDO_CHECK(rows != NULL);
    if (!cli->json) printf("                threads  single-flight  loads  hits  time (ms)\n");
    for (unsigned i = 0; !cli->json && i < RONDO_COUNT_OF(original); i++)
        print_row("the article", original[i].threads, original[i].single_flight, original[i].loads,
                  original[i].hits, original[i].elapsed_ms);
    enum rondo_err err = RONDO_OK;
    for (unsigned i = 0; i < 4 && !err; i++) {
        struct rondo_ritual_result r = {0};
        o->no_single_flight = i < 2;
        o->threads = i % 2 ? (struct rondo_threads){RONDO_THREADS_FIXED, 10, 10}
                           : (struct rondo_threads){RONDO_THREADS_NONE, 0, 0};
        err = run_once(o, &r);
        if (err) break;
        if (cli->json)
            json_array_append_new(rows, to_json(cli, &r, !o->no_single_flight));
        else
            print_row("rondo", i % 2 ? "10" : "0", o->no_single_flight ? "off" : "on", r.loads,
                      r.hits, r.elapsed_ns / RONDO_MS);
        fflush(stdout);
    }
    if (cli->json && !err) print_json(json_incref(rows));
    json_decref(rows);
    return err ? RONDO_EXIT_FAILED : RONDO_EXIT_DONE;
}

/* ---- options ---- */

/* Cuts "a,b" at its commas, in place; NULL names where one is empty. */
static const char **split_names(char *text, size_t *n) {
    size_t count = 1;
    for (const char *p = text; *p; p++) count += *p == ',';
    const char **names = rondo_zalloc(count * sizeof *names);
    if (names == NULL) return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(text, ",");
        names[i] = len ? text : NULL;
        text[len] = 0;
        text += len + 1;
    }
    *n = count;
    return names;
}

static int check_names(const struct rondo_args *args, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (names[i] == NULL)
            return rondo_args_mistake(args, "--ancient-ones: names between commas are wanted");
        if (strlen(names[i]) > 200)
            return rondo_args_mistake(args, "--ancient-ones: a name has at most 200 bytes");
    }
    return RONDO_EXIT_DONE;
}

static int check(const struct ritual_cli *cli, const struct rondo_args *args) {
    const struct rondo_ritual_options *o = &cli->ritual;
    if (o->connect && (o->has_threads || o->config || o->delay_ns || o->has_single_flight))
        return rondo_args_mistake(args, "--connect: the server's configuration decides --threads, "
                                        "-c, --delay and --single-flight");
    if (cli->single_flight == SINGLE_FLIGHT_COMPARE && o->has_threads)
        return rondo_args_mistake(args, "--single-flight compare runs with 0 and 10 threads; "
                                        "leave out --threads");
    if (o->cultists * o->n_ancient_ones > RONDO_RITUAL_MAX_CALLERS)
        return rondo_args_mistake(args, "at most %d cultists in all", RONDO_RITUAL_MAX_CALLERS);
    return check_names(args, o->ancient_ones, o->n_ancient_ones);
}

static int run(struct ritual_cli *cli, const struct rondo_args *args) {
    char *text = rondo_strdup(cli->names);
    const char **names = text ? split_names(text, &cli->ritual.n_ancient_ones) : NULL;
    int code = RONDO_EXIT_FAILED;
    if (names == NULL) {
        fprintf(stderr, "rondo ritual: out of memory\n");
    } else {
        cli->ritual.ancient_ones = names;
        code = check(cli, args);
        if (code == RONDO_EXIT_DONE)
            code = cli->single_flight == SINGLE_FLIGHT_COMPARE ? compare(cli) : single(cli);
    }
    rondo_free((void *)names);
    rondo_free(text);
    return code;
}

/* Long because the table of options is: one place for parsing, checks and help. */
int rondo_cli_ritual(int argc, char **argv) {
    struct ritual_cli cli = {.ritual = {.cultists = 5}, .names = "Cthulhu,Yog-Sothoth"};
    struct rondo_ritual_options *o = &cli.ritual;
    const struct rondo_arg options[] = {
        {.name = "ancient-ones",
         .letter = 'a',
         .kind = RONDO_ARG_TEXT,
         .out = &cli.names,
         .value = "A,B",
         .help = "whom to summon (Cthulhu,Yog-Sothoth)"},
        {.name = "cultists",
         .letter = 'n',
         .kind = RONDO_ARG_COUNT,
         .out = &o->cultists,
         .value = "N",
         .help = "callers for each of them (5)",
         .min = 1,
         .max = RONDO_RITUAL_MAX_CALLERS},
        {.name = "delay",
         .letter = 'd',
         .kind = RONDO_ARG_DURATION,
         .out = &o->delay_ns,
         .value = "TIME",
         .help = "how long the source takes (5s)"},
        {.name = "threads",
         .letter = 't',
         .kind = RONDO_ARG_THREADS,
         .out = &o->threads,
         .value = "N",
         .help = "that call the source: a number, auto, 0 (one service thread) (auto)",
         .given = &o->has_threads},
        {.name = "single-flight",
         .letter = 's',
         .kind = RONDO_ARG_CHOICE,
         .out = &cli.single_flight,
         .value = "WORD",
         .help = "on: one load a key; off: one a caller; compare: both, in a table (on)",
         .choices = single_flight_words,
         .given = &o->has_single_flight},
        {.name = "config",
         .letter = 'c',
         .kind = RONDO_ARG_TEXT,
         .out = &o->config,
         .value = "FILE",
         .help = "a configuration with a cache called " RONDO_RITUAL_CACHE},
        {.name = "connect",
         .kind = RONDO_ARG_TEXT,
         .out = &o->connect,
         .value = "HOST:PORT",
         .help = "ask a running server instead, one connection a caller"},
        {.name = "json",
         .kind = RONDO_ARG_FLAG,
         .out = &cli.json,
         .help = "print JSON and nothing else"},
    };
    const struct rondo_args args = {
        .command = "ritual",
        .synopsis = "[options]",
        .about =
            "Lets many callers ask for a few keys of a slow source at once, and says how long\n"
            "it takes until all have their answer.",
        .examples =
            "  rondo ritual                             ten callers, two keys, a 5 s source\n"
            "  rondo ritual --threads 0                 all loads on one service thread\n"
            "  rondo ritual --single-flight compare     the old system's rows and ours\n"
            "  rondo ritual -c examples/fhtagn.yaml     as a file configures it\n"
            "  rondo ritual --connect 127.0.0.1:6380    as clients of rondo serve\n",
        .options = options,
        .n_options = RONDO_COUNT_OF(options),
    };
    int first;
    enum rondo_args_outcome outcome = rondo_args_parse(&args, argc, argv, &first);
    if (outcome != RONDO_ARGS_RUN)
        return outcome == RONDO_ARGS_HELP ? RONDO_EXIT_DONE : RONDO_EXIT_USAGE;
    struct rondo_progress progress;
    /* The source's own lines are progress enough. */
    rondo_progress_init(&progress, "callers",
                        cli.single_flight == SINGLE_FLIGHT_COMPARE || o->connect != NULL);
    o->progress = &progress;
    return run(&cli, &args);
}
