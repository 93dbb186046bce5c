/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include "runtime/pool.h"

/* A gate that jobs wait at, and counters; all under one lock. */
static struct {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    bool is_open;
    unsigned at_gate, ran, ok, cancelled, started, stopped, most_at_gate;
} g;

struct work {
    struct rondo_job job;
    uint64_t sleep_ns;
    enum rondo_err slept;
    unsigned done;
};

static void run_gate(struct rondo_job *job, void *thread) {
    struct work *w = (struct work *)(void *)job;
    (void)thread;
    rondo_mutex_lock(&g.mu);
    g.at_gate++;
    if (g.at_gate > g.most_at_gate) g.most_at_gate = g.at_gate;
    rondo_cond_broadcast(&g.cond);
    while (!g.is_open) rondo_cond_wait(&g.cond, &g.mu);
    g.at_gate--;
    g.ran++;
    rondo_mutex_unlock(&g.mu);
    if (w->sleep_ns) w->slept = rondo_job_sleep(w->sleep_ns);
}

static void done(struct rondo_job *job, enum rondo_err err) {
    struct work *w = (struct work *)(void *)job;
    rondo_mutex_lock(&g.mu);
    w->done++;
    if (err == RONDO_OK)
        g.ok++;
    else
        g.cancelled++;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static void *thread_start(void *arg) {
    rondo_mutex_lock(&g.mu);
    g.started++;
    rondo_mutex_unlock(&g.mu);
    return arg;
}

static void thread_stop(void *arg, void *thread) {
    rondo_mutex_lock(&g.mu);
    if (arg == thread) g.stopped++;
    rondo_mutex_unlock(&g.mu);
}

static void open_gate(void) {
    rondo_mutex_lock(&g.mu);
    g.is_open = true;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
}

static void wait_at_gate(unsigned n) {
    rondo_mutex_lock(&g.mu);
    while (g.at_gate < n) rondo_cond_wait(&g.cond, &g.mu);
    rondo_mutex_unlock(&g.mu);
}

static void wait_ok(unsigned n) {
    rondo_mutex_lock(&g.mu);
    while (g.ok < n) rondo_cond_wait(&g.cond, &g.mu);
    rondo_mutex_unlock(&g.mu);
}

static rondo_runtime *rt;

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

static rondo_pool *new_pool(enum rondo_threads_kind kind, unsigned min, unsigned max,
                            uint32_t queue) {
    struct rondo_pool_options o = {.size = sizeof o,
                                   .name = "test",
                                   .threads = {.kind = kind, .min = min, .max = max},
                                   .queue = queue,
                                   .thread_start = thread_start,
                                   .thread_stop = thread_stop,
                                   .arg = &g};
    rondo_pool *p = NULL;
    assert_int_equal(rondo_pool_new(rt, &o, &p), 0);
    return p;
}

static enum rondo_err submit(rondo_pool *p, struct work *w) {
    w->job.run = run_gate;
    w->job.done = done;
    return rondo_pool_submit(p, &w->job);
}

static void options_are_checked(void **state) {
    (void)state;
    static const struct {
        struct rondo_threads threads;
        enum rondo_err err;
        unsigned min, max;
    } cases[] = {
        {{RONDO_THREADS_AUTO, 0, 0}, RONDO_OK, 1, 16},
        {{RONDO_THREADS_NONE, 0, 0}, RONDO_OK, 1, 1},
        {{RONDO_THREADS_FIXED, 0, 8}, RONDO_OK, 8, 8},
        {{RONDO_THREADS_FIXED, 0, 0}, RONDO_ERR_INVALID, 0, 0},
        {{RONDO_THREADS_RANGE, 2, 16}, RONDO_OK, 2, 16},
        {{RONDO_THREADS_RANGE, 0, 16}, RONDO_ERR_INVALID, 0, 0},
        {{RONDO_THREADS_RANGE, 5, 4}, RONDO_ERR_INVALID, 0, 0},
        {{RONDO_THREADS_FIXED, 0, 1025}, RONDO_ERR_INVALID, 0, 0},
        {{(enum rondo_threads_kind)9, 1, 1}, RONDO_ERR_INVALID, 0, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rondo_pool_options o = {.size = sizeof o, .threads = cases[i].threads};
        struct rondo_pool_limits l = {0};
        assert_int_equal(rondo_pool_limits(&o, &l), cases[i].err);
        assert_int_equal(l.min, cases[i].min);
        assert_int_equal(l.max, cases[i].max);
        assert_int_equal(l.max_stuck, cases[i].max);
    }
    rondo_pool_free(NULL);
}

static void all_threads_run_at_once(void **state) {
    (void)state;
    static struct work w[8];
    memset(w, 0, sizeof w);
    rondo_pool *p = new_pool(RONDO_THREADS_RANGE, 1, 4, 0);
    for (unsigned i = 0; i < 8; i++) assert_int_equal(submit(p, &w[i]), 0);
    wait_at_gate(4); /* it has grown to its most */
    struct rondo_pool_stats s;
    rondo_pool_stats(p, &s);
    assert_int_equal(s.threads, 4);
    assert_int_equal(s.busy, 4);
    assert_int_equal(s.queued, 4);
    open_gate();
    wait_ok(8);
    rondo_pool_free(p);
    assert_int_equal(g.most_at_gate, 4);
    assert_int_equal(g.started, 4);
    assert_int_equal(g.stopped, 4);
    for (unsigned i = 0; i < 8; i++) assert_int_equal(w[i].done, 1);
}

static void without_threads_there_is_one_service_thread(void **state) {
    (void)state;
    static struct work w[5];
    memset(w, 0, sizeof w);
    rondo_pool *p = new_pool(RONDO_THREADS_NONE, 0, 0, 0);
    for (unsigned i = 0; i < 5; i++) assert_int_equal(submit(p, &w[i]), 0);
    open_gate();
    wait_ok(5);
    rondo_pool_free(p);
    assert_int_equal(g.most_at_gate, 1);
    assert_int_equal(g.started, 1);
}

static void a_full_queue_refuses(void **state) {
    (void)state;
    static struct work w[5];
    memset(w, 0, sizeof w);
    rondo_pool *p = new_pool(RONDO_THREADS_FIXED, 0, 1, 2);
    assert_int_equal(submit(p, &w[0]), 0);
    wait_at_gate(1);
    assert_int_equal(submit(p, &w[1]), 0);
    assert_int_equal(submit(p, &w[2]), 0);
    assert_int_equal(submit(p, &w[3]), RONDO_ERR_FULL);
    struct rondo_pool_stats s;
    rondo_pool_stats(p, &s);
    assert_int_equal(s.refused, 1);
    open_gate();
    wait_ok(3);
    assert_int_equal(submit(p, &w[4]), 0);
    wait_ok(4);
    rondo_pool_free(p);
    assert_int_equal(w[3].done, 0);
}

static void free_a_pool(void *arg) {
    rondo_pool_free(arg);
}

static void closing_cancels_those_that_wait(void **state) {
    (void)state;
    static struct work w[4];
    struct rondo_thread t;
    memset(w, 0, sizeof w);
    rondo_pool *p = new_pool(RONDO_THREADS_FIXED, 0, 1, 0);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(submit(p, &w[i]), 0);
    wait_at_gate(1);
    assert_int_equal(rondo_thread_start(&t, "closer", free_a_pool, p), 0);
    rondo_mutex_lock(&g.mu);
    while (g.cancelled < 3) rondo_cond_wait(&g.cond, &g.mu);
    rondo_mutex_unlock(&g.mu);
    open_gate();
    rondo_thread_join(&t);
    assert_int_equal(g.ran, 1);
    assert_int_equal(g.ok, 1);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(w[i].done, 1);
}

static void closing_wakes_sleepers(void **state) {
    (void)state;
    static struct work w[2];
    memset(w, 0, sizeof w);
    rondo_pool *p = new_pool(RONDO_THREADS_FIXED, 0, 2, 0);
    for (unsigned i = 0; i < 2; i++) {
        w[i].sleep_ns = 3600 * RONDO_SEC;
        assert_int_equal(submit(p, &w[i]), 0);
    }
    wait_at_gate(2);
    open_gate();
    rondo_pool_free(p); /* returns within the hour */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(w[i].slept, RONDO_ERR_CANCELLED);
        assert_int_equal(w[i].done, 1);
    }
    assert_int_equal(rondo_job_sleep(1), RONDO_OK); /* not in a job */
}

static void a_sleep_that_ends_is_ok(void **state) {
    (void)state;
    static struct work w;
    memset(&w, 0, sizeof w);
    w.slept = RONDO_ERR_STALLED;
    w.sleep_ns = RONDO_MS;
    rondo_pool *p = new_pool(RONDO_THREADS_AUTO, 0, 0, 0);
    open_gate();
    assert_int_equal(submit(p, &w), 0);
    wait_ok(1);
    rondo_pool_free(p);
    assert_int_equal(w.slept, RONDO_OK);
}

/* Jobs that only one thread at a time can do, and that come back. */
static struct rondo_mutex bottleneck;
static rondo_pool *narrow;
static bool is_enough; /* atomic */

static void run_narrow(struct rondo_job *job, void *thread) {
    (void)job, (void)thread;
    rondo_mutex_lock(&bottleneck);
    (void)rondo_job_sleep(100 * RONDO_US);
    rondo_mutex_unlock(&bottleneck);
}

static void wait_rounds(unsigned n) {
    rondo_mutex_lock(&g.mu);
    for (unsigned until = g.ran + n; g.ran < until;) rondo_cond_wait(&g.cond, &g.mu);
    rondo_mutex_unlock(&g.mu);
}

static void again(struct rondo_job *job, enum rondo_err err) {
    rondo_mutex_lock(&g.mu);
    g.ran++;
    rondo_cond_broadcast(&g.cond);
    rondo_mutex_unlock(&g.mu);
    if (rondo_load_relaxed(&is_enough) || rondo_pool_submit(narrow, job)) done(job, err);
}

static void threads_that_get_no_more_done_are_set_aside(void **state) {
    (void)state;
    enum { N = 32 };
    static struct work w[N];
    struct rondo_pool_stats s;
    rondo_mutex_init(&bottleneck);
    rondo_store_relaxed(&is_enough, false);
    narrow = new_pool(RONDO_THREADS_RANGE, 1, 4, 0);
    for (unsigned i = 0; i < N; i++) {
        w[i] = (struct work){.job = {.run = run_narrow, .done = again}};
        assert_int_equal(rondo_pool_submit(narrow, &w[i].job), 0);
    }
    do {
        wait_rounds(N); /* leaves the processor to them */
        rondo_pool_stats(narrow, &s);
    } while (s.threads > 1);
    rondo_store_relaxed(&is_enough, true);
    wait_ok(N);
    rondo_pool_free(narrow);
    rondo_mutex_fini(&bottleneck);
    assert_int_equal(g.stopped, g.started);
    assert_true(g.started > 1);
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    struct rondo_pool_options o = {.size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, 1}};
    for (unsigned nth = 1;; nth++) {
        rondo_pool *p = NULL;
        rondo_mem_fail_nth(nth);
        enum rondo_err err = rondo_pool_new(rt, &o, &p);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        rondo_pool_free(p);
        assert_int_equal(rondo_mem_live(), live);
        if (!failed) {
            assert_int_equal(err, RONDO_OK);
            assert_true(nth > 2);
            break;
        }
        assert_int_equal(err, RONDO_ERR_NOMEM);
        assert_null(p);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(options_are_checked),
        TEST(all_threads_run_at_once),
        TEST(without_threads_there_is_one_service_thread),
        TEST(a_full_queue_refuses),
        TEST(closing_cancels_those_that_wait),
        TEST(closing_wakes_sleepers),
        TEST(a_sleep_that_ends_is_ok),
        TEST(threads_that_get_no_more_done_are_set_aside),
        TEST(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
