/* SPDX-License-Identifier: MIT */
/* landing.h - how a call of a source came out for one key. */
#ifndef RONDO_CACHE_LANDING_H
#define RONDO_CACHE_LANDING_H

#include "rondo/cache.h"

/* How a flight came out. */
struct rondo_landing {
    enum rondo_outcome outcome; /* VALUE, ABSENT or FAILED */
    enum rondo_err err;         /* of FAILED */
    rondo_blob *blob;           /* a reference: the value, or "<cache> <what happened>"; a
                                   failure may have none when memory is short */
    bool is_unknown;            /* a write that failed may have happened all the same */
    uint64_t ttl_ns;            /* the source's own idea; 0: none */
};

/* Releases and zeroes. */
void rondo_landing_release(struct rondo_landing *landing);

/* A failure whose text is "<name> <text>" on one line; without the text when
 * memory is short.  The caller owns it. */
struct rondo_landing rondo_landing_failure(const char *name, enum rondo_err err, const char *text);

#endif
