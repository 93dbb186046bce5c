/* SPDX-License-Identifier: MIT */
/*
 * table.h - a hash table of entries in which one cache line decides.
 *
 * A bucket is a line of seven words and a link.  A word is an entry's address
 * with 16 bits of its hash on top, so only an entry that is almost certainly
 * the right one is touched.  A full bucket continues in a further line.
 *
 * The table grows by one bucket at a time (linear hashing: W. Litwin, "Linear
 * hashing: a new tool for file and table addressing", 1980): bucket `split` of a
 * round of `round` buckets is divided into itself and `split + round`.  So no
 * insert moves more than a few entries, an entry never leaves the chain that
 * its hash names, and a scan whose cursor counts with its bits reversed meets
 * every entry that stays, however often the table grew in between.  It does not
 * shrink; rondo_table_fini gives everything back.
 *
 * Not synchronised.  Entries belong to the caller.
 */
#ifndef RONDO_CACHE_TABLE_H
#define RONDO_CACHE_TABLE_H

#include "cache/entry.h"

struct rondo_line;

struct rondo_table {
    struct rondo_line **segments; /* of 128 buckets each */
    uint32_t n_segments, cap_segments;
    uint32_t round, split; /* buckets at the start of this round; the next to divide */
    uint64_t count;
    uint64_t bytes; /* of the table itself */
};

/* Zeroed memory is an empty table. */
void rondo_table_fini(struct rondo_table *t);

/* The entry of a key, or NULL. */
struct rondo_entry *rondo_table_find(const struct rondo_table *t, uint64_t hash, unsigned space,
                                     struct rondo_slice key);

/* Fetches the line of a hash into the CPU's cache. */
void rondo_table_prefetch(const struct rondo_table *t, uint64_t hash);
/* And, once that is there, the entry that it names. */
void rondo_table_prefetch_entry(const struct rondo_table *t, uint64_t hash);

/* Puts in an entry whose key is not there.  Errors: NOMEM (nothing changed). */
RONDO_NODISCARD enum rondo_err rondo_table_insert(struct rondo_table *t, struct rondo_entry *e,
                                                  uint64_t hash);
/* Puts `e` in the place of `old`, which has the same key. */
void rondo_table_replace(struct rondo_table *t, struct rondo_entry *old, struct rondo_entry *e,
                         uint64_t hash);
/* Takes out an entry that is there. */
void rondo_table_remove(struct rondo_table *t, struct rondo_entry *e);

typedef void (*rondo_table_fn)(void *arg, struct rondo_entry *e);

/* Visits the entries of the bucket at `cursor` (0 to begin); returns the next
 * cursor, 0 at the end.  `fn` changes nothing in the table. */
uint32_t rondo_table_scan(const struct rondo_table *t, uint32_t cursor, rondo_table_fn fn,
                          void *arg);

/* Visits every entry once and takes out those for which `fn` is true (it may
 * free them; `word` is the table's own business).  Returns how many. */
typedef bool (*rondo_table_sweep_fn)(void *arg, struct rondo_entry *e, uint64_t word);
uint64_t rondo_table_sweep(struct rondo_table *t, rondo_table_sweep_fn fn, void *arg);

#endif
