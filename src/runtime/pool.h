/* SPDX-License-Identifier: MIT */
/*
 * pool.h - threads for what blocks.
 *
 * A pool is an interface with two bodies: threads (thread_pool.h) and the
 * simulation's.  rondo_job_sleep finds the one it runs in through a thread-local
 * context.
 */
#ifndef RONDO_RUNTIME_POOL_H
#define RONDO_RUNTIME_POOL_H

#include "rondo/runtime.h"

struct rondo_pool_ops {
    enum rondo_err (*submit)(struct rondo_pool *p, struct rondo_job *job);
    void (*free)(struct rondo_pool *p);
    void (*stats)(const struct rondo_pool *p, struct rondo_pool_stats *out);
};

struct rondo_pool {
    const struct rondo_pool_ops *ops;
};

struct rondo_job_context {
    enum rondo_err (*sleep)(struct rondo_job_context *c, uint64_t ns);
};

/* The context of jobs on this thread from now on (lent; NULL: none); returns the
 * one before. */
struct rondo_job_context *rondo_job_context_use(struct rondo_job_context *c);

/* The least and most threads, how many of them may be stuck beside those, and the
 * jobs that may wait, that options mean.  Errors: INVALID. */
struct rondo_pool_limits {
    unsigned min, max, max_stuck;
    uint32_t queue;
};
RONDO_NODISCARD enum rondo_err rondo_pool_limits(const struct rondo_pool_options *o,
                                                 struct rondo_pool_limits *out);

/* Threads.  Errors: NOMEM, SYSTEM. */
RONDO_NODISCARD enum rondo_err
rondo_thread_pool_new(rondo_runtime *rt, const struct rondo_pool_options *o, rondo_pool **out);

#endif
