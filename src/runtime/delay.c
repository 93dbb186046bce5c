/* SPDX-License-Identifier: MIT */
#include "runtime/delay.h"
#include "base/mem.h"

static void tick_at_rest(struct rondo_msg *m) {
    struct rondo_timer *t = RONDO_CONTAINER_OF(m, struct rondo_timer, tick);
    rondo_store_release(&t->is_ticking, 0); /* pairs with the exchange in fire_periodic */
    rondo_timer_unref(t);
}

static void fire_periodic(struct rondo_timer *t) {
    if (rondo_mailbox_is_dead(&t->to->mailbox)) {
        if (rondo_timers_remove(t->home, t)) rondo_timer_unref(t);
        rondo_timer_unref(t);
    } else if (rondo_exchange_acq_rel(&t->is_ticking, 1)) { /* pairs with tick_at_rest */
        rondo_timer_unref(t);                               /* the last tick is still unhandled */
    } else {
        rondo_post(t->to, &t->tick);
    }
}

bool rondo_delay_fire_one(struct rondo_timers *ts, uint64_t now_ns) {
    struct rondo_timer *t = rondo_timers_pop(ts, now_ns);
    if (!t) return false;
    if (t->period_ns) {
        fire_periodic(t);
        return true;
    }
    struct rondo_msg *m = t->msg;
    t->msg = NULL;
    rondo_post(t->to, m);
    rondo_timer_unref(t);
    return true;
}

void rondo_delay_close(struct rondo_timers *ts) {
    for (struct rondo_timer *t; (t = rondo_timers_close(ts));) {
        rondo_msg_free(t->msg);
        t->msg = NULL;
        rondo_timer_unref(t);
    }
}

/* The timers of this worker, of the one that the actor is pinned to, or of the
 * first. */
static struct rondo_worker *home_of(const struct rondo_actor *to) {
    struct rondo_worker *w = rondo_this_worker;
    if (w && w->rt == to->rt) return w;
    return to->rt->workers[to->pin ? to->pin - 1 : 0];
}

static struct rondo_timer *timer_new(struct rondo_actor *to, bool has_handle) {
    struct rondo_timer *t = rondo_zalloc(sizeof *t);
    if (!t) return NULL;
    t->to = rondo_actor_ref(to);
    t->index = RONDO_TIMER_OUT;
    t->refs = has_handle ? 2 : 1;
    return t;
}

static enum rondo_err start(struct rondo_timer *t, uint64_t delay_ns, rondo_timer **out) {
    struct rondo_worker *w = home_of(t->to);
    uint64_t now_ns = rondo_clock_now(w->rt->clock);
    bool is_first = false;
    enum rondo_err err = rondo_mailbox_is_dead(&t->to->mailbox) ? RONDO_ERR_CLOSED : RONDO_OK;
    if (!err) err = rondo_timers_add(&w->timers, t, rondo_deadline(now_ns, delay_ns), &is_first);
    if (err) {
        rondo_actor_release(t->to);
        rondo_free(t);
        return err;
    }
    if (out) *out = t;
    if (is_first && w != rondo_this_worker) rondo_worker_notify(w);
    return RONDO_OK;
}

enum rondo_err rondo_send_after(rondo_actor *to, void *m, uint64_t delay_ns, rondo_timer **out) {
    struct rondo_timer *t = timer_new(to, out != NULL);
    enum rondo_err err = t ? RONDO_OK : RONDO_ERR_NOMEM;
    if (!err) {
        t->msg = m;
        err = start(t, delay_ns, out);
    }
    if (err) rondo_msg_free(m);
    return err;
}

enum rondo_err rondo_send_every(rondo_actor *to, uint32_t type, uint64_t period_ns,
                                rondo_timer **out) {
    if (period_ns < RONDO_MS) return RONDO_ERR_INVALID;
    struct rondo_timer *t = timer_new(to, out != NULL);
    if (!t) return RONDO_ERR_NOMEM;
    t->period_ns = period_ns;
    t->tick = (struct rondo_msg){
        .type = type ? type : RONDO_MSG_TICK, .flags_ = RONDO_MSG_STATIC, .fini = tick_at_rest};
    return start(t, period_ns, out);
}

bool rondo_timer_cancel(rondo_timer *t) {
    bool was_in = rondo_timers_remove(t->home, t);
    if (was_in) {
        rondo_msg_free(t->msg);
        t->msg = NULL;
        rondo_timer_unref(t);
    }
    rondo_timer_unref(t);
    return was_in;
}

struct rondo_msg *rondo_delay_take(struct rondo_timer *t) {
    struct rondo_msg *m = NULL;
    if (rondo_timers_remove(t->home, t)) {
        m = t->msg;
        t->msg = NULL;
        rondo_timer_unref(t);
    }
    rondo_timer_unref(t);
    return m;
}

void rondo_timer_free(rondo_timer *t) {
    if (t) rondo_timer_unref(t);
}
