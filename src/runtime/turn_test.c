/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/atomic.h"
#include "base/mem.h"
#include "base/sync.h"
#include "runtime/turn.h"

struct number {
    struct rondo_msg head;
    unsigned n;
};

static void send_number(rondo_actor *to, uint32_t type, unsigned n) {
    struct number *m = rondo_msg_new(type, sizeof *m);
    RONDO_CHECK(m);
    m->n = n;
    rondo_send(to, m);
}

static rondo_runtime *new_runtime(enum rondo_threads_kind kind, unsigned n, bool simulate) {
    struct rondo_runtime_options o = {
        .size = sizeof o, .threads = {.kind = kind, .max = n}, .simulate = simulate, .seed = 11};
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

/* ---- forwarding ---- */

struct hop {
    rondo_actor *next;
    unsigned left, allocations;
};

static void forward(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct hop *h = state;
    if (rondo_mem_failed()) h->allocations++;
    if (h->left-- > 0) {
        rondo_mem_fail_nth(1);
        rondo_send(h->next, m);
        return;
    }
    rondo_mem_fail_nth(0);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void a_ring_of_one_forwards_without_allocating(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(RONDO_THREADS_NONE, 0, false);
    struct hop h = {.left = 1000};
    h.next = spawn(rt, forward, &h);
    send_number(h.next, 1, 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(h.allocations, 0);
    rondo_actor_unref(h.next);
    rondo_runtime_free(rt);
}

/* ---- order ---- */

enum { BURSTS = 300, BURST = 150, RECEIVERS = 3 };

struct sink {
    unsigned next, disorder;
};

static void check_order(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct sink *s = state;
    if (((struct number *)(void *)m)->n != s->next++) s->disorder++;
    rondo_msg_free(m);
    if (s->next == BURSTS * BURST) rondo_actor_stop(self);
}

struct source {
    rondo_actor *to[RECEIVERS];
    unsigned sent, flush_at;
};

/* Each message makes it send a burst to every receiver, more than fits the
 * outbox, now and then with a flush in between. */
static void burst(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct source *s = state;
    for (unsigned i = 0; i < BURST; i++, s->sent++) {
        for (unsigned k = 0; k < RECEIVERS; k++) send_number(s->to[k], 1, s->sent);
        if (s->sent % 97 == s->flush_at) rondo_flush();
    }
    rondo_msg_free(m);
    if (s->sent == BURSTS * BURST) rondo_actor_stop(self);
}

static void run_order(rondo_runtime *rt) {
    struct sink sinks[RECEIVERS] = {{0, 0}};
    struct source source = {.flush_at = 13};
    for (unsigned i = 0; i < RECEIVERS; i++) source.to[i] = spawn(rt, check_order, &sinks[i]);
    rondo_actor *a = spawn(rt, burst, &source);
    for (unsigned i = 0; i < BURSTS; i++) send_number(a, 1, 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    for (unsigned i = 0; i < RECEIVERS; i++) {
        assert_int_equal(sinks[i].next, BURSTS * BURST);
        assert_int_equal(sinks[i].disorder, 0);
        rondo_actor_unref(source.to[i]);
    }
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void the_order_from_one_to_another_is_kept(void **state) {
    (void)state;
    run_order(new_runtime(RONDO_THREADS_NONE, 0, true));
    run_order(new_runtime(RONDO_THREADS_NONE, 0, false));
    run_order(new_runtime(RONDO_THREADS_FIXED, 3, false));
}

/* ---- order across workers: the turn that ended must not be overtaken ---- */

struct relay {
    rondo_actor *to;
    unsigned n, last;
};

static void relay(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct relay *r = state;
    ((struct number *)(void *)m)->n = r->n++; /* numbers in the order of handling */
    rondo_send(r->to, m);
    if (r->n == r->last) rondo_actor_stop(self);
}

struct feeder {
    rondo_actor *to;
    unsigned n;
};

static void feed(void *arg) {
    struct feeder *f = arg;
    for (unsigned i = 0; i < f->n; i++) send_number(f->to, 1, 0);
}

static void a_later_turn_does_not_overtake(void **state) {
    (void)state;
    enum { FEEDERS = 2, EACH = BURSTS * BURST / FEEDERS };
    rondo_runtime *rt = new_runtime(RONDO_THREADS_FIXED, 3, false);
    struct sink sink = {0, 0};
    struct relay r = {.to = spawn(rt, check_order, &sink), .last = FEEDERS * EACH};
    struct feeder f = {spawn(rt, relay, &r), EACH};
    struct rondo_thread threads[FEEDERS];
    for (unsigned i = 0; i < FEEDERS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "feeder", feed, &f), 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    for (unsigned i = 0; i < FEEDERS; i++) rondo_thread_join(&threads[i]);
    assert_int_equal(sink.disorder, 0);
    assert_int_equal(sink.next, FEEDERS * EACH);
    rondo_actor_unref(f.to);
    rondo_actor_unref(r.to);
    rondo_runtime_free(rt);
}

/* ---- references and what is not yet published ---- */

static void swallow(rondo_actor *self, void *state, struct rondo_msg *m) {
    ++*(unsigned *)state;
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void send_and_forget(rondo_actor *self, void *state, struct rondo_msg *m) {
    rondo_actor **to = state;
    rondo_send(*to, m);
    rondo_actor_stop(*to);
    rondo_actor_unref(*to); /* the last reference but the actor's own */
    rondo_actor_stop(self);
}

static void a_send_before_the_last_unref_arrives(void **state) {
    (void)state;
    unsigned n = 0;
    rondo_runtime *rt = new_runtime(RONDO_THREADS_FIXED, 2, false);
    rondo_actor *to = spawn(rt, swallow, &n);
    rondo_actor *a = spawn(rt, send_and_forget, &to);
    send_number(a, 1, 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(n, 1);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

/* ---- a message that leaves a turn through a job ---- */

struct courier {
    struct rondo_job job;
    struct rondo_msg *m;
    rondo_actor *to;
};

struct office {
    rondo_pool *pool;
    struct courier courier;
    unsigned left;
};

static void carry(struct rondo_job *job, void *thread) {
    (void)job, (void)thread;
}

static void carried(struct rondo_job *job, enum rondo_err err) {
    struct courier *c = (struct courier *)(void *)job;
    if (err) RONDO_CHECK(err == RONDO_ERR_CANCELLED);
    rondo_send(c->to, c->m); /* maybe before the turn that gave it has ended */
}

static void hand_over(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct office *o = state;
    if (o->left-- == 0) {
        rondo_msg_free(m);
        rondo_actor_stop(self);
        return;
    }
    o->courier = (struct courier){.job = {.run = carry, .done = carried}, .m = m, .to = self};
    if (rondo_pool_submit(o->pool, &o->courier.job)) rondo_actor_stop(self);
}

static void a_held_message_may_leave_by_a_job(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(RONDO_THREADS_FIXED, 2, false);
    struct office o = {.left = 2000};
    struct rondo_pool_options po = {.size = sizeof po, .threads = {.kind = RONDO_THREADS_NONE}};
    assert_int_equal(rondo_pool_new(rt, &po, &o.pool), 0);
    rondo_actor *a = spawn(rt, hand_over, &o);
    send_number(a, 1, 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(o.left, UINT32_MAX);
    rondo_pool_free(o.pool);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

/* ---- bounded mailboxes ---- */

enum { BOUND = 10, ITEMS = 3000 };

struct bounded {
    rondo_actor *to;
    unsigned sent, refused, handled, in_flight, most; /* in_flight, most: atomic */
};

static void consume(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct bounded *b = state;
    unsigned waiting = rondo_sub_relaxed(&b->in_flight, 1);
    if (waiting > rondo_load_relaxed(&b->most)) rondo_store_relaxed(&b->most, waiting);
    rondo_msg_free(m);
    if (++b->handled == ITEMS) rondo_actor_stop(self);
}

/* Sends as much as goes, then lets others run. */
static void produce(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct bounded *b = state;
    for (unsigned i = 0; i < 3 * BOUND && b->sent < ITEMS; i++) {
        struct number *n = rondo_msg_new(2, sizeof *n);
        RONDO_CHECK(n);
        rondo_add_relaxed(&b->in_flight, 1);
        enum rondo_err err = rondo_try_send(b->to, n);
        if (!err) {
            b->sent++;
            continue;
        }
        rondo_sub_relaxed(&b->in_flight, 1);
        rondo_msg_free(n);
        if (err == RONDO_ERR_FULL) b->refused++;
        break;
    }
    if (b->sent < ITEMS) {
        rondo_send(self, m);
        return;
    }
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void run_bounded(rondo_runtime *rt) {
    struct bounded b = {0};
    struct rondo_actor_options o = {
        .size = sizeof o, .receive = consume, .state = &b, .bound = BOUND};
    assert_int_equal(rondo_spawn(rt, &o, &b.to), 0);
    rondo_actor *producer = spawn(rt, produce, &b);
    send_number(producer, 1, 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(b.handled, ITEMS);
    assert_true(b.refused > 0);
    /* One is being handled, one is about to be refused. */
    assert_true(b.most <= BOUND + 2);
    struct number *n = rondo_msg_new(1, sizeof *n);
    assert_int_equal(rondo_try_send(b.to, n), RONDO_ERR_CLOSED);
    rondo_msg_free(n);
    rondo_actor_unref(producer);
    rondo_actor_unref(b.to);
    rondo_runtime_free(rt);
}

static void a_bounded_mailbox_refuses(void **state) {
    (void)state;
    run_bounded(new_runtime(RONDO_THREADS_NONE, 0, true));
    run_bounded(new_runtime(RONDO_THREADS_NONE, 0, false));
    run_bounded(new_runtime(RONDO_THREADS_FIXED, 2, false));
}

/* ---- who is running ---- */

static void where(rondo_actor *self, void *state, struct rondo_msg *m) {
    bool *right = state;
    *right = rondo_self() == self && rondo_worker_index() == 0;
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

static void a_turn_knows_itself(void **state) {
    (void)state;
    bool right = false;
    rondo_runtime *rt = new_runtime(RONDO_THREADS_NONE, 0, false);
    rondo_actor *a = spawn(rt, where, &right);
    send_number(a, 1, 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_true(right);
    assert_null(rondo_self());
    assert_int_equal(rondo_worker_index(), -1);
    rondo_flush(); /* not in a turn: nothing to do */
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_one_forwards_without_allocating),
        cmocka_unit_test(the_order_from_one_to_another_is_kept),
        cmocka_unit_test(a_later_turn_does_not_overtake),
        cmocka_unit_test(a_send_before_the_last_unref_arrives),
        cmocka_unit_test(a_held_message_may_leave_by_a_job),
        cmocka_unit_test(a_bounded_mailbox_refuses),
        cmocka_unit_test(a_turn_knows_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
