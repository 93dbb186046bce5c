/* SPDX-License-Identifier: MIT */
/*
 * evict.h - which entry goes when memory is short: S3-FIFO.
 *
 * New entries enter a small queue of a tenth of the bytes.  Those that were
 * read again by the time they reach its end move to the main queue, the rest
 * leave; so a scan passes through the small queue and touches nothing else.  In
 * the main queue an entry that was read gets another round.  What left the
 * small queue is remembered by a fingerprint, and if it comes back soon it goes
 * to the main queue at once.
 * (J. Yang et al., "FIFO queues are all you need for cache eviction", SOSP '23.)
 *
 * An entry whose key is being loaded is passed over, unless there are no others.
 *
 * An access is a counter of two bits in the entry: no queue moves on a hit.
 * Pure: no clock, no lock, no memory of entries but the two rings.
 */
#ifndef RONDO_CACHE_EVICT_H
#define RONDO_CACHE_EVICT_H

#include "cache/ring.h"

struct rondo_evict {
    struct rondo_ring small, main;
    uint64_t small_bytes, main_bytes; /* of the entries */
    uint64_t *ghosts;                 /* 4 fingerprints a word, newest lowest; NULL until needed */
    uint32_t n_ghosts;                /* words, a power of two */
};

/* Zeroed memory is valid. */
void rondo_evict_fini(struct rondo_evict *ev);

/* Errors: NOMEM (nothing changed). */
RONDO_NODISCARD enum rondo_err rondo_evict_add(struct rondo_evict *ev, struct rondo_entry *e);
void rondo_evict_remove(struct rondo_evict *ev, struct rondo_entry *e);
/* `e` (new) takes the place and the history of `old`, as the same key. */
void rondo_evict_replace(struct rondo_evict *ev, struct rondo_entry *old, struct rondo_entry *e);

/* Takes out the entry that is to go; NULL when empty. */
struct rondo_entry *rondo_evict_pick(struct rondo_evict *ev);

/* The bytes that the rings and fingerprints take beyond the 8 an entry that are
 * part of its cost. */
size_t rondo_evict_overhead(const struct rondo_evict *ev);

static inline uint64_t rondo_evict_count(const struct rondo_evict *ev) {
    return (uint64_t)ev->small.count + ev->main.count;
}

#endif
