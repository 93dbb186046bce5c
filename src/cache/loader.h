/* SPDX-License-Identifier: MIT */
/*
 * loader.h - what calls the source of one cache: its queue, its batches, its
 * threads.
 *
 * A loader serves any keeper of keys through struct rondo_loader_host: it takes
 * flights, asks the host whether each may start, makes one call for up to
 * `batch` of them on a thread of its pool and gives each back with its landing.
 * Nothing is done with a flight in between, so a flight is always at one place.
 *
 * One call is one job of the pool: `run` makes the call and keeps the answers,
 * `done` lands them.  While a job waits for a thread, flights gather for it: a
 * busy pool makes batches, an idle one adds no delay.
 *
 * Threads: every function on any thread.  Host functions are called with no
 * lock of the loader held; `admit` takes no lock at all, so a host may call it
 * under its own.
 */
#ifndef RONDO_CACHE_LOADER_H
#define RONDO_CACHE_LOADER_H

#include "cache/flight.h"
#include "cache/landing.h"
#include "cache/pattern.h"

struct rondo_loader;

/* What is next in the call of an UPDATE. */
enum rondo_update_step {
    RONDO_UPDATE_LOAD,  /* the source is to be asked for the old value */
    RONDO_UPDATE_WRITE, /* the flight is a STORE or an ERASE now */
    RONDO_UPDATE_OVER   /* nothing is to be written */
};

struct rondo_loader_host {
    /* The flight's call is about to start: true, and the host starts its
     * deadline; or false, and the host has taken the flight back. */
    bool (*start)(void *host, struct rondo_flight *f, uint64_t now_ns);
    /* The flight's call failed and will be repeated for this key alone: true, and
     * it is QUEUED again; or false, and its failure stands. */
    bool (*retry)(void *host, struct rondo_flight *f);
    /* In the call of an UPDATE: computes what is to be written.  `loaded` is what the
     * source has (no failure), NULL if it was not asked.  OVER: fills *end (given). */
    enum rondo_update_step (*compute)(void *host, struct rondo_flight *f,
                                      const struct rondo_landing *loaded,
                                      struct rondo_landing *end);
    /* The end: both are given. */
    void (*land)(void *host, struct rondo_flight *f, struct rondo_landing *landing);
};

struct rondo_loader_options {
    const char *name; /* of the cache; lent until free, as are the next two */
    const struct rondo_pattern *pattern;
    const struct rondo_loader_host *host;
    void *host_arg;
    struct rondo_source source; /* given on success: closed by rondo_loader_free */
    struct rondo_threads threads;
    unsigned max_stuck; /* threads beyond load_timeout that are replaced; 0: as many as threads */
    uint64_t load_timeout_ns; /* told to the source; the host keeps the deadline */
    uint32_t queue, batch;
    uint64_t max_value_bytes;
    uint32_t breaker_failures;
    uint64_t breaker_probe_ns;
};

/* Errors: NOMEM, INVALID, SYSTEM. */
RONDO_NODISCARD enum rondo_err rondo_loader_new(rondo_runtime *rt,
                                                const struct rondo_loader_options *options,
                                                struct rondo_loader **out);

/* Takes no new flight, lands those that wait as CLOSED, waits for the calls that
 * run and joins the threads.  Blocks. */
void rondo_loader_close(struct rondo_loader *l);
/* After close, when no flight is left. NULL does nothing. */
void rondo_loader_free(struct rondo_loader *l);

/* Keeps `n` places in the queue, all or none; each is to be used by one submit
 * or given back.  Errors: FULL, CLOSED, CONNECT (the breaker is open). */
RONDO_NODISCARD enum rondo_err rondo_loader_admit(struct rondo_loader *l, uint32_t n,
                                                  uint64_t now_ns);
/* A place for a flight that must not be refused. */
void rondo_loader_admit_always(struct rondo_loader *l, uint32_t n);
void rondo_loader_give_back(struct rondo_loader *l, uint32_t n);

/* A flight that somebody waits for now, though it took off for nobody: it goes in
 * front of those that nobody waits for.  `f` is only compared, so it may have
 * landed meanwhile. */
void rondo_loader_promote(struct rondo_loader *l, const struct rondo_flight *f);

/* Queues the QUEUED flights of a list (by `queue`), each on a place of its own;
 * those for nobody (is_background) come behind all others.
 * Given: a closed loader lands them at once. */
void rondo_loader_submit(struct rondo_loader *l, struct rondo_list *flights);

/* The call that a flight is part of is to end soon: its source is told, if it can
 * be.  `f` is only compared, so it may have landed meanwhile. */
void rondo_loader_cancel(struct rondo_loader *l, const struct rondo_flight *f);

/* On a thread that is inside a call of this loader: whether that call asks for
 * this key; whether it is inside one at all.  Elsewhere false. */
bool rondo_loader_asks_for(const struct rondo_loader *l, uint64_t hash,
                           const struct rondo_key *key);
bool rondo_loader_is_inside(const struct rondo_loader *l);
/* Makes the next call here and now, on a connection of its own; false if there
 * is none to be made (or no memory). */
bool rondo_loader_help(struct rondo_loader *l);

/* A landing that fails, its text "<cache> <text>" on one line. */
struct rondo_landing rondo_loader_failure(const struct rondo_loader *l, enum rondo_err err,
                                          const char *text);

struct rondo_loader_stats {
    uint64_t loads, calls, answers_ignored;
    uint64_t queued, threads, busy, breaker_open;
    uint64_t stuck; /* threads beyond load_timeout now */
};
/* Adds how long its calls that load took. */
void rondo_loader_times(struct rondo_loader *l, struct rondo_times *sum);
void rondo_loader_stats(struct rondo_loader *l, struct rondo_loader_stats *out);

#endif
