/* SPDX-License-Identifier: MIT */
/*
 * policy.h - replacement policies under one interface, for entries that all cost
 * the same.  `s3fifo` is the one that the cache is built with (src/cache/evict);
 * the others are plain references, written to be read.
 *
 *   lru      the one that was not used for longest goes
 *   sieve    a queue with a hand that spares what was used since it last passed
 *            (Y. Zhang et al., "SIEVE is simpler than LRU", NSDI '24)
 *   tinylfu  a small window before a segmented LRU; what leaves the window gets in
 *            only if it was asked for more often than what would have to go, by
 *            counts that fade (G. Einziger et al., "TinyLFU", ACM ToS 2017, with
 *            the window of W-TinyLFU, fixed at 1 %)
 */
#ifndef BENCH_EVICT_POLICY_H
#define BENCH_EVICT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct policy {
    const char *name;
    /* A cache of `capacity` entries (>= 1) for keys below `universe`. */
    void *(*open)(uint32_t capacity, uint32_t universe);
    void (*close)(void *self);
    /* Reads a key, storing it if it is not there; whether it was. */
    bool (*access)(void *self, uint32_t key);
};

extern const struct policy policy_s3fifo, policy_lru, policy_sieve, policy_tinylfu;

#endif
