/* SPDX-License-Identifier: MIT */
#include "runtime/pool.h"
#include "base/clock.h"
#include "runtime/executor.h"
#include <errno.h>
#include <time.h>

enum { AUTO_MAX = 16, MAX_THREADS = 1024, DEFAULT_QUEUE = 10000 };

static __thread struct rondo_job_context *this_context;

struct rondo_job_context *rondo_job_context_use(struct rondo_job_context *c) {
    struct rondo_job_context *before = this_context;
    this_context = c;
    return before;
}

enum rondo_err rondo_pool_limits(const struct rondo_pool_options *o,
                                 struct rondo_pool_limits *out) {
    struct rondo_pool_limits l = {.min = 1, .max = 1, .queue = o->queue ? o->queue : DEFAULT_QUEUE};
    switch (o->threads.kind) {
    case RONDO_THREADS_AUTO:
        l.max = AUTO_MAX;
        break;
    case RONDO_THREADS_FIXED:
        l.min = l.max = o->threads.max;
        break;
    case RONDO_THREADS_RANGE:
        l.min = o->threads.min;
        l.max = o->threads.max;
        break;
    case RONDO_THREADS_NONE:
        break;
    default:
        return RONDO_ERR_INVALID;
    }
    if (l.min < 1 || l.min > l.max || l.max > MAX_THREADS) return RONDO_ERR_INVALID;
    l.max_stuck = o->max_stuck ? o->max_stuck : l.max;
    if (l.max_stuck > MAX_THREADS) return RONDO_ERR_INVALID;
    *out = l;
    return RONDO_OK;
}

enum rondo_err rondo_pool_new(rondo_runtime *rt, const struct rondo_pool_options *options,
                              rondo_pool **out) {
    struct rondo_pool_options o = {.size = sizeof o};
    struct rondo_pool_limits limits;
    if (options) {
        if (options->size == 0) return RONDO_ERR_INVALID;
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    }
    enum rondo_err err = rondo_pool_limits(&o, &limits);
    if (err) return err;
    if (rt->scheduler) return rt->scheduler->pool_new(rt->scheduler, &o, out);
    return rondo_thread_pool_new(rt, &o, out);
}

enum rondo_err rondo_pool_submit(rondo_pool *pool, struct rondo_job *job) {
    return pool->ops->submit(pool, job);
}

void rondo_pool_free(rondo_pool *pool) {
    if (pool) pool->ops->free(pool);
}

void rondo_pool_stats(const rondo_pool *pool, struct rondo_pool_stats *out) {
    pool->ops->stats(pool, out);
}

enum rondo_err rondo_job_sleep(uint64_t ns) {
    if (this_context) return this_context->sleep(this_context, ns);
    struct timespec left = {.tv_sec = (time_t)(ns / RONDO_SEC), .tv_nsec = (long)(ns % RONDO_SEC)};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
    return RONDO_OK;
}
