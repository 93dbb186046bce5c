/* SPDX-License-Identifier: MIT */
/*
 * shard.h - one lock over a part of the keys: their memory, their flights and
 * the deadlines of those who wait.
 *
 * Looking a key up and joining its flight are one critical section, so a key is
 * never loaded twice and a waiter never forgotten.  The lock is a leaf: nothing
 * is called with it held but the shard's own data, the allocator and counters.
 * What follows from a change (freeing entries, completing waiters, queueing
 * flights, setting a timer) is collected and done after it.
 *
 * shard.c has what memory alone answers; what needs the source begins in
 * shard_internal.h.
 */
#ifndef RONDO_CACHE_SHARD_H
#define RONDO_CACHE_SHARD_H

#include "base/sync.h"
#include "cache/flight.h"
#include "cache/memory.h"

struct rondo_shard;

/* What all shards of a keyspace share. */
struct rondo_shards {
    rondo_runtime *rt;
    struct rondo_budget budget;
    struct rondo_shard *at; /* an array */
    size_t n;
    /* Sets a timer: rondo_shard_tick is to be called for `shard` once the clock
     * is at `at_ms`.  Errors: NOMEM, CLOSED. */
    enum rondo_err (*arm)(struct rondo_shards *shards, struct rondo_shard *shard, uint64_t at_ms);
};

struct rondo_shard {
    struct rondo_mutex mu;
    struct rondo_shards *shards; /* const */
    /* guarded by mu */
    struct rondo_memory memory;
    struct rondo_flights flights;
    uint32_t epochs[RONDO_SPACES]; /* raised by a flush; flights remember theirs */
    uint64_t armed_ms;             /* the earliest timer that is set; UINT64_MAX: none */
    struct rondo_wheel wheel;
} __attribute__((aligned(RONDO_CACHE_LINE)));

void rondo_shard_init(struct rondo_shard *s, struct rondo_shards *shards);
/* Wants no flights left. */
void rondo_shard_fini(struct rondo_shard *s);

/* A key on its way through: its hash chooses shard, bucket and tag. */
struct rondo_spot {
    struct rondo_shard *shard;
    struct rondo_policy *policy;
    const struct rondo_key *key;
    uint64_t hash;
    uint64_t now_ns;
    uint32_t index;           /* goes into the reply */
    struct rondo_list *group; /* new flights gather here, to be submitted by the caller together;
                                 NULL: each is submitted at once */
};

static inline struct rondo_slice rondo_spot_bytes(const struct rondo_spot *at) {
    return (struct rondo_slice){at->key->data, at->key->len};
}
static inline uint64_t rondo_ms_of(uint64_t ns) {
    return ns / 1000000;
}

/* Reads; see rondo_cache_get. */
enum rondo_outcome rondo_shard_get(const struct rondo_spot *at, const struct rondo_read *read,
                                   struct rondo_answer *answer);
enum rondo_outcome rondo_shard_peek(const struct rondo_spot *at, const struct rondo_read *read,
                                    struct rondo_answer *answer);
enum rondo_outcome rondo_shard_put(const struct rondo_spot *at, struct rondo_slice value,
                                   const struct rondo_write *write, struct rondo_answer *answer);
/* Removes; whether there was a fresh value. */
bool rondo_shard_delete(const struct rondo_spot *at);

/* Starts a load that nobody waits for, unless one is under way.
 * Errors: FULL, CLOSED, NOMEM, INVALID (not a key of this cache). */
RONDO_NODISCARD enum rondo_err rondo_shard_refresh(const struct rondo_spot *at);

/* Ends the flights of a group, which has not been submitted, as refused. */
void rondo_shard_refuse_group(const struct rondo_policy *policy, struct rondo_list *group);

/* Memory alone; see rondo_cache_expiry and its neighbours. */
uint64_t rondo_shard_expiry(const struct rondo_spot *at);
bool rondo_shard_expire(const struct rondo_spot *at, uint64_t expiry_ns);
bool rondo_shard_has(const struct rondo_spot *at);
uint64_t rondo_shard_version(const struct rondo_spot *at);
/* Visits the fresh values of one space in the bucket at `cursor`, under the lock;
 * the next cursor, 0 at the end.  *n grows by those visited. */
uint32_t rondo_shard_scan(struct rondo_shard *s, unsigned space, uint32_t cursor, uint64_t now_ns,
                          size_t *n, rondo_scan_fn fn, void *arg, rondo_cache *const *caches);

/* Computes a new value; `loaded` is what a load brought (data NULL: nothing), for
 * when memory has no fresh one.  VALUE: `fn` was called and its will was done. */
enum rondo_outcome rondo_shard_update(const struct rondo_spot *at, struct rondo_slice loaded,
                                      rondo_update_fn fn, void *arg, struct rondo_answer *answer);

/* The source first, then memory: `kind` is STORE or ERASE.  PENDING, or FAILED. */
enum rondo_outcome rondo_shard_write_through(const struct rondo_spot *at,
                                             enum rondo_flight_kind kind, struct rondo_slice value,
                                             const struct rondo_write *write,
                                             struct rondo_answer *answer);

/* As rondo_shard_update where writes go through: `fn` is called when the turn of
 * the write has come, unless nobody waits by then.  PENDING, or FAILED. */
enum rondo_outcome rondo_shard_update_through(const struct rondo_spot *at, bool load_first,
                                              rondo_update_fn fn, void *arg,
                                              const struct rondo_read *read,
                                              struct rondo_answer *answer);

/* Takes back a read that is PENDING, found by its completion's `arg`: true, and
 * it will not be completed; false: it has been or is being completed. */
bool rondo_shard_leave(const struct rondo_spot *at, const void *arg);

/* Ends what is due. */
void rondo_shard_tick(struct rondo_shard *s, uint64_t now_ms);
/* Evicts until the common budget holds or nothing is left. */
void rondo_shard_make_room(struct rondo_shard *s, uint64_t now_ms);
void rondo_shard_flush(struct rondo_shard *s, unsigned space);

/* Makes room for a cache.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_shard_add_part(struct rondo_shard *s,
                                                    struct rondo_policy *policy);
/* Takes a cache away that has no entries and no flights. */
void rondo_shard_remove_part(struct rondo_shard *s, const struct rondo_policy *policy);
/* Refuses new loads of a cache and ends its waits with CLOSED. */
void rondo_shard_close_part(struct rondo_shard *s, const struct rondo_policy *policy);
/* Adds the counters of a cache's part. */
void rondo_shard_stats(struct rondo_shard *s, const struct rondo_policy *policy,
                       struct rondo_cache_stats *sum);
void rondo_shard_times(struct rondo_shard *s, const struct rondo_policy *policy,
                       struct rondo_times *waits);
uint64_t rondo_shard_size(struct rondo_shard *s, unsigned space);

/* What the loader of every cache of a keyspace calls; host_arg is unused. */
extern const struct rondo_loader_host rondo_shard_host;

#endif
