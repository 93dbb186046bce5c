/* SPDX-License-Identifier: MIT */
#include "runtime/executor.h"

__thread struct rondo_worker *rondo_this_worker
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

void rondo_worker_notify(struct rondo_worker *w) {
    /* pairs with the swap to PARKED in worker.c */
    unsigned old = rondo_or_seq_cst(&w->state, RONDO_NOTIFIED);
    if (old != RONDO_PARKED) return;
    rondo_add_relaxed(&w->rt->wakeups, 1);
    rondo_poller_wake(&w->poller);
}

static bool wake_one(struct rondo_runtime *rt) {
    for (unsigned i = 0; i < rt->n_workers; i++) {
        struct rondo_worker *w = rt->workers[i];
        unsigned expected = RONDO_PARKED;
        /* pairs with the swap to PARKED in worker.c */
        if (rondo_cas_seq_cst(&w->state, &expected, RONDO_PARKED | RONDO_SEARCH)) {
            rondo_add_relaxed(&rt->wakeups, 1);
            rondo_poller_wake(&w->poller);
            return true;
        }
    }
    return false;
}

void rondo_wake_searcher(struct rondo_runtime *rt) {
    for (;;) {
        unsigned expected = 0;
        /* pairs with searchers that give up: they look at the shared queue after */
        if (rondo_load_seq_cst(&rt->n_searching) != 0) return;
        if (!rondo_cas_seq_cst(&rt->n_searching, &expected, 1)) return;
        if (wake_one(rt)) return;
        rondo_sub_seq_cst(&rt->n_searching, 1);
        /* Somebody may have relied on us meanwhile, and a worker may have parked. */
        if (rondo_load_seq_cst(&rt->n_shared) == 0) return;
        if (rondo_load_seq_cst(&rt->n_parked) == 0) return;
    }
}

static void shared_append(struct rondo_runtime *rt, struct rondo_actor_queue *q) {
    rondo_mutex_lock(&rt->shared_mu);
    for (struct rondo_actor *a; (a = rondo_actor_queue_pop(q));)
        rondo_actor_queue_push(&rt->shared, a);
    rondo_store_seq_cst(&rt->n_shared, rt->shared.n); /* pairs with the load of a parking worker */
    rondo_mutex_unlock(&rt->shared_mu);
}

/* Half of the full ring and `a` go where every worker looks. */
static void overflow(struct rondo_worker *w, struct rondo_actor *a) {
    struct rondo_actor_queue q = {NULL, NULL, 0};
    for (unsigned i = 0; i < RONDO_RUNQ_CAP / 2; i++) {
        struct rondo_actor *moved = rondo_runq_pop(&w->runq);
        if (!moved) break;
        rondo_actor_queue_push(&q, moved);
    }
    rondo_actor_queue_push(&q, a);
    shared_append(w->rt, &q);
}

void rondo_worker_enqueue(struct rondo_worker *w, struct rondo_actor *a) {
    struct rondo_runtime *rt = w->rt;
    if (a->pin) {
        rondo_actor_queue_push(&w->pinned, a);
        return;
    }
    if (!rondo_runq_push(&w->runq, a)) overflow(w, a);
    /* Work to spare: thieves leave a queue of one alone.  Hints without partner: the
     * monitor makes up for a miss. */
    if (rondo_load_relaxed(&rt->n_parked) != 0 && rondo_load_relaxed(&rt->n_searching) == 0 &&
        rondo_runq_len(&w->runq) > 1)
        rondo_wake_searcher(rt);
}

static void schedule_pinned(struct rondo_actor *a) {
    struct rondo_worker *w = a->rt->workers[a->pin - 1];
    rondo_actor_inbox_push(&w->inbox, a);
    rondo_worker_notify(w);
}

static void schedule_shared(struct rondo_actor *a) {
    struct rondo_runtime *rt = a->rt;
    struct rondo_actor_queue one = {NULL, NULL, 0};
    rondo_actor_queue_push(&one, a);
    shared_append(rt, &one);
    rondo_wake_searcher(rt);
}

void rondo_schedule(struct rondo_actor *a, bool use_next) {
    struct rondo_worker *w = rondo_this_worker;
    struct rondo_runtime *rt = a->rt;
    if (RONDO_UNLIKELY(rt->scheduler)) {
        rt->scheduler->schedule(rt->scheduler, a);
    } else if (RONDO_UNLIKELY(!w || w->rt != rt)) {
        if (a->pin)
            schedule_pinned(a);
        else
            schedule_shared(a);
    } else if (a->pin && a->pin != w->index + 1) {
        schedule_pinned(a);
    } else if (!use_next) {
        rondo_worker_enqueue(w, a);
    } else {
        struct rondo_actor *before = w->next;
        w->next = a;
        if (before) rondo_worker_enqueue(w, before);
    }
}

void rondo_post(struct rondo_actor *to, struct rondo_msg *m) {
    rondo_msg_await_unheld(m);
    enum rondo_push push = rondo_mailbox_push(&to->mailbox, m, m);
    if (push == RONDO_PUSH_SCHEDULE)
        rondo_schedule(to, !rondo_worker_is_in_turn(rondo_this_worker));
    else if (push == RONDO_PUSH_DEAD)
        rondo_actor_drop(to, m);
}

struct rondo_actor *rondo_shared_take(struct rondo_runtime *rt, struct rondo_worker *w) {
    if (rondo_load_seq_cst(&rt->n_shared) == 0) return NULL; /* pairs with shared_append */
    struct rondo_actor_queue mine = {NULL, NULL, 0};
    rondo_mutex_lock(&rt->shared_mu);
    unsigned share = rt->shared.n / rt->n_workers + 1;
    if (share > RONDO_RUNQ_CAP / 4) share = RONDO_RUNQ_CAP / 4;
    for (unsigned i = 0; i < share; i++) {
        struct rondo_actor *a = rondo_actor_queue_pop(&rt->shared);
        if (!a) break;
        rondo_actor_queue_push(&mine, a);
    }
    rondo_store_seq_cst(&rt->n_shared, rt->shared.n);
    rondo_mutex_unlock(&rt->shared_mu);
    struct rondo_actor *first = rondo_actor_queue_pop(&mine);
    for (struct rondo_actor *a; (a = rondo_actor_queue_pop(&mine));) rondo_worker_enqueue(w, a);
    return first;
}
