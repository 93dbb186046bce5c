/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/sync.h"
#include "runtime/monitor.h"

static struct {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    bool is_free;
} jam;

static unsigned n_named; /* atomic */

static void on_log(void *arg, enum rondo_log_level level, const char *line) {
    (void)arg;
    if (level == RONDO_LOG_WARN && strstr(line, "'snail'")) rondo_add_relaxed(&n_named, 1);
}

struct helper {
    rondo_actor *a;
};

/* Makes the helper runnable behind itself, then blocks its worker until another
 * worker has taken the helper. */
static void block(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct helper *h = state;
    rondo_send(h->a, m);
    rondo_flush();
    rondo_mutex_lock(&jam.mu);
    while (!jam.is_free) rondo_cond_wait(&jam.cond, &jam.mu);
    rondo_mutex_unlock(&jam.mu);
    rondo_actor_stop(self);
}

static void release(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)state;
    rondo_mutex_lock(&jam.mu);
    jam.is_free = true;
    rondo_cond_broadcast(&jam.cond);
    rondo_mutex_unlock(&jam.mu);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static rondo_actor *spawn(rondo_runtime *rt, const char *name, rondo_receive_fn receive,
                          void *state) {
    struct rondo_actor_options o = {
        .size = sizeof o, .name = name, .receive = receive, .state = state};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send(rondo_actor *a) {
    void *m = rondo_msg_new(1, sizeof(struct rondo_msg));
    assert_non_null(m);
    rondo_send(a, m);
}

static void one_actor_behind_a_slow_turn_is_stolen(void **state) {
    (void)state;
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, 2}};
    rondo_runtime *rt = NULL;
    jam.is_free = false;
    rondo_mutex_init(&jam.mu);
    rondo_cond_init(&jam.cond);
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    struct helper h = {spawn(rt, "helper", release, NULL)};
    rondo_actor *a = spawn(rt, "blocker", block, &h);
    send(a);
    assert_int_equal(rondo_runtime_run(rt), 0); /* would hang if nobody stole */
    rondo_actor_unref(h.a);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    rondo_cond_fini(&jam.cond);
    rondo_mutex_fini(&jam.mu);
}

/* Runs until the monitor has seen it for long enough. */
static void crawl(rondo_actor *self, void *state, struct rondo_msg *m) {
    const uint64_t *limit_ns = state;
    uint64_t start_ns = rondo_clock_now(&rondo_clock_real);
    while (rondo_clock_now(&rondo_clock_real) - start_ns < *limit_ns) rondo_cpu_relax();
    rondo_msg_free(m);
    (void)self;
}

static void a_slow_turn_is_named_and_counted(void **state) {
    (void)state;
    struct rondo_runtime_options o = {
        .size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, 1}, .slow_turn_ns = 2 * RONDO_MS};
    rondo_runtime *rt = NULL;
    struct rondo_runtime_stats s = {0};
    uint64_t crawl_ns = 20 * RONDO_MS;
    rondo_log_set(on_log, NULL, RONDO_LOG_WARN);
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    rondo_actor *a = spawn(rt, "snail", crawl, &crawl_ns);
    /* The monitor may be kept from the processor: again until it has looked. */
    for (unsigned handled = 0; s.slow_turns == 0; handled++) {
        send(a);
        while (s.handled <= handled) rondo_runtime_stats(rt, &s);
    }
    rondo_actor_stop(a);
    assert_int_equal(rondo_runtime_run(rt), 0);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    rondo_log_set(NULL, NULL, RONDO_LOG_WARN);
    assert_true(n_named > 0);
}

static void waiting_for_a_processor_is_not_a_turns_own(void **state) {
    (void)state;
    static const struct {
        uint64_t took, before, after, own;
    } cases[] = {
        {24, 0, 0, 24},           {24, 100, 120, 4},        {24, 100, 130, 0}, {24, 5, 4, 24},
        {24, UINT64_MAX, 20, 24}, {24, 20, UINT64_MAX, 24}, {24, 0, 24, 0},    {0, 0, 5, 0},
    };
    for (unsigned i = 0; i < RONDO_COUNT_OF(cases); i++)
        assert_int_equal(rondo_turn_own_ns(cases[i].took, cases[i].before, cases[i].after),
                         cases[i].own);
}

/* Keeps itself busy with long messages until a timer's has come. */
struct busy {
    uint64_t crawl_ns;
    unsigned crawled;
};

static void toil(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct busy *b = state;
    if (m->type == 2) {
        rondo_msg_free(m);
        rondo_actor_stop(self);
        return;
    }
    uint64_t start_ns = rondo_clock_now(&rondo_clock_real);
    while (rondo_clock_now(&rondo_clock_real) - start_ns < b->crawl_ns) rondo_cpu_relax();
    b->crawled++;
    rondo_send(self, m);
}

/* By counting alone the timers would be looked at after 64 turns of 64 messages. */
static void long_turns_do_not_hide_timers(void **state) {
    (void)state;
    enum { IN_FLIGHT = 100, BY_COUNT = 64 * 64 };
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, 1}};
    rondo_runtime *rt = NULL;
    struct busy b = {.crawl_ns = 200 * RONDO_US};
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    rondo_actor *a = spawn(rt, "toil", toil, &b);
    for (unsigned i = 0; i < IN_FLIGHT; i++) send(a);
    void *m = rondo_msg_new(2, sizeof(struct rondo_msg));
    assert_non_null(m);
    assert_int_equal(rondo_send_after(a, m, RONDO_MS, NULL), 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_true(b.crawled < BY_COUNT);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_actor_behind_a_slow_turn_is_stolen),
        cmocka_unit_test(a_slow_turn_is_named_and_counted),
        cmocka_unit_test(waiting_for_a_processor_is_not_a_turns_own),
        cmocka_unit_test(long_turns_do_not_hide_timers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
