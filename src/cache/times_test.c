/* SPDX-License-Identifier: MIT */
/* Histograms of loads and waits (O1). */
#include "cache/times.h"

#include "cache/fixture.h"

static void test_buckets(void **state) {
    (void)state;
    assert_int_equal(rondo_times_bucket(0), 0);
    assert_int_equal(rondo_times_bucket(999), 0);
    assert_int_equal(rondo_times_bucket(1000), 1);
    assert_int_equal(rondo_times_bucket(1999), 1);
    assert_int_equal(rondo_times_bucket(2000), 2);
    assert_int_equal(rondo_times_bucket(1023999), 10);
    assert_int_equal(rondo_times_bucket(1024000), 11);
    assert_int_equal(rondo_times_bucket(UINT64_MAX), RONDO_TIMES_BUCKETS - 1);
}

static void test_notes_add_up(void **state) {
    (void)state;
    struct rondo_times a = {0}, b = {0};
    rondo_times_note(&a, 1000, 4000);
    rondo_times_note(&a, 4000, 1000); /* no time at all */
    rondo_times_note(&b, 0, 3500);
    rondo_times_merge(&a, &b);
    assert_int_equal(a.count, 3);
    assert_int_equal(a.sum_ns, 6500);
    assert_int_equal(a.buckets[0], 1);
    assert_int_equal(a.buckets[2], 2);
}

static struct test_cache t;

static void test_O1_loads_and_waits_are_timed(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    struct test_answer ignored;
    struct rondo_cache_times times;
    struct rondo_cache_options o = test_options(&t);
    test_begin(&t, 1, &o);
    t.source.delay_ns = 100 * RONDO_MS;
    (void)test_get(&t, "k", 1, &ignored);
    test_advance(&t, 60 * RONDO_MS);
    (void)test_get(&t, "k", 2, &ignored);
    (void)test_get_as(&t, "k", 3, &ignored, (struct rondo_read){.wait_ns = RONDO_MS});
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    (void)test_get(&t, "k", 4, &ignored); /* a hit does not wait */
    rondo_cache_times(t.cache, &times);
    assert_int_equal(times.loads.count, 1);
    assert_int_equal(times.loads.buckets[rondo_times_bucket(100 * RONDO_MS)], 1);
    assert_int_equal(times.waits.count, 3);
    assert_int_equal(times.waits.buckets[rondo_times_bucket(100 * RONDO_MS)], 1);
    assert_int_equal(times.waits.buckets[rondo_times_bucket(40 * RONDO_MS)], 1);
    assert_true(times.waits.sum_ns >= 141 * RONDO_MS && times.waits.sum_ns < 150 * RONDO_MS);
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_notes_add_up),
        cmocka_unit_test(test_O1_loads_and_waits_are_timed),
    };
    return cmocka_run_group_tests_name("times", tests, NULL, NULL);
}
