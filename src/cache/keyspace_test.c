/* SPDX-License-Identifier: MIT */
/* Keyspaces, options that are refused, and budgets. */
#include "cache/fixture.h"

#include "cache/keyspace.h"

static struct test_cache t;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    return 0;
}

/* --------------------------------------------------------------- keyspaces --- */

static struct test_answer load_of(rondo_keyspace *ks, const char *key) {
    struct rondo_key k = test_key(key);
    struct rondo_answer a;
    rondo_cache *cache = rondo_keyspace_route(ks, rondo_slice_str(key));
    struct rondo_read read = {.done = {.fn = test_collect, .arg = &t}};
    if (rondo_cache_get(cache, &k, &read, &a) != RONDO_PENDING) return test_note(&a);
    test_advance(&t, RONDO_SEC);
    return t.answers[t.n_answers - 1];
}

static void test_K3_unclaimed_keys_are_plain_memory(void **state) {
    (void)state;
    test_simulate(&t, 1);
    rondo_keyspace *ks;
    assert_int_equal(rondo_keyspace_new(t.rt, NULL, &ks), RONDO_OK);
    struct rondo_cache_options o = test_options(&t);
    o.keyspace = ks;
    o.pattern = "user:{id}";
    rondo_cache *users, *other;
    assert_int_equal(rondo_cache_open(t.rt, &o, &users), RONDO_OK);
    assert_int_equal(rondo_cache_open(t.rt, &o, &other), RONDO_ERR_EXISTS); /* the name */
    o.name = "again";
    assert_int_equal(rondo_cache_open(t.rt, &o, &other), RONDO_ERR_EXISTS); /* the keys */
    assert_ptr_equal(rondo_keyspace_find(ks, "test"), users);
    assert_ptr_equal(rondo_keyspace_cache(ks, 1), users);
    assert_null(rondo_keyspace_cache(ks, 2));

    assert_string_equal(load_of(ks, "user:1").text, "user:1=1");
    assert_int_equal(load_of(ks, "else").outcome, RONDO_ABSENT);
    rondo_cache *plain = rondo_keyspace_route(ks, rondo_slice_str("else"));
    assert_string_equal(rondo_cache_name(plain), "default");
    struct rondo_key k = test_key("else");
    struct rondo_answer a;
    assert_int_equal(rondo_cache_put(plain, &k, rondo_slice_str("v"), NULL, &a), RONDO_VALUE);
    test_advance(&t, 100000 * RONDO_SEC); /* no time to live of its own */
    assert_string_equal(load_of(ks, "else").text, "v");
    k.space = 3;
    assert_int_equal(rondo_cache_peek(plain, &k, NULL, &a), RONDO_ABSENT);
    assert_int_equal(rondo_keyspace_size(ks, 0), 2);
    assert_int_equal(rondo_keyspace_size(ks, 3), 0);
    rondo_keyspace_free(ks);
    rondo_runtime_free(t.rt);
    assert_int_equal(t.source.closes, 1);
}

static void test_K3_unmatched_keys_may_be_refused(void **state) {
    (void)state;
    test_simulate(&t, 1);
    rondo_keyspace *ks;
    struct rondo_keyspace_options o = {.size = sizeof o, .refuse_unmatched = true, .shards = 1};
    assert_int_equal(rondo_keyspace_new(t.rt, &o, &ks), RONDO_OK);
    assert_null(rondo_keyspace_route(ks, rondo_slice_str("else")));
    rondo_keyspace_free(ks);
    o.shards = 3;
    assert_int_equal(rondo_keyspace_new(t.rt, &o, &ks), RONDO_ERR_INVALID);
    rondo_runtime_free(t.rt);
}

static void test_a_key_of_another_pattern_is_refused(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.pattern = "user:{id}";
    test_begin(&t, 1, &o);
    struct test_answer a = {0};
    assert_int_equal(test_get(&t, "order:1", 1, &a), RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_INVALID);
    test_end(&t);
}

static void test_bad_options_are_refused(void **state) {
    (void)state;
    test_simulate(&t, 1);
    struct rondo_cache_options o = test_options(&t);
    rondo_cache *cache;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        o = test_options(&t);                                                                      \
        change;                                                                                    \
        assert_int_equal(rondo_cache_open(t.rt, &o, &cache), RONDO_ERR_INVALID);                   \
    } while (0)
    REFUSED(o.size = 8);
    REFUSED(o.name = "");
    REFUSED(o.pattern = "user:{id");
    REFUSED(o.ttl_jitter_percent = 102);
    REFUSED(o.refresh_ahead_percent = 100);
    REFUSED(o.threads = ((struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 0}));
    REFUSED(o.threads = ((struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 1025}));
    REFUSED(o.threads = ((struct rondo_threads){.kind = RONDO_THREADS_RANGE, .min = 3, .max = 2}));

    REFUSED(o.miss_memory_percent = 101);
    assert_int_equal(t.source.closes, 0); /* still the caller's */
    rondo_runtime_free(t.rt);
}

/* ----------------------------------------------------------------- budgets --- */

static void fill(rondo_cache *cache, const char *prefix, int n, size_t len) {
    char *value = calloc(1, len);
    for (int i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s%d", prefix, i);
        struct rondo_key k = test_key(key);
        struct rondo_answer a;
        (void)rondo_cache_put(cache, &k, rondo_slice_of(value, len), NULL, &a);
        rondo_answer_release(&a);
    }
    free(value);
}

static uint64_t used(const rondo_keyspace *ks) {
    return ks->shards.budget.used;
}

static void test_the_budget_holds_under_a_flood(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.memory_bytes = 2 << 20;
    test_begin(&t, 1, &o);
    static const size_t lens[] = {10, 100, 1000, 5000, 100000, 1500000};
    for (size_t i = 0; i < RONDO_COUNT_OF(lens); i++) {
        fill(t.cache, "k", (int)(20000000 / (lens[i] + 1000)), lens[i]);
        assert_true(used(t.cache->ks) <= 2 << 20);
    }
    assert_true(test_stats(&t).evicted > 1000);
    assert_int_equal(test_stats(&t).entries, rondo_keyspace_size(t.cache->ks, 0));
    /* What cannot fit is refused at once and pushes nothing out. */
    uint64_t evicted = test_stats(&t).evicted;
    struct rondo_key k = test_key("huge");
    struct rondo_answer a;
    char *value = calloc(1, 3 << 20);
    assert_int_equal(rondo_cache_put(t.cache, &k, rondo_slice_of(value, 3 << 20), NULL, &a),
                     RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_TOO_LARGE);
    rondo_answer_release(&a);
    free(value);
    assert_int_equal(test_stats(&t).evicted, evicted);
    test_end(&t);
}

static void test_a_loaded_value_that_cannot_fit_is_answered_not_stored(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.memory_bytes = 1 << 20;
    t.source.value_len = 2 << 20;
    test_begin(&t, 1, &o);
    struct test_answer ignored;
    assert_int_equal(test_get(&t, "k", 1, &ignored), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[0].outcome, RONDO_VALUE);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_end(&t);
}

static void test_max_value_refuses(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.max_value_bytes = 100;
    t.source.value_len = 101;
    test_begin(&t, 1, &o);
    struct test_answer ignored;
    (void)test_get(&t, "k", 1, &ignored);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[0].outcome, RONDO_FAILED);
    assert_int_equal(t.answers[0].err, RONDO_ERR_LOAD);
    test_end(&t);
}

static void test_a_caches_own_budget_spares_the_others(void **state) {
    (void)state;
    test_simulate(&t, 1);
    rondo_keyspace *ks;
    struct rondo_keyspace_options k = {.size = sizeof k, .memory_bytes = 8 << 20};
    assert_int_equal(rondo_keyspace_new(t.rt, &k, &ks), RONDO_OK);
    struct rondo_cache_options o = {
        .size = sizeof o, .name = "small", .pattern = "s{x}", .keyspace = ks};
    o.memory_bytes = 1 << 20;
    rondo_cache *small;
    assert_int_equal(rondo_cache_open(t.rt, &o, &small), RONDO_OK);
    fill(rondo_keyspace_cache(ks, 0), "other", 1000, 100);
    fill(small, "s", 50000, 100);
    struct rondo_cache_stats s;
    rondo_cache_stats(small, &s);
    assert_true(s.bytes <= 1 << 20);
    assert_true(s.bytes > 900000);
    rondo_cache_stats(rondo_keyspace_cache(ks, 0), &s);
    assert_int_equal(s.entries, 1000);
    rondo_keyspace_free(ks);
    rondo_runtime_free(t.rt);
}

static void test_memory_returns_to_where_it_was(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.miss_ttl_ns = 1000 * RONDO_SEC;
    o.memory_bytes = 1 << 20;
    test_begin(&t, 1, &o);
    assert_int_equal(used(t.cache->ks), 0);
    fill(t.cache, "k", 20000, 50);
    fill(t.cache, "big", 100, 5000);
    t.source.is_absent = true;
    struct test_answer ignored;
    for (int i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof key, "absent%d", i);
        (void)test_get(&t, key, 1, &ignored);
    }
    assert_true(test_stats(&t).waiting == 100);
    test_advance(&t, RONDO_SEC);
    rondo_keyspace_flush(t.cache->ks, RONDO_ALL_SPACES);
    assert_int_equal(used(t.cache->ks), 0);
    assert_int_equal(test_stats(&t).bytes, 0);
    assert_int_equal(test_stats(&t).entries, 0);
    assert_int_equal(t.cache->policy.negative.used, 0);
    fill(t.cache, "k", 1000, 50);
    rondo_keyspace_flush(t.cache->ks, 0);
    assert_int_equal(test_stats(&t).entries, 0);
    assert_int_equal(rondo_keyspace_size(t.cache->ks, 0), 0);
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_K3_unclaimed_keys_are_plain_memory, setup),
        cmocka_unit_test_setup(test_K3_unmatched_keys_may_be_refused, setup),
        cmocka_unit_test_setup(test_a_key_of_another_pattern_is_refused, setup),
        cmocka_unit_test_setup(test_bad_options_are_refused, setup),
        cmocka_unit_test_setup(test_the_budget_holds_under_a_flood, setup),
        cmocka_unit_test_setup(test_a_loaded_value_that_cannot_fit_is_answered_not_stored, setup),
        cmocka_unit_test_setup(test_max_value_refuses, setup),
        cmocka_unit_test_setup(test_a_caches_own_budget_spares_the_others, setup),
        cmocka_unit_test_setup(test_memory_returns_to_where_it_was, setup),
    };
    return cmocka_run_group_tests_name("keyspace", tests, NULL, NULL);
}
