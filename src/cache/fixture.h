/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what the cache's tests share: a scripted source, a collector of
 * answers, and a cache on a simulated runtime whose clock moves when told.
 */
#ifndef RONDO_CACHE_FIXTURE_H
#define RONDO_CACHE_FIXTURE_H

/* In front of cmocka.h, which makes `fail` a macro. */
#include "rondo/cache.h"

#include "base/atomic.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/test.h"

enum { TEST_LOG = 4096, TEST_TEXT = 64 };

/* ------------------------------------------------------------------- source --- */

/* Answers "<key>=<n>", n counting the keys that it was asked for. */
struct test_source {
    uint64_t delay_ns;
    size_t batch;             /* 0: 1 */
    enum rondo_err fail;      /* of every call */
    enum rondo_err fail_many; /* of a call for several keys */
    bool is_absent;
    uint64_t ttl_ns;
    size_t value_len;                                                     /* 0: the text above */
    void (*script)(struct test_source *s, const struct rondo_load *load); /* instead */
    /* atomic, relaxed: read when at rest */
    uint32_t calls, keys, connects, disconnects, closes, largest;
    char client[TEST_TEXT];
};

static inline void test_source_answer(struct test_source *s, const struct rondo_load *load,
                                      size_t i) {
    char text[TEST_TEXT];
    uint32_t n = rondo_add_relaxed(&s->keys, 1) + 1;
    int len = snprintf(text, sizeof text, "%.*s=%u", (int)load->keys[i].key.len,
                       (const char *)load->keys[i].key.data, n);
    if (s->is_absent) {
        rondo_load_absent(load, i);
    } else if (s->value_len) {
        char *big = calloc(1, s->value_len);
        rondo_load_value(load, i, big, s->value_len, s->ttl_ns);
        free(big);
    } else {
        rondo_load_value(load, i, text, (size_t)len, s->ttl_ns);
    }
}

static inline void test_source_load(void *connection, const struct rondo_load *load) {
    struct test_source *s = connection;
    rondo_add_relaxed(&s->calls, 1);
    if (load->n > rondo_load_relaxed(&s->largest))
        rondo_store_relaxed(&s->largest, (uint32_t)load->n);
    (void)rondo_job_sleep(s->delay_ns);
    if (s->script) {
        s->script(s, load);
        return;
    }
    enum rondo_err err = load->n > 1 && s->fail_many ? s->fail_many : s->fail;
    if (err) {
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, err, "it\r\nis down");
        return;
    }
    for (size_t i = 0; i < load->n; i++) test_source_answer(s, load, i);
}

static inline size_t test_source_batch(const void *source) {
    const struct test_source *s = source;
    return s->batch ? s->batch : 1;
}
static inline enum rondo_err test_source_connect(void *source, struct rondo_source_error *why,
                                                 void **out) {
    struct test_source *s = source;
    (void)why;
    rondo_add_relaxed(&s->connects, 1);
    *out = s;
    return RONDO_OK;
}
static inline void test_source_disconnect(void *connection) {
    struct test_source *s = connection;
    rondo_add_relaxed(&s->disconnects, 1);
}
static inline void test_source_close(void *source) {
    struct test_source *s = source;
    rondo_add_relaxed(&s->closes, 1);
}

static const struct rondo_source_ops test_source_ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "test",
    .close = test_source_close,
    .batch = test_source_batch,
    .connect = test_source_connect,
    .disconnect = test_source_disconnect,
    .load = test_source_load,
};

/* ------------------------------------------------------------------ fixture --- */

struct test_answer {
    uint64_t id, at_ns;
    enum rondo_outcome outcome;
    enum rondo_err err;
    bool is_stale;
    char text[TEST_TEXT];
};

struct test_cache {
    rondo_runtime *rt;
    rondo_cache *cache;
    struct test_source source;
    struct test_answer answers[TEST_LOG];
    size_t n_answers; /* simulation only: one thread */
};

static inline struct rondo_key test_key(const char *text) {
    return (struct rondo_key){text, strlen(text), 0};
}

static inline struct test_answer test_note(struct rondo_answer *a) {
    struct test_answer t = {.outcome = a->outcome, .err = a->err, .is_stale = a->is_stale};
    size_t len = a->value.len < sizeof t.text - 1 ? a->value.len : sizeof t.text - 1;
    if (len) memcpy(t.text, a->value.data, len);
    rondo_answer_release(a);
    return t;
}

static inline void test_collect(void *arg, uint64_t id, struct rondo_answer *answer) {
    struct test_cache *t = arg;
    RONDO_CHECK(t->n_answers < TEST_LOG);
    struct test_answer *a = &t->answers[t->n_answers++];
    *a = test_note(answer);
    a->id = id;
    a->at_ns = rondo_runtime_now_ns(t->rt);
}

/* Options of a cache with the test source, all jitter off. */
static inline struct rondo_cache_options test_options(struct test_cache *t) {
    return (struct rondo_cache_options){.size = sizeof(struct rondo_cache_options),
                                        .name = "test",
                                        .source = {&test_source_ops, &t->source},
                                        .ttl_jitter_percent = 101};
}

static inline void test_simulate(struct test_cache *t, uint64_t seed) {
    struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
    assert_int_equal(rondo_runtime_new(&o, &t->rt), RONDO_OK);
}

static inline void test_open(struct test_cache *t, const struct rondo_cache_options *o) {
    assert_int_equal(rondo_cache_open(t->rt, o, &t->cache), RONDO_OK);
}

/* A simulated runtime and a cache as `o` says. */
static inline void test_begin(struct test_cache *t, uint64_t seed,
                              const struct rondo_cache_options *o) {
    test_simulate(t, seed);
    test_open(t, o);
}

static inline void test_end(struct test_cache *t) {
    rondo_cache_close(t->cache);
    rondo_runtime_free(t->rt);
}

static inline void test_alarm(rondo_actor *self, void *state, struct rondo_msg *m) {
    rondo_msg_free(m);
    rondo_actor_stop(self);
    rondo_runtime_stop(state);
}

/* Sets the moment at which test_run returns. */
static inline void test_set_alarm(struct test_cache *t, uint64_t ns) {
    rondo_actor *alarm;
    struct rondo_actor_options o = {.size = sizeof o, .receive = test_alarm, .state = t->rt};
    assert_int_equal(rondo_spawn(t->rt, &o, &alarm), RONDO_OK);
    assert_int_equal(rondo_send_after(alarm, rondo_msg_new(1, sizeof(struct rondo_msg)), ns, NULL),
                     RONDO_OK);
    rondo_actor_unref(alarm);
}
static inline void test_run(struct test_cache *t) {
    assert_int_equal(rondo_runtime_run(t->rt), RONDO_OK);
}

/* Lets `ns` of simulated time pass and all that happens in it happen. */
static inline void test_advance(struct test_cache *t, uint64_t ns) {
    test_set_alarm(t, ns);
    test_run(t);
}

/* A read whose completion is collected under `id`. */
static inline enum rondo_outcome test_get_as(struct test_cache *t, const char *key, uint64_t id,
                                             struct test_answer *out, struct rondo_read read) {
    struct rondo_key k = test_key(key);
    struct rondo_answer a = {.outcome = RONDO_PENDING};
    read.done = (struct rondo_completion){.fn = test_collect, .arg = t, .id = id};
    enum rondo_outcome outcome = rondo_cache_get(t->cache, &k, &read, &a);
    if (outcome != RONDO_PENDING) *out = test_note(&a);
    return outcome;
}
static inline enum rondo_outcome test_get(struct test_cache *t, const char *key, uint64_t id,
                                          struct test_answer *out) {
    return test_get_as(t, key, id, out, (struct rondo_read){0});
}

static inline enum rondo_outcome test_put(struct test_cache *t, const char *key, const char *value,
                                          struct rondo_write write) {
    struct rondo_key k = test_key(key);
    struct rondo_answer a = {.outcome = RONDO_PENDING};
    enum rondo_outcome outcome = rondo_cache_put(t->cache, &k, rondo_slice_str(value), &write, &a);
    rondo_answer_release(&a);
    return outcome;
}

static inline bool test_forget(struct test_cache *t, const char *key) {
    struct rondo_key k = test_key(key);
    return rondo_cache_invalidate(t->cache, &k);
}

static inline struct rondo_cache_stats test_stats(struct test_cache *t) {
    struct rondo_cache_stats s;
    rondo_cache_stats(t->cache, &s);
    return s;
}

/* The value in memory, or "" */
static inline struct test_answer test_peek(struct test_cache *t, const char *key) {
    struct rondo_key k = test_key(key);
    struct rondo_answer a;
    (void)rondo_cache_peek(t->cache, &k, NULL, &a);
    return test_note(&a);
}

#endif
