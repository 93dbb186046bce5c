/* SPDX-License-Identifier: MIT */
/*
 * progress.h - a progress bar on a terminal, nothing in a pipe.
 *
 * The bar is one line on stderr, redrawn at most ten times a second and wiped
 * when the job is over.  One thread at a time.
 */
#ifndef RONDO_CLI_PROGRESS_H
#define RONDO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct rondo_progress {
    const char *what; /* "rounds" */
    uint64_t start_ns, drawn_ns;
    bool is_on;
};

/* `enabled` false, or stderr is no terminal: draws nothing. */
void rondo_progress_init(struct rondo_progress *p, const char *what, bool enabled);
void rondo_progress_show(struct rondo_progress *p, uint64_t done, uint64_t total);
void rondo_progress_wipe(struct rondo_progress *p);

/* The line as it would be drawn in `width` columns, for tests; returns its
 * length. */
int rondo_progress_format(char *out, unsigned size, unsigned width, const char *what, uint64_t done,
                          uint64_t total, uint64_t elapsed_ns);

#endif
