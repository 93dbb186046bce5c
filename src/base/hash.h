/* SPDX-License-Identifier: MIT */
/* hash.h - one keyed 64-bit hash (XXH3) for all tables.  The seed is drawn once
 * per table from the system, so that clients cannot choose colliding keys. */
#ifndef RONDO_BASE_HASH_H
#define RONDO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t rondo_hash(const void *data, size_t len, uint64_t seed) {
    return XXH3_64bits_withSeed(data, len, seed);
}

/* A seed from the system's random numbers.  Never fails: falls back on clock and
 * addresses. */
uint64_t rondo_hash_seed(void);

/* splitmix64: a small, fast, repeatable generator for simulations, jitter and
 * scripted sources.  Not for secrets. */
static inline uint64_t rondo_random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

__extension__ typedef unsigned __int128 rondo_u128;

/* 0 .. n-1, n > 0. */
static inline uint64_t rondo_random_below(uint64_t *state, uint64_t n) {
    return (uint64_t)(((rondo_u128)rondo_random_next(state) * n) >> 64);
}

#endif
