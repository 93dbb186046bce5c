/* SPDX-License-Identifier: MIT */
/*
 * turn.h - one actor handles a batch of its messages on a worker.
 *
 * What a turn sends waits in the worker's outbox and is published at its end,
 * all messages for one receiver with one exchange.  Not before, since the
 * message being handled is usually still *held* by the mailbox (mailbox.h) and
 * is often the one that is sent on.  The end of a turn is therefore: take the
 * held message off and make the mailbox idle (one compare-and-swap), then
 * publish.  In between another worker may already have been given the actor's
 * next turn; it waits on `is_flushing`, else what it sends could overtake what
 * the first turn sent.
 */
#ifndef RONDO_RUNTIME_TURN_H
#define RONDO_RUNTIME_TURN_H

#include "runtime/executor.h"

enum { RONDO_TURN_BATCH = 64 };

/* Runs up to `batch` messages of an actor whose scheduling rights `w` (this
 * thread) has, and gives the rights away: the actor is idle, stopped, or at the
 * back of a queue. */
void rondo_turn_run(struct rondo_worker *w, struct rondo_actor *a, unsigned batch);

/* The same for `a`, then for whatever its turn put into the next slot, and so on,
 * until that is empty or the worker is to look elsewhere (service_at). */
void rondo_turn_run_chain(struct rondo_worker *w, struct rondo_actor *a);

/* Stops an actor whose scheduling rights `w` has without running it. */
void rondo_turn_kill(struct rondo_worker *w, struct rondo_actor *a);

#endif
