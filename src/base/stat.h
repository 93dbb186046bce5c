/* SPDX-License-Identifier: MIT */
/*
 * stat.h - a histogram of durations with a fixed size and a known error.
 *
 * Values fall into buckets that grow by 1/16 (6.25 %) per step: 16 per power of
 * two up to 2^40 ns (18 minutes), the last takes the rest.  One writer per
 * histogram, or a lock; merge to read several.
 */
#ifndef RONDO_BASE_STAT_H
#define RONDO_BASE_STAT_H

#include <stdint.h>

enum { RONDO_STAT_BUCKETS = 16 * 37 };

struct rondo_stat {
    uint64_t n, sum, max;
    uint32_t buckets[RONDO_STAT_BUCKETS];
};

static inline unsigned rondo_stat_bucket(uint64_t v) {
    if (v < 16) return (unsigned)v;
    unsigned exp = 63u - (unsigned)__builtin_clzll(v); /* >= 4 */
    unsigned i = (exp - 3u) * 16u + (unsigned)((v >> (exp - 4u)) & 15u);
    return i < RONDO_STAT_BUCKETS ? i : RONDO_STAT_BUCKETS - 1u;
}

/* The largest value that falls into bucket i. */
static inline uint64_t rondo_stat_upper(unsigned i) {
    if (i < 16) return i;
    unsigned exp = i / 16u + 3u;
    return (((uint64_t)16 + i % 16u + 1u) << (exp - 4u)) - 1u;
}

static inline void rondo_stat_add(struct rondo_stat *s, uint64_t v) {
    s->n++;
    s->sum += v;
    if (v > s->max) s->max = v;
    s->buckets[rondo_stat_bucket(v)]++;
}

static inline void rondo_stat_merge(struct rondo_stat *into, const struct rondo_stat *from) {
    into->n += from->n;
    into->sum += from->sum;
    if (from->max > into->max) into->max = from->max;
    for (unsigned i = 0; i < RONDO_STAT_BUCKETS; i++) into->buckets[i] += from->buckets[i];
}

/* The value below which `percent` (0..100) of all lie, rounded up to the end of
 * its bucket; 0 when empty. */
static inline uint64_t rondo_stat_percentile(const struct rondo_stat *s, double percent) {
    if (s->n == 0) return 0;
    uint64_t rank = (uint64_t)((double)s->n * percent / 100.0);
    if (rank >= s->n) rank = s->n - 1;
    uint64_t seen = 0;
    for (unsigned i = 0; i < RONDO_STAT_BUCKETS; i++) {
        seen += s->buckets[i];
        if (seen > rank) return rondo_stat_upper(i) < s->max ? rondo_stat_upper(i) : s->max;
    }
    return s->max;
}

#endif
