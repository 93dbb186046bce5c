/* SPDX-License-Identifier: MIT */
/*
 * lines.c - an example of a source of one's own: the key line:3 is the third line of
 * a text file.
 *
 * Each thread that calls the source has a connection, here the open file; so no
 * call has to care for another one.
 */
#include <rondo/source.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rondo_source_option options[] = {
    {"file", RONDO_SETTING_PATH, true, false, "the text file"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

/* The settings were checked against the table before: `file` is there, once, and its
 * path is absolute.  What only the source can know is checked here. */
static enum rondo_err lines_open(const struct rondo_source_config *config, void **out) {
    const char *path = config->settings[0].value;
    if (config->n_params != 1) {
        config->mistake(config->mistake_arg, NULL, "a key with one parameter, such as line:{n}");
        return RONDO_ERR_CONFIG;
    }
    FILE *f = fopen(path, "re");
    if (!f) {
        config->mistake(config->mistake_arg, "file", strerror(errno));
        return RONDO_ERR_CONFIG;
    }
    fclose(f);
    char *copy = malloc(strlen(path) + 1);
    if (!copy) return RONDO_ERR_NOMEM;
    memcpy(copy, path, strlen(path) + 1);
    *out = copy;
    return RONDO_OK;
}

static void lines_close(void *source) {
    free(source);
}

static enum rondo_err lines_connect(void *source, struct rondo_source_error *why, void **out) {
    FILE *f = fopen(source, "re");
    if (!f) {
        snprintf(why->text, sizeof why->text, "%s", strerror(errno));
        return RONDO_ERR_CONNECT;
    }
    *out = f;
    return RONDO_OK;
}

static void lines_disconnect(void *connection) {
    fclose(connection);
}

/* The number that a parameter is, 0 if it is none: keys come from strangers. */
static unsigned long number(const struct rondo_slice *s) {
    unsigned long n = 0;
    const char *p = s->data;
    if (s->len == 0 || s->len > 9) return 0;
    for (size_t i = 0; i < s->len; i++) {
        if (p[i] < '0' || p[i] > '9') return 0;
        n = n * 10 + (unsigned long)(p[i] - '0');
    }
    return n;
}

/* Each key is answered once: with a value, as absent, or with an error. */
static void load_one(FILE *f, const struct rondo_load *load, size_t i) {
    unsigned long n = number(&load->keys[i].params[0]);
    char *line = NULL;
    size_t room = 0;
    ssize_t len = -1;
    rewind(f);
    for (unsigned long k = 0; k < n; k++) {
        len = getline(&line, &room, f);
        if (len < 0) break;
    }
    if (len >= 0)
        rondo_load_value(load, i, line, (size_t)len - (line[len - 1] == '\n'), 0);
    else if (ferror(f))
        rondo_load_fail(load, i, RONDO_ERR_CONNECT, "the file cannot be read");
    else
        rondo_load_absent(load, i);
    free(line);
}

static void lines_load(void *connection, const struct rondo_load *load) {
    for (size_t i = 0; i < load->n; i++) load_one(connection, load, i);
}

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "lines",
    .help = "the lines of a text file",
    .options = options,
    .open = lines_open,
    .close = lines_close,
    .connect = lines_connect,
    .disconnect = lines_disconnect,
    .load = lines_load,
};

__attribute__((visibility("default"))) const struct rondo_source_ops *rondo_source_plugin(void);

const struct rondo_source_ops *rondo_source_plugin(void) {
    return &ops;
}
