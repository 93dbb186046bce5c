/* SPDX-License-Identifier: MIT */
#include "source/backoff.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/test.h"

static const struct rondo_source_error refused = {"connection refused"};

static void test_nothing_failed(void **state) {
    (void)state;
    struct rondo_backoff b;
    struct rondo_source_error why;
    rondo_backoff_init(&b);
    for (int i = 0; i < 3; i++) assert_true(rondo_backoff_may_try(&b, 5, &why));
    rondo_backoff_fini(&b);
}

static void test_a_failure_makes_wait(void **state) {
    (void)state;
    struct rondo_backoff b;
    struct rondo_source_error why;
    rondo_backoff_init(&b);
    assert_true(rondo_backoff_may_try(&b, 0, &why));
    rondo_backoff_failed(&b, 0, &refused);
    assert_false(rondo_backoff_may_try(&b, 19 * RONDO_MS, &why));
    assert_string_equal(why.text, "waiting before the next try: connection refused");
    assert_true(rondo_backoff_may_try(&b, 20 * RONDO_MS, &why));
    assert_false(rondo_backoff_may_try(&b, 20 * RONDO_MS, &why)); /* one at a time */
    rondo_backoff_worked(&b);
    assert_true(rondo_backoff_may_try(&b, 20 * RONDO_MS, &why));
    assert_true(rondo_backoff_may_try(&b, 20 * RONDO_MS, &why));
    rondo_backoff_fini(&b);
}

/* When a try is allowed next, to the millisecond. */
static uint64_t next_try_ms(struct rondo_backoff *b, uint64_t from_ms) {
    struct rondo_source_error why;
    while (!rondo_backoff_may_try(b, from_ms * RONDO_MS, &why)) from_ms++;
    return from_ms;
}

static void test_the_wait_grows_to_a_second(void **state) {
    (void)state;
    static const uint64_t waits[] = {20, 40, 80, 160, 320, 640, 1000, 1000};
    struct rondo_backoff b;
    uint64_t now = 0;
    rondo_backoff_init(&b);
    for (size_t i = 0; i < RONDO_COUNT_OF(waits); i++) {
        rondo_backoff_failed(&b, now * RONDO_MS, &refused);
        uint64_t next = next_try_ms(&b, now);
        assert_int_equal(next - now, waits[i]);
        now = next;
    }
    rondo_backoff_fini(&b);
}

static void test_who_fails_together_counts_once(void **state) {
    (void)state;
    struct rondo_backoff b;
    rondo_backoff_init(&b);
    for (int i = 0; i < 16; i++) rondo_backoff_failed(&b, 0, &refused);
    assert_int_equal(next_try_ms(&b, 0), 20);
    rondo_backoff_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_failed),
        cmocka_unit_test(test_a_failure_makes_wait),
        cmocka_unit_test(test_the_wait_grows_to_a_second),
        cmocka_unit_test(test_who_fails_together_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
