/* SPDX-License-Identifier: MIT */
#include "cache/breaker.h"

#include "base/clock.h"
#include "base/test.h"

static void fail_times(struct rondo_breaker *b, int n, uint64_t now_ns) {
    for (int i = 0; i < n; i++) (void)rondo_breaker_note(b, true, now_ns);
}

static void test_it_opens_after_failures_in_a_row(void **state) {
    (void)state;
    struct rondo_breaker b;
    rondo_breaker_init(&b, 3, RONDO_SEC);
    fail_times(&b, 2, 0);
    assert_false(rondo_breaker_note(&b, false, 0)); /* begins to count again */
    fail_times(&b, 2, 0);
    assert_true(rondo_breaker_passes(&b, 0));
    assert_true(rondo_breaker_note(&b, true, 0));
    assert_true(rondo_breaker_is_open(&b));
    assert_false(rondo_breaker_admits(&b, RONDO_SEC - 1));
    assert_false(rondo_breaker_passes(&b, RONDO_SEC - 1));
}

static void test_one_probe_at_a_time(void **state) {
    (void)state;
    struct rondo_breaker b;
    rondo_breaker_init(&b, 1, RONDO_SEC);
    fail_times(&b, 1, 0);
    assert_true(rondo_breaker_admits(&b, RONDO_SEC));
    assert_true(rondo_breaker_passes(&b, RONDO_SEC));
    assert_false(rondo_breaker_passes(&b, RONDO_SEC));
    assert_true(rondo_breaker_note(&b, false, RONDO_SEC + 5));
    assert_false(rondo_breaker_is_open(&b));
    assert_true(rondo_breaker_passes(&b, RONDO_SEC + 5));
}

static void test_probes_come_ever_more_seldom_up_to_30_s(void **state) {
    (void)state;
    struct rondo_breaker b;
    rondo_breaker_init(&b, 1, RONDO_SEC);
    fail_times(&b, 1, 0);
    static const uint64_t seconds[] = {1, 2, 4, 8, 16, 30, 30};
    uint64_t now_ns = 0;
    for (unsigned i = 0; i < 7; i++) {
        assert_false(rondo_breaker_passes(&b, now_ns + seconds[i] * RONDO_SEC - 1));
        now_ns += seconds[i] * RONDO_SEC;
        assert_true(rondo_breaker_passes(&b, now_ns));
        assert_false(rondo_breaker_note(&b, true, now_ns));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_opens_after_failures_in_a_row),
        cmocka_unit_test(test_one_probe_at_a_time),
        cmocka_unit_test(test_probes_come_ever_more_seldom_up_to_30_s),
    };
    return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
