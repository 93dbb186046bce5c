/* SPDX-License-Identifier: MIT */
/*
 * server_fixture.h - for the tests of sources that talk to a server: a source with
 * one connection, questions to it, and a herd that asks while the server dies.
 *
 * The code under test is linked into the test.
 */
#ifndef RONDO_SOURCE_SERVER_FIXTURE_H
#define RONDO_SOURCE_SERVER_FIXTURE_H

#include "base/atomic.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include "source/database_fixture.h"
#include "source/load_fixture.h"
#include "source/settings.h"

#include "base/test.h" /* last: its macro `fail` would hit a member of that name */

const struct rondo_source_ops *rondo_source_plugin(void); /* linked in */

static const char *const server_params[] = {"id", "lang"};

struct server_source {
    const struct rondo_source_ops *ops;
    void *self, *connection;
};

/* ----------------------------------------------------------- open, connect --- */

/* Checks the settings against the table and opens; mistakes are in f. */
static inline enum rondo_err server_try_open(size_t n_params, const char *const *pairs,
                                             struct fixture_config *f, void **out) {
    struct rondo_source_setting good[16];
    size_t n_good;
    bool can_open;
    const struct rondo_source_ops *ops = rondo_source_plugin();
    fixture_settings(f, server_params, n_params, pairs);
    size_t mistakes = rondo_settings_check(&f->config, ops->options, good, &n_good, &can_open);
    return mistakes ? RONDO_ERR_CONFIG : ops->open(&f->config, out);
}

static inline struct server_source server_open(size_t n_params, const char *const *pairs) {
    struct server_source s = {.ops = rondo_source_plugin()};
    struct fixture_config f;
    enum rondo_err err = server_try_open(n_params, pairs, &f, &s.self);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(err, RONDO_OK);
    return s;
}

static inline struct server_source server_connect(size_t n_params, const char *const *pairs) {
    struct rondo_source_error why = {""};
    struct server_source s = server_open(n_params, pairs);
    enum rondo_err err = s.ops->connect(s.self, &why, &s.connection);
    assert_string_equal(why.text, "");
    assert_int_equal(err, RONDO_OK);
    return s;
}

static inline void server_close(struct server_source *s) {
    if (s->connection) s->ops->disconnect(s->connection);
    s->ops->close(s->self);
}

/* ---------------------------------------------------------------- questions --- */

/* A key of two parameters, the second fixed to "de". */
static inline void server_load(const struct server_source *s, size_t n,
                               const struct rondo_slice *ids, uint64_t timeout_ns,
                               struct fixture_load *f) {
    fixture_load_init(f, n, ids);
    f->load.timeout_ns = timeout_ns;
    for (size_t i = 0; i < n; i++) f->params[i][1] = rondo_slice_str("de");
    for (size_t i = 0; i < n; i++) f->keys[i].client = rondo_slice_str("Ann");
    s->ops->load(s->connection, &f->load);
}

static inline void server_check_bytes(const struct server_source *s, struct rondo_slice id,
                                      const char *expected) {
    struct fixture_load f;
    server_load(s, 1, &id, 0, &f);
    assert_string_equal(f.answers[0], expected);
    assert_int_equal(f.n_answers, 1);
}

static inline void server_check(const struct server_source *s, const char *id,
                                const char *expected) {
    server_check_bytes(s, rondo_slice_str(id), expected);
}

/* `pairs`: parameter, answer, …, NULL; all asked for at once. */
static inline void server_check_many(const struct server_source *s, const char *const *pairs) {
    struct rondo_slice ids[FIXTURE_KEYS];
    struct fixture_load f;
    size_t n = 0;
    for (; pairs[2 * n]; n++) ids[n] = rondo_slice_str(pairs[2 * n]);
    server_load(s, n, ids, 0, &f);
    for (size_t i = 0; i < n; i++) assert_string_equal(f.answers[i], pairs[2 * i + 1]);
    assert_int_equal(f.n_answers, n);
}

/* Loads every column as its text, one statement each: what one asks of all types. */
static inline void server_check_statement(const char *url, const char *sql, const char *id,
                                          const char *expected) {
    const char *const pairs[] = {"url", url, "load", sql, NULL};
    struct server_source s = server_connect(1, pairs);
    server_check(&s, id, expected);
    server_close(&s);
}

static inline enum rondo_err server_write(const struct server_source *s, bool is_store,
                                          struct rondo_slice id, struct rondo_slice value,
                                          struct rondo_source_error *why) {
    const struct rondo_store store = {{id, &id, {NULL, 0}}, value, 5 * RONDO_SEC};
    why->text[0] = '\0';
    return (is_store ? s->ops->store : s->ops->erase)(s->connection, &store, why);
}

/* A value that may hold NUL, where the fixture's text ends. */
static struct rondo_buf server_taken;

static inline void server_take(const struct rondo_load *load, size_t i, const void *data,
                               size_t len, uint64_t ttl_ns) {
    (void)load;
    (void)i;
    (void)ttl_ns;
    assert_int_equal(rondo_buf_append(&server_taken, data, len), RONDO_OK);
}

static inline void server_check_value(const struct server_source *s, struct rondo_slice id,
                                      struct rondo_slice expected) {
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    struct rondo_load_answers answers = *f.load.answers;
    answers.value = server_take;
    f.load.answers = &answers;
    s->ops->load(s->connection, &f.load);
    assert_int_equal(server_taken.len, expected.len);
    assert_memory_equal(server_taken.data, expected.data, expected.len);
    rondo_buf_fini(&server_taken);
}

/* Asks for the key "3600", on a thread of its own. */
struct server_slow_load {
    struct server_source s;
    struct fixture_load f;
};

static inline void server_load_slowly(void *arg) {
    struct server_slow_load *l = arg;
    struct rondo_slice id = rondo_slice_str("3600");
    server_load(&l->s, 1, &id, 0, &l->f);
}

/* Connecting fails, says why, and does not tell the secret. */
static inline void server_check_refused(const char *url, const char *expected, const char *secret) {
    const char *const pairs[] = {"url", url, "load", "SELECT {id}", NULL};
    struct server_source s = server_open(1, pairs);
    struct rondo_source_error why = {""};
    assert_int_equal(s.ops->connect(s.self, &why, &s.connection), RONDO_ERR_CONNECT);
    if (!strstr(why.text, expected)) fail_msg("\"%s\" lacks \"%s\"", why.text, expected);
    assert_null(strstr(why.text, secret));
    server_close(&s);
}

/* --------------------------------------------------------------- out of memory --- */

static inline enum rondo_err server_answer_error(const char *answer, const char *expected) {
    if (strncmp(answer, "NOMEM", 5) == 0) return RONDO_ERR_NOMEM;
    return strcmp(answer, expected) == 0 ? RONDO_OK : RONDO_ERR_INVALID;
}

static inline enum rondo_err server_open_load_close(const char *const *pairs, const char *id,
                                                    const char *expected) {
    const struct rondo_slice ids[] = {rondo_slice_str(id), rondo_slice_str("2")};
    struct fixture_config f;
    struct fixture_load load;
    struct rondo_source_error why = {""};
    struct server_source s = {.ops = rondo_source_plugin()};
    fixture_settings(&f, server_params, 1, pairs);
    enum rondo_err err = s.ops->open(&f.config, &s.self);
    if (err) return err;
    err = s.ops->connect(s.self, &why, &s.connection);
    for (size_t n = 1; !err && n <= 2; n++) {
        server_load(&s, n, ids, 0, &load);
        err = server_answer_error(load.answers[0], expected);
    }
    server_close(&s);
    return err;
}

/* Each allocation of opening, connecting and two loads fails in its turn. */
static inline void server_check_out_of_memory(const char *const *pairs, const char *id,
                                              const char *expected) {
    uint64_t n = 1;
    for (;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = server_open_load_close(pairs, id, expected);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_true(n > 10);
}

/* ------------------------------------------------------------------- herd --- */

enum { HERD = 4 };

/* A thread that asks as a cache does: it connects anew when the connection broke. */
struct herd_member {
    struct rondo_thread thread;
    struct server_source source;
    const int *stop;            /* atomic */
    uint64_t good, down, wrong; /* atomic: relaxed, written by the member */
    char surprise[512];         /* an answer that was neither; read after the join */
};

static inline void herd_judge(struct herd_member *m, size_t id, const char *answer) {
    char expected[32];
    snprintf(expected, sizeof expected, "=name-%zu", id);
    if (strcmp(answer, expected) == 0) {
        rondo_count_up(&m->good, 1);
    } else if (strncmp(answer, "CONNECT", 7) == 0) {
        rondo_count_up(&m->down, 1);
    } else {
        snprintf(m->surprise, sizeof m->surprise, "%zu: %s", id, answer);
        rondo_count_up(&m->wrong, 1);
    }
}

static inline bool herd_connect(struct herd_member *m) {
    struct rondo_source_error why;
    struct server_source *s = &m->source;
    if (s->connection) return true;
    if (s->ops->connect(s->self, &why, &s->connection) == RONDO_OK) return true;
    rondo_count_up(&m->down, 1);
    database_pause();
    return false;
}

static inline void herd_ask(void *arg) {
    struct herd_member *m = arg;
    /* Partner: the store in herd_stop. */
    for (size_t turn = 0; !rondo_load_relaxed(m->stop); turn++) {
        char names[3][16];
        struct rondo_slice ids[3];
        struct fixture_load f;
        size_t n = turn % 2 ? 3 : 1; /* load_many and load in turn */
        if (!herd_connect(m)) continue;
        for (size_t i = 0; i < n; i++) {
            snprintf(names[i], sizeof names[i], "%zu", (turn + i) % 100);
            ids[i] = rondo_slice_str(names[i]);
        }
        server_load(&m->source, n, ids, 10 * RONDO_SEC, &f);
        for (size_t i = 0; i < n; i++) herd_judge(m, (turn + i) % 100, f.answers[i]);
        if (strncmp(f.answers[0], "CONNECT", 7) != 0) continue;
        m->source.ops->disconnect(m->source.connection);
        m->source.connection = NULL;
    }
    if (m->source.connection) m->source.ops->disconnect(m->source.connection);
    m->source.connection = NULL;
}

/* Waits until each member has counted `more` further ones. */
static inline void herd_await(struct herd_member *herd, bool good, uint64_t more) {
    uint64_t start[HERD];
    for (int i = 0; i < HERD; i++)
        start[i] = rondo_load_relaxed(good ? &herd[i].good : &herd[i].down);
    for (int i = 0; i < HERD; i++)
        while (rondo_load_relaxed(good ? &herd[i].good : &herd[i].down) < start[i] + more)
            database_pause();
}

static inline uint64_t herd_down(const struct herd_member *herd) {
    uint64_t n = 0;
    for (int i = 0; i < HERD; i++) n += rondo_load_relaxed(&herd[i].down);
    return n;
}

/*
 * The server is killed under load and comes back: errors while it is down, none once
 * it is up again, never a wrong answer.  `pairs` open a source whose `load` and
 * `load_many` answer name-N for N below 100.
 */
static inline void server_check_herd(struct database *db, const char *const *pairs) {
    struct server_source s = server_open(1, pairs);
    struct herd_member herd[HERD];
    int stop = 0;
    memset(herd, 0, sizeof herd);
    for (int i = 0; i < HERD; i++) {
        herd[i].source = s;
        herd[i].stop = &stop;
        assert_int_equal(rondo_thread_start(&herd[i].thread, "herd", herd_ask, &herd[i]), RONDO_OK);
    }
    herd_await(herd, true, 20);
    uint64_t before = herd_down(herd);
    database_kill(db);
    herd_await(herd, false, 3);
    database_start(db);
    herd_await(herd, true, 20);
    uint64_t recovered = herd_down(herd);
    herd_await(herd, true, 200);
    uint64_t after = herd_down(herd);
    /* Partner: the load in herd_ask. */
    rondo_store_relaxed(&stop, 1);
    for (int i = 0; i < HERD; i++) rondo_thread_join(&herd[i].thread);
    for (int i = 0; i < HERD; i++) assert_string_equal(herd[i].surprise, "");
    assert_int_equal(before, 0);
    assert_int_equal(after, recovered);
    server_close(&s);
}

#endif
