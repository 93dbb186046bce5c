/* SPDX-License-Identifier: MIT */
/*
 * timer.h - one worker's timers: a 4-ary heap under a lock of its own.
 *
 * A timer knows its place in the heap, so that cancelling is exact and takes
 * O(log n).  Timers of one deadline come out in the order they were put in.  The
 * lock is a leaf and is held for a few moves only.
 *
 * A timer's block is counted: one reference for the heap, one for the handle
 * that the caller may hold, one for a tick that is under way.  It holds a
 * reference to its actor, whose runtime's memory (this heap) therefore lives as
 * long as the timer.
 */
#ifndef RONDO_RUNTIME_TIMER_H
#define RONDO_RUNTIME_TIMER_H

#include "base/sync.h"
#include "runtime/actor.h"

struct rondo_timers;

struct rondo_timer {
    struct rondo_timers *home; /* const after add */
    struct rondo_actor *to;    /* const after init; a reference */
    struct rondo_msg *msg;     /* guarded by home's mu while in the heap; one-shot timers */
    uint64_t period_ns;        /* const after init; 0: one-shot */
    size_t index;              /* guarded by home's mu; RONDO_TIMER_OUT: not in the heap */
    uint32_t refs;             /* atomic */
    uint32_t is_ticking;       /* atomic: `tick` is under way */
    struct rondo_msg tick;     /* periodic timers */
};

#define RONDO_TIMER_OUT ((size_t)-1)

struct rondo_timer_slot {
    uint64_t deadline_ns, order;
    struct rondo_timer *timer;
};

struct rondo_timers {
    struct rondo_mutex mu;
    struct rondo_timer_slot *heap; /* guarded by mu */
    size_t n, cap;                 /* guarded by mu */
    uint64_t n_added;              /* guarded by mu */
    bool is_closed;                /* guarded by mu */
    uint64_t earliest_ns;          /* atomic: deadline of the first, UINT64_MAX if none */
};

void rondo_timers_init(struct rondo_timers *ts);
/* Empty by now. */
void rondo_timers_fini(struct rondo_timers *ts);

/* Puts a timer in (given: the heap's reference).  *is_first: it is now the
 * earliest.  Errors: NOMEM, CLOSED. */
RONDO_NODISCARD enum rondo_err rondo_timers_add(struct rondo_timers *ts, struct rondo_timer *t,
                                                uint64_t deadline_ns, bool *is_first);

/* Takes it out; the caller gets the heap's reference.  False: it was out. */
bool rondo_timers_remove(struct rondo_timers *ts, struct rondo_timer *t);

/* The next timer that is due, with a reference; NULL: none.  A one-shot timer is
 * out of the heap; a periodic one has been put back for its next tick after
 * `now_ns` (ticks that were missed are skipped). */
struct rondo_timer *rondo_timers_pop(struct rondo_timers *ts, uint64_t now_ns);

/* Refuses new timers and takes out any one (with the heap's reference); NULL:
 * empty. */
struct rondo_timer *rondo_timers_close(struct rondo_timers *ts);

static inline uint64_t rondo_timers_earliest(const struct rondo_timers *ts) {
    return rondo_load_relaxed(&ts->earliest_ns); /* whoever shortens it also notifies the worker */
}

/* Gives up a reference. */
void rondo_timer_unref(struct rondo_timer *t);

#endif
