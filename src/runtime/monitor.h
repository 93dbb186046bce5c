/* SPDX-License-Identifier: MIT */
/*
 * monitor.h - a thread that looks, once a millisecond and only while a worker
 * runs, for turns that last.
 *
 * A worker whose turn count stands still is marked stalled (thieves may then
 * take even a single actor from its queue), a searcher is woken, and the time is
 * noted for the worker to report when the turn ends.  It also wakes a searcher
 * when work is queued while others are parked: wake-ups of local work are hints
 * and may miss.  And it asks every worker for attention: turns are counted, not
 * timed, so without that a worker with long turns would look at its timers and
 * sockets too seldom.
 */
#ifndef RONDO_RUNTIME_MONITOR_H
#define RONDO_RUNTIME_MONITOR_H

#include "runtime/executor.h"

/* Errors: NOMEM, SYSTEM. */
RONDO_NODISCARD enum rondo_err rondo_monitor_start(struct rondo_runtime *rt);
/* The runtime is closing. */
void rondo_monitor_join(struct rondo_runtime *rt);

/* What of a turn that took `took_ns` was the actor's doing: the time in which its
 * thread, which had waited for a processor for `before_ns` and then for `after_ns`,
 * was kept from running is not.  UINT64_MAX: not known. */
uint64_t rondo_turn_own_ns(uint64_t took_ns, uint64_t before_ns, uint64_t after_ns);

/* How long a worker's thread has waited for a processor; UINT64_MAX: not known. */
uint64_t rondo_worker_waited(const struct rondo_worker *w);

void rondo_monitor_wake_slow(struct rondo_runtime *rt);

/* A worker has unparked. */
static inline void rondo_monitor_wake(struct rondo_runtime *rt) {
    /* pairs with the store before the monitor looks at n_parked */
    if (rondo_load_seq_cst(&rt->is_monitor_idle)) rondo_monitor_wake_slow(rt);
}

#endif
