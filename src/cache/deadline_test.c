/* SPDX-License-Identifier: MIT */
#include "cache/deadline.h"

#include "base/hash.h"
#include "base/test.h"

enum { N = 500 };

/* Against a search through all: each comes exactly at its time, those cleared
 * never, and `next` is never late. */
static void test_random_deadlines_come_in_time(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint64_t random = seed, now = rondo_random_below(&random, 100000);
        struct rondo_wheel w;
        struct rondo_deadline d[N];
        bool is_set[N] = {false};
        rondo_wheel_init(&w, now);
        for (unsigned i = 0; i < N; i++) rondo_deadline_init(&d[i]);
        for (int step = 0; step < 300; step++) {
            unsigned i = (unsigned)rondo_random_below(&random, N);
            if (is_set[i]) {
                rondo_deadline_clear(&d[i]);
            } else {
                uint64_t range = UINT64_C(1) << rondo_random_below(&random, 30);
                rondo_deadline_set(&w, &d[i], now + rondo_random_below(&random, range));
            }
            is_set[i] = !is_set[i];
            uint64_t first = UINT64_MAX;
            for (unsigned k = 0; k < N; k++)
                if (is_set[k] && d[k].at_ms < first) first = d[k].at_ms;
            uint64_t next = rondo_wheel_next_ms(&w);
            assert_true(next <= first && (first == UINT64_MAX) == (next == UINT64_MAX));
            now += rondo_random_below(&random, UINT64_C(1) << rondo_random_below(&random, 16));
            struct rondo_list due;
            rondo_list_init(&due);
            rondo_wheel_advance(&w, now, &due);
            RONDO_LIST_FOREACH(&due, node) {
                struct rondo_deadline *hit = RONDO_LIST_ENTRY(node, struct rondo_deadline, link);
                assert_true(is_set[hit - d] && hit->at_ms <= now);
                is_set[hit - d] = false;
                rondo_list_remove(node);
            }
            for (unsigned k = 0; k < N; k++) assert_true(!is_set[k] || d[k].at_ms > now);
        }
    }
}

static void test_what_has_passed_is_due_at_once(void **state) {
    (void)state;
    struct rondo_wheel w;
    struct rondo_deadline d;
    struct rondo_list due;
    rondo_wheel_init(&w, 1000);
    rondo_deadline_init(&d);
    rondo_deadline_set(&w, &d, 5);
    assert_int_equal(rondo_wheel_next_ms(&w), 1001);
    rondo_list_init(&due);
    rondo_wheel_advance(&w, 1001, &due);
    assert_ptr_equal(rondo_list_pop_front(&due), &d.link);
    rondo_deadline_set(&w, &d, UINT64_MAX); /* as far as it goes */
    assert_true(rondo_wheel_next_ms(&w) < UINT64_MAX);
    rondo_deadline_clear(&d);
    rondo_deadline_clear(&d);
    assert_int_equal(rondo_wheel_next_ms(&w), UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_deadlines_come_in_time),
        cmocka_unit_test(test_what_has_passed_is_due_at_once),
    };
    return cmocka_run_group_tests_name("deadline", tests, NULL, NULL);
}
