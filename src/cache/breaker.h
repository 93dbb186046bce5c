/* SPDX-License-Identifier: MIT */
/*
 * breaker.h - spares a source that fails call after call.
 *
 *     CLOSED ──(failures in a row)──▶ OPEN ──(time)──▶ one probe ──(it works)──▶ CLOSED
 *                                      ▲                  │
 *                                      └── twice as long ─┘ (it fails)
 *
 * While it is open, calls are refused at once; when its time is over one call is
 * let through as a probe, and no other until that one has ended or a further
 * such time has passed.
 *
 * Asking takes no lock; noting is for one thread at a time (the loader's lock).
 */
#ifndef RONDO_CACHE_BREAKER_H
#define RONDO_CACHE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

struct rondo_breaker {
    uint32_t limit;    /* const: failed calls in a row that open it */
    uint64_t first_ns; /* const: how long it opens at first */
    uint64_t until_ns; /* atomic: 0 closed; else the moment of the next probe */
    uint32_t failures; /* in a row; the noter's */
    uint64_t delay_ns; /* the present time between probes; the noter's */
};

void rondo_breaker_init(struct rondo_breaker *b, uint32_t limit, uint64_t first_ns);

/* Whether a call that begins now could be made. */
bool rondo_breaker_admits(const struct rondo_breaker *b, uint64_t now_ns);
/* Whether this call is made: true for one caller only while it is open. */
bool rondo_breaker_passes(struct rondo_breaker *b, uint64_t now_ns);
/* How a call that was made ended; true if the breaker opened or closed by it. */
bool rondo_breaker_note(struct rondo_breaker *b, bool failed, uint64_t now_ns);
/* Opens it whatever the count says; true if it was closed. */
bool rondo_breaker_trip(struct rondo_breaker *b, uint64_t now_ns);
bool rondo_breaker_is_open(const struct rondo_breaker *b);

#endif
