/* SPDX-License-Identifier: MIT */
/*
 * worker.h - a thread that runs actors until there is nothing to run, then
 * searches, then parks in its poller.
 *
 * Order: the next slot, a bounded number of times in a row; then the worker's
 * own queues; the shared queue, timers and sockets every so many turns (counted:
 * no clock is read and no call is made for a turn); then others' queues.
 */
#ifndef RONDO_RUNTIME_WORKER_H
#define RONDO_RUNTIME_WORKER_H

#include "runtime/executor.h"

/* Errors: NOMEM, SYSTEM. */
RONDO_NODISCARD enum rondo_err rondo_worker_new(struct rondo_runtime *rt, unsigned index,
                                                struct rondo_worker **out);
/* The thread has ended and nothing is queued.  What timers need of it stays
 * until rondo_worker_free. */
void rondo_worker_close(struct rondo_worker *w);
void rondo_worker_free(struct rondo_worker *w);

/* Makes this thread the worker (NULL: none); returns what it was before. */
struct rondo_worker *rondo_worker_become(struct rondo_worker *w);

/* Runs actors on this thread, which has become `w`, until the runtime says to
 * return: it is closing; or, without threads, somebody called
 * rondo_runtime_stop or the last actor has stopped. */
void rondo_worker_run(struct rondo_worker *w);

/* Takes any runnable actor from any of `w`'s queues, for a runtime whose threads
 * have ended. */
struct rondo_actor *rondo_worker_take_any(struct rondo_worker *w);

#endif
