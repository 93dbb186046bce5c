/* SPDX-License-Identifier: MIT */
/*
 * memory.h - the entries of one shard: a table, the queues of eviction, and
 * the account of every byte.
 *
 * A *part* is what one cache has in one shard: its counters, its remembered
 * absences and errors, and an eviction queue of its own if it has a budget of
 * its own (otherwise its entries compete with everybody's in the common queue).
 *
 * Budgets are kept as sums over all shards.  A store takes what it needs and
 * then evicts from its own shard until the budget holds again; if that does not
 * suffice, the keeper of the shards lets the others evict.
 *
 * Not synchronised: guarded by the shard's lock.  Entries that leave are put on
 * a list of the dead, to be freed after it.
 */
#ifndef RONDO_CACHE_MEMORY_H
#define RONDO_CACHE_MEMORY_H

#include "cache/evict.h"
#include "cache/policy.h"
#include "cache/table.h"

enum { RONDO_SPACES = 16, RONDO_VERSIONS = 256 };

struct rondo_part {
    struct rondo_policy *policy;
    struct rondo_evict *evict; /* own_evict or the common one */
    struct rondo_evict own_evict;
    struct rondo_ring negatives; /* oldest first */
    size_t overhead;             /* of own_evict and negatives, as accounted */
    uint64_t entry_bytes;        /* of all its entries */
    uint64_t negative_bytes;     /* of those that are no values */
    bool is_closed;
    struct rondo_cache_stats stats; /* what is counted in this shard */
    struct rondo_times waits;
};

struct rondo_memory {
    struct rondo_table table;
    struct rondo_evict evict;
    struct rondo_part **parts; /* by number of the cache; entries may be NULL */
    size_t n_parts;
    struct rondo_budget *budget;       /* of all shards together */
    size_t overhead;                   /* of table and evict, as accounted */
    uint64_t sizes[RONDO_SPACES];      /* values, expired ones included */
    uint32_t versions[RONDO_VERSIONS]; /* how often a value changed, by some bits of the hash */
};

void rondo_memory_init(struct rondo_memory *m, struct rondo_budget *budget);
/* Frees all entries and parts. */
void rondo_memory_fini(struct rondo_memory *m);

/* Makes the part of a cache.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_memory_add_part(struct rondo_memory *m,
                                                     struct rondo_policy *policy);

/* Takes it away again, when it has no entries; does nothing if there is none. */
void rondo_memory_remove_part(struct rondo_memory *m, const struct rondo_policy *policy);

static inline struct rondo_part *rondo_memory_part(const struct rondo_memory *m,
                                                   const struct rondo_entry *e) {
    return m->parts[e->cache];
}

/* Puts in `e` (given on success) in place of `old` (NULL: the key is not there).
 * Errors: NOMEM; TOO_LARGE (it would not fit if it were alone); FULL (a
 * remembered absence or error for which there is no room).  On an error nothing
 * has changed, but that older absences and errors may be forgotten. */
RONDO_NODISCARD enum rondo_err rondo_memory_store(struct rondo_memory *m, struct rondo_entry *e,
                                                  uint64_t hash, struct rondo_entry *old,
                                                  uint64_t now_ms, struct rondo_dead *dead);
void rondo_memory_drop(struct rondo_memory *m, struct rondo_entry *e, struct rondo_dead *dead);

/* Where the changes of a key's value are counted, together with those of a few
 * others. */
static inline uint32_t *rondo_memory_version(struct rondo_memory *m, uint32_t hash) {
    return &m->versions[hash >> 24];
}

/* Evicts from this shard until the budgets hold or nothing is left but `keep`
 * (which may be NULL); whether they hold. */
bool rondo_memory_make_room(struct rondo_memory *m, const struct rondo_policy *policy,
                            struct rondo_entry *keep, uint64_t now_ms, struct rondo_dead *dead);

/* Drops all entries of a space. */
void rondo_memory_flush(struct rondo_memory *m, unsigned space, struct rondo_dead *dead);
/* Takes all entries away at once; free what comes back with
 * rondo_memory_discard, after the lock. */
struct rondo_table rondo_memory_flush_all(struct rondo_memory *m);
void rondo_memory_discard(struct rondo_table *t);

/* Counts bytes that are not in entries (n may wrap, to take away). */
static inline void rondo_memory_account(struct rondo_memory *m, struct rondo_part *part,
                                        uint64_t n) {
    part->stats.bytes += n;
    rondo_add_relaxed(&part->policy->budget.used, n); /* partners: the same, in other shards */
    rondo_add_relaxed(&m->budget->used, n);
}

static inline bool rondo_budget_holds(const struct rondo_budget *b) {
    return rondo_load_relaxed(&b->used) <= b->limit;
}

#endif
