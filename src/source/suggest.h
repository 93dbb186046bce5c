/* SPDX-License-Identifier: MIT */
/*
 * suggest.h - "did you mean": the known name nearest to one that somebody typed.
 *
 *     struct rondo_suggest s;
 *     rondo_suggest_init(&s, "tll");
 *     for each known name: rondo_suggest_offer(&s, name);
 *     s.best is "ttl", or NULL if nothing is near.
 *
 * Near is an edit distance (insert, delete, replace, swap neighbours: optimal
 * string alignment) of at most a third of the length, at least 1.
 */
#ifndef RONDO_SOURCE_SUGGEST_H
#define RONDO_SOURCE_SUGGEST_H

#include <stddef.h>

struct rondo_suggest {
    const char *typed;
    const char *best; /* borrowed from what was offered */
    size_t distance;
};

void rondo_suggest_init(struct rondo_suggest *s, const char *typed);
void rondo_suggest_offer(struct rondo_suggest *s, const char *name);

/* Names longer than 63 bytes are at an infinite distance. */
size_t rondo_suggest_distance(const char *a, const char *b);

#endif
