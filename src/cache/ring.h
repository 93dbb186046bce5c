/* SPDX-License-Identifier: MIT */
/*
 * ring.h - a first-in-first-out queue of entries in which any entry can be
 * taken out at once.
 *
 * An array of addresses; an entry remembers its sequence number (`pos`, 4
 * bytes), which names its slot whatever the array's size, so growing touches no
 * entry.  Taking one out leaves a hole.
 *
 * Not synchronised.  Entries belong to the caller.
 */
#ifndef RONDO_CACHE_RING_H
#define RONDO_CACHE_RING_H

#include "cache/entry.h"

struct rondo_ring {
    struct rondo_entry **slots;
    uint32_t cap;        /* 0 or a power of two */
    uint32_t head, tail; /* sequence numbers: the oldest, behind the newest */
    uint32_t count;      /* without the holes */
};

/* Zeroed memory is an empty ring. */
void rondo_ring_fini(struct rondo_ring *r);

/* Errors: NOMEM (nothing changed); never right after a pop. */
RONDO_NODISCARD enum rondo_err rondo_ring_push(struct rondo_ring *r, struct rondo_entry *e);
/* The oldest, taken out; NULL when empty. */
struct rondo_entry *rondo_ring_pop(struct rondo_ring *r);
void rondo_ring_remove(struct rondo_ring *r, struct rondo_entry *e);
/* Puts `e` in the place of `old`. */
void rondo_ring_replace(struct rondo_ring *r, const struct rondo_entry *old, struct rondo_entry *e);

#endif
