/* SPDX-License-Identifier: MIT */
/*
 * sizer.h - how many threads a pool's jobs are worth.
 *
 * A pool grows to its most as long as jobs queue, at once: what blocks for long
 * cannot be measured first.  But where the jobs wait for the same thing (a lock, a
 * database with two processors), more threads only queue there.  So while jobs
 * queue, the pool tries now and then to do with a quarter fewer threads, and keeps
 * to that if the jobs that end per second stay the same; having fewer than its
 * most, it tries more and keeps to that if it helps.  Tries that were in vain come
 * ever more seldom.  (Hill climbing on throughput, as thread pools of managed
 * runtimes do it.)
 *
 * Pure: the caller brings the time.  Guarded by whatever guards the pool.
 */
#ifndef RONDO_RUNTIME_SIZER_H
#define RONDO_RUNTIME_SIZER_H

#include <stdbool.h>
#include <stdint.h>

enum rondo_sizer_mode { RONDO_SIZER_STEADY, RONDO_SIZER_FEWER, RONDO_SIZER_MORE };

struct rondo_sizer {
    unsigned min, max; /* const after init */
    unsigned cap;      /* threads worth having: min..max */
    enum rondo_sizer_mode mode;
    bool was_fewer;         /* the last try */
    unsigned window_n;      /* threads during the window; 0: none is open */
    uint64_t window_ns;     /* its beginning */
    uint64_t window_done;   /* jobs that ended in it */
    unsigned base_n;        /* before the try */
    uint64_t base_rate;     /* jobs that ended per second with base_n */
    unsigned pause, paused; /* windows between tries; since the last */
};

void rondo_sizer_init(struct rondo_sizer *s, unsigned min, unsigned max);

/* A job has ended at `now_ns`, on one of `n_threads`; `is_queued`: others wait. */
void rondo_sizer_done(struct rondo_sizer *s, uint64_t now_ns, unsigned n_threads, bool is_queued);

/* A thread had nothing to do for long: what was measured is of another time. */
void rondo_sizer_reset(struct rondo_sizer *s);

#endif
