/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - actors, messages, timers, pools and sockets.
 *
 * An actor is some state and a function that receives its messages, one at a
 * time, in the order in which each sender sent them.  Actors share a few worker
 * threads; an actor with nothing to do costs memory and nothing else.  Work
 * that blocks belongs on a pool (below), whose results come back as messages.
 *
 * Threads.  Unless a comment says otherwise a function may be called on any
 * thread: in a receive function, on a pool thread, or on a thread of the
 * caller's own.  "In a turn" means: called by a receive function, directly or
 * not, on the worker that runs it.
 *
 * The same program runs on N workers, on the calling thread alone
 * (RONDO_THREADS_NONE), or under a seeded simulation (`simulate`), where one
 * thread, a fake clock and a random but repeatable choice of who runs next make
 * every run with one seed the same run.
 */
#ifndef RONDO_RUNTIME_H
#define RONDO_RUNTIME_H

#include "rondo/rondo.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rondo_runtime rondo_runtime;
typedef struct rondo_actor rondo_actor;
typedef struct rondo_timer rondo_timer;
typedef struct rondo_pool rondo_pool;
typedef struct rondo_io rondo_io;
typedef struct rondo_watch rondo_watch;

/* ------------------------------------------------------------- messages --- */

/*
 * The head of every message; put it first in a struct of your own:
 *
 *     struct token { struct rondo_msg head; uint32_t origin, value; };
 *     struct token *t = rondo_msg_new(MSG_TOKEN, sizeof *t);
 *
 * Exactly one party owns a message at any time.  Sending gives it away; a
 * receive function is given the message it is called with and must send it on
 * (which allocates nothing), keep it, or free it.
 *
 * `fini`, if set, is called once by whoever frees the message, before the
 * memory goes (so that a message dropped on the way releases what it holds).
 * Fields with a trailing underscore belong to the runtime.
 */
struct rondo_msg {
    void *link_;
    void (*fini)(struct rondo_msg *m);
    uint32_t type; /* yours; values from RONDO_MSG_SYSTEM up are the runtime's */
    uint8_t class_, flags_;
    uint8_t held_; /* still the last of the mailbox it was received from */
    uint8_t spare_;
};

enum {
    RONDO_MSG_SYSTEM = 0x7fff0000,
    RONDO_MSG_STOP = RONDO_MSG_SYSTEM, /* never delivered: see rondo_actor_stop */
    RONDO_MSG_IO,                      /* struct rondo_io_ready */
    RONDO_MSG_TICK,                    /* struct rondo_msg, of rondo_send_every(type 0) */
    RONDO_MSG_DOWN,                    /* struct rondo_down */
    RONDO_MSG_REPLY                    /* struct rondo_ask_reply */
};

/* A message of `size` bytes (>= sizeof(struct rondo_msg)), all zero but `type`.
 * NULL when out of memory.  The caller owns it. */
RONDO_API void *rondo_msg_new(uint32_t type, size_t size);

/* Frees a message (given); NULL does nothing. */
RONDO_API void rondo_msg_free(void *m);

/* ------------------------------------------------------------- runtimes --- */

struct rondo_runtime_options {
    size_t size;
    /* AUTO: one worker a core.  FIXED: `max` workers.  NONE: no thread is
     * started, rondo_runtime_run runs everything on its caller.  RANGE is
     * RONDO_ERR_INVALID. */
    struct rondo_threads threads;
    bool simulate;         /* one thread, fake clock, seeded choices; overrides `threads` */
    uint64_t seed;         /* of the simulation */
    uint64_t slow_turn_ns; /* a turn longer than this is named in the log; 0: 10 ms */
    /* Dead letters: called with each message that is dropped, before it is freed
     * (lent: look at it, do not keep it), on the thread that drops it, in a turn or
     * not.  Not for what is dropped once rondo_runtime_free has returned. */
    void (*on_drop)(void *arg, const rondo_actor *to, const struct rondo_msg *m);
    void *drop_arg;
};

/* Starts a runtime; NULL options are the defaults.
 * Errors: NOMEM, INVALID, SYSTEM (no thread, no descriptor). */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_runtime_new(const struct rondo_runtime_options *options, rondo_runtime **out);

/*
 * Waits until the last actor has stopped or rondo_runtime_stop was called; with
 * RONDO_THREADS_NONE and in a simulation it is also what runs the actors.  One
 * caller at a time, not in a turn.
 * Errors: STALLED (simulation only: actors are alive, yet nothing is runnable,
 * no timer is set and no job is in a pool), INVALID (called in a turn).
 */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_runtime_run(rondo_runtime *rt);

/* Makes rondo_runtime_run return soon.  Actors stay as they are. Any thread. */
RONDO_API void rondo_runtime_stop(rondo_runtime *rt);

/* Stops every actor (messages not yet handled are freed and counted as
 * dropped), cancels every timer, joins the workers, frees everything.  Pools of
 * this runtime must have been freed before.  Not in a turn.  NULL does nothing.
 * References to actors that are still held stay valid for rondo_actor_unref
 * and for rondo_send, which drops. */
RONDO_API void rondo_runtime_free(rondo_runtime *rt);

/* The runtime's monotonic clock (the fake one in a simulation). */
RONDO_API uint64_t rondo_runtime_now_ns(const rondo_runtime *rt);

/* Workers that run actors (1 for NONE and in a simulation). */
RONDO_API unsigned rondo_runtime_workers(const rondo_runtime *rt);

struct rondo_runtime_stats {
    uint64_t actors;                    /* alive now */
    uint64_t spawned, handled, dropped; /* actors ever; messages received; messages dropped */
    uint64_t turns, steals, wakeups, slow_turns;
};

/* A snapshot of counters; each is exact once the runtime is at rest. */
RONDO_API void rondo_runtime_stats(const rondo_runtime *rt, struct rondo_runtime_stats *out);

/* --------------------------------------------------------------- actors --- */

/* Called with one message (given) at a time; `state` is the actor's own and is
 * touched by one worker at a time. */
typedef void (*rondo_receive_fn)(rondo_actor *self, void *state, struct rondo_msg *m);

/* What rondo_try_send does when a bound is reached. */
enum rondo_when_full { RONDO_FULL_REFUSE = 0, RONDO_FULL_PAUSE };

struct rondo_actor_options {
    size_t size;
    const char *name;                /* for traces and warnings; lent until the actor is freed */
    rondo_receive_fn receive;        /* required */
    void *state;                     /* given to the actor if `free_state` is set */
    void (*free_state)(void *state); /* called once, after the last message, on any thread */
    unsigned pin;                    /* 0: runs anywhere; k: only on worker k - 1 */
    uint32_t bound;                  /* of what rondo_try_send leaves waiting; 0: none */
    enum rondo_when_full when_full;  /* with a bound */
};

/* Starts an actor; the caller gets one reference.  An actor lives until it is
 * stopped, references or not.  Errors: NOMEM, INVALID, CLOSED. */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_spawn(rondo_runtime *rt, const struct rondo_actor_options *options, rondo_actor **out);

/* References keep the address valid, not the actor alive. */
RONDO_API rondo_actor *rondo_actor_ref(rondo_actor *a);
RONDO_API void rondo_actor_unref(rondo_actor *a);

/*
 * Sends `m` (given).  Never blocks, never fails: a message to a stopped actor
 * is freed and counted as dropped.  What a turn sends is published at the end
 * of the turn, or by rondo_flush; the order from one sender to one receiver is
 * kept.
 */
RONDO_API void rondo_send(rondo_actor *to, void *m);

/*
 * Like rondo_send, but refuses when `to` has a bound and that many messages sent
 * this way are not handled yet (those that the caller's turn has not published
 * count, too).  What is sent otherwise (rondo_send, timers, replies, DOWN) passes
 * the bound and is not counted.  On an error the message is still the caller's.
 *
 * With RONDO_FULL_PAUSE a sender that is an actor is not refused: the message goes,
 * and the sender handles no more until there is room again.  An actor that is over
 * its own bound itself, or that others wait for, is never paused, so a cycle of
 * such actors drains; one that multiplies messages is bounded by REFUSE alone.
 * Threads, and actors that watch sockets, are refused as ever.
 * Errors: FULL; CLOSED (`to` has stopped; success does not mean that it will not).
 */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_try_send(rondo_actor *to, void *m);

/* In a turn: publishes what this turn has sent so far, and lets go of the message
 * being handled (another thread that gets it by other ways than a send, say
 * through a lock of yours, waits for that).  Elsewhere: nothing to do. */
RONDO_API void rondo_flush(void);

/* Asks an actor to stop: it handles what was sent to it before, then its state
 * is freed, and everything later is dropped.  Called by the actor itself in a
 * turn, it stops after the current message; what is still in its mailbox is
 * dropped.  Stopping twice is once. */
RONDO_API void rondo_actor_stop(rondo_actor *a);

/* The runtime of an actor; its name ("" if none). */
RONDO_API rondo_runtime *rondo_actor_runtime(const rondo_actor *a);
RONDO_API const char *rondo_actor_name(const rondo_actor *a);

/* The actor whose turn this is (borrowed), NULL elsewhere; the worker that this
 * thread is, 0.., or -1 elsewhere. */
RONDO_API rondo_actor *rondo_self(void);
RONDO_API int rondo_worker_index(void);

/* ------------------------------------------------------------- monitors --- */

enum rondo_down_reason {
    RONDO_DOWN_STOPPED = 0, /* somebody called rondo_actor_stop */
    RONDO_DOWN_SELF,        /* it stopped itself */
    RONDO_DOWN_GONE,        /* it had stopped before it was monitored */
    RONDO_DOWN_CLOSED       /* its runtime was freed */
};

/* What a monitor receives (type RONDO_MSG_DOWN), once.  Freed with
 * rondo_msg_free as any message. */
struct rondo_down {
    struct rondo_msg head;
    rondo_actor *actor; /* the one that stopped; borrowed from the message */
    enum rondo_down_reason reason;
};

/*
 * Makes `watcher` receive a struct rondo_down once `target` has stopped: after
 * its last message, after its state is freed, and after all that `target` sent
 * to `watcher`.  Takes effect in the order of the caller's sends to `target`.
 * With `out` the caller gets a handle that must be given to
 * rondo_actor_demonitor or rondo_watch_free.  Errors: NOMEM.
 */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_actor_monitor(rondo_actor *watcher, rondo_actor *target, rondo_watch **out);

/* Ends a monitor and frees the handle (given).  True: no message was sent and
 * none will be.  False: it was sent before. */
RONDO_API bool rondo_actor_demonitor(rondo_watch *w);

/* Frees the handle (given) and lets the monitor stand.  NULL does nothing. */
RONDO_API void rondo_watch_free(rondo_watch *w);

/* ----------------------------------------------------- request and reply --- */

/* The head of a message that wants an answer; put it first in place of struct
 * rondo_msg. */
struct rondo_request {
    struct rondo_msg head;
    struct rondo_ask *ask_;
};

/* What an asker receives (type RONDO_MSG_REPLY), exactly once per request.  Free
 * it with rondo_msg_free, which frees `reply` as well unless it was taken out
 * (set to NULL). */
struct rondo_ask_reply {
    struct rondo_msg head;
    uint64_t tag;       /* as given to rondo_ask */
    enum rondo_err err; /* OK; TIMEOUT; CLOSED: the request was freed unanswered */
    void *reply;        /* a message, or NULL */
};

/*
 * Sends `request` (given; a message that begins with struct rondo_request) to
 * `to`, who may pass it on and who answers with rondo_answer.  `from` receives a
 * struct rondo_ask_reply: the answer, or TIMEOUT after `timeout_ns` (UINT64_MAX:
 * never), or CLOSED if whoever had the request freed it, stopped, or was
 * stopped already.  Errors: NOMEM, CLOSED (`from` has stopped); the request is
 * freed.
 */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_ask(rondo_actor *from, rondo_actor *to, void *request, uint64_t tag, uint64_t timeout_ns);

/* Answers a request (given) with a message (given; NULL, or the request itself,
 * which then is an ordinary message).  True: the answer was sent.  False: it was
 * too late; the answer was freed and counted as dropped.  Any thread. */
RONDO_API bool rondo_answer(void *request, void *reply);

/* --------------------------------------------------------------- timers --- */

/*
 * Sends `m` (given) to `to` once `delay_ns` has passed; never early.  With
 * `out` the caller gets a handle that must be given to rondo_timer_cancel or
 * rondo_timer_free.  Errors: NOMEM (m is freed), CLOSED (m is freed).
 */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_send_after(rondo_actor *to, void *m,
                                                          uint64_t delay_ns, rondo_timer **out);

/* Sends a message of `type` and no body every `period_ns` (>= 1 ms) until
 * cancelled or the actor stops; a tick that is still unhandled is not doubled.
 * Errors: NOMEM, INVALID, CLOSED. */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_send_every(rondo_actor *to, uint32_t type,
                                                          uint64_t period_ns, rondo_timer **out);

/* Cancels and frees the handle (given).  True: the message was not sent and
 * never will be; of a periodic timer: no further tick will be sent.  False: it
 * was sent before.  Exact on any thread. */
RONDO_API bool rondo_timer_cancel(rondo_timer *t);

/* Frees the handle (given) and lets the timer run. NULL does nothing. */
RONDO_API void rondo_timer_free(rondo_timer *t);

/* ---------------------------------------------------------------- pools --- */

/*
 * A pool runs jobs that block, on threads of its own.  A job is yours: put
 * `struct rondo_job` first in a struct of your own and keep it until `done`.
 *
 *   run     on a pool thread; may block.  `thread` is what thread_start
 *           returned for this thread.
 *   done    exactly once for every accepted job, after `run` or instead of it:
 *           OK after run; CANCELLED if it never ran; CLOSED after a run that
 *           rondo_pool_free did not wait for (see there).  On the pool thread, or
 *           on the thread that closes the pool.  Frees the job.  No lock is held.
 *
 * A job may say how long its `run` should take at most (`limit_ns`, from the
 * moment it starts; 0: no limit).  When that has passed and `run` still runs, its
 * thread is *stuck*: the pool counts it, calls `late`, and lets another thread
 * take its place, so that stuck threads do not use up `threads`.  At most
 * `max_stuck` are replaced at one time; when `run` returns, the thread is taken
 * back.
 *
 *   late    optional; at most once, while `run` runs or has just returned, always
 *           before `done` begins.  On a thread of the pool's own that also watches
 *           the other jobs: be quick.  No lock is held.
 *
 * In a simulation jobs run on the simulating thread; `run`, `late` and `done` are
 * steps between which anything else may happen, and rondo_job_sleep takes fake
 * time between them.
 *
 * Zero the struct before you fill it in: fields are added at its end.
 */
struct rondo_job {
    void *link_;
    void (*run)(struct rondo_job *job, void *thread);
    void (*done)(struct rondo_job *job, enum rondo_err err);
    uint64_t queued_ns_; /* when it was accepted */
    uint64_t limit_ns;
    void (*late)(struct rondo_job *job);
};

struct rondo_pool_options {
    size_t size;
    const char *name;             /* of its threads; copied; at most 15 bytes show */
    struct rondo_threads threads; /* AUTO: 1..16.  NONE: one service thread, one job at a time */
    uint32_t queue;               /* jobs that may wait; 0: 10,000 */
    /* Per-thread data, made on the thread before its first job and freed on it
     * after its last (a database connection, say).  Both may be NULL. */
    void *(*thread_start)(void *arg);
    void (*thread_stop)(void *arg, void *thread);
    void *arg;
    unsigned max_stuck;     /* threads replaced at one time; 0: as many as `threads` at most */
    uint64_t close_wait_ns; /* how long rondo_pool_free waits for a `run`; 0: as long as it takes */
    /* Gives `arg` to the pool: called once, after the last thread_stop, on any
     * thread, maybe long after rondo_pool_free.  May be NULL. */
    void (*free_arg)(void *arg);
};

/* Errors: NOMEM, INVALID, SYSTEM (not even the first thread could be started). */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_pool_new(rondo_runtime *rt, const struct rondo_pool_options *options, rondo_pool **out);

/* Queues a job (given on success; still the caller's on error).
 * Errors: FULL, CLOSED. */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_pool_submit(rondo_pool *pool, struct rondo_job *job);

/*
 * Refuses new jobs, cancels those that wait, wakes rondo_job_sleep, waits for
 * the running ones, joins the threads and frees the pool.  Not on one of the
 * pool's own threads and not in a turn.  NULL does nothing.
 *
 * A thread that is in `run` when `close_wait_ns` is over is left behind: when
 * `run` returns, `done` is called with CLOSED and the thread ends.  So a job must
 * own, by reference, all that its run and its done after CLOSED touch.  Such a
 * thread calls thread_stop only if there is a `free_arg` (else `arg` may be gone:
 * the per-thread data stays until the process ends).
 */
RONDO_API void rondo_pool_free(rondo_pool *pool);

/* In a job's run: waits like nanosleep, but ends early when the pool closes
 * (returns CANCELLED).  Elsewhere it is a plain sleep. */
RONDO_API enum rondo_err rondo_job_sleep(uint64_t ns);

struct rondo_pool_stats {
    unsigned threads, busy; /* without those that are stuck and replaced */
    uint32_t queued;
    uint64_t done, refused;
    unsigned stuck, max_stuck; /* threads in a run beyond its limit now; how many are replaced */
    uint64_t late, replaced;   /* runs that were; threads that others took the place of */
};
RONDO_API void rondo_pool_stats(const rondo_pool *pool, struct rondo_pool_stats *out);

/* -------------------------------------------------------------- sockets --- */

enum { RONDO_IO_READ = 1, RONDO_IO_WRITE = 2, RONDO_IO_HANGUP = 4 };

/* What a watched descriptor's actor receives (type RONDO_MSG_IO).  Free it with
 * rondo_msg_free as any message; at most one is under way per watch, and it
 * carries all that became ready since the last. */
struct rondo_io_ready {
    struct rondo_msg head;
    rondo_io *io;
    unsigned events;
};

/*
 * Watches `fd` for an actor that is pinned, in a turn of that actor.  Edge
 * triggered, reading and writing both: after an event read (write) until the
 * call would block or came back short.  `fd` stays the caller's.
 * Errors: NOMEM, INVALID (not pinned, not in its turn), SYSTEM, UNSUPPORTED
 * (in a simulation).
 */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_io_watch(rondo_actor *self, int fd, rondo_io **out);

/* Ends the watch and frees it (given); in a turn of the same actor, before the
 * descriptor is closed.  An event still in the mailbox arrives with `io` NULL.
 * An actor that stops is unwatched by itself. */
RONDO_API void rondo_io_unwatch(rondo_io *io);

#ifdef __cplusplus
}
#endif
#endif
