/* SPDX-License-Identifier: MIT */
/* times.h - adding to and up struct rondo_times.  Not synchronised. */
#ifndef RONDO_CACHE_TIMES_H
#define RONDO_CACHE_TIMES_H

#include "rondo/cache.h"

static inline unsigned rondo_times_bucket(uint64_t ns) {
    uint64_t us = ns / 1000;
    unsigned i = us ? 64 - (unsigned)__builtin_clzll(us) : 0;
    return i < RONDO_TIMES_BUCKETS ? i : RONDO_TIMES_BUCKETS - 1;
}

/* From one moment to another; a clock that was read by somebody else may lag. */
static inline void rondo_times_note(struct rondo_times *t, uint64_t from_ns, uint64_t to_ns) {
    uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
    t->count++;
    t->sum_ns += ns;
    t->buckets[rondo_times_bucket(ns)]++;
}

static inline void rondo_times_merge(struct rondo_times *into, const struct rondo_times *from) {
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    for (unsigned i = 0; i < RONDO_TIMES_BUCKETS; i++) into->buckets[i] += from->buckets[i];
}

#endif
