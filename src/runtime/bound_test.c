/* SPDX-License-Identifier: MIT */
/* Senders that pause, over seeds on rings and random graphs, and on threads. */
#include "base/test.h"

#include "base/atomic.h"
#include "base/hash.h"
#include "runtime/sim.h"

enum { MAX_NODES = 8, HOPS = 60, BOUND = 3, NOTE = 1 };

struct note {
    struct rondo_msg head;
    uint32_t hops;
};

struct graph;

struct node {
    struct graph *g;
    rondo_actor *actor;
    unsigned targets[2];
    unsigned n_targets;
    unsigned handled;               /* its turns only */
    unsigned waiting, most_waiting; /* atomic */
};

struct graph {
    rondo_runtime *rt;
    unsigned n, left; /* left: atomic, notes that still go round */
    struct node nodes[MAX_NODES];
};

static void pass(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct node *node = state;
    struct graph *g = node->g;
    struct note *note = (struct note *)(void *)m;
    rondo_sub_relaxed(&node->waiting, 1);
    (void)self;
    node->handled++;
    if (note->hops == 0) {
        rondo_msg_free(m);
        if (rondo_sub_acq_rel(&g->left, 1) != 1) return;
        for (unsigned i = 0; i < g->n; i++) rondo_actor_stop(g->nodes[i].actor);
        return;
    }
    struct node *to = &g->nodes[node->targets[note->hops % node->n_targets]];
    note->hops--;
    unsigned now = rondo_add_relaxed(&to->waiting, 1) + 1;
    if (now > rondo_load_relaxed(&to->most_waiting)) rondo_store_relaxed(&to->most_waiting, now);
    RONDO_CHECK(rondo_try_send(to->actor, m) == RONDO_OK);
}

static void spawn_all(struct graph *g, uint64_t *random, unsigned bounded_per_cent) {
    for (unsigned i = 0; i < g->n; i++) {
        struct node *node = &g->nodes[i];
        struct rondo_actor_options o = {.size = sizeof o,
                                        .name = "node",
                                        .receive = pass,
                                        .state = node,
                                        .when_full = RONDO_FULL_PAUSE};
        if (rondo_random_below(random, 100) < bounded_per_cent)
            o.bound = 1 + (uint32_t)rondo_random_below(random, BOUND);
        node->g = g;
        node->n_targets = 2;
        node->targets[0] = (i + 1) % g->n; /* a ring, and something across */
        node->targets[1] = (unsigned)rondo_random_below(random, g->n);
        assert_int_equal(rondo_spawn(g->rt, &o, &node->actor), 0);
    }
}

static void run_graph(const struct rondo_runtime_options *o, uint64_t seed, unsigned bounded) {
    uint64_t random = seed;
    struct graph g = {.n = 1 + (unsigned)rondo_random_below(&random, MAX_NODES)};
    struct rondo_runtime_stats s;
    unsigned n_notes = 1 + (unsigned)rondo_random_below(&random, 40);
    assert_int_equal(rondo_runtime_new(o, &g.rt), 0);
    spawn_all(&g, &random, bounded);
    g.left = n_notes;
    for (unsigned i = 0; i < n_notes; i++) {
        struct note *note = rondo_msg_new(NOTE, sizeof *note);
        struct node *to = &g.nodes[rondo_random_below(&random, g.n)];
        assert_non_null(note);
        note->hops = HOPS;
        rondo_add_relaxed(&to->waiting, 1);
        rondo_send(to->actor, note); /* passes every bound */
    }
    if (rondo_runtime_run(g.rt)) fail_msg("stalled; seed %llu", (unsigned long long)seed);
    rondo_runtime_stats(g.rt, &s);
    unsigned handled = 0;
    for (unsigned i = 0; i < g.n; i++) {
        handled += g.nodes[i].handled;
        rondo_actor_unref(g.nodes[i].actor);
    }
    rondo_runtime_free(g.rt);
    assert_int_equal(handled, n_notes * (HOPS + 1));
    assert_int_equal(s.dropped, 0);
}

static void every_cycle_drains(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
        run_graph(&o, seed, seed % 3 ? 100 : 50);
    }
}

static void cycles_drain_on_threads(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rondo_runtime_options o = {
            .size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, 1 + (unsigned)(seed % 3)}};
        run_graph(&o, seed, 80);
    }
}

/* ---- a producer, a consumer ---- */

enum { ITEMS = 2000 };

struct flow {
    rondo_actor *consumer;
    unsigned sent, got, most;
    bool stops_early;
    enum rondo_err last;
};

static void produce(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct flow *f = state;
    void *item = rondo_msg_new(NOTE, sizeof(struct rondo_msg));
    RONDO_CHECK(item);
    f->last = rondo_try_send(f->consumer, item);
    if (f->last) rondo_msg_free(item);
    unsigned waiting = ++f->sent - rondo_load_relaxed(&f->got);
    if (waiting > f->most) f->most = waiting;
    if (f->sent < ITEMS && !f->last) {
        rondo_send(self, m);
        return;
    }
    rondo_msg_free(m);
    rondo_actor_stop(f->consumer);
    rondo_actor_stop(self);
}

static void consume(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct flow *f = state;
    rondo_msg_free(m);
    unsigned got = rondo_add_relaxed(&f->got, 1) + 1;
    if (f->stops_early && got == 100) rondo_actor_stop(self);
}

static void run_flow(const struct rondo_runtime_options *o, struct flow *f) {
    rondo_runtime *rt;
    rondo_actor *producer;
    struct rondo_actor_options p = {.size = sizeof p, .receive = produce, .state = f};
    struct rondo_actor_options c = {.size = sizeof c,
                                    .receive = consume,
                                    .state = f,
                                    .bound = BOUND,
                                    .when_full = RONDO_FULL_PAUSE};
    assert_int_equal(rondo_runtime_new(o, &rt), 0);
    assert_int_equal(rondo_spawn(rt, &c, &f->consumer), 0);
    assert_int_equal(rondo_spawn(rt, &p, &producer), 0);
    void *m = rondo_msg_new(NOTE, sizeof(struct rondo_msg));
    assert_non_null(m);
    rondo_send(producer, m);
    assert_int_equal(rondo_runtime_run(rt), 0);
    rondo_actor_unref(producer);
    rondo_actor_unref(f->consumer);
    rondo_runtime_free(rt);
}

static void a_producer_is_kept_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
        struct flow f = {0};
        run_flow(&o, &f);
        assert_int_equal(f.got, ITEMS);
        assert_true(f.most <= BOUND);
        assert_true(f.most > 1);
    }
}

static void a_consumer_that_stops_lets_its_waiters_go(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
        struct flow f = {.stops_early = true};
        run_flow(&o, &f);
        assert_int_equal(f.got, 100);
        assert_int_equal(f.last, RONDO_ERR_CLOSED);
    }
}

static void threads_are_refused(void **state) {
    (void)state;
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {.kind = RONDO_THREADS_NONE}};
    struct rondo_actor_options c = {
        .size = sizeof c, .receive = consume, .bound = BOUND, .when_full = RONDO_FULL_PAUSE};
    rondo_runtime *rt;
    rondo_actor *a;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    assert_int_equal(rondo_spawn(rt, &c, &a), 0);
    for (unsigned i = 0; i <= BOUND; i++) {
        void *m = rondo_msg_new(NOTE, sizeof(struct rondo_msg));
        enum rondo_err err = rondo_try_send(a, m);
        assert_int_equal(err, i < BOUND ? RONDO_OK : RONDO_ERR_FULL);
        if (err) rondo_msg_free(m);
    }
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    c.when_full = (enum rondo_when_full)7;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    assert_int_equal(rondo_spawn(rt, &c, &a), RONDO_ERR_INVALID);
    rondo_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cycle_drains),
        cmocka_unit_test(cycles_drain_on_threads),
        cmocka_unit_test(a_producer_is_kept_back),
        cmocka_unit_test(a_consumer_that_stops_lets_its_waiters_go),
        cmocka_unit_test(threads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
