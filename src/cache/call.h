/* SPDX-License-Identifier: MIT */
/*
 * call.h - one call of a source: the keys that it is asked for, and what it
 * answers.
 *
 * Made once and used again and again.  The answers are kept until all are in
 * and the call is over, so whatever a source does (answers twice, too little, an
 * index that it was not asked for), each key comes out exactly once.
 *
 * One thread at a time: whoever has the job.
 */
#ifndef RONDO_CACHE_CALL_H
#define RONDO_CACHE_CALL_H

#include "cache/flight.h"
#include "cache/landing.h"
#include "cache/pattern.h"

struct rondo_call_options {
    const char *name;
    const struct rondo_pattern *pattern;
    size_t batch;
    uint64_t timeout_ns;
    uint64_t max_value_bytes;
    void (*run)(struct rondo_job *job, void *thread);
    void (*done)(struct rondo_job *job, enum rondo_err err);
    void (*late)(struct rondo_job *job);
    void *arg;
};

struct rondo_call_answer {
    bool is_given;
    struct rondo_landing landing;
};

struct rondo_call {
    struct rondo_job job;
    struct rondo_list idle; /* of the loader: idle, or inside the source */
    void *connection;       /* while it is inside the source */
    const struct rondo_call_options *opt;
    void *arg;
    struct rondo_load load; /* what the source sees */
    size_t n;
    uint64_t begun_ns; /* when it was made */
    bool has_run;
    bool is_stuck;         /* beyond its time; guarded by the loader's lock */
    bool was_made;         /* the source was asked: the breaker let it through */
    bool is_broken;        /* the source reported its connection broken */
    enum rondo_err failed; /* of the whole call */
    uint32_t ignored;      /* answers that were not asked for, or came twice */
    struct rondo_flight **flights;
    struct rondo_load_key *keys;
    struct rondo_slice *params;
    struct rondo_call_answer *answers;
};

/* `options` is lent until free.  NULL when out of memory. */
struct rondo_call *rondo_call_new(const struct rondo_call_options *options);
void rondo_call_free(struct rondo_call *call);

static inline struct rondo_call *rondo_call_of_job(struct rondo_job *job) {
    return RONDO_CONTAINER_OF(job, struct rondo_call, job);
}

/* Fills in `load` from flights[0..n). */
void rondo_call_prepare(struct rondo_call *call);
/* Makes the write of flights[0]. */
void rondo_call_write(struct rondo_call *call, const struct rondo_source_ops *ops,
                      void *connection);
/* Key i has come out like this (given), unless it has an answer. */
void rondo_call_answer(struct rondo_call *call, size_t i, struct rondo_landing *landing);
/* The whole call failed: every key without an answer gets this one. */
void rondo_call_fail(struct rondo_call *call, enum rondo_err err, const char *text);
/* What key i came to; the caller owns it. */
struct rondo_landing rondo_call_landing(struct rondo_call *call, size_t i);
/* Releases what was not taken; ready for the next use. */
void rondo_call_reset(struct rondo_call *call);

#endif
