/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include <sched.h>
#include <signal.h>

struct box {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    unsigned n;    /* guarded by mu */
    bool is_ready; /* guarded by mu */
};

static void box_init(struct box *box) {
    *box = (struct box){0};
    rondo_mutex_init(&box->mu);
    rondo_cond_init(&box->cond);
}

static void box_fini(struct box *box) {
    rondo_cond_fini(&box->cond);
    rondo_mutex_fini(&box->mu);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void count_rounds(void *arg) {
    struct box *box = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        rondo_mutex_lock(&box->mu);
        box->n++;
        rondo_mutex_unlock(&box->mu);
    }
}

static void a_mutex_excludes(void **state) {
    (void)state;
    struct box box;
    struct rondo_thread threads[THREADS];
    box_init(&box);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "count", count_rounds, &box), RONDO_OK);
    for (unsigned i = 0; i < THREADS; i++) rondo_thread_join(&threads[i]);
    assert_int_equal(box.n, THREADS * ROUNDS);
    box_fini(&box);
}

static void wait_and_answer(void *arg) {
    struct box *box = arg;
    rondo_mutex_lock(&box->mu);
    while (!box->is_ready) rondo_cond_wait(&box->cond, &box->mu);
    box->n++;
    rondo_cond_signal(&box->cond);
    rondo_mutex_unlock(&box->mu);
}

static void a_broadcast_wakes_all(void **state) {
    (void)state;
    struct box box;
    struct rondo_thread threads[THREADS];
    box_init(&box);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "wait", wait_and_answer, &box), RONDO_OK);
    rondo_mutex_lock(&box.mu);
    box.is_ready = true;
    rondo_cond_broadcast(&box.cond);
    while (box.n < THREADS) rondo_cond_wait(&box.cond, &box.mu);
    rondo_mutex_unlock(&box.mu);
    for (unsigned i = 0; i < THREADS; i++) rondo_thread_join(&threads[i]);
    box_fini(&box);
}

static void a_wait_ends_at_its_deadline(void **state) {
    (void)state;
    struct box box;
    box_init(&box);
    uint64_t deadline = rondo_clock_now(&rondo_clock_real) + 2 * RONDO_MS;
    rondo_mutex_lock(&box.mu);
    assert_false(rondo_cond_wait_until(&box.cond, &box.mu, 0));
    while (rondo_cond_wait_until(&box.cond, &box.mu, deadline)) {
    }
    rondo_mutex_unlock(&box.mu);
    assert_true(rondo_clock_now(&rondo_clock_real) >= deadline);
    box_fini(&box);
}

static void a_wait_without_end_is_woken(void **state) {
    (void)state;
    struct box box;
    struct rondo_thread thread;
    box_init(&box);
    box.is_ready = true;
    rondo_mutex_lock(&box.mu);
    assert_int_equal(rondo_thread_start(&thread, "wake", wait_and_answer, &box), RONDO_OK);
    bool in_time = true;
    while (box.n == 0) in_time &= rondo_cond_wait_until(&box.cond, &box.mu, UINT64_MAX);
    rondo_mutex_unlock(&box.mu);
    rondo_thread_join(&thread);
    assert_true(in_time);
    box_fini(&box);
}

struct look {
    sigset_t mask;
    char name[16];
    struct rondo_latch done;
};

static void look_around(void *arg) {
    struct look *look = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &look->mask);
    pthread_getname_np(pthread_self(), look->name, sizeof look->name);
    rondo_latch_count_down(&look->done);
}

static void a_thread_has_a_name_and_no_signals(void **state) {
    (void)state;
    struct look look;
    struct rondo_thread thread;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    rondo_latch_init(&look.done, 1);
    assert_int_equal(rondo_thread_start(&thread, "a-name-that-is-too-long", look_around, &look),
                     RONDO_OK);
    rondo_thread_detach(&thread);
    rondo_latch_wait(&look.done);
    assert_string_equal(look.name, "a-name-that-is-");
    const int some[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE};
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (unsigned i = 0; i < RONDO_COUNT_OF(some); i++) {
        assert_int_equal(sigismember(&look.mask, some[i]), 1);
        assert_int_equal(sigismember(&before, some[i]), sigismember(&after, some[i]));
    }
    rondo_latch_fini(&look.done);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    struct rondo_thread thread;
    rondo_mem_fail_nth(1);
    enum rondo_err err = rondo_thread_start(&thread, "none", count_rounds, NULL);
    rondo_mem_fail_nth(0);
    assert_int_equal(err, RONDO_ERR_NOMEM);
}

static void open_the_latch(void *arg) {
    rondo_latch_count_down(arg);
}

static void a_latch_opens_at_zero_and_stays_open(void **state) {
    (void)state;
    struct rondo_latch latch;
    struct rondo_thread threads[THREADS];
    rondo_latch_init(&latch, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "latch", open_the_latch, &latch),
                         RONDO_OK);
    rondo_latch_wait(&latch);
    rondo_latch_wait(&latch);
    for (unsigned i = 0; i < THREADS; i++) rondo_thread_join(&threads[i]);
    assert_int_equal(latch.count, 0);
    rondo_latch_fini(&latch);
}

static void a_latch_tells_what_is_left(void **state) {
    (void)state;
    struct rondo_latch latch;
    rondo_latch_init(&latch, 2);
    assert_int_equal(rondo_latch_wait_until(&latch, 0), 2);
    rondo_latch_count_down(&latch);
    assert_int_equal(rondo_latch_wait_until(&latch, 0), 1);
    rondo_latch_count_down(&latch);
    assert_int_equal(rondo_latch_wait_until(&latch, 0), 0);
    assert_int_equal(rondo_latch_wait_until(&latch, UINT64_MAX), 0);
    rondo_latch_fini(&latch);
}

static void quotas_round_up(void **state) {
    (void)state;
    assert_int_equal(rondo_cpu_quota("max 100000\n"), 0);
    assert_int_equal(rondo_cpu_quota("150000 100000\n"), 2);
    assert_int_equal(rondo_cpu_quota("200000 100000"), 2);
    assert_int_equal(rondo_cpu_quota("1000 100000"), 1);
    const char *const strange[] = {
        "", "5", "5 0", "0 5", "x y", "-1 100000", "99999999999999999999999 1"};
    for (unsigned i = 0; i < RONDO_COUNT_OF(strange); i++)
        assert_int_equal(rondo_cpu_quota(strange[i]), 0);
}

static void waits_for_a_processor_are_read(void **state) {
    (void)state;
    uint64_t ns = 7;
    assert_true(rondo_schedstat_waited("79291 1696824 2\n", &ns));
    assert_int_equal(ns, 1696824);
    assert_true(rondo_schedstat_waited("0 0 0", &ns));
    assert_int_equal(ns, 0);
    const char *const strange[] = {"", "5", "x 5 1", "5 y", "5 99999999999999999999999 1"};
    for (unsigned i = 0; i < RONDO_COUNT_OF(strange); i++)
        assert_false(rondo_schedstat_waited(strange[i], &ns));
    assert_int_equal(ns, 0);
    assert_true(rondo_thread_number() > 0);
    assert_false(rondo_thread_waited(0, &ns)); /* no such thread */
}

static void the_affinity_limits_the_processors(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(rondo_cpu_count(), 1, CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (unsigned i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned n = rondo_cpu_count();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(n, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_excludes),
        cmocka_unit_test(a_broadcast_wakes_all),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_wait_without_end_is_woken),
        cmocka_unit_test(a_thread_has_a_name_and_no_signals),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(a_latch_opens_at_zero_and_stays_open),
        cmocka_unit_test(a_latch_tells_what_is_left),
        cmocka_unit_test(quotas_round_up),
        cmocka_unit_test(waits_for_a_processor_are_read),
        cmocka_unit_test(the_affinity_limits_the_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
