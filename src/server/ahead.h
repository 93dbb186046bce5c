/* SPDX-License-Identifier: MIT */
/*
 * ahead.h - which keys the commands will ask for that have come but are not run.
 *
 * A glance, not a parser: it knows arrays of bulk strings, takes the second for a
 * key and stops where anything looks odd.  What it finds is a hint, for
 * rondo_keyspace_prefetch; a wrong one costs a little time and nothing else.
 */
#ifndef RONDO_SERVER_AHEAD_H
#define RONDO_SERVER_AHEAD_H

#include "rondo/cache.h"

/* Finds at most `max` keys in complete commands at the start of `data`; *used says
 * how far it looked.  The keys' bytes lie in `data`. */
size_t rondo_ahead(const char *data, size_t len, unsigned space, struct rondo_key *keys, size_t max,
                   size_t *used);

#endif
