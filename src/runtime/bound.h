/* SPDX-License-Identifier: MIT */
/*
 * bound.h - the bound of a mailbox, and senders that pause at it.
 *
 * Only actors with a bound have one of these.  It counts what rondo_try_send has
 * left in the mailbox.  At the bound senders are refused, or (`pauses`) the
 * sending actor is paused after its turn: it keeps its scheduling rights and is on
 * no run queue, but on the full actor's list of waiters, until messages have been
 * handled.
 *
 * Every cycle drains, since nobody waits for an actor that is paused: an actor
 * that is over its own bound or has waiters is never paused, and a paused one that
 * gets over its bound runs again.
 *
 * Whoever pauses stores `is_paused` and `has_waiters`, then loads the counts;
 * whoever counts changes a count, then loads these: all sequentially consistent,
 * so one of the two sees the other.
 */
#ifndef RONDO_RUNTIME_BOUND_H
#define RONDO_RUNTIME_BOUND_H

#include "runtime/executor.h"

struct rondo_bound {
    uint32_t limit;     /* const after init */
    bool pauses;        /* const after init */
    bool has_waiters;   /* atomic; changed under the runtime's pause_mu */
    uint32_t n_counted; /* atomic: messages in the mailbox that count */
    /* guarded by the runtime's pause_mu */
    bool is_closed;
    struct rondo_actor_queue waiters;
    struct rondo_actor *paused_on; /* whom the owner of this bound waits for */
};

/* Zeroed but for the limit; freed with its actor by rondo_free.  NULL: no memory. */
struct rondo_bound *rondo_bound_new(uint32_t limit, enum rondo_when_full when_full);

/* Counts a message to `to`, which has a bound, before it is sent; may mark the
 * sending turn to pause.  Errors: FULL. */
RONDO_NODISCARD enum rondo_err rondo_bound_admit(struct rondo_actor *to);

/* A counted message of `a` is being handled, or was not sent after all. */
void rondo_bound_uncount(struct rondo_actor *a);

/* Pauses `a`, whose rights the caller has, nothing of whose is held or unpublished,
 * because of `on`.  False: there is no need, or it may not be paused. */
bool rondo_bound_pause(struct rondo_actor *a, struct rondo_actor *on);

/* `a` has stopped: its waiters run again.  Does nothing without a bound. */
void rondo_bound_close(struct rondo_actor *a);

/* Makes an actor that the caller has the rights of run if it has messages. */
void rondo_bound_resume(struct rondo_actor *a);

#endif
