/* SPDX-License-Identifier: MIT */
/*
 * The command is cut into words when it is read, before any value is in it; each
 * word is a template of its own.  So a value is always one argument, or a part of
 * one, whatever bytes it has, and no shell ever sees it.
 */
#include "source/exec.h"

#include "base/mem.h"
#include "source/child.h"
#include "source/quantity.h"
#include "source/settings.h"
#include "source/template.h"
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct rondo_source_option options[] = {
    {"command", RONDO_SETTING_TEMPLATE, true, false,
     "the program and its arguments, with {parameters} and {client}; quotes keep spaces together"},
    {"absent", RONDO_SETTING_COUNT, false, false,
     "the exit code that says the key is absent, 1 to 125; default 44"},
    {"directory", RONDO_SETTING_PATH, false, false, "where it starts; default: where rondo did"},
    {"max_output", RONDO_SETTING_TEXT, false, false,
     "the most that it may write, a size up to 512mb; default 16mb"},
    {"newline", RONDO_SETTING_BOOL, false, false,
     "keep the newline that ends its output; default no"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

enum { MAX_PARAMS = 16, MAX_WORDS = 128, ABSENT_CODE = 44 };
static const char *const words[] = {"client"};
static const uint64_t most_output = UINT64_C(512) << 20;

struct exec {
    size_t n_params;
    struct rondo_template *argv[MAX_WORDS];
    size_t n_argv;
    char *directory;
    uint64_t absent, max_output;
    bool keep_newline;
};

/* ------------------------------------------------------------------- words --- */

/* Takes the next word of *text, without its quotes, into `out`.  False at the end;
 * *open says that a quote was not closed. */
static bool next_word(const char **text, char *out, char *open) {
    const char *p = *text + strspn(*text, " \t\r\n");
    if (*p == '\0') return false;
    *open = 0;
    for (; *p && (*open || !strchr(" \t\r\n", *p)); p++) {
        if (*open ? *p == *open : (*p == '"' || *p == '\''))
            *open = *open ? 0 : *p;
        else
            *out++ = *p;
    }
    *out = '\0';
    *text = p;
    return true;
}

static enum rondo_err refuse(const struct rondo_source_config *config, const char *text) {
    rondo_settings_mistake(config, "command", "%s", text);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err add_word(const struct rondo_source_config *config, struct exec *e,
                               const char *word) {
    struct rondo_template_names names = {config->params, config->n_params, words,
                                         RONDO_COUNT_OF(words)};
    struct rondo_source_error why;
    if (e->n_argv == MAX_WORDS - 1) return refuse(config, "more than 127 words");
    enum rondo_err err = rondo_template_new(word, &names, &why, &e->argv[e->n_argv]);
    if (err == RONDO_ERR_CONFIG) return refuse(config, why.text);
    if (!err) e->n_argv++;
    return err;
}

/* A program that is known by its place can be checked; one in PATH may come later. */
static enum rondo_err check_program(const struct rondo_source_config *config,
                                    const struct exec *e) {
    struct rondo_slice word = e->argv[0]->parts[0].text;
    char path[4096];
    struct stat st;
    if (e->argv[0]->used) return refuse(config, "the program itself cannot be a parameter");
    if (!word.len) return refuse(config, "an empty program");
    if (!memchr(word.data, '/', word.len)) return RONDO_OK;
    bool is_absolute = *(const char *)word.data == '/';
    if (!is_absolute && !e->directory)
        return refuse(config, "a relative program starts at `directory`, which is not given");
    snprintf(path, sizeof path, "%s%s%.*s", is_absolute ? "" : e->directory, is_absolute ? "" : "/",
             (int)word.len, (const char *)word.data);
    const char *wrong = NULL;
    if (stat(path, &st) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
        wrong = "it cannot be executed";
    if (!wrong) return RONDO_OK;
    rondo_settings_mistake(config, "command", "found \"%s\": %s", path, wrong);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err open_command(const struct rondo_source_config *config, struct exec *e) {
    const char *text = rondo_settings_get(config, "command");
    char *word = rondo_alloc(strlen(text) + 1), open = 0;
    enum rondo_err err = word ? RONDO_OK : RONDO_ERR_NOMEM;
    while (!err && next_word(&text, word, &open)) err = add_word(config, e, word);
    rondo_free(word);
    if (!err && open) err = refuse(config, "a quote is not closed");
    if (!err && e->n_argv == 0) err = refuse(config, "an empty command");
    return err ? err : check_program(config, e);
}

/* ----------------------------------------------------------- open, close --- */

static void exec_close(void *source) {
    struct exec *e = source;
    for (size_t i = 0; i < e->n_argv; i++) rondo_template_free(e->argv[i]);
    rondo_free(e->directory);
    rondo_free(e);
}

static bool open_max_output(const struct rondo_source_config *config, uint64_t *out) {
    const char *text = rondo_settings_get(config, "max_output");
    const char *wrong = text ? rondo_quantity_size(text, out) : NULL;
    if (!wrong && *out > most_output) wrong = "at most 512mb";
    if (wrong) rondo_settings_mistake(config, "max_output", "found \"%s\": %s", text, wrong);
    return !wrong;
}

static enum rondo_err open_directory(const struct rondo_source_config *config, struct exec *e) {
    const char *path = rondo_settings_get(config, "directory");
    struct stat st;
    if (!path) return RONDO_OK;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        rondo_settings_mistake(config, "directory", "found \"%s\": there is no such directory",
                               path);
        return RONDO_ERR_CONFIG;
    }
    e->directory = rondo_strdup(path);
    return e->directory ? RONDO_OK : RONDO_ERR_NOMEM;
}

static enum rondo_err open_settings(const struct rondo_source_config *config, struct exec *e) {
    const char *newline = rondo_settings_get(config, "newline");
    bool ok = rondo_settings_count(config, "absent", 1, 125, &e->absent);
    ok = open_max_output(config, &e->max_output) && ok;
    if (newline) (void)rondo_quantity_bool(newline, &e->keep_newline); /* checked before open */
    enum rondo_err err = open_directory(config, e);
    if (err == RONDO_ERR_NOMEM) return err;
    enum rondo_err command = open_command(config, e);
    if (command) err = command;
    return err || ok ? err : RONDO_ERR_CONFIG;
}

static enum rondo_err exec_open(const struct rondo_source_config *config, void **out) {
    if (config->n_params > MAX_PARAMS) return refuse(config, "more than 16 parameters");
    struct exec *e = rondo_zalloc(sizeof *e);
    if (!e) return RONDO_ERR_NOMEM;
    e->n_params = config->n_params;
    e->absent = ABSENT_CODE;
    e->max_output = UINT64_C(16) << 20;
    enum rondo_err err = open_settings(config, e);
    if (err)
        exec_close(e);
    else
        *out = e;
    return err;
}

/* -------------------------------------------------------------- connection --- */

struct connection {
    const struct exec *exec;
    int cancel_fd; /* an eventfd: readable once the call is to end */
};

static enum rondo_err exec_connect(void *source, struct rondo_source_error *why, void **out) {
    struct connection *c = rondo_zalloc(sizeof *c);
    if (!c) return RONDO_ERR_NOMEM;
    c->exec = source;
    c->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->cancel_fd < 0) {
        snprintf(why->text, sizeof why->text, "eventfd: %s", strerror(errno));
        rondo_free(c);
        return RONDO_ERR_CONNECT;
    }
    *out = c;
    return RONDO_OK;
}

static void exec_disconnect(void *connection) {
    struct connection *c = connection;
    close(c->cancel_fd);
    rondo_free(c);
}

static void exec_cancel(void *connection) {
    const struct connection *c = connection;
    (void)eventfd_write(c->cancel_fd, 1); /* fails only when it is readable anyway */
}

/* -------------------------------------------------------------------- load --- */

/* Fills argv; the strings lie in `text`.  A NUL byte would cut an argument short. */
static enum rondo_err make_argv(const struct exec *e, const struct rondo_load_key *key,
                                struct rondo_buf *text, char **argv,
                                struct rondo_source_error *why) {
    struct rondo_slice values[MAX_PARAMS + RONDO_COUNT_OF(words)];
    size_t starts[MAX_WORDS];
    for (size_t i = 0; i < e->n_params; i++) values[i] = key->params[i];
    values[e->n_params] = key->client;
    for (size_t i = 0; i < e->n_argv; i++) {
        starts[i] = text->len;
        enum rondo_err err = rondo_template_render(e->argv[i], values, text);
        if (!err && text->len > starts[i] &&
            memchr(text->data + starts[i], '\0', text->len - starts[i])) {
            snprintf(why->text, sizeof why->text, "a NUL byte cannot be in an argument");
            return RONDO_ERR_LOAD;
        }
        if (!err) err = rondo_buf_append(text, "", 1);
        if (err) return err;
    }
    for (size_t i = 0; i < e->n_argv; i++) argv[i] = text->data + starts[i];
    argv[e->n_argv] = NULL;
    return RONDO_OK;
}

static void answer_value(const struct exec *e, const struct rondo_load *load, size_t i,
                         const struct rondo_buf *out) {
    size_t len = out->len;
    if (!e->keep_newline && len > 0 && out->data[len - 1] == '\n') len--;
    rondo_load_value(load, i, out->data, len, 0);
}

static void answer_failure(const struct exec *e, const struct rondo_load *load, size_t i,
                           const struct rondo_child_result *r) {
    char text[256], limit[24] = "";
    const char *colon = r->complaint[0] ? ": " : "";
    enum rondo_err err = RONDO_ERR_LOAD;
    switch (r->end) {
    case RONDO_CHILD_EXITED:
        snprintf(text, sizeof text, "exit code %d%s%s", r->code, colon, r->complaint);
        break;
    case RONDO_CHILD_SIGNALLED:
        snprintf(text, sizeof text, "killed by signal %d (%s)%s%s", r->code, strsignal(r->code),
                 colon, r->complaint);
        break;
    case RONDO_CHILD_TIMED_OUT:
        err = RONDO_ERR_TIMEOUT;
        if (load->timeout_ns) rondo_quantity_print_duration(load->timeout_ns, limit);
        snprintf(text, sizeof text, "killed at its time limit%s%s", limit[0] ? " of " : "", limit);
        break;
    case RONDO_CHILD_TOO_MUCH:
        snprintf(text, sizeof text, "wrote more than max_output (%llu bytes)",
                 (unsigned long long)e->max_output);
        break;
    }
    rondo_load_fail(load, i, err, text);
}

static enum rondo_err load_one(struct connection *c, const struct rondo_load *load, size_t i,
                               struct rondo_source_error *why) {
    const struct exec *e = c->exec;
    char *argv[MAX_WORDS];
    struct rondo_buf text = {0};
    struct rondo_child_result r;
    enum rondo_err err = make_argv(e, &load->keys[i], &text, argv, why);
    if (!err) {
        struct rondo_child_spec spec = {argv, e->directory, load->timeout_ns, (size_t)e->max_output,
                                        c->cancel_fd};
        err = rondo_child_run(&spec, why, &r);
    }
    rondo_buf_fini(&text);
    if (err) return err;
    if (r.end == RONDO_CHILD_EXITED && r.code == 0)
        answer_value(e, load, i, &r.out);
    else if (r.end == RONDO_CHILD_EXITED && r.code == (int)e->absent)
        rondo_load_absent(load, i);
    else
        answer_failure(e, load, i, &r);
    rondo_buf_fini(&r.out);
    return RONDO_OK;
}

static void exec_load(void *connection, const struct rondo_load *load) {
    struct connection *c = connection;
    eventfd_t late;
    (void)eventfd_read(c->cancel_fd, &late); /* a cancel of the call before */
    for (size_t i = 0; i < load->n; i++) {
        struct rondo_source_error why = {""};
        enum rondo_err err = load_one(c, load, i, &why);
        if (err) rondo_load_fail(load, i, err, why.text[0] ? why.text : rondo_err_text(err));
    }
}

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "exec",
    .help = "the output of a program",
    .options = options,
    .open = exec_open,
    .close = exec_close,
    .connect = exec_connect,
    .disconnect = exec_disconnect,
    .load = exec_load,
    .cancel = exec_cancel,
};

const struct rondo_source_ops *rondo_exec_ops(void) {
    return &ops;
}
