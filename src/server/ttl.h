/* SPDX-License-Identifier: MIT */
/* ttl.h - times as commands give them: EX 10, PXAT 1700000000000, EXPIRE key 10. */
#ifndef RONDO_SERVER_TTL_H
#define RONDO_SERVER_TTL_H

#include "server/session.h"

struct rondo_ttl_unit {
    const char *option; /* "EX" */
    int64_t unit_ms;    /* 1000 or 1 */
    bool is_absolute;   /* since the Unix epoch */
};

/* The unit of an option at argv[i]: EX, PX, EXAT, PXAT; NULL if it is none. */
const struct rondo_ttl_unit *rondo_ttl_unit_of(const struct rondo_cmd *call, size_t i);

/* The time at argv[i] as nanoseconds from now, at least 1: a moment that is past
 * leaves the shortest life there is.  False after an error reply. */
bool rondo_ttl_read(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                    uint64_t *ttl_ns);

/* The time at argv[i] as a moment of the runtime's clock, 0 if it is past, which
 * is no mistake here.  False after an error reply. */
bool rondo_ttl_read_moment(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                           uint64_t *moment_ns);

#endif
