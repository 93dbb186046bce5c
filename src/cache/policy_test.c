/* SPDX-License-Identifier: MIT */
/* Times to live (T1, T2) and the kinds of writes (W1), simulated. */
#include "cache/fixture.h"

#include "cache/keyspace.h"

static struct test_cache t;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    return 0;
}

static void begin(struct rondo_cache_options o) {
    test_begin(&t, 1, &o);
}

static enum rondo_outcome get(const char *key, uint64_t id) {
    struct test_answer ignored;
    return test_get(&t, key, id, &ignored);
}

static struct test_answer got(const char *key) {
    struct test_answer a = {.outcome = RONDO_PENDING};
    (void)test_get(&t, key, 0, &a);
    return a;
}

static void test_T1_life_counts_from_the_end_of_the_load(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.ttl_ns = 10 * RONDO_SEC;
    begin(o);
    t.source.delay_ns = 5 * RONDO_SEC;
    get("k", 1);
    test_advance(&t, 6 * RONDO_SEC);
    test_advance(&t, 8 * RONDO_SEC);
    assert_string_equal(got("k").text, "k=1");
    test_advance(&t, RONDO_SEC);
    assert_int_equal(get("k", 2), RONDO_PENDING);
    assert_int_equal(test_stats(&t).expired, 1);
    test_advance(&t, 6 * RONDO_SEC);
    test_end(&t);
}

static void test_T1_a_writes_own_time_is_exact(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.ttl_jitter_percent = 50;
    begin(o);
    for (int i = 0; i < 50; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        test_put(&t, key, "v", (struct rondo_write){.ttl_ns = 1000 * RONDO_MS});
    }
    test_advance(&t, 999 * RONDO_MS);
    for (int i = 0; i < 50; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(test_peek(&t, key).outcome, RONDO_VALUE);
    }
    test_advance(&t, RONDO_MS);
    for (int i = 0; i < 50; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(test_peek(&t, key).outcome, RONDO_ABSENT);
    }
    test_end(&t);
}

static void test_T1_jitter_spreads_within_its_bounds(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.ttl_ns = 100 * RONDO_SEC;
    o.ttl_jitter_percent = 20;
    begin(o);
    for (int i = 0; i < 500; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        test_put(&t, key, "v", (struct rondo_write){0});
    }
    test_advance(&t, 79 * RONDO_SEC);
    unsigned left[3] = {0};
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 500; i++) {
            char key[8];
            snprintf(key, sizeof key, "k%d", i);
            left[step] += test_peek(&t, key).outcome == RONDO_VALUE;
        }
        test_advance(&t, 11 * RONDO_SEC);
    }
    assert_int_equal(left[0], 500);
    assert_true(left[1] > 150 && left[1] < 350);
    assert_int_equal(left[2], 0);
    test_end(&t);
}

static void test_T2_the_source_may_give_the_time(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.ttl_from_source = true;
    begin(o);
    t.source.ttl_ns = 2 * RONDO_SEC;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(got("k").outcome, RONDO_VALUE);
    test_advance(&t, 2 * RONDO_SEC);
    assert_int_equal(get("k", 2), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    test_end(&t);
}

static void test_W1_writes_change_memory_alone_or_are_refused(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    begin(o);
    assert_int_equal(test_put(&t, "k", "v", (struct rondo_write){0}), RONDO_VALUE);
    assert_int_equal(t.source.calls, 0);
    test_end(&t);

    setup(NULL);
    o = test_options(&t);
    o.writes = RONDO_WRITES_REFUSE;
    begin(o);
    assert_int_equal(test_put(&t, "k", "v", (struct rondo_write){0}), RONDO_FAILED);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_end(&t);
}

static void test_W1_conditions_look_at_memory(void **state) {
    (void)state;
    begin(test_options(&t));
    struct rondo_write if_absent = {.flags = RONDO_WRITE_IF_ABSENT};
    struct rondo_write if_present = {.flags = RONDO_WRITE_IF_PRESENT};
    assert_int_equal(test_put(&t, "k", "1", if_present), RONDO_ABSENT);
    assert_int_equal(test_put(&t, "k", "1", if_absent), RONDO_VALUE);
    assert_int_equal(test_put(&t, "k", "2", if_absent), RONDO_ABSENT);
    assert_string_equal(test_peek(&t, "k").text, "1");
    test_put(&t, "k", "3", (struct rondo_write){.ttl_ns = 10 * RONDO_SEC});
    test_put(&t, "k", "4", (struct rondo_write){.flags = RONDO_WRITE_KEEP_TTL});
    test_advance(&t, 11 * RONDO_SEC);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_T1_life_counts_from_the_end_of_the_load, setup),
        cmocka_unit_test_setup(test_T1_a_writes_own_time_is_exact, setup),
        cmocka_unit_test_setup(test_T1_jitter_spreads_within_its_bounds, setup),
        cmocka_unit_test_setup(test_T2_the_source_may_give_the_time, setup),
        cmocka_unit_test_setup(test_W1_writes_change_memory_alone_or_are_refused, setup),
        cmocka_unit_test_setup(test_W1_conditions_look_at_memory, setup),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
