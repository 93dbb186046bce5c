/* SPDX-License-Identifier: MIT */
#include "runtime/timer.h"
#include "base/mem.h"

enum { ARITY = 4, FIRST_CAP = 16 };

void rondo_timers_init(struct rondo_timers *ts) {
    *ts = (struct rondo_timers){.earliest_ns = UINT64_MAX};
    rondo_mutex_init(&ts->mu);
}

void rondo_timers_fini(struct rondo_timers *ts) {
    rondo_free(ts->heap);
    rondo_mutex_fini(&ts->mu);
}

static bool is_before(const struct rondo_timer_slot *a, const struct rondo_timer_slot *b) {
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns;
    return a->order < b->order;
}

static void put_locked(struct rondo_timers *ts, size_t i, struct rondo_timer_slot slot) {
    ts->heap[i] = slot;
    slot.timer->index = i;
}

static void sift_up_locked(struct rondo_timers *ts, size_t i, struct rondo_timer_slot slot) {
    while (i > 0 && is_before(&slot, &ts->heap[(i - 1) / ARITY])) {
        put_locked(ts, i, ts->heap[(i - 1) / ARITY]);
        i = (i - 1) / ARITY;
    }
    put_locked(ts, i, slot);
}

static void sift_down_locked(struct rondo_timers *ts, size_t i, struct rondo_timer_slot slot) {
    for (;;) {
        size_t first = i * ARITY + 1, best = first;
        if (first >= ts->n) break;
        for (size_t k = first + 1; k < first + ARITY && k < ts->n; k++)
            if (is_before(&ts->heap[k], &ts->heap[best])) best = k;
        if (!is_before(&ts->heap[best], &slot)) break;
        put_locked(ts, i, ts->heap[best]);
        i = best;
    }
    put_locked(ts, i, slot);
}

static void publish_earliest_locked(struct rondo_timers *ts) {
    rondo_store_relaxed(&ts->earliest_ns, ts->n ? ts->heap[0].deadline_ns : UINT64_MAX);
}

static void take_locked(struct rondo_timers *ts, size_t i) {
    ts->heap[i].timer->index = RONDO_TIMER_OUT;
    ts->n--;
    if (i < ts->n) {
        struct rondo_timer_slot moved = ts->heap[ts->n];
        if (i > 0 && is_before(&moved, &ts->heap[(i - 1) / ARITY]))
            sift_up_locked(ts, i, moved);
        else
            sift_down_locked(ts, i, moved);
    }
    publish_earliest_locked(ts);
}

static enum rondo_err grow_locked(struct rondo_timers *ts) {
    size_t cap = ts->cap ? ts->cap * 2 : FIRST_CAP, bytes;
    if (!rondo_size_mul(cap, sizeof *ts->heap, &bytes)) return RONDO_ERR_NOMEM;
    void *heap = rondo_realloc(ts->heap, bytes);
    if (!heap) return RONDO_ERR_NOMEM;
    ts->heap = heap;
    ts->cap = cap;
    return RONDO_OK;
}

enum rondo_err rondo_timers_add(struct rondo_timers *ts, struct rondo_timer *t,
                                uint64_t deadline_ns, bool *is_first) {
    rondo_mutex_lock(&ts->mu);
    enum rondo_err err = ts->is_closed ? RONDO_ERR_CLOSED : RONDO_OK;
    if (!err && ts->n == ts->cap) err = grow_locked(ts);
    if (!err) {
        struct rondo_timer_slot slot = {deadline_ns, ts->n_added++, t};
        t->home = ts;
        sift_up_locked(ts, ts->n++, slot);
        publish_earliest_locked(ts);
        *is_first = t->index == 0;
    }
    rondo_mutex_unlock(&ts->mu);
    return err;
}

bool rondo_timers_remove(struct rondo_timers *ts, struct rondo_timer *t) {
    rondo_mutex_lock(&ts->mu);
    bool was_in = t->index != RONDO_TIMER_OUT;
    if (was_in) take_locked(ts, t->index);
    rondo_mutex_unlock(&ts->mu);
    return was_in;
}

static uint64_t next_tick(uint64_t deadline_ns, uint64_t period_ns, uint64_t now_ns) {
    uint64_t missed = (now_ns - deadline_ns) / period_ns;
    return deadline_ns + (missed + 1) * period_ns;
}

struct rondo_timer *rondo_timers_pop(struct rondo_timers *ts, uint64_t now_ns) {
    struct rondo_timer *t = NULL;
    if (rondo_timers_earliest(ts) > now_ns) return NULL;
    rondo_mutex_lock(&ts->mu);
    if (ts->n && ts->heap[0].deadline_ns <= now_ns) {
        struct rondo_timer_slot slot = ts->heap[0];
        t = slot.timer;
        if (t->period_ns) {
            slot.deadline_ns = next_tick(slot.deadline_ns, t->period_ns, now_ns);
            slot.order = ts->n_added++;
            rondo_add_relaxed(&t->refs, 1);
            sift_down_locked(ts, 0, slot);
            publish_earliest_locked(ts);
        } else {
            take_locked(ts, 0);
        }
    }
    rondo_mutex_unlock(&ts->mu);
    return t;
}

struct rondo_timer *rondo_timers_close(struct rondo_timers *ts) {
    struct rondo_timer *t = NULL;
    rondo_mutex_lock(&ts->mu);
    ts->is_closed = true;
    if (ts->n) {
        t = ts->heap[ts->n - 1].timer;
        take_locked(ts, ts->n - 1);
    }
    rondo_mutex_unlock(&ts->mu);
    return t;
}

void rondo_timer_unref(struct rondo_timer *t) {
    if (rondo_sub_acq_rel(&t->refs, 1) > 1) return; /* pairs with itself */
    rondo_actor_release(t->to);
    rondo_free(t);
}
