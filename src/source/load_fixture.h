/* SPDX-License-Identifier: MIT */
/*
 * load_fixture.h - for the tests of sources: settings that collect their mistakes,
 * and loads that collect their answers as text.
 *
 * An answer reads "=value", "absent", "LOAD: text" (an error's name without its
 * prefix) or "" for none.
 */
#ifndef RONDO_SOURCE_LOAD_FIXTURE_H
#define RONDO_SOURCE_LOAD_FIXTURE_H

#include "base/buf.h"
#include "base/check.h"
#include "rondo/source.h"

enum { FIXTURE_KEYS = 8 };

/* ------------------------------------------------------------- settings --- */

struct fixture_config {
    struct rondo_source_config config;
    struct rondo_source_setting settings[16];
    char mistakes[2048]; /* "name: text" lines; "-" for no name */
};

static inline void fixture_mistake(void *arg, const char *setting, const char *text) {
    struct fixture_config *f = arg;
    size_t used = strlen(f->mistakes);
    snprintf(f->mistakes + used, sizeof f->mistakes - used, "%s: %s\n", setting ? setting : "-",
             text);
}

/* `pairs`: name, value, name, value, NULL. */
static inline void fixture_settings(struct fixture_config *f, const char *const *params,
                                    size_t n_params, const char *const *pairs) {
    memset(f, 0, sizeof *f);
    size_t n = 0;
    for (; pairs[2 * n]; n++) {
        RONDO_CHECK(n < RONDO_COUNT_OF(f->settings));
        f->settings[n] =
            (struct rondo_source_setting){pairs[2 * n], pairs[2 * n + 1], (unsigned)n + 1};
    }
    f->config = (struct rondo_source_config){.size = sizeof f->config,
                                             .cache = "test",
                                             .params = params,
                                             .n_params = n_params,
                                             .settings = f->settings,
                                             .n_settings = n,
                                             .mistake = fixture_mistake,
                                             .mistake_arg = f};
}

/* ---------------------------------------------------------------- loads --- */

struct fixture_load {
    struct rondo_load load;
    struct rondo_load_key keys[FIXTURE_KEYS];
    struct rondo_slice params[FIXTURE_KEYS][2];
    char answers[FIXTURE_KEYS][512];
    uint64_t ttl_ns[FIXTURE_KEYS];
    unsigned n_answers;
};

/* The load is the fixture's first member; answers are its to write. */
static inline struct fixture_load *fixture_of(const struct rondo_load *load) {
    return (struct fixture_load *)(uintptr_t)load;
}

static inline char *fixture_slot(const struct rondo_load *load, size_t i) {
    struct fixture_load *f = fixture_of(load);
    RONDO_CHECK(i < load->n);
    f->n_answers++;
    return f->answers[i];
}

static inline void fixture_value(const struct rondo_load *load, size_t i, const void *data,
                                 size_t len, uint64_t ttl_ns) {
    char *slot = fixture_slot(load, i);
    fixture_of(load)->ttl_ns[i] = ttl_ns;
    snprintf(slot, 512, "=%.*s", (int)len, len ? (const char *)data : "");
}

static inline void fixture_absent(const struct rondo_load *load, size_t i) {
    snprintf(fixture_slot(load, i), 512, "absent");
}

static inline void fixture_fail(const struct rondo_load *load, size_t i, enum rondo_err err,
                                const char *text) {
    for (size_t k = 0; k < load->n; k++) {
        if (i != (size_t)RONDO_LOAD_ALL && k != i) continue;
        snprintf(fixture_slot(load, k), 512, "%s: %s", rondo_err_name(err) + 10, text);
    }
}

/* A load of n keys with one parameter each; the key is "k:" and the parameter. */
static inline void fixture_load_init(struct fixture_load *f, size_t n,
                                     const struct rondo_slice *params) {
    static const struct rondo_load_answers answers = {fixture_value, fixture_absent, fixture_fail};
    memset(f, 0, sizeof *f);
    RONDO_CHECK(n <= FIXTURE_KEYS);
    f->load = (struct rondo_load){.answers = &answers, .keys = f->keys, .n = n};
    for (size_t i = 0; i < n; i++) {
        f->params[i][0] = params[i];
        f->keys[i].key = params[i];
        f->keys[i].params = f->params[i];
    }
}

#endif
