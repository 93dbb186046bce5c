/* SPDX-License-Identifier: MIT */
#include "runtime/bound.h"
#include "base/mem.h"

struct rondo_bound *rondo_bound_new(uint32_t limit, enum rondo_when_full when_full) {
    struct rondo_bound *b = rondo_zalloc(sizeof *b);
    if (!b) return NULL;
    b->limit = limit;
    b->pauses = when_full == RONDO_FULL_PAUSE;
    return b;
}

void rondo_bound_resume(struct rondo_actor *a) {
    if (rondo_mailbox_first(&a->mailbox)) rondo_schedule(a, false);
}

static void resume_all(struct rondo_actor_queue *q) {
    for (struct rondo_actor *a; (a = rondo_actor_queue_pop(q));) rondo_bound_resume(a);
}

static bool is_over(const struct rondo_actor *a) {
    /* pairs with the counting in admit and uncount */
    return a->bound && rondo_load_seq_cst(&a->bound->n_counted) >= a->bound->limit;
}

static void forget_locked(struct rondo_actor *a) {
    if (a->bound) a->bound->paused_on = NULL;
    rondo_store_seq_cst(&a->is_paused, 0);
}

static void set_has_waiters_locked(struct rondo_bound *b) {
    rondo_store_seq_cst(&b->has_waiters, b->waiters.first != NULL); /* pairs with uncount */
}

static void remove_waiter_locked(struct rondo_bound *b, struct rondo_actor *a) {
    struct rondo_actor_queue rest = {NULL, NULL, 0};
    for (struct rondo_actor *w; (w = rondo_actor_queue_pop(&b->waiters));)
        if (w != a) rondo_actor_queue_push(&rest, w);
    b->waiters = rest;
    set_has_waiters_locked(b);
    forget_locked(a);
}

/* An actor over its own bound must run. */
static void wake_over(struct rondo_actor *a) {
    if (!rondo_load_seq_cst(&a->is_paused)) return; /* pairs with pause */
    rondo_mutex_lock(&a->rt->pause_mu);
    bool was_paused = a->bound->paused_on != NULL;
    if (was_paused) remove_waiter_locked(a->bound->paused_on->bound, a);
    rondo_mutex_unlock(&a->rt->pause_mu);
    if (was_paused) rondo_bound_resume(a);
}

/* Marks this turn to pause because of `on`. */
static void mark(struct rondo_worker *w, struct rondo_actor *on) {
    if (w->pause_on || w->current == on) return;
    w->pause_on = rondo_actor_ref(on);
    w->leaving |= RONDO_LEAVE_PAUSE;
}

enum rondo_err rondo_bound_admit(struct rondo_actor *to) {
    struct rondo_worker *w = rondo_this_worker;
    struct rondo_bound *b = to->bound;
    /* Sockets do not wait: an actor that watches some is told. */
    bool can_pause = b->pauses && rondo_worker_is_in_turn(w) && !w->current->ios;
    uint32_t before = rondo_add_seq_cst(&b->n_counted, 1); /* pairs with pause */
    if (before >= b->limit && !can_pause) {
        rondo_bound_uncount(to);
        return RONDO_ERR_FULL;
    }
    if (before + 1 < b->limit) return RONDO_OK;
    wake_over(to);
    if (can_pause) mark(w, to);
    return RONDO_OK;
}

void rondo_bound_uncount(struct rondo_actor *a) {
    struct rondo_bound *b = a->bound;
    struct rondo_actor_queue ready = {NULL, NULL, 0};
    uint32_t left = rondo_sub_seq_cst(&b->n_counted, 1) - 1; /* pairs with pause */
    if (left >= b->limit || !rondo_load_seq_cst(&b->has_waiters)) return;
    rondo_mutex_lock(&a->rt->pause_mu);
    /* As many as there is room for; all once there is nothing left that would wake
     * the others. */
    for (uint32_t room = b->limit - left; b->waiters.first && (left == 0 || room > 0); room--) {
        struct rondo_actor *waiter = rondo_actor_queue_pop(&b->waiters);
        forget_locked(waiter);
        rondo_actor_queue_push(&ready, waiter);
    }
    set_has_waiters_locked(b);
    rondo_mutex_unlock(&a->rt->pause_mu);
    resume_all(&ready);
}

bool rondo_bound_pause(struct rondo_actor *a, struct rondo_actor *on) {
    struct rondo_runtime *rt = a->rt;
    struct rondo_bound *b = on->bound;
    rondo_mutex_lock(&rt->pause_mu);
    bool is_free = rt == on->rt && !b->is_closed && !(a->bound && a->bound->waiters.first);
    if (is_free) {
        if (a->bound) a->bound->paused_on = on;
        rondo_store_seq_cst(&a->is_paused, 1); /* pairs with admit */
        rondo_actor_queue_push(&b->waiters, a);
        set_has_waiters_locked(b);
        is_free = is_over(on) && !is_over(a);
        if (!is_free) remove_waiter_locked(b, a);
    }
    rondo_mutex_unlock(&rt->pause_mu);
    return is_free;
}

void rondo_bound_close(struct rondo_actor *a) {
    struct rondo_actor_queue ready = {NULL, NULL, 0};
    if (!a->bound) return;
    rondo_mutex_lock(&a->rt->pause_mu);
    a->bound->is_closed = true;
    for (struct rondo_actor *w; (w = rondo_actor_queue_pop(&a->bound->waiters));) {
        forget_locked(w);
        rondo_actor_queue_push(&ready, w);
    }
    set_has_waiters_locked(a->bound);
    rondo_mutex_unlock(&a->rt->pause_mu);
    resume_all(&ready);
}
