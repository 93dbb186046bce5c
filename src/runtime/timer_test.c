/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/hash.h"
#include "base/mem.h"
#include "runtime/timer.h"

enum { N = 500 };

static struct rondo_timer *timers_make(struct rondo_timer *t) {
    *t = (struct rondo_timer){.index = RONDO_TIMER_OUT, .refs = 1};
    return t;
}

static void they_come_out_by_deadline_then_age(void **state) {
    (void)state;
    static struct rondo_timer t[N];
    static uint64_t deadlines[N];
    struct rondo_timers ts;
    uint64_t random = 1, last_ns = 0;
    const struct rondo_timer *last = NULL;
    bool first;
    rondo_timers_init(&ts);
    assert_true(rondo_timers_earliest(&ts) == UINT64_MAX);
    for (unsigned i = 0; i < N; i++) {
        deadlines[i] = 1 + rondo_random_below(&random, 100);
        bool is_least = deadlines[i] < rondo_timers_earliest(&ts);
        assert_int_equal(rondo_timers_add(&ts, timers_make(&t[i]), deadlines[i], &first), 0);
        assert_int_equal(first, is_least);
    }
    assert_null(rondo_timers_pop(&ts, rondo_timers_earliest(&ts) - 1));
    for (unsigned i = 0; i < N; i++) {
        uint64_t now_ns = rondo_timers_earliest(&ts);
        struct rondo_timer *next = rondo_timers_pop(&ts, now_ns);
        assert_non_null(next);
        assert_true(deadlines[next - t] == now_ns && now_ns >= last_ns);
        if (now_ns == last_ns) assert_true(next > last);
        last_ns = now_ns;
        last = next;
    }
    assert_null(rondo_timers_pop(&ts, UINT64_MAX));
    rondo_timers_fini(&ts);
}

static void any_can_be_taken_out_exactly_once(void **state) {
    (void)state;
    static struct rondo_timer t[N];
    struct rondo_timers ts;
    uint64_t random = 2;
    unsigned left = N;
    bool first;
    rondo_timers_init(&ts);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(rondo_timers_add(&ts, timers_make(&t[i]),
                                          1 + rondo_random_below(&random, 1000), &first),
                         0);
    for (unsigned i = 0; i < N; i += 2, left--) {
        assert_true(rondo_timers_remove(&ts, &t[i]));
        assert_false(rondo_timers_remove(&ts, &t[i]));
    }
    for (struct rondo_timer *next; (next = rondo_timers_pop(&ts, 2000)); left--) {
        assert_int_equal((next - t) % 2, 1);
        assert_false(rondo_timers_remove(&ts, next));
    }
    assert_int_equal(left, 0);
    rondo_timers_fini(&ts);
}

static void a_periodic_one_stays_and_skips_what_it_missed(void **state) {
    (void)state;
    struct rondo_timer t = {.index = RONDO_TIMER_OUT, .refs = 1, .period_ns = 10};
    struct rondo_timers ts;
    bool first;
    rondo_timers_init(&ts);
    assert_int_equal(rondo_timers_add(&ts, &t, 10, &first), 0);
    assert_ptr_equal(rondo_timers_pop(&ts, 10), &t);
    assert_int_equal(t.refs, 2);
    assert_null(rondo_timers_pop(&ts, 19));
    assert_ptr_equal(rondo_timers_pop(&ts, 47), &t);
    assert_null(rondo_timers_pop(&ts, 49));
    assert_ptr_equal(rondo_timers_pop(&ts, 50), &t);
    assert_true(rondo_timers_remove(&ts, &t));
    rondo_timers_fini(&ts);
}

static void closing_empties_and_refuses(void **state) {
    (void)state;
    static struct rondo_timer t[3];
    struct rondo_timers ts;
    bool first;
    rondo_timers_init(&ts);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rondo_timers_add(&ts, timers_make(&t[i]), i, &first), 0);
    for (unsigned i = 0; i < 3; i++) assert_non_null(rondo_timers_close(&ts));
    assert_null(rondo_timers_close(&ts));
    assert_int_equal(rondo_timers_add(&ts, &t[0], 1, &first), RONDO_ERR_CLOSED);
    rondo_timers_fini(&ts);
}

static void out_of_memory_leaves_the_others(void **state) {
    (void)state;
    static struct rondo_timer t[N];
    struct rondo_timers ts;
    unsigned in = 0, refused = 0;
    bool first;
    rondo_timers_init(&ts);
    for (unsigned i = 0; i < N; i++) {
        rondo_mem_fail_nth(1);
        enum rondo_err err = rondo_timers_add(&ts, timers_make(&t[i]), i, &first);
        rondo_mem_fail_nth(0);
        if (!err) {
            in++;
            continue;
        }
        assert_int_equal(err, RONDO_ERR_NOMEM);
        assert_true(t[i].index == RONDO_TIMER_OUT);
        refused++;
        assert_int_equal(rondo_timers_add(&ts, &t[i], i, &first), 0);
        in++;
    }
    assert_int_equal(in, N);
    assert_true(refused > 1);
    for (unsigned i = 0; i < N; i++) assert_ptr_equal(rondo_timers_pop(&ts, N), &t[i]);
    rondo_timers_fini(&ts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_out_by_deadline_then_age),
        cmocka_unit_test(any_can_be_taken_out_exactly_once),
        cmocka_unit_test(a_periodic_one_stays_and_skips_what_it_missed),
        cmocka_unit_test(closing_empties_and_refuses),
        cmocka_unit_test(out_of_memory_leaves_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
