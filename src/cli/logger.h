/* SPDX-License-Identifier: MIT */
/*
 * logger.h - where a program's log lines go: stderr, one line an event, as text for
 * people or as JSON for what collects logs.
 *
 *     rondo: warning: cache users: the source fails: no such table
 *     {"time":"2026-01-02T03:04:05.678Z","level":"warning","message":"cache users: …"}
 *
 * A line is one write; one that cannot be written (a full disk, a closed pipe) is
 * lost and nothing waits for it or ends.  Whatever the events, at most 1,000 lines
 * a second are written, and the next one tells how many were not.
 */
#ifndef RONDO_CLI_LOGGER_H
#define RONDO_CLI_LOGGER_H

#include "base/log.h"

struct rondo_logger {
    struct rondo_log_limit limit;
    /* atomic, relaxed: may be set while other threads log */
    unsigned level; /* the most that is written, an enum rondo_log_level */
    bool is_json;
};

/* Sends the process's log there.  `logger` is lent for ever.  Before threads start. */
void rondo_logger_start(struct rondo_logger *logger);

/* Any thread, at any time. */
void rondo_logger_set(struct rondo_logger *logger, enum rondo_log_level level, bool is_json);

/* One line as it is written, its newline included, NUL-terminated and cut at
 * `size`; returns its length.  `wall_ns` is the time since 1970, and `left_out` how
 * many lines were not written before it. */
size_t rondo_logger_format(bool is_json, enum rondo_log_level level, const char *line,
                           uint64_t wall_ns, unsigned left_out, char *out, size_t size);

#endif
