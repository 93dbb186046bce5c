/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/sync.h"
#include "rondo/runtime.h"

static rondo_runtime *new_runtime(enum rondo_threads_kind kind, unsigned n) {
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {kind, 0, n}};
    rondo_runtime *rt = NULL;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    return rt;
}

static rondo_actor *spawn(rondo_runtime *rt, rondo_receive_fn receive, void *state, unsigned pin) {
    struct rondo_actor_options o = {
        .size = sizeof o, .receive = receive, .state = state, .pin = pin, .name = "busy"};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send(rondo_actor *a) {
    void *m = rondo_msg_new(1, sizeof(struct rondo_msg));
    RONDO_CHECK(m);
    rondo_send(a, m);
}

/* ---- pinning ---- */

enum { PINNED = 6, LAPS = 500 };

struct pinned {
    rondo_actor *next;
    int index;
    unsigned laps, elsewhere;
};

static void pass_on(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct pinned *p = state;
    if (rondo_worker_index() != p->index) p->elsewhere++;
    rondo_send(p->next, m);
    if (++p->laps == LAPS) rondo_actor_stop(self);
}

static void a_pinned_actor_stays_on_its_worker(void **state) {
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct pinned p[PINNED];
        rondo_actor *a[PINNED];
        rondo_runtime *rt = new_runtime(RONDO_THREADS_FIXED, workers);
        for (unsigned i = 0; i < PINNED; i++) {
            p[i] = (struct pinned){.index = (int)(i % workers)};
            a[i] = spawn(rt, pass_on, &p[i], i % workers + 1);
        }
        for (unsigned i = 0; i < PINNED; i++) p[i].next = a[(i + 1) % PINNED];
        send(a[0]);
        assert_int_equal(rondo_runtime_run(rt), 0);
        for (unsigned i = 0; i < PINNED; i++) {
            assert_int_equal(p[i].laps, LAPS);
            assert_int_equal(p[i].elsewhere, 0);
            rondo_actor_unref(a[i]);
        }
        rondo_runtime_free(rt);
    }
}

/* ---- fairness ---- */

struct talker {
    rondo_actor *partner;
    unsigned *is_over;
    unsigned turns;
};

/* Sends to its partner, who sends back: the next slot is never empty. */
static void chatter(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct talker *t = state;
    t->turns++;
    if (*t->is_over) rondo_actor_stop(self);
    rondo_send(t->partner, m);
}

static void end_it(rondo_actor *self, void *state, struct rondo_msg *m) {
    *(unsigned *)state = 1;
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void a_busy_pair_does_not_starve_others(void **state) {
    (void)state;
    unsigned is_over = 0;
    rondo_runtime *rt = new_runtime(RONDO_THREADS_NONE, 0);
    struct talker t[2] = {{NULL, &is_over, 0}, {NULL, &is_over, 0}};
    rondo_actor *a = spawn(rt, chatter, &t[0], 0), *b = spawn(rt, chatter, &t[1], 0);
    rondo_actor *c = spawn(rt, end_it, &is_over, 0);
    t[0].partner = b;
    t[1].partner = a;
    send(a);
    send(c);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_true(t[0].turns + t[1].turns < 1000);
    rondo_actor_unref(a);
    rondo_actor_unref(b);
    rondo_actor_unref(c);
    rondo_runtime_free(rt);
}

/* ---- work is shared ---- */

enum { FAN = 64 };

static struct {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    unsigned inside;
} meeting;

/* Returns once two are here at the same time, which takes two workers. */
static void meet(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)state;
    rondo_mutex_lock(&meeting.mu);
    meeting.inside++;
    rondo_cond_broadcast(&meeting.cond);
    while (meeting.inside < 2) rondo_cond_wait(&meeting.cond, &meeting.mu);
    rondo_mutex_unlock(&meeting.mu);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

struct fan {
    rondo_actor *to[FAN];
};

static void spread(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct fan *f = state;
    for (unsigned i = 0; i < FAN; i++) send(f->to[i]);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void queued_work_is_stolen(void **state) {
    (void)state;
    static struct fan f;
    meeting.inside = 0;
    rondo_mutex_init(&meeting.mu);
    rondo_cond_init(&meeting.cond);
    rondo_runtime *rt = new_runtime(RONDO_THREADS_FIXED, 2);
    for (unsigned i = 0; i < FAN; i++) f.to[i] = spawn(rt, meet, NULL, 0);
    rondo_actor *a = spawn(rt, spread, &f, 0);
    send(a); /* all of the fan is made runnable by one worker */
    assert_int_equal(rondo_runtime_run(rt), 0);
    struct rondo_runtime_stats s;
    rondo_runtime_stats(rt, &s);
    assert_true(s.steals > 0);
    assert_int_equal(s.handled, FAN + 1);
    for (unsigned i = 0; i < FAN; i++) rondo_actor_unref(f.to[i]);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    rondo_cond_fini(&meeting.cond);
    rondo_mutex_fini(&meeting.mu);
}

/* ---- many runnable actors: the ring overflows ---- */

enum { MANY = 3000 };

static void once(rondo_actor *self, void *state, struct rondo_msg *m) {
    rondo_add_relaxed((unsigned *)state, 1);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

struct many {
    rondo_actor *to[MANY];
};

static void spread_many(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct many *f = state;
    for (unsigned i = 0; i < MANY; i++) send(f->to[i]);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void more_than_a_queue_holds_is_no_loss(void **state) {
    (void)state;
    static struct many f;
    for (unsigned workers = 0; workers < 4; workers++) {
        unsigned n = 0;
        rondo_runtime *rt =
            new_runtime(workers ? RONDO_THREADS_FIXED : RONDO_THREADS_NONE, workers);
        for (unsigned i = 0; i < MANY; i++) f.to[i] = spawn(rt, once, &n, 0);
        rondo_actor *a = spawn(rt, spread_many, &f, 0);
        send(a);
        assert_int_equal(rondo_runtime_run(rt), 0);
        assert_int_equal(n, MANY);
        for (unsigned i = 0; i < MANY; i++) rondo_actor_unref(f.to[i]);
        rondo_actor_unref(a);
        rondo_runtime_free(rt);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pinned_actor_stays_on_its_worker),
        cmocka_unit_test(a_busy_pair_does_not_starve_others),
        cmocka_unit_test(queued_work_is_stolen),
        cmocka_unit_test(more_than_a_queue_holds_is_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
