/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/stat.h"

static void buckets_are_ordered_and_tight(void **state) {
    (void)state;
    for (uint64_t v = 0; v < 100000; v++) {
        unsigned i = rondo_stat_bucket(v);
        assert_true(v <= rondo_stat_upper(i));
        assert_true(i == 0 || v > rondo_stat_upper(i - 1));
        assert_true((double)(rondo_stat_upper(i) - v) <= (double)v / 16.0);
    }
    for (unsigned i = 0; i < RONDO_STAT_BUCKETS; i++)
        assert_int_equal(rondo_stat_bucket(rondo_stat_upper(i)), i);
    assert_int_equal(rondo_stat_bucket(UINT64_MAX), RONDO_STAT_BUCKETS - 1);
}

static void percentiles_are_within_a_bucket(void **state) {
    (void)state;
    static struct rondo_stat s;
    assert_int_equal(rondo_stat_percentile(&s, 50), 0);
    for (uint64_t v = 1; v <= 10000; v++) rondo_stat_add(&s, v * 1000);
    assert_int_equal(s.n, 10000);
    assert_int_equal(s.max, 10000000);
    assert_in_range(rondo_stat_percentile(&s, 50), 5000000, 5320000);
    assert_in_range(rondo_stat_percentile(&s, 99), 9900000, 10000000);
    assert_int_equal(rondo_stat_percentile(&s, 100), 10000000);
    assert_in_range(rondo_stat_percentile(&s, 0), 1000, 1063);
}

static void merging_adds(void **state) {
    (void)state;
    static struct rondo_stat a, b;
    rondo_stat_add(&a, 5);
    rondo_stat_add(&b, 7);
    rondo_stat_add(&b, UINT64_C(1) << 50);
    rondo_stat_merge(&a, &b);
    assert_int_equal(a.n, 3);
    assert_int_equal(a.sum, 12 + (UINT64_C(1) << 50));
    assert_int_equal(a.max, UINT64_C(1) << 50);
    assert_int_equal(rondo_stat_percentile(&a, 0), 5);
    assert_int_equal(rondo_stat_percentile(&a, 50), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_ordered_and_tight),
        cmocka_unit_test(percentiles_are_within_a_bucket),
        cmocka_unit_test(merging_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
