/* SPDX-License-Identifier: MIT */
/*
 * router.h - which of many patterns claims a key: the one with the longest
 * literal prefix that matches.
 *
 * A radix trie over the literal prefixes: a lookup walks down along the key and
 * then tries the patterns that it passed, deepest first, so its cost depends on
 * the key and on how prefixes nest, not on how many patterns there are.
 *
 * Not synchronised while patterns are added; immutable afterwards.
 */
#ifndef RONDO_CACHE_ROUTER_H
#define RONDO_CACHE_ROUTER_H

#include "cache/pattern.h"

struct rondo_router_node;

struct rondo_router {
    struct rondo_router_node *root; /* NULL: empty */
};

/* Zeroed memory is an empty router. */
void rondo_router_fini(struct rondo_router *r);

/* Adds a pattern (lent until fini) with what route is to answer for it.
 * Errors: EXISTS (a pattern with the same literal prefix is there: which of the
 * two should win would be a guess), NOMEM (nothing was added). */
RONDO_NODISCARD enum rondo_err rondo_router_add(struct rondo_router *r,
                                                const struct rondo_pattern *pattern, void *value);

/* Takes a pattern out again. */
void rondo_router_remove(struct rondo_router *r, const struct rondo_pattern *pattern);

/* The value of the pattern that claims `key`; NULL if none does. */
void *rondo_router_route(const struct rondo_router *r, struct rondo_slice key);

#endif
