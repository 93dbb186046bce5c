/* SPDX-License-Identifier: MIT */
/*
 * executor.h - a runtime's workers and who makes an actor run where.
 *
 * Each worker has a *next* slot (the actor that it made runnable last, in its
 * own turn), a ring that others steal from, a queue of actors pinned to it, an
 * inbox where other threads put those, and its timers and poller.  Actors that
 * are made runnable by threads that are no worker go to one shared queue.
 *
 * Waking.  A worker's `state` word says whether it is parked and whether
 * somebody has left it something.  Leaving something is: put it in place, then
 * set NOTIFIED by a read-modify-write on `state`; a parking worker swaps 0 for
 * PARKED by another.  The two are ordered one way or the other, so either the
 * worker sees the note and stays, or the other sees it parked and wakes it.
 * The shared queue uses the same idea with two words: its length is stored, then
 * the workers' states are loaded; a parking worker stores its state, then loads
 * the length; all four sequentially consistent.
 * Work that a worker makes for itself wakes nobody, unless there is some to
 * spare (more than the next slot) and nobody is searching already.
 *
 * A simulation puts a `scheduler` in place: the one seam between the two.
 */
#ifndef RONDO_RUNTIME_EXECUTOR_H
#define RONDO_RUNTIME_EXECUTOR_H

#include "base/clock.h"
#include "base/log.h"
#include "runtime/msg.h"
#include "runtime/poller.h"
#include "runtime/runq.h"
#include "runtime/timer.h"

enum {
    RONDO_OUTBOX_CAP = 64,
    RONDO_SERVICE_TURNS = 64, /* between a busy worker's looks elsewhere */
    RONDO_MAX_WORKERS = 1024,
    /* bits of rondo_worker.leaving */
    RONDO_LEAVE_STOP = 1,
    RONDO_LEAVE_PAUSE = 2,
    /* bits of rondo_worker.state */
    RONDO_NOTIFIED = 1,
    RONDO_PARKED = 2,
    RONDO_SEARCH = 4 /* woken to look for work; counted in n_searching */
};

struct rondo_send {
    struct rondo_actor *to;
    struct rondo_msg *msg;
};

struct rondo_worker {
    /* owner thread only */
    struct rondo_actor *next;
    struct rondo_actor *current; /* atomic: the monitor looks whether it is NULL */
    bool is_held_freed;          /* the held message was freed: do it once it is off */
    uint8_t leaving;             /* RONDO_LEAVE_*: what `current` does after this message */
    bool is_searching;
    unsigned spin_after;   /* parks until it spins again */
    unsigned spin_backoff; /* what spin_after becomes when spinning was in vain */
    unsigned n_sends;
    unsigned n_watches;
    unsigned index;                 /* const after init */
    struct rondo_runtime *rt;       /* const after init */
    struct rondo_runtime *local_rt; /* const after init; NULL in a simulation */
    struct rondo_actor *pause_on;   /* with RONDO_LEAVE_PAUSE: counted reference */
    struct rondo_actor_queue pinned;
    struct rondo_poller poller;
    uint64_t random;
    /* counters: owner writes, any thread reads */
    uint64_t turns;
    uint64_t more_handled; /* messages beyond the first of each turn, modulo 2^64 */
    uint64_t steals, slow_turns;
    uint64_t service_at, poll_at; /* owner thread only: turns at which it looks elsewhere */
    uint64_t slow_since_ns; /* atomic: set by the monitor when a turn is long, reset by the owner */
    uint64_t slow_waited_ns; /* atomic: and how long the thread had waited for a processor then */
    unsigned thread_number;  /* atomic: set by the thread, 0 before */
    struct rondo_send sends[RONDO_OUTBOX_CAP];
    struct rondo_msg_cache msgs;
    struct rondo_thread thread;

    _Alignas(RONDO_CACHE_LINE) unsigned state; /* atomic */
    struct rondo_actor *inbox;                 /* atomic: a stack of pinned actors */
    bool wants_attention; /* atomic: set by the monitor every millisecond, reset by the owner */
    bool is_stalled;      /* atomic: the monitor lets thieves take a queue of one */

    _Alignas(RONDO_CACHE_LINE) struct rondo_runq runq;
    _Alignas(RONDO_CACHE_LINE) struct rondo_timers timers;
};

/* What a simulation does in the executor's place.  One thread. */
struct rondo_scheduler {
    void (*schedule)(struct rondo_scheduler *s, struct rondo_actor *a);
    /* Makes room so that schedule cannot fail.  Errors: NOMEM. */
    enum rondo_err (*reserve)(struct rondo_scheduler *s, size_t n_actors);
    enum rondo_err (*pool_new)(struct rondo_scheduler *s, const struct rondo_pool_options *o,
                               struct rondo_pool **out);
    enum rondo_err (*run)(struct rondo_scheduler *s);
    /* A runnable actor, taken off; NULL: none. */
    struct rondo_actor *(*take)(struct rondo_scheduler *s);
    void (*free)(struct rondo_scheduler *s);
};

struct rondo_runtime {
    struct rondo_registry registry; /* first: its release gets back to us */
    /* const after init */
    struct rondo_worker **workers;
    unsigned n_workers;
    bool has_threads; /* false: rondo_runtime_run is the worker */
    struct rondo_scheduler *scheduler;
    const struct rondo_clock *clock;
    uint64_t slow_turn_ns;
    struct rondo_msg_depot depot;

    /* atomic; read on every turn that makes work, written when workers park */
    _Alignas(RONDO_CACHE_LINE) unsigned n_parked;
    unsigned n_searching;
    bool is_closing;        /* workers end */
    bool is_stop_requested; /* rondo_runtime_run returns */
    bool is_monitor_idle;   /* the monitor waits for a worker to unpark */
    uint64_t wakeups;

    /* actors for whichever worker comes first */
    _Alignas(RONDO_CACHE_LINE) struct rondo_mutex shared_mu;
    struct rondo_actor_queue shared; /* guarded by shared_mu */
    unsigned n_shared;               /* atomic: its length */

    struct rondo_mutex pause_mu; /* who is paused and why: bound.h */

    struct rondo_mutex mu; /* with `changed`: for those who wait for the runtime */
    struct rondo_cond changed;
    bool is_running;           /* guarded by mu: somebody is in rondo_runtime_run */
    struct rondo_cond monitor; /* with mu */
    struct rondo_thread monitor_thread;
    bool has_monitor;
    struct rondo_log_limit slow_limit;
};

/* The worker that this thread is; NULL elsewhere.  In a turn `current` is set. */
extern __thread struct rondo_worker *rondo_this_worker
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Makes an actor run (the caller has its scheduling rights).  `use_next`: it may
 * go to this worker's next slot, which must not be left filled while a turn goes
 * on, since nobody can steal from there. */
void rondo_schedule(struct rondo_actor *a, bool use_next);

/* Puts an actor to the back of this worker's queues. */
void rondo_worker_enqueue(struct rondo_worker *w, struct rondo_actor *a);

/* Pushes a message (given) at once and schedules; drops if the actor is dead. */
void rondo_post(struct rondo_actor *to, struct rondo_msg *m);

/* Says to a worker that something has been put in place for it. */
void rondo_worker_notify(struct rondo_worker *w);

/* Wakes a parked worker to search for work, unless one is searching. */
void rondo_wake_searcher(struct rondo_runtime *rt);

/* Up to `n` actors of the shared queue; the first is returned, the others go to
 * `w`'s queues. */
struct rondo_actor *rondo_shared_take(struct rondo_runtime *rt, struct rondo_worker *w);

/* True: `a` may be run next by worker `w`, and nothing else is to be: what
 * rondo_schedule(a, true) would find, without the detour through the slot. */
static inline bool rondo_worker_may_run_next(const struct rondo_worker *w,
                                             const struct rondo_actor *a) {
    return a->rt == w->local_rt && !w->next && (!a->pin || a->pin == w->index + 1);
}

static inline bool rondo_worker_is_in_turn(const struct rondo_worker *w) {
    return w && w->current;
}

#endif
