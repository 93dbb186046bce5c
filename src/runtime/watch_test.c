/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/mem.h"
#include "rondo/runtime.h"
#include "runtime/sim.h"

enum { WATCHERS = 100 };

struct seen {
    rondo_actor *target, *actor;
    unsigned downs, others, others_at_down, frees_at_down, stop_at;
    enum rondo_down_reason reason;
};

static unsigned n_freed; /* states of targets; one thread or at rest */

static void watch_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct seen *s = state;
    if (m->type == RONDO_MSG_DOWN) {
        struct rondo_down *d = (struct rondo_down *)(void *)m;
        s->downs++;
        s->reason = d->reason;
        s->actor = d->actor;
        s->others_at_down = s->others;
        s->frees_at_down = n_freed;
    } else {
        s->others++;
    }
    rondo_msg_free(m);
    if (s->downs == s->stop_at) rondo_actor_stop(self);
}

/* Sends something to its watcher, then stops when told to. */
struct target {
    rondo_actor *watcher;
    bool stops_itself;
};

static void target_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct target *t = state;
    rondo_send(t->watcher, m);
    if (t->stops_itself) rondo_actor_stop(self);
}

static void target_free(void *state) {
    (void)state;
    n_freed++;
}

static rondo_runtime *new_runtime(uint64_t seed, unsigned threads) {
    struct rondo_runtime_options o = {.size = sizeof o,
                                      .threads = {RONDO_THREADS_FIXED, 0, threads},
                                      .simulate = threads == 0,
                                      .seed = seed};
    rondo_runtime *rt = NULL;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    n_freed = 0;
    return rt;
}

static rondo_actor *spawn(rondo_runtime *rt, rondo_receive_fn receive, void *state,
                          void (*free_state)(void *)) {
    struct rondo_actor_options o = {
        .size = sizeof o, .receive = receive, .state = state, .free_state = free_state};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send(rondo_actor *a) {
    void *m = rondo_msg_new(1, sizeof(struct rondo_msg));
    assert_non_null(m);
    rondo_send(a, m);
}

static void run_reason(uint64_t seed, unsigned threads, bool itself) {
    rondo_runtime *rt = new_runtime(seed, threads);
    struct seen s = {.stop_at = 1};
    rondo_actor *watcher = spawn(rt, watch_receive, &s, NULL);
    struct target t = {watcher, itself};
    rondo_actor *target = spawn(rt, target_receive, &t, target_free);
    assert_int_equal(rondo_actor_monitor(watcher, target, NULL), 0);
    send(target);
    if (!itself) rondo_actor_stop(target);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(s.downs, 1);
    assert_ptr_equal(s.actor, target);
    assert_int_equal(s.reason, itself ? RONDO_DOWN_SELF : RONDO_DOWN_STOPPED);
    assert_int_equal(s.others_at_down, 1); /* what it had sent came before */
    assert_int_equal(s.frees_at_down, 1);
    rondo_actor_unref(watcher);
    rondo_actor_unref(target);
    rondo_runtime_free(rt);
}

static void a_watcher_hears_why(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) run_reason(seed, 0, seed % 2);
    for (unsigned threads = 1; threads < 4; threads++) run_reason(0, threads, threads % 2);
}

static void a_stopped_target_is_told_at_once(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(1, 0);
    struct seen s = {.stop_at = 1};
    struct target t = {NULL, false};
    rondo_actor *target = spawn(rt, target_receive, &t, target_free);
    rondo_actor_stop(target);
    assert_int_equal(rondo_runtime_run(rt), 0);
    rondo_actor *watcher = spawn(rt, watch_receive, &s, NULL);
    assert_int_equal(rondo_actor_monitor(watcher, target, NULL), 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(s.downs, 1);
    assert_int_equal(s.reason, RONDO_DOWN_GONE);
    struct rondo_runtime_stats stats;
    rondo_runtime_stats(rt, &stats);
    assert_int_equal(stats.dropped, 0); /* a monitor is no message of the program */
    rondo_actor_unref(watcher);
    rondo_actor_unref(target);
    rondo_runtime_free(rt);
}

static void many_watchers_hear_once_each(void **state) {
    (void)state;
    static struct seen s[WATCHERS];
    rondo_actor *watchers[WATCHERS];
    rondo_runtime *rt = new_runtime(2, 2);
    struct target t = {NULL, false};
    rondo_actor *target = spawn(rt, target_receive, &t, target_free);
    for (unsigned i = 0; i < WATCHERS; i++) {
        s[i] = (struct seen){.stop_at = 2};
        watchers[i] = spawn(rt, watch_receive, &s[i], NULL);
        for (unsigned k = 0; k < 2; k++)
            assert_int_equal(rondo_actor_monitor(watchers[i], target, NULL), 0);
    }
    rondo_actor_stop(target);
    assert_int_equal(rondo_runtime_run(rt), 0);
    for (unsigned i = 0; i < WATCHERS; i++) {
        assert_int_equal(s[i].downs, 2); /* two monitors, two messages */
        rondo_actor_unref(watchers[i]);
    }
    rondo_actor_unref(target);
    rondo_runtime_free(rt);
}

static void an_ended_monitor_is_silent(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint64_t live = rondo_mem_live();
        rondo_runtime *rt = new_runtime(seed, 0);
        struct seen s = {0};
        rondo_watch *early, *late, *kept;
        struct target t = {NULL, false};
        rondo_actor *watcher = spawn(rt, watch_receive, &s, NULL);
        rondo_actor *target = spawn(rt, target_receive, &t, target_free);
        s.stop_at = 100;
        assert_int_equal(rondo_actor_monitor(watcher, target, &early), 0);
        assert_int_equal(rondo_actor_monitor(watcher, target, &late), 0);
        assert_int_equal(rondo_actor_monitor(watcher, target, &kept), 0);
        rondo_watch_free(kept);
        rondo_watch_free(NULL);
        for (uint64_t i = 0; i < seed % 5; i++) (void)rondo_sim_step(rt);
        assert_true(rondo_actor_demonitor(early));
        rondo_actor_stop(target);
        assert_int_equal(rondo_runtime_run(rt), RONDO_ERR_STALLED);
        assert_int_equal(s.downs, 2);
        assert_false(rondo_actor_demonitor(late));
        rondo_actor_unref(target);
        rondo_actor_unref(watcher);
        rondo_runtime_free(rt);
        assert_int_equal(rondo_mem_live(), live);
    }
}

static void a_runtime_that_goes_leaks_no_monitor(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    rondo_runtime *rt = new_runtime(3, 0);
    struct seen s = {.stop_at = 100};
    rondo_watch *w;
    rondo_actor *watcher = spawn(rt, watch_receive, &s, NULL);
    struct target t = {watcher, false};
    rondo_actor *target = spawn(rt, target_receive, &t, target_free);
    assert_int_equal(rondo_actor_monitor(watcher, target, NULL), 0);
    assert_int_equal(rondo_actor_monitor(target, watcher, &w), 0);
    for (unsigned i = 0; i < 3; i++) (void)rondo_sim_step(rt);
    assert_int_equal(rondo_actor_monitor(watcher, target, NULL), 0);
    rondo_actor_unref(watcher);
    rondo_actor_unref(target);
    rondo_runtime_free(rt);
    assert_int_equal(s.downs, 0);
    (void)rondo_actor_demonitor(w);
    assert_int_equal(rondo_mem_live(), live);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(4, 0);
    struct seen s = {.stop_at = 1};
    rondo_watch *w = NULL;
    rondo_actor *a = spawn(rt, watch_receive, &s, NULL);
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_actor_monitor(a, a, &w), RONDO_ERR_NOMEM);
    rondo_mem_fail_nth(0);
    assert_null(w);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watcher_hears_why),
        cmocka_unit_test(a_stopped_target_is_told_at_once),
        cmocka_unit_test(many_watchers_hear_once_each),
        cmocka_unit_test(an_ended_monitor_is_silent),
        cmocka_unit_test(a_runtime_that_goes_leaks_no_monitor),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
