/* SPDX-License-Identifier: MIT */
/* Jobs beyond their limit, on threads and in a simulation. */
#include "base/test.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sync.h"
#include "runtime/pool.h"
#include "runtime/sim.h"

/* What hangs until it is let go, and what happened; all under one lock. */
static struct {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    bool is_open;
    unsigned in_run, ok, closed, late, early_done, stops, frees;
    uint64_t stuck_when_late;
} g;

static rondo_runtime *rt;
static rondo_pool *pool;

struct work {
    struct rondo_job job;
    bool hangs, is_late;
    unsigned done;
    enum rondo_err err;
};

static void run(struct rondo_job *job, void *thread) {
    struct work *w = (struct work *)(void *)job;
    (void)thread;
    rondo_mutex_lock(&g.mu);
    g.in_run++;
    rondo_cond_broadcast(&g.cond);
    while (w->hangs && !g.is_open) rondo_cond_wait(&g.cond, &g.mu);
    g.in_run--;
    rondo_mutex_unlock(&g.mu);
}

static void late(struct rondo_job *job) {
    struct work *w = (struct work *)(void *)job;
    struct rondo_pool_stats s;
    rondo_pool_stats(pool, &s);
    rondo_mutex_lock(&g.mu);
    g.late++;
    g.stuck_when_late = s.stuck;
    if (w->done) g.early_done++;
    w->is_late = true;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static void done(struct rondo_job *job, enum rondo_err err) {
    struct work *w = (struct work *)(void *)job;
    rondo_mutex_lock(&g.mu);
    w->done++;
    w->err = err;
    g.ok += err == RONDO_OK;
    g.closed += err == RONDO_ERR_CLOSED;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static void thread_stop(void *arg, void *thread) {
    (void)arg, (void)thread;
    rondo_mutex_lock(&g.mu);
    g.stops++;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static void free_arg(void *arg) {
    rondo_mutex_lock(&g.mu);
    if (arg == &g) g.frees++;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static void wait_for(const unsigned *what, unsigned n) {
    rondo_mutex_lock(&g.mu);
    while (*what < n) rondo_cond_wait(&g.cond, &g.mu);
    rondo_mutex_unlock(&g.mu);
}

static void open_gate(void) {
    rondo_mutex_lock(&g.mu);
    g.is_open = true;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static int setup(void **state) {
    (void)state;
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {.kind = RONDO_THREADS_NONE}};
    memset(&g, 0, sizeof g);
    rondo_mutex_init(&g.mu);
    rondo_cond_init(&g.cond);
    return rondo_runtime_new(&o, &rt) ? 1 : 0;
}

static int teardown(void **state) {
    (void)state;
    rondo_runtime_free(rt);
    rondo_cond_fini(&g.cond);
    rondo_mutex_fini(&g.mu);
    return 0;
}

static struct rondo_pool_options options(unsigned threads, unsigned max_stuck) {
    return (struct rondo_pool_options){.size = sizeof(struct rondo_pool_options),
                                       .name = "test",
                                       .threads = {RONDO_THREADS_FIXED, 0, threads},
                                       .thread_stop = thread_stop,
                                       .arg = &g,
                                       .max_stuck = max_stuck};
}

static void submit(struct work *w, bool hangs, uint64_t limit_ns) {
    *w = (struct work){.job = {.run = run, .done = done, .late = late, .limit_ns = limit_ns},
                       .hangs = hangs};
    assert_int_equal(rondo_pool_submit(pool, &w->job), 0);
}

static struct rondo_pool_stats stats(void) {
    struct rondo_pool_stats s;
    rondo_pool_stats(pool, &s);
    return s;
}

static void a_stuck_thread_is_replaced_and_taken_back(void **state) {
    (void)state;
    static struct work hung, after, more;
    struct rondo_pool_options o = options(1, 0);
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    submit(&hung, true, RONDO_MS);
    submit(&after, false, 0);
    wait_for(&g.ok, 1); /* `after` has another thread */
    wait_for(&g.late, 1);
    struct rondo_pool_stats s = stats();
    assert_int_equal(s.stuck, 1);
    assert_int_equal(s.max_stuck, 1);
    assert_int_equal(s.threads, 1);
    assert_int_equal(s.late, 1);
    assert_int_equal(s.replaced, 1);
    assert_int_equal(g.stuck_when_late, 1);
    assert_int_equal(hung.done, 0);
    open_gate();
    wait_for(&g.ok, 2);
    wait_for(&g.stops, 1); /* one of the two was too many */
    s = stats();
    assert_int_equal(s.stuck, 0);
    assert_int_equal(s.threads, 1);
    submit(&more, false, 0);
    wait_for(&g.ok, 3);
    rondo_pool_free(pool);
    assert_int_equal(g.stops, 2);
    assert_int_equal(g.late, 1);
    assert_int_equal(g.early_done, 0);
    assert_int_equal(hung.err, RONDO_OK);
}

static void at_the_limit_no_more_are_replaced(void **state) {
    (void)state;
    static struct work hung[3], after;
    struct rondo_pool_options o = options(2, 1);
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    for (unsigned i = 0; i < 3; i++) submit(&hung[i], true, RONDO_MS);
    submit(&after, false, 0);
    wait_for(&g.late, 3);
    struct rondo_pool_stats s = stats();
    assert_int_equal(s.stuck, 3);
    assert_int_equal(s.replaced, 1);
    assert_int_equal(s.threads, 2);
    assert_int_equal(s.busy, 2);
    assert_int_equal(s.queued, 1);
    assert_int_equal(after.done, 0);
    open_gate();
    wait_for(&g.ok, 4);
    rondo_pool_free(pool);
    assert_int_equal(after.done, 1);
}

static void in_time_nobody_is_told(void **state) {
    (void)state;
    static struct work w[50];
    struct rondo_pool_options o = options(2, 0);
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    for (unsigned i = 0; i < 50; i++) submit(&w[i], false, 3600 * RONDO_SEC);
    wait_for(&g.ok, 50);
    assert_int_equal(stats().late, 0);
    rondo_pool_free(pool);
    assert_int_equal(g.late, 0);
}

/* The end of a run and its limit come about together: `late` at most once, and
 * never after `done`. */
static void late_never_comes_after_done(void **state) {
    (void)state;
    enum { N = 300 };
    static struct work w[N];
    unsigned told = 0;
    struct rondo_pool_options o = options(4, 0);
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    for (unsigned i = 0; i < N; i++) submit(&w[i], false, 1 + i % 50 * RONDO_US);
    wait_for(&g.ok, N);
    rondo_pool_free(pool);
    assert_int_equal(g.early_done, 0);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(w[i].done, 1);
        told += w[i].is_late;
    }
    assert_int_equal(g.late, told);
}

static void closing_leaves_a_hung_job_behind(void **state) {
    (void)state;
    static struct work hung[2], after;
    struct rondo_pool_options o = options(2, 0);
    o.close_wait_ns = RONDO_MS;
    o.free_arg = free_arg;
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    for (unsigned i = 0; i < 2; i++) submit(&hung[i], true, i * RONDO_SEC * 3600);
    wait_for(&g.in_run, 2);
    submit(&after, false, 0);
    rondo_pool_free(pool);
    assert_int_equal(after.err, RONDO_ERR_CANCELLED);
    assert_int_equal(hung[0].done + hung[1].done, 0);
    assert_int_equal(g.frees, 0);
    open_gate();
    wait_for(&g.frees, 1); /* the last has ended */
    assert_int_equal(g.closed, 2);
    assert_int_equal(g.stops, 2);
}

static void a_thread_left_behind_keeps_off_what_is_not_the_pools(void **state) {
    (void)state;
    static struct work hung;
    uint64_t live = rondo_mem_live();
    struct rondo_pool_options o = options(1, 0);
    o.close_wait_ns = 1;
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    submit(&hung, true, 0);
    wait_for(&g.in_run, 1);
    rondo_pool_free(pool);
    open_gate();
    wait_for(&g.closed, 1);
    while (rondo_mem_live() != live) sched_yield(); /* its last act */
    assert_int_equal(g.stops, 0);
    assert_int_equal(g.frees, 0);
}

static void what_is_not_hung_is_waited_for(void **state) {
    (void)state;
    static struct work w[8];
    struct rondo_pool_options o = options(2, 0);
    o.close_wait_ns = 3600 * RONDO_SEC;
    o.free_arg = free_arg;
    assert_int_equal(rondo_pool_new(rt, &o, &pool), 0);
    for (unsigned i = 0; i < 8; i++) submit(&w[i], false, 0);
    rondo_pool_free(pool);
    assert_int_equal(g.closed, 0);
    assert_int_equal(g.stops, 2);
    assert_int_equal(g.frees, 1);
    for (unsigned i = 0; i < 8; i++) assert_int_equal(w[i].done, 1);
}

/* ----------------------------------------------------------- simulation --- */

enum { SIM_JOBS = 12, SIM_THREADS = 2, SIM_STUCK = 1 };

struct sim_work {
    struct rondo_job job;
    uint64_t takes_ns;
    unsigned runs, lates, dones;
    enum rondo_err err;
};

static struct { unsigned running, most_running, done, closed; } s;

static void sim_run(struct rondo_job *job, void *thread) {
    struct sim_work *w = (struct sim_work *)(void *)job;
    (void)thread;
    w->runs++;
    if (++s.running > s.most_running) s.most_running = s.running;
    (void)rondo_job_sleep(w->takes_ns);
}

static void sim_late(struct rondo_job *job) {
    struct sim_work *w = (struct sim_work *)(void *)job;
    RONDO_CHECK(w->runs == 1 && w->dones == 0);
    w->lates++;
}

static void sim_done(struct rondo_job *job, enum rondo_err err) {
    struct sim_work *w = (struct sim_work *)(void *)job;
    w->dones++;
    w->err = err;
    s.running -= w->runs;
    s.done++;
    s.closed += err == RONDO_ERR_CLOSED;
}

static void nothing(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)self, (void)state;
    rondo_msg_free(m);
}

static void submit_drawn(rondo_pool *p, struct sim_work *w, uint64_t *random) {
    for (unsigned i = 0; i < SIM_JOBS; i++) {
        w[i].job = (struct rondo_job){.run = sim_run, .done = sim_done, .late = sim_late};
        w[i].takes_ns = rondo_random_below(random, 10) * RONDO_MS;
        w[i].job.limit_ns = rondo_random_below(random, 3) * 4 * RONDO_MS;
        assert_int_equal(rondo_pool_submit(p, &w[i].job), 0);
    }
}

/* One run by one seed; closes in the middle of it when the seed is odd. */
static void simulate(uint64_t seed) {
    struct rondo_runtime_options ro = {.size = sizeof ro, .simulate = true, .seed = seed};
    struct rondo_pool_options po = options(SIM_THREADS, SIM_STUCK);
    struct rondo_actor_options ao = {.size = sizeof ao, .receive = nothing};
    struct sim_work w[SIM_JOBS] = {0};
    rondo_runtime *sim;
    rondo_pool *p;
    rondo_actor *a;
    struct rondo_pool_stats st;
    uint64_t random = seed, n_late = 0, steps = 0;
    memset(&s, 0, sizeof s);
    po.close_wait_ns = 2 * RONDO_MS;
    assert_int_equal(rondo_runtime_new(&ro, &sim), 0);
    assert_int_equal(rondo_pool_new(sim, &po, &p), 0);
    assert_int_equal(rondo_spawn(sim, &ao, &a), 0);
    submit_drawn(p, w, &random);
    while (rondo_sim_step(sim) && (seed % 2 == 0 || steps++ < seed % 64)) {
        rondo_pool_stats(p, &st);
        assert_true(st.busy <= SIM_THREADS);
        assert_true(s.running <= SIM_THREADS + SIM_STUCK);
    }
    rondo_pool_stats(p, &st);
    rondo_pool_free(p);
    assert_int_equal(s.done, SIM_JOBS);
    for (unsigned i = 0; i < SIM_JOBS; i++) {
        assert_int_equal(w[i].dones, 1);
        n_late += w[i].lates;
        bool is_over = w[i].job.limit_ns && w[i].takes_ns > w[i].job.limit_ns;
        assert_true(w[i].lates <= is_over);
        if (w[i].err == RONDO_ERR_CANCELLED) assert_int_equal(w[i].runs, 0);
        if (w[i].err == RONDO_ERR_CLOSED) assert_true(w[i].takes_ns > po.close_wait_ns);
    }
    assert_int_equal(n_late, st.late);
    rondo_actor_unref(a);
    rondo_runtime_free(sim);
}

static void simulated_pools_have_stuck_threads_too(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) simulate(seed);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_stuck_thread_is_replaced_and_taken_back),
        TEST(at_the_limit_no_more_are_replaced),
        TEST(in_time_nobody_is_told),
        TEST(late_never_comes_after_done),
        TEST(closing_leaves_a_hung_job_behind),
        TEST(a_thread_left_behind_keeps_off_what_is_not_the_pools),
        TEST(what_is_not_hung_is_waited_for),
        TEST(simulated_pools_have_stuck_threads_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
