/* SPDX-License-Identifier: MIT */
/*
 * waiter.h - somebody who waits for a flight.
 *
 * Made when it joins, as the very message that will be sent (or the call that
 * will be made) when it is over: so ending a wait allocates nothing and cannot
 * be refused.  A waiter belongs to its flight, guarded by the lock of the
 * keyspace, until it is taken off; then to whoever completes it.
 */
#ifndef RONDO_CACHE_WAITER_H
#define RONDO_CACHE_WAITER_H

#include "cache/deadline.h"
#include "rondo/cache.h"

struct rondo_flight;

struct rondo_waiter {
    struct rondo_reply reply; /* first: what is sent */
    rondo_answer_fn fn;       /* NULL: the reply goes to `to` */
    void *arg;
    rondo_actor *to;             /* a reference; NULL, and fn NULL: nobody is told */
    struct rondo_list link;      /* of a flight, or of those to be completed */
    struct rondo_flight *flight; /* NULL once taken off */
    struct rondo_deadline deadline;
    uint64_t joined_ns;
};

/* NULL when out of memory. */
struct rondo_waiter *rondo_waiter_new(const struct rondo_completion *done, uint32_t index,
                                      uint64_t now_ns);

/* Calls or sends; frees the waiter.  `answer` is given.  No lock may be held. */
void rondo_waiter_complete(struct rondo_waiter *w, const struct rondo_answer *answer);

/* The same with the answer that lies in `reply` already. */
void rondo_waiter_complete_ready(struct rondo_waiter *w);

/* Frees one that was never promised a completion. */
void rondo_waiter_free(struct rondo_waiter *w);

/* The answer for a failure: `text` (shared; NULL: static_text) says what. */
struct rondo_answer rondo_answer_failed(enum rondo_err err, rondo_blob *text,
                                        const char *static_text);
struct rondo_answer rondo_answer_absent(void);
/* Shares the blob. */
struct rondo_answer rondo_answer_of(rondo_blob *value);
/* A further answer that shares what `a` holds. */
struct rondo_answer rondo_answer_share(const struct rondo_answer *a);

#endif
