/* SPDX-License-Identifier: MIT */
/*
 * deadline.h - many deadlines, of which few are ever reached.
 *
 * A hierarchical wheel over milliseconds: 11 levels of 16 slots; setting and
 * clearing take constant time, and the next moment at which something may be
 * due is found from one bit set a level.
 * (G. Varghese, A. Lauck, "Hashed and hierarchical timing wheels", SOSP '87.)
 *
 * Not synchronised.  Deadlines are nodes inside the caller's structs.
 */
#ifndef RONDO_CACHE_DEADLINE_H
#define RONDO_CACHE_DEADLINE_H

#include "base/list.h"
#include <stdint.h>

struct rondo_deadline {
    struct rondo_list link; /* in the wheel; on nothing when not set */
    uint64_t at_ms;
    bool is_flight; /* the owner's: what it is inside of */
};

enum { RONDO_WHEEL_LEVELS = 11, RONDO_WHEEL_SLOTS = 16 };

struct rondo_wheel {
    uint64_t now_ms;
    uint16_t used[RONDO_WHEEL_LEVELS]; /* bit per slot that may hold something */
    struct rondo_list slots[RONDO_WHEEL_LEVELS][RONDO_WHEEL_SLOTS];
};

void rondo_wheel_init(struct rondo_wheel *w, uint64_t now_ms);

void rondo_deadline_init(struct rondo_deadline *d);
/* Sets one that is not set; a moment that has passed is due at once. */
void rondo_deadline_set(struct rondo_wheel *w, struct rondo_deadline *d, uint64_t at_ms);
/* Clears it; does nothing if it is not set. */
void rondo_deadline_clear(struct rondo_deadline *d);

/* A moment no later than the next deadline; UINT64_MAX if there is none. */
uint64_t rondo_wheel_next_ms(struct rondo_wheel *w);

/* Moves the clock forward and puts what is due on `due` (by `link`), no longer
 * set. */
void rondo_wheel_advance(struct rondo_wheel *w, uint64_t now_ms, struct rondo_list *due);

#endif
