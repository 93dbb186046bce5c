/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/clock.h"
#include "runtime/sizer.h"

/* A pool as the sizer sees it: as many threads as it allows, jobs always queued,
 * and `rate` jobs a second with n threads. */
struct model {
    struct rondo_sizer s;
    uint64_t now_ns;
    unsigned least, most; /* threads seen */
};

static uint64_t per_thread(unsigned n) {
    return n * UINT64_C(1000);
}

/* Threads beyond four get in each other's way, or not at all. */
static uint64_t four_at_once(unsigned n) {
    return (n < 4 ? n : 4) * UINT64_C(1000);
}

static uint64_t thrashing(unsigned n) {
    return n <= 6 ? n * UINT64_C(1000) : UINT64_C(6000) - 300 * (n - 6);
}

static void run(struct model *m, uint64_t (*rate)(unsigned n), uint64_t ns) {
    uint64_t until_ns = m->now_ns + ns;
    while (m->now_ns < until_ns) {
        unsigned n = m->s.cap;
        m->now_ns += RONDO_SEC / rate(n);
        rondo_sizer_done(&m->s, m->now_ns, n, true);
        assert_in_range(m->s.cap, m->s.min, m->s.max);
        if (m->s.cap < m->least) m->least = m->s.cap;
        if (m->s.cap > m->most) m->most = m->s.cap;
    }
}

static struct model model(unsigned min, unsigned max) {
    struct model m = {.now_ns = RONDO_SEC, .least = max};
    rondo_sizer_init(&m.s, min, max);
    assert_int_equal(m.s.cap, max);
    return m;
}

/* The share of 1,000 later windows in which there are `n` threads, in per cent. */
static unsigned share(struct model *m, uint64_t (*rate)(unsigned n), unsigned low, unsigned high) {
    unsigned in = 0;
    for (unsigned i = 0; i < 1000; i++) {
        run(m, rate, 100 * RONDO_MS);
        in += m->s.cap >= low && m->s.cap <= high;
    }
    return in / 10;
}

static void what_scales_keeps_its_threads(void **state) {
    (void)state;
    struct model m = model(1, 16);
    run(&m, per_thread, 30 * RONDO_SEC);
    assert_true(share(&m, per_thread, 16, 16) > 90);
    assert_int_equal(m.least, 12); /* tried, and given up */
}

static void what_does_not_scale_gives_threads_up(void **state) {
    (void)state;
    struct model m = model(1, 16);
    run(&m, four_at_once, 30 * RONDO_SEC);
    assert_true(share(&m, four_at_once, 4, 5) > 90);
}

static void too_many_threads_are_not_kept(void **state) {
    (void)state;
    struct model m = model(2, 16);
    run(&m, thrashing, 60 * RONDO_SEC);
    assert_true(share(&m, thrashing, 5, 7) > 90);
}

static void threads_come_back_when_they_help(void **state) {
    (void)state;
    struct model m = model(1, 16);
    run(&m, four_at_once, 30 * RONDO_SEC);
    run(&m, per_thread, 60 * RONDO_SEC);
    assert_true(share(&m, per_thread, 16, 16) > 90);
}

static void an_idle_pool_forgets(void **state) {
    (void)state;
    struct model m = model(1, 16);
    run(&m, four_at_once, 30 * RONDO_SEC);
    assert_true(m.s.cap < 16);
    rondo_sizer_reset(&m.s);
    assert_int_equal(m.s.cap, 16);
}

static void without_a_queue_nothing_is_tried(void **state) {
    (void)state;
    struct model m = model(1, 16);
    for (unsigned i = 0; i < 100000; i++) {
        m.now_ns += RONDO_MS;
        rondo_sizer_done(&m.s, m.now_ns, 16, i % 100 != 0);
        assert_int_equal(m.s.cap, 16);
    }
}

static void a_fixed_pool_stays(void **state) {
    (void)state;
    struct model m = model(8, 8);
    run(&m, four_at_once, 10 * RONDO_SEC);
    assert_int_equal(m.least, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_scales_keeps_its_threads),
        cmocka_unit_test(what_does_not_scale_gives_threads_up),
        cmocka_unit_test(too_many_threads_are_not_kept),
        cmocka_unit_test(threads_come_back_when_they_help),
        cmocka_unit_test(an_idle_pool_forgets),
        cmocka_unit_test(without_a_queue_nothing_is_tried),
        cmocka_unit_test(a_fixed_pool_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
