/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sync.h"
#include "rondo/runtime.h"

static const struct rondo_threads none = {RONDO_THREADS_NONE, 0, 0};

static struct rondo_threads fixed(unsigned n) {
    return (struct rondo_threads){RONDO_THREADS_FIXED, 0, n};
}

static rondo_runtime *new_runtime(struct rondo_threads threads) {
    struct rondo_runtime_options o = {.size = sizeof o, .threads = threads};
    rondo_runtime *rt = NULL;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    return rt;
}

static rondo_actor *spawn(rondo_runtime *rt, rondo_receive_fn receive, void *state) {
    struct rondo_actor_options o = {.size = sizeof o, .receive = receive, .state = state};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send(rondo_actor *a) {
    void *m = rondo_msg_new(1, sizeof(struct rondo_msg));
    RONDO_CHECK(m);
    rondo_send(a, m);
}

static void stop_at_zero(rondo_actor *self, void *state, struct rondo_msg *m) {
    rondo_msg_free(m);
    if (--*(unsigned *)state == 0) rondo_actor_stop(self);
}

static void options_are_checked(void **state) {
    (void)state;
    rondo_runtime *rt = NULL;
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {RONDO_THREADS_RANGE, 1, 2}};
    assert_int_equal(rondo_runtime_new(&o, &rt), RONDO_ERR_INVALID);
    o.threads = fixed(0);
    assert_int_equal(rondo_runtime_new(&o, &rt), RONDO_ERR_INVALID);
    o.threads = fixed(1025);
    assert_int_equal(rondo_runtime_new(&o, &rt), RONDO_ERR_INVALID);
    o = (struct rondo_runtime_options){.size = 0};
    assert_int_equal(rondo_runtime_new(&o, &rt), RONDO_ERR_INVALID);
    assert_null(rt);
    assert_int_equal(rondo_runtime_new(NULL, &rt), 0);
    assert_int_equal(rondo_runtime_workers(rt), rondo_cpu_count());
    struct rondo_actor_options ao = {.size = sizeof ao};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &ao, &a), RONDO_ERR_INVALID);
    ao.receive = stop_at_zero;
    ao.pin = rondo_runtime_workers(rt) + 1;
    assert_int_equal(rondo_spawn(rt, &ao, &a), RONDO_ERR_INVALID);
    ao.size = 0;
    assert_int_equal(rondo_spawn(rt, &ao, &a), RONDO_ERR_INVALID);
    assert_null(a);
    rondo_runtime_free(rt);
    rondo_runtime_free(NULL);
}

static void running_without_actors_returns(void **state) {
    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        rondo_runtime *rt = new_runtime(n ? fixed(n) : none);
        assert_int_equal(rondo_runtime_run(rt), 0);
        assert_int_equal(rondo_runtime_run(rt), 0);
        rondo_runtime_free(rt);
    }
}

static void stop_from_within(rondo_actor *self, void *state, struct rondo_msg *m) {
    ++*(unsigned *)state;
    rondo_msg_free(m);
    rondo_runtime_stop(rondo_actor_runtime(self));
}

static void stop_makes_run_return_and_keeps_actors(void **state) {
    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        unsigned handled = 0;
        rondo_runtime *rt = new_runtime(n ? fixed(n) : none);
        rondo_actor *a = spawn(rt, stop_from_within, &handled);
        for (unsigned i = 1; i <= 3; i++) {
            send(a);
            assert_int_equal(rondo_runtime_run(rt), 0);
            assert_int_equal(handled, i);
        }
        rondo_runtime_stop(rt); /* before run: it returns at once */
        assert_int_equal(rondo_runtime_run(rt), 0);
        rondo_actor_unref(a);
        rondo_runtime_free(rt);
    }
}

static void run_again(rondo_actor *self, void *state, struct rondo_msg *m) {
    *(enum rondo_err *)state = rondo_runtime_run(rondo_actor_runtime(self));
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void running_in_a_turn_is_refused(void **state) {
    (void)state;
    enum rondo_err err = RONDO_OK;
    rondo_runtime *rt = new_runtime(none);
    rondo_actor *a = spawn(rt, run_again, &err);
    send(a);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(err, RONDO_ERR_INVALID);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void post_many(void *arg) {
    for (unsigned i = 0; i < 1000; i++) send(arg);
}

static void other_threads_may_send(void **state) {
    (void)state;
    for (unsigned n = 0; n < 4; n++) {
        unsigned left = 3000;
        struct rondo_thread t[3];
        rondo_runtime *rt = new_runtime(n ? fixed(n) : none);
        rondo_actor *a = spawn(rt, stop_at_zero, &left);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(rondo_thread_start(&t[i], "sender", post_many, a), 0);
        assert_int_equal(rondo_runtime_run(rt), 0);
        for (unsigned i = 0; i < 3; i++) rondo_thread_join(&t[i]);
        assert_int_equal(left, 0);
        rondo_actor_unref(a);
        rondo_runtime_free(rt);
    }
}

/* Whoever sends while the runtime is being freed: the message is dropped. */
static void freeing_while_others_send(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    for (unsigned n = 0; n < 30; n++) {
        unsigned left = UINT32_MAX;
        struct rondo_thread t[2];
        rondo_runtime *rt = new_runtime(n % 3 ? fixed(n % 3) : none);
        rondo_actor *a = spawn(rt, stop_at_zero, &left);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(rondo_thread_start(&t[i], "sender", post_many, a), 0);
        rondo_runtime_free(rt);
        for (unsigned i = 0; i < 2; i++) rondo_thread_join(&t[i]);
        rondo_actor_unref(a);
        assert_int_equal(rondo_mem_live(), live);
    }
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    for (int kind = 0; kind < 3; kind++) {
        struct rondo_runtime_options o = {
            .size = sizeof o, .threads = kind == 1 ? fixed(2) : none, .simulate = kind == 2};
        for (unsigned nth = 1;; nth++) {
            rondo_runtime *rt = NULL;
            rondo_actor *a = NULL;
            unsigned left = 1;
            rondo_mem_fail_nth(nth);
            enum rondo_err err = rondo_runtime_new(&o, &rt);
            struct rondo_actor_options ao = {
                .size = sizeof ao, .receive = stop_at_zero, .state = &left};
            if (!err) err = rondo_spawn(rt, &ao, &a);
            bool failed = rondo_mem_failed();
            rondo_mem_fail_nth(0);
            assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
            rondo_actor_unref(a);
            rondo_runtime_free(rt);
            assert_int_equal(rondo_mem_live(), live);
            if (failed) continue;
            assert_true(nth > 5);
            break;
        }
    }
}

/* ---- a swarm: random topologies, workers and stop orders ---- */

enum { SWARM = 40, MESSAGES = 4000 };

struct swarm {
    rondo_actor *actors[SWARM];
    unsigned sent, freed, budget; /* atomic */
    struct member {
        struct swarm *swarm;
        uint64_t random;
        unsigned is_in_turn, overlaps;
    } members[SWARM];
};

static void swarm_send(struct swarm *s, unsigned to) {
    struct rondo_msg *m = rondo_msg_new(1, sizeof *m);
    RONDO_CHECK(m);
    rondo_add_relaxed(&s->sent, 1);
    rondo_send(s->actors[to], m);
}

static void swarm_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct member *me = state;
    struct swarm *s = me->swarm;
    if (rondo_exchange_acq_rel(&me->is_in_turn, 1)) me->overlaps++;
    unsigned other = (unsigned)rondo_random_below(&me->random, SWARM);
    uint64_t what = rondo_random_below(&me->random, 64);
    if (rondo_sub_relaxed(&s->budget, 1) > MESSAGES * 2 || what == 0) rondo_actor_stop(self);
    if (what == 1) rondo_actor_stop(s->actors[other]);
    if (what < 8) rondo_flush();
    if (what < 16) swarm_send(s, (other + 1) % SWARM);
    if (what < 56) {
        rondo_add_relaxed(&s->sent, 1);
        rondo_send(s->actors[other], m);
    } else {
        rondo_msg_free(m);
        swarm_send(s, other);
    }
    rondo_store_release(&me->is_in_turn, 0); /* pairs with the exchange above */
}

static void swarm_freed(void *state) {
    rondo_add_relaxed(&((struct member *)state)->swarm->freed, 1);
}

static void swarm_run(uint64_t seed) {
    static struct swarm s;
    uint64_t random = seed, live = rondo_mem_live();
    unsigned workers = (unsigned)rondo_random_below(&random, 5), overlaps = 0;
    rondo_runtime *rt = new_runtime(workers ? fixed(workers) : none);
    memset(&s, 0, sizeof s);
    s.budget = MESSAGES;
    for (unsigned i = 0; i < SWARM; i++) {
        s.members[i] = (struct member){.swarm = &s, .random = rondo_random_next(&random)};
        struct rondo_actor_options o = {
            .size = sizeof o,
            .receive = swarm_receive,
            .state = &s.members[i],
            .free_state = swarm_freed,
            .pin = (unsigned)rondo_random_below(&random, rondo_runtime_workers(rt) + 1)};
        assert_int_equal(rondo_spawn(rt, &o, &s.actors[i]), 0);
    }
    unsigned start = 1 + (unsigned)rondo_random_below(&random, 200);
    for (unsigned i = 0; i < start; i++) swarm_send(&s, i % SWARM);
    bool early = rondo_random_below(&random, 4) == 0; /* freed in the middle of it */
    if (!early)
        for (unsigned i = 0; i < SWARM; i++) rondo_actor_stop(s.actors[i]);
    if (!early) assert_int_equal(rondo_runtime_run(rt), 0);
    struct rondo_runtime_stats stats;
    rondo_runtime_stats(rt, &stats);
    rondo_runtime_free(rt);
    for (unsigned i = 0; i < SWARM; i++) {
        overlaps += s.members[i].overlaps;
        rondo_actor_unref(s.actors[i]);
    }
    if (overlaps || s.freed != SWARM || rondo_mem_live() != live ||
        (!early && (stats.handled > s.sent || stats.actors)))
        fail_msg("seed %llu: %u sent, %llu handled, %llu dropped, %u overlaps, %u freed",
                 (unsigned long long)seed, s.sent, (unsigned long long)stats.handled,
                 (unsigned long long)stats.dropped, overlaps, s.freed);
}

static void a_swarm_accounts_for_everything(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) swarm_run(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(running_without_actors_returns),
        cmocka_unit_test(stop_makes_run_return_and_keeps_actors),
        cmocka_unit_test(running_in_a_turn_is_refused),
        cmocka_unit_test(other_threads_may_send),
        cmocka_unit_test(freeing_while_others_send),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(a_swarm_accounts_for_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
