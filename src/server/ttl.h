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

/* The wall clock at the command's `now_ns`. */
uint64_t rondo_ttl_wall_ns(const struct rondo_cmd *call);

/* For a moment that is past: a life that has ended when it begins. */
#define RONDO_TTL_PAST 1u

/* The time at argv[i] as nanoseconds from now, or RONDO_TTL_PAST.  False after an
 * error reply. */
bool rondo_ttl_read(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                    uint64_t *ttl_ns);

/* The time at argv[i] as a moment of the runtime's clock, 0 if it is past, which
 * is no mistake here.  False after an error reply. */
bool rondo_ttl_read_moment(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                           uint64_t *moment_ns);

#endif
