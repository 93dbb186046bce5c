/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include "rondo/runtime.h"
#include "runtime/sim.h"

enum { MAX_SEEN = 64 };

struct log {
    unsigned n, stop_at;
    uint32_t types[MAX_SEEN];
    uint64_t at_ns[MAX_SEEN];
};

static void note(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct log *l = state;
    if (l->n < MAX_SEEN) {
        l->types[l->n] = m->type;
        l->at_ns[l->n] = rondo_runtime_now_ns(rondo_actor_runtime(self));
    }
    rondo_msg_free(m);
    if (++l->n == l->stop_at) rondo_actor_stop(self);
}

static rondo_runtime *new_runtime(bool simulate) {
    struct rondo_runtime_options o = {.size = sizeof o,
                                      .threads = {.kind = RONDO_THREADS_FIXED, .max = 2},
                                      .simulate = simulate,
                                      .seed = 5};
    rondo_runtime *rt = NULL;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    return rt;
}

static rondo_actor *spawn(rondo_runtime *rt, struct log *l) {
    struct rondo_actor_options o = {.size = sizeof o, .receive = note, .state = l};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void after(rondo_actor *a, uint32_t type, uint64_t delay_ns, rondo_timer **out) {
    void *m = rondo_msg_new(type, sizeof(struct rondo_msg));
    assert_non_null(m);
    assert_int_equal(rondo_send_after(a, m, delay_ns, out), 0);
}

static void messages_come_at_their_deadlines(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(true);
    struct log l = {.stop_at = 3};
    rondo_actor *a = spawn(rt, &l);
    uint64_t start_ns = rondo_runtime_now_ns(rt);
    after(a, 3, 30 * RONDO_MS, NULL);
    after(a, 1, 10 * RONDO_MS, NULL);
    after(a, 2, 20 * RONDO_MS, NULL);
    assert_int_equal(rondo_runtime_run(rt), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(l.types[i], i + 1);
        assert_true(l.at_ns[i] - start_ns >= (i + 1) * 10 * RONDO_MS);
    }
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void cancelling_says_whether_it_was_sent(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(true);
    struct log l = {0};
    rondo_actor *a = spawn(rt, &l);
    rondo_timer *early, *late, *dropped;
    after(a, 1, RONDO_MS, &early);
    after(a, 2, 2 * RONDO_MS, &late);
    after(a, 3, 3 * RONDO_MS, &dropped);
    rondo_timer_free(dropped); /* runs on */
    while (l.n == 0) assert_true(rondo_sim_step(rt));
    assert_false(rondo_timer_cancel(early));
    assert_true(rondo_timer_cancel(late));
    assert_int_equal(rondo_runtime_run(rt), RONDO_ERR_STALLED);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.types[1], 3);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    rondo_timer_free(NULL);
}

static void a_handle_outlives_its_runtime(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    rondo_runtime *rt = new_runtime(true);
    struct log l = {0};
    rondo_timer *t, *every;
    rondo_actor *a = spawn(rt, &l);
    after(a, 1, RONDO_MS, &t);
    assert_int_equal(rondo_send_every(a, 0, RONDO_MS, &every), 0);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    assert_false(rondo_timer_cancel(t));
    rondo_timer_free(every);
    assert_int_equal(rondo_mem_live(), live);
}

static void ticks_go_on_until_the_actor_stops(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(true);
    struct log l = {.stop_at = 20};
    rondo_actor *a = spawn(rt, &l);
    uint64_t start_ns = rondo_runtime_now_ns(rt);
    assert_int_equal(rondo_send_every(a, 0, RONDO_MS - 1, NULL), RONDO_ERR_INVALID);
    assert_int_equal(rondo_send_every(a, 0, 5 * RONDO_MS, NULL), 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(l.n, 20);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(l.types[i], RONDO_MSG_TICK);
        assert_true(l.at_ns[i] - start_ns >= (i + 1) * 5 * RONDO_MS);
    }
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void an_unhandled_tick_is_not_doubled(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(true);
    struct log l = {0};
    rondo_timer *t;
    rondo_actor *a = spawn(rt, &l);
    assert_int_equal(rondo_send_every(a, 9, RONDO_MS, &t), 0);
    for (unsigned i = 0; i < 50; i++) {
        unsigned before = l.n;
        rondo_sim_advance(rt, 10 * RONDO_MS); /* ten at once are one */
        while (l.n == before) assert_true(rondo_sim_step(rt));
    }
    assert_true(rondo_timer_cancel(t));
    assert_int_equal(rondo_runtime_run(rt), RONDO_ERR_STALLED);
    assert_true(l.n <= 51 + 50); /* one each round, and one while time dawdled */
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void out_of_memory_frees_the_message(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(true);
    struct log l = {.stop_at = 1};
    rondo_actor *a = spawn(rt, &l);
    enum rondo_err err = RONDO_ERR_NOMEM;
    for (unsigned nth = 1; err; nth++) {
        void *m = rondo_msg_new(1, sizeof(struct rondo_msg));
        rondo_mem_fail_nth(nth);
        err = rondo_send_after(a, m, 1, NULL);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!err) assert_true(nth > 2); /* the timer and the heap were failed */
    }
    assert_int_equal(rondo_runtime_run(rt), 0);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

/* On real workers: each timer that could be cancelled stays away, each other one
 * arrives. */
static void cancelling_is_exact_between_threads(void **state) {
    (void)state;
    enum { N = 400 };
    rondo_runtime *rt = new_runtime(false);
    struct log l = {0};
    rondo_actor *a = spawn(rt, &l);
    static rondo_timer *t[N];
    unsigned cancelled = 0;
    for (unsigned i = 0; i < N; i++) after(a, 1, i * 20 * RONDO_US, &t[i]);
    for (unsigned i = 0; i < N; i++) cancelled += rondo_timer_cancel(t[(i * 7) % N]);
    rondo_actor_stop(a); /* what was sent before is handled before */
    assert_int_equal(rondo_runtime_run(rt), 0);
    struct rondo_runtime_stats s;
    rondo_runtime_stats(rt, &s);
    assert_int_equal(cancelled + s.handled + s.dropped, N);
    assert_int_equal(s.handled, l.n);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void a_sleeping_worker_keeps_time(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(false);
    struct log l = {.stop_at = 2};
    rondo_actor *a = spawn(rt, &l);
    uint64_t start_ns = rondo_runtime_now_ns(rt);
    after(a, 2, 5 * RONDO_MS, NULL);
    after(a, 1, 2 * RONDO_MS, NULL); /* from another thread: the wait gets shorter */
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(l.types[0], 1);
    assert_true(l.at_ns[0] - start_ns >= 2 * RONDO_MS);
    assert_true(l.at_ns[1] - start_ns >= 5 * RONDO_MS);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_at_their_deadlines),
        cmocka_unit_test(cancelling_says_whether_it_was_sent),
        cmocka_unit_test(a_handle_outlives_its_runtime),
        cmocka_unit_test(ticks_go_on_until_the_actor_stops),
        cmocka_unit_test(an_unhandled_tick_is_not_doubled),
        cmocka_unit_test(out_of_memory_frees_the_message),
        cmocka_unit_test(cancelling_is_exact_between_threads),
        cmocka_unit_test(a_sleeping_worker_keeps_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
