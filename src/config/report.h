/* SPDX-License-Identifier: MIT */
/*
 * report.h - mistakes, each as one line "file:line: place: what", told together in
 * the order of the file.
 *
 * A place is where in the file, such as "caches.users.ttl"; it may be left out,
 * and so may the line (0).
 */
#ifndef RONDO_CONFIG_REPORT_H
#define RONDO_CONFIG_REPORT_H

#include "config/model.h"

struct rondo_report_line {
    unsigned line;
    char *text;
};

/* Zeroed but for path, fn and arg. */
struct rondo_report {
    const char *path;
    rondo_config_report_fn fn;
    void *arg;
    size_t n_mistakes;
    struct rondo_report_line *kept; /* until they are told */
    size_t n_kept, room;
};

/* `place` may be NULL.  Control characters in what was found become '?'.  Kept
 * until rondo_report_flush; told at once when there is no memory to keep it. */
void rondo_report_mistake(struct rondo_report *r, unsigned line, const char *place, const char *fmt,
                          ...) RONDO_PRINTF(4, 5);

/* Tells what is kept, by line, and frees it. */
void rondo_report_flush(struct rondo_report *r);

#endif
