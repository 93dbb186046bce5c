/* SPDX-License-Identifier: MIT */
/*
 * log.h - levelled log lines through the process's log function, and a ring of
 * the most recent ones that a failed check dumps.
 *
 * One line an event; no secrets.  A line that a stranger can cause at will
 * (a protocol error, a failing source) goes through a rate limit of its own.
 */
#ifndef RONDO_BASE_LOG_H
#define RONDO_BASE_LOG_H

#include "base/clock.h"
#include "rondo/rondo.h"

enum { RONDO_LOG_LINE = 1024 }; /* bytes of a line, its NUL included */

/* Any thread.  At most 1,023 bytes of the line are kept; control characters
 * become '?'. */
void rondo_log(enum rondo_log_level level, const char *fmt, ...) RONDO_PRINTF(2, 3);

/* At most `burst` lines a second; the next line that passes tells how many were
 * left out.  Zeroed memory with `burst` set is valid.  Any thread. */
struct rondo_log_limit {
    unsigned burst;
    uint64_t second;   /* atomic */
    unsigned used;     /* atomic */
    unsigned left_out; /* atomic */
};

void rondo_log_limited(struct rondo_log_limit *limit, enum rondo_log_level level, const char *fmt,
                       ...) RONDO_PRINTF(3, 4);

/* What rondo_log_limited asks: may a line pass at `now_ns`?  If so, *left_out is
 * how many did not since the last that did. */
bool rondo_log_limit_pass(struct rondo_log_limit *limit, uint64_t now_ns, unsigned *left_out);

/* The last lines logged at any level, oldest first, to `fn`; for a failed check
 * and for tests. */
void rondo_log_dump(void (*fn)(void *arg, const char *line), void *arg);

#endif
