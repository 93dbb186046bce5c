/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/hash.h"
#include "base/mem.h"
#include "runtime/sim.h"

enum { SEEDS = 200, NODES = 7, ROUNDS = 20, TOKENS = 3 };

static rondo_runtime *new_sim(uint64_t seed) {
    struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
    rondo_runtime *rt = NULL;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    return rt;
}

/* ---- a ring whose tokens are counted at every node ---- */

enum { TOKEN = 1, STOP };

struct token {
    struct rondo_msg head;
    unsigned origin, hops;
};

struct ring {
    struct node {
        struct ring *ring;
        rondo_actor *next;
        unsigned id, seen;
    } nodes[NODES];
    rondo_actor *actors[NODES];
    unsigned running, deliveries, wrong;
};

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct node *n = state;
    struct ring *r = n->ring;
    struct token *t = (struct token *)(void *)m;
    if (m->type == STOP) {
        rondo_actor_stop(self);
        rondo_send(n->next, m);
        return;
    }
    if ((t->origin + t->hops) % NODES != n->id) r->wrong++;
    if (t->hops > 0) r->deliveries++;
    if (t->hops < NODES * ROUNDS) {
        t->hops++;
        n->seen++;
        rondo_send(n->next, t);
    } else if (--r->running == 0) {
        m->type = STOP;
        rondo_send(n->next, m);
    } else {
        rondo_msg_free(m);
    }
}

static uint64_t run_ring(uint64_t seed, unsigned tokens) {
    struct ring r = {.running = tokens};
    rondo_runtime *rt = new_sim(seed);
    for (unsigned i = 0; i < NODES; i++) {
        r.nodes[i].ring = &r;
        r.nodes[i].id = i;
        struct rondo_actor_options o = {.size = sizeof o, .receive = receive, .state = &r.nodes[i]};
        assert_int_equal(rondo_spawn(rt, &o, &r.actors[i]), 0);
    }
    for (unsigned i = 0; i < NODES; i++) r.nodes[i].next = r.actors[(i + 1) % NODES];
    for (unsigned i = 0; i < tokens; i++) {
        struct token *t = rondo_msg_new(TOKEN, sizeof *t);
        assert_non_null(t);
        t->origin = i * NODES / tokens;
        rondo_send(r.actors[t->origin], t);
    }
    if (rondo_runtime_run(rt)) fail_msg("seed %llu stalls", (unsigned long long)seed);
    struct rondo_runtime_stats s;
    rondo_runtime_stats(rt, &s);
    if (r.wrong || r.deliveries != NODES * ROUNDS * tokens || s.dropped != 1)
        fail_msg("seed %llu: %u deliveries, %u wrong", (unsigned long long)rondo_sim_seed(rt),
                 r.deliveries, r.wrong);
    uint64_t trace = rondo_sim_trace(rt) + rondo_sim_steps(rt);
    for (unsigned i = 0; i < NODES; i++) rondo_actor_unref(r.actors[i]);
    rondo_runtime_free(rt);
    return trace;
}

static void a_ring_loses_and_doubles_no_token(void **state) {
    (void)state;
    unsigned same = 0;
    uint64_t before = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t trace = run_ring(seed, 1 + (unsigned)seed % TOKENS);
        assert_true(trace == run_ring(seed, 1 + (unsigned)seed % TOKENS));
        same += trace == before;
        before = trace;
    }
    assert_int_equal(same, 0); /* another seed, another run */
}

/* ---- actors that stop in random orders ---- */

enum { CROWD = 12 };

struct crowd {
    uint64_t random;
    rondo_actor *actors[CROWD];
    unsigned sent, freed, stopped[CROWD];
};

static void send_one(struct crowd *c, unsigned to) {
    struct rondo_msg *m = rondo_msg_new(1, sizeof *m);
    if (!m) return;
    c->sent++;
    rondo_send(c->actors[to], m);
}

static void mingle(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct crowd *c = state;
    unsigned other = (unsigned)rondo_random_below(&c->random, CROWD);
    switch (rondo_random_below(&c->random, 10)) {
    case 0:
        rondo_actor_stop(self);
        break;
    case 1:
        rondo_actor_stop(c->actors[other]);
        break;
    case 2:
        rondo_flush();
        break;
    case 3:
        c->sent++;
        rondo_send(c->actors[other], m);
        return;
    default:
        send_one(c, other);
        break;
    }
    rondo_msg_free(m);
}

static void count_freed(void *state) {
    ((struct crowd *)state)->freed++;
}

static void every_message_is_handled_or_dropped(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t live = rondo_mem_live();
        struct crowd c = {.random = seed};
        rondo_runtime *rt = new_sim(seed);
        struct rondo_actor_options o = {
            .size = sizeof o, .receive = mingle, .state = &c, .free_state = count_freed};
        for (unsigned i = 0; i < CROWD; i++) assert_int_equal(rondo_spawn(rt, &o, &c.actors[i]), 0);
        for (unsigned i = 0; i < CROWD * 3; i++) send_one(&c, i % CROWD);
        enum rondo_err err = rondo_runtime_run(rt);
        struct rondo_runtime_stats s;
        rondo_runtime_stats(rt, &s);
        if (err && (err != RONDO_ERR_STALLED || s.actors == 0))
            fail_msg("seed %llu: %s", (unsigned long long)seed, rondo_err_text(err));
        if (s.handled + s.dropped != c.sent)
            fail_msg("seed %llu: %u sent, %llu handled, %llu dropped", (unsigned long long)seed,
                     c.sent, (unsigned long long)s.handled, (unsigned long long)s.dropped);
        rondo_runtime_free(rt);
        assert_int_equal(c.freed, CROWD);
        for (unsigned i = 0; i < CROWD; i++) rondo_actor_unref(c.actors[i]);
        assert_int_equal(rondo_mem_live(), live);
    }
}

/* ---- pools and time ---- */

struct task {
    struct rondo_job job;
    rondo_runtime *rt;
    rondo_actor *to;
    uint64_t sleep_ns, ran_at_ns, done_at_ns;
    enum rondo_err err;
    unsigned done;
};

static void task_run(struct rondo_job *job, void *thread) {
    struct task *t = (struct task *)(void *)job;
    (void)thread;
    t->ran_at_ns = rondo_runtime_now_ns(t->rt);
    if (rondo_job_sleep(t->sleep_ns)) t->sleep_ns = 0;
}

static void task_done(struct rondo_job *job, enum rondo_err err) {
    struct task *t = (struct task *)(void *)job;
    t->done++;
    t->err = err;
    t->done_at_ns = rondo_runtime_now_ns(t->rt);
    if (!err) rondo_send(t->to, rondo_msg_new(1, sizeof(struct rondo_msg)));
}

static void count_down(rondo_actor *self, void *state, struct rondo_msg *m) {
    rondo_msg_free(m);
    if (--*(unsigned *)state == 0) rondo_actor_stop(self);
}

static rondo_pool *new_pool(rondo_runtime *rt, unsigned threads) {
    struct rondo_pool_options o = {
        .size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, threads}, .queue = 10};
    rondo_pool *p = NULL;
    assert_int_equal(rondo_pool_new(rt, &o, &p), 0);
    return p;
}

static void jobs_take_fake_time_on_few_threads(void **state) {
    (void)state;
    enum { JOBS = 10, THREADS = 5 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static struct task t[JOBS + 1];
        unsigned left = JOBS;
        rondo_runtime *rt = new_sim(seed);
        rondo_pool *p = new_pool(rt, THREADS);
        struct rondo_actor_options o = {.size = sizeof o, .receive = count_down, .state = &left};
        rondo_actor *a = NULL;
        assert_int_equal(rondo_spawn(rt, &o, &a), 0);
        memset(t, 0, sizeof t);
        for (unsigned i = 0; i <= JOBS; i++) {
            t[i] = (struct task){.job = {.run = task_run, .done = task_done},
                                 .rt = rt,
                                 .to = a,
                                 .sleep_ns = RONDO_SEC};
            assert_int_equal(rondo_pool_submit(p, &t[i].job), i < JOBS ? 0 : RONDO_ERR_FULL);
        }
        uint64_t start_ns = rondo_runtime_now_ns(rt);
        assert_int_equal(rondo_runtime_run(rt), 0);
        uint64_t took_ns = rondo_runtime_now_ns(rt) - start_ns;
        if (took_ns < 2 * RONDO_SEC || took_ns > 2 * RONDO_SEC + 500 * RONDO_MS)
            fail_msg("seed %llu: two rounds of jobs took %llu ns", (unsigned long long)seed,
                     (unsigned long long)took_ns);
        for (unsigned i = 0; i < JOBS; i++) {
            assert_int_equal(t[i].done, 1);
            assert_true(t[i].done_at_ns - t[i].ran_at_ns >= RONDO_SEC);
        }
        rondo_pool_free(p);
        rondo_actor_unref(a);
        rondo_runtime_free(rt);
    }
}

static void closing_a_pool_cancels_and_finishes(void **state) {
    (void)state;
    static struct task t[4];
    unsigned left = 1;
    rondo_runtime *rt = new_sim(3);
    rondo_pool *p = new_pool(rt, 1);
    struct rondo_actor_options o = {.size = sizeof o, .receive = count_down, .state = &left};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    for (unsigned i = 0; i < 4; i++) {
        t[i] = (struct task){
            .job = {.run = task_run, .done = task_done}, .rt = rt, .to = a, .sleep_ns = RONDO_SEC};
        assert_int_equal(rondo_pool_submit(p, &t[i].job), 0);
    }
    while (t[0].ran_at_ns == 0) assert_true(rondo_sim_step(rt));
    rondo_pool_free(p);
    assert_int_equal(t[0].err, RONDO_OK);
    for (unsigned i = 1; i < 4; i++) assert_int_equal(t[i].err, RONDO_ERR_CANCELLED);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(t[i].done, 1);
    assert_int_equal(rondo_runtime_run(rt), 0); /* the one that ran sent its message */
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void waiting_for_nothing_is_reported(void **state) {
    (void)state;
    unsigned left = 1;
    rondo_runtime *rt = new_sim(4);
    struct rondo_actor_options o = {.size = sizeof o, .receive = count_down, .state = &left};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_runtime_run(rt), RONDO_OK); /* no actor is alive */
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    assert_int_equal(rondo_runtime_run(rt), RONDO_ERR_STALLED);
    assert_int_equal(rondo_runtime_workers(rt), 1);
    rondo_actor_stop(a);
    assert_int_equal(rondo_runtime_run(rt), RONDO_OK);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_loses_and_doubles_no_token),
        cmocka_unit_test(every_message_is_handled_or_dropped),
        cmocka_unit_test(jobs_take_fake_time_on_few_threads),
        cmocka_unit_test(closing_a_pool_cancels_and_finishes),
        cmocka_unit_test(waiting_for_nothing_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
