/* SPDX-License-Identifier: MIT */
/*
 * cache.h - a cache that fetches what it does not have.
 *
 * A *cache* is a named set of keys with one policy and at most one source.  A
 * *keyspace* is the memory that caches share: one table in shards, one budget.
 * A read that finds its key (a hit) answers at once, on the caller's thread.  A
 * read that does not (a miss) joins the *flight* of its key, the one load that
 * is under way however many ask, and is answered when the flight lands; the
 * load itself runs on the cache's own pool.
 *
 * Threads: every function may be called on any thread unless it says otherwise;
 * none blocks but those that say so.  No function of the caller's is ever
 * called with a lock held, except where a comment says "under the lock".
 *
 * Functions without RONDO_API are part of the contract of the layers above and
 * are not exported.
 */
#ifndef RONDO_CACHE_H
#define RONDO_CACHE_H

#include "rondo/rondo.h"
#include "rondo/runtime.h"
#include "rondo/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rondo_keyspace rondo_keyspace;
typedef struct rondo_cache rondo_cache;
typedef struct rondo_blob rondo_blob;

/* A duration or a limit that is switched off, as zero means "the default". */
#define RONDO_OFF UINT64_MAX

/* --------------------------------------------------------------- values --- */

/* A key: any bytes, 0 to 64 KiB.  `space` separates equal keys (Redis's SELECT
 * numbers); leave it 0 if you need no such thing.  Borrowed by every call. */
struct rondo_key {
    const void *data;
    size_t len;
    unsigned space; /* 0..15 */
};

/*
 * Bytes that the holder owns: release it exactly once.  The bytes lie either in
 * the scratch space that the caller of a read gave (small values), or in a
 * counted, immutable blob (`blob` set) that eviction and overwriting leave
 * alone.  Zeroed memory is an empty value that need not be released.
 */
struct rondo_value {
    const void *data;
    size_t len;
    rondo_blob *blob;
};

/* Releases and zeroes. */
RONDO_API void rondo_value_release(struct rondo_value *v);

/* ---------------------------------------------------------------- reads --- */

enum rondo_outcome {
    RONDO_VALUE,  /* here it is */
    RONDO_ABSENT, /* neither memory nor the source has it */
    RONDO_FAILED, /* `err` and the text in `value` say why */
    RONDO_PENDING /* the completion will be called, exactly once */
};

/* What an operation came to.  The receiver owns `value`. */
struct rondo_answer {
    enum rondo_outcome outcome;
    enum rondo_err err; /* of FAILED, else RONDO_OK */
    bool is_stale;      /* VALUE: past its time, served because the policy allows it */
    bool was_hit;       /* answered by memory */
    /* VALUE: the bytes.  FAILED: text for people, "<cache> <what happened>", one
     * line, without the error's word. */
    struct rondo_value value;
};

/* Releases the answer's value and zeroes it. */
RONDO_API void rondo_answer_release(struct rondo_answer *answer);

/*
 * What happens when an operation that was RONDO_PENDING is over: either `fn` is
 * called (on a thread of the runtime or of the cache's pool: it must not block),
 * or a struct rondo_reply is sent to `to` (shared).  Exactly one of the two is set.
 * Completions carry `id`, never a pointer of the caller's that could be gone.
 */
typedef void (*rondo_answer_fn)(void *arg, uint64_t id, struct rondo_answer *answer /* given */);

struct rondo_completion {
    rondo_answer_fn fn;
    void *arg;
    rondo_actor *to;
    uint32_t type; /* of the message */
    uint64_t id;
};

/* The message form of a completion.  Its fini releases the answer: take it out
 * (copy the struct and zero it) or leave it. */
struct rondo_reply {
    struct rondo_msg head;
    uint64_t id;
    uint32_t index; /* rondo_cache_get_many: which key; else 0 */
    struct rondo_answer answer;
};

/* One read.  Zeroed but for `done` is fine. */
struct rondo_read {
    struct rondo_completion done;
    struct rondo_slice client; /* who asks; reaches the source, is no part of the key; copied */
    uint64_t wait_ns;          /* how long a waiter waits; 0: the cache's `wait` */
    uint64_t now_ns;           /* the time, if the caller knows it; 0: the clock is read */
    void *scratch;             /* small values are copied here instead of into a blob */
    size_t scratch_size;
};

/*
 * Reads a key, loading it if need be.  Returns answer->outcome; on PENDING
 * nothing else of *answer is set and the completion follows, possibly before
 * this call returns.
 * Errors in FAILED: LOAD, CONNECT, TIMEOUT, FULL, NOMEM, DEADLOCK, CLOSED,
 * TOO_LARGE (the key).
 */
RONDO_API enum rondo_outcome rondo_cache_get(rondo_cache *cache, const struct rondo_key *key,
                                             const struct rondo_read *read,
                                             struct rondo_answer *answer);

/* The same, waiting: never PENDING; `done` is ignored.  Blocks.  Not in a turn,
 * unless memory has the key; on a pool thread of the same cache the load runs on
 * that very thread. */
RONDO_API enum rondo_outcome rondo_cache_get_wait(rondo_cache *cache, const struct rondo_key *key,
                                                  const struct rondo_read *read,
                                                  struct rondo_answer *answer);

/* Looks at memory alone: VALUE (a fresh value; never a stale one) or ABSENT. Counts
 * neither as a hit nor as a miss and is no access for eviction. */
RONDO_API enum rondo_outcome rondo_cache_peek(rondo_cache *cache, const struct rondo_key *key,
                                              const struct rondo_read *read,
                                              struct rondo_answer *answer);

/* Reads n keys of one cache: answers[i] as of rondo_cache_get; the misses join
 * existing flights or form one batch, admitted all or none.  Pending keys
 * complete one by one with read->done.id and their index.  Returns how many are
 * pending. */
RONDO_API size_t rondo_cache_get_many(rondo_cache *cache, const struct rondo_key *keys, size_t n,
                                      const struct rondo_read *read, struct rondo_answer *answers);

/* --------------------------------------------------------------- writes --- */

enum rondo_write_flags {
    RONDO_WRITE_IF_ABSENT = 1,  /* only if memory has no fresh value */
    RONDO_WRITE_IF_PRESENT = 2, /* only if memory has one */
    RONDO_WRITE_KEEP_TTL = 4    /* the new value takes the old one's expiry */
};

struct rondo_write {
    struct rondo_completion done; /* used by write-through only */
    struct rondo_slice client;
    unsigned flags;
    uint64_t ttl_ns; /* 0: the cache's `ttl` with its jitter; RONDO_OFF: no expiry; else exact;
                        less than a millisecond: expired at once */
    uint64_t now_ns; /* as in rondo_read */
};

/*
 * Stores a value (copied).  Supersedes a load of the key that is under way:
 * those who already wait get the load's value, memory keeps this one.
 * Returns VALUE (stored; *answer's value is empty), ABSENT (a condition in
 * `flags` was not met), FAILED (REFUSED, STORE, NOMEM, TOO_LARGE, CLOSED) or
 * PENDING (write-through).  NULL `write`: all defaults.
 */
RONDO_API enum rondo_outcome rondo_cache_put(rondo_cache *cache, const struct rondo_key *key,
                                             struct rondo_slice value,
                                             const struct rondo_write *write,
                                             struct rondo_answer *answer);

/* Removes a key, from the source too under `writes: through`; supersedes a load.
 * VALUE: memory had it; ABSENT: it had not; FAILED, PENDING as for put. */
RONDO_API enum rondo_outcome rondo_cache_delete(rondo_cache *cache, const struct rondo_key *key,
                                                const struct rondo_write *write,
                                                struct rondo_answer *answer);

/* Forgets a key: memory alone, whatever `writes` says; supersedes a load.  True
 * if memory had it. */
RONDO_API bool rondo_cache_invalidate(rondo_cache *cache, const struct rondo_key *key);

/* Starts a background load of a key; what memory has stays until it lands.
 * Errors: FULL, NOT_FOUND (the cache has no source), CLOSED, NOMEM, INVALID (not a
 * key of this cache), TOO_LARGE (the key). */
RONDO_API RONDO_NODISCARD enum rondo_err rondo_cache_refresh(rondo_cache *cache,
                                                             const struct rondo_key *key);

/*
 * Computes a new value from the old one, atomically.  An absent key is loaded
 * first (`load_first`), without the lock.  `fn` runs under the lock: it reads
 * `old` (data NULL: absent), fills `out` and says what to do; it must be short
 * and call nothing of rondo's but rondo_value_release.  `out` may point to bytes
 * of the caller's (blob NULL), which are copied before update goes on.
 * Returns VALUE: `fn` was called and its will is done (*answer's value is empty);
 * ABSENT: a condition in its `write` was not met; FAILED as of get and put;
 * PENDING: the key is being loaded, or the change goes through to the source, in
 * line with the key's other writes and with the key's loads held off meanwhile;
 * `fn` and `arg` are lent until the completion.  A change through to the source
 * that nobody waits for any more when its turn comes is not made.
 */
enum rondo_change { RONDO_CHANGE_NONE, RONDO_CHANGE_PUT, RONDO_CHANGE_DELETE };
typedef enum rondo_change (*rondo_update_fn)(void *arg, struct rondo_slice old,
                                             struct rondo_value *out /* given */,
                                             struct rondo_write *write);
RONDO_API enum rondo_outcome rondo_cache_update(rondo_cache *cache, const struct rondo_key *key,
                                                bool load_first, rondo_update_fn fn, void *arg,
                                                const struct rondo_read *read,
                                                struct rondo_answer *answer);

/* ----------------------------------------------------------- memory alone --- */

/* The moment (runtime clock, ns) at which a key expires: 0 = not in memory,
 * RONDO_OFF = never. */
RONDO_API uint64_t rondo_cache_expiry(rondo_cache *cache, const struct rondo_key *key,
                                      uint64_t now_ns);

/* Sets it (RONDO_OFF: persists; a moment that is past: removes the key).  False:
 * not in memory. */
RONDO_API bool rondo_cache_expire(rondo_cache *cache, const struct rondo_key *key,
                                  uint64_t expiry_ns, uint64_t now_ns);

/* A number that changes whenever the key's value in memory does (WATCH). */
RONDO_API uint64_t rondo_keyspace_version(rondo_keyspace *ks, const struct rondo_key *key);

/* Looks up n keys at once, prefetching: found[i] says whether memory has a fresh
 * value.  For EXISTS and pipelines. */
RONDO_API size_t rondo_keyspace_lookup(rondo_keyspace *ks, const struct rondo_key *keys, size_t n,
                                       bool *found);

/* Brings n keys closer: reads of them that follow soon do not wait for the memory
 * one after another.  Changes nothing. */
RONDO_API void rondo_keyspace_prefetch(rondo_keyspace *ks, const struct rondo_key *keys, size_t n);

/*
 * Walks all keys of a space: calls `fn` for the keys of some buckets, under the
 * lock, and returns the next cursor, 0 at the end.  A key that is there from
 * beginning to end is seen at least once, whatever the table does meanwhile.
 */
typedef void (*rondo_scan_fn)(void *arg, const struct rondo_key *key, rondo_cache *cache);
RONDO_API uint64_t rondo_keyspace_scan(rondo_keyspace *ks, unsigned space, uint64_t cursor,
                                       size_t count, rondo_scan_fn fn, void *arg);

/* Forgets all keys of a space (RONDO_ALL_SPACES: of all); memory alone.  Loads
 * that are under way answer their waiters and are not stored. */
#define RONDO_ALL_SPACES 0xffffffffu
RONDO_API void rondo_keyspace_flush(rondo_keyspace *ks, unsigned space);

/* Fresh keys of a space, expired ones not yet collected included. */
RONDO_API uint64_t rondo_keyspace_size(rondo_keyspace *ks, unsigned space);

/* ----------------------------------------------------------- transaction --- */

/*
 * Runs `fn` with the shards of all `keys` locked, in ascending order; the only
 * place that holds two.  `loaded[i]` is what a read of keys[i] came to before
 * (NULL: none); it is used where memory has lost the key since.  Inside, `fn`
 * uses rondo_txn_* on the given keys only and calls nothing else of rondo's.
 * Errors: NOMEM, TOO_LARGE (a key); `fn` was not called then.
 */
typedef struct rondo_txn rondo_txn;
typedef void (*rondo_txn_fn)(void *arg, rondo_txn *txn);
RONDO_API RONDO_NODISCARD enum rondo_err rondo_keyspace_txn(rondo_keyspace *ks,
                                                            const struct rondo_key *keys, size_t n,
                                                            const struct rondo_answer *loaded,
                                                            rondo_txn_fn fn, void *arg);
/* VALUE (the bytes are lent until `fn` returns) or ABSENT. */
RONDO_API enum rondo_outcome rondo_txn_get(rondo_txn *txn, size_t i, struct rondo_slice *out);
/* Errors: NOT_FOUND (a condition in `write` was not met), REFUSED (as the cache's
 * `writes` are not MEMORY), TOO_LARGE, NOMEM. */
RONDO_API enum rondo_err rondo_txn_put(rondo_txn *txn, size_t i, struct rondo_slice value,
                                       const struct rondo_write *write);
/* True if there was a value.  Does nothing where put is REFUSED. */
RONDO_API bool rondo_txn_delete(rondo_txn *txn, size_t i);
/* As rondo_cache_expiry, rondo_cache_expire and rondo_keyspace_version. */
RONDO_API uint64_t rondo_txn_expiry(rondo_txn *txn, size_t i);
RONDO_API bool rondo_txn_expire(rondo_txn *txn, size_t i, uint64_t expiry_ns);
RONDO_API uint64_t rondo_txn_version(rondo_txn *txn, size_t i);

/* -------------------------------------------------------- open and close --- */

enum rondo_writes {
    RONDO_WRITES_MEMORY = 0, /* SET and DEL change memory alone */
    RONDO_WRITES_REFUSE,
    RONDO_WRITES_THROUGH /* the source first, then memory */
};

/* The policy of a cache.  Zero means the default in brackets; RONDO_OFF switches
 * a duration off. */
struct rondo_cache_options {
    size_t size;
    const char *name;           /* copied; "default" if NULL */
    const char *pattern;        /* "user:{id}"; copied; NULL: every key, one parameter {key} */
    struct rondo_source source; /* closed with the cache (given on success) */
    rondo_keyspace *keyspace;   /* NULL: one of its own, closed with the cache */

    uint64_t ttl_ns;             /* [10 m] */
    unsigned ttl_jitter_percent; /* [10]; 101: none */
    bool ttl_from_source;
    uint64_t miss_ttl_ns;               /* how long an absence is remembered [off] */
    uint64_t error_ttl_ns;              /* how long an error is [off] */
    unsigned refresh_ahead_percent;     /* of the entry's life, 1..99 [off] */
    uint64_t stale_while_revalidate_ns; /* [off] */
    uint64_t stale_if_error_ns;         /* [off] */

    struct rondo_threads threads; /* that call the source [auto, 1..16]; NONE: one service thread */
    uint64_t load_timeout_ns;     /* of one source call [30 s] */
    uint64_t wait_ns;             /* of one waiter, queueing included [30 s] */
    uint32_t queue;               /* loads that may wait [10,000] */
    uint32_t waiters;             /* per key [10,000] */
    uint32_t batch;               /* keys in one source call [128] */
    bool no_single_flight;        /* every caller that misses loads for itself */
    uint32_t breaker_failures;    /* failed calls in a row that open the breaker [10] */
    uint64_t breaker_probe_ns;    /* first probe after [1 s], growing to [30 s] */

    uint64_t memory_bytes;        /* this cache's budget [none of its own] */
    uint64_t max_value_bytes;     /* [512 MiB] */
    unsigned miss_memory_percent; /* of the budget, for remembered absences and errors [5] */
    enum rondo_writes writes;     /* [memory] */
    /* Threads that may hang in the source beyond load_timeout and be replaced; when
     * so many do, the breaker opens [as many as `threads` at most]. */
    unsigned max_stuck;
};

/* Opens a cache.  Errors: NOMEM, INVALID (an option out of range; the log says
 * which), EXISTS (the keyspace has a cache of this name, or of a pattern that
 * claims the same keys), SYSTEM. */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_cache_open(rondo_runtime *rt, const struct rondo_cache_options *options, rondo_cache **out);

/* Closes it: waiters get CLOSED, running loads are waited for up to their
 * deadline.  A cache of a shared keyspace is closed by rondo_keyspace_free and
 * not by this.  Blocks; not in a turn, not on the cache's pool.  NULL does
 * nothing. */
RONDO_API void rondo_cache_close(rondo_cache *cache);

RONDO_API const char *rondo_cache_name(const rondo_cache *cache);

struct rondo_keyspace_options {
    size_t size;
    uint64_t memory_bytes; /* budget of everything [half of the cgroup's limit or of the RAM] */
    unsigned shards;       /* power of two [by cores] */
    bool refuse_unmatched; /* keys that no cache claims are an error, not the default cache's */
};

/* Makes a keyspace with a default cache (plain memory, no source, keys without
 * expiry unless a write gives one).  Errors: NOMEM, INVALID. */
RONDO_API RONDO_NODISCARD enum rondo_err
rondo_keyspace_new(rondo_runtime *rt, const struct rondo_keyspace_options *options,
                   rondo_keyspace **out);

/* Closes all its caches and frees it; as rondo_cache_close. */
RONDO_API void rondo_keyspace_free(rondo_keyspace *ks);

/* The cache that claims a key: the one whose pattern has the longest literal
 * prefix, else the default cache; NULL with `refuse_unmatched`.  Valid until the
 * keyspace is freed. */
RONDO_API rondo_cache *rondo_keyspace_route(rondo_keyspace *ks, struct rondo_slice key);

/* The caches by number, the default cache first; NULL past the end. */
RONDO_API rondo_cache *rondo_keyspace_cache(rondo_keyspace *ks, size_t i);
RONDO_API rondo_cache *rondo_keyspace_find(rondo_keyspace *ks, const char *name);

/* What all its caches may hold together, the default worked out. */
uint64_t rondo_keyspace_limit(const rondo_keyspace *ks);

/* ------------------------------------------------------------- counters --- */

/* X(name, what it counts): all 64-bit, since the cache was opened, except those
 * called "now". */
#define RONDO_CACHE_STATS(X)                                                                       \
    X(hits, "reads answered by memory")                                                            \
    X(stale_hits, "reads answered by a value past its time")                                       \
    X(misses, "reads that found no value in memory")                                               \
    X(joined, "misses that waited on somebody else's flight")                                      \
    X(loads, "keys asked of the source")                                                           \
    X(calls, "calls of the source")                                                                \
    X(loads_ok, "loads that brought a value")                                                      \
    X(loads_absent, "loads that found the source has none")                                        \
    X(loads_error, "loads that failed")                                                            \
    X(loads_timeout, "loads that took too long")                                                   \
    X(refreshes, "loads started ahead of expiry")                                                  \
    X(superseded, "loads whose value was not stored because a write came first")                   \
    X(shed, "reads refused because a queue was full")                                              \
    X(waits_timeout, "waiters whose time was up")                                                  \
    X(puts, "values written by callers")                                                           \
    X(deletes, "keys removed by callers")                                                          \
    X(stores_ok, "writes that the source took")                                                    \
    X(stores_error, "writes that the source refused")                                              \
    X(evicted, "entries removed to make room")                                                     \
    X(expired, "entries removed because their time was up")                                        \
    X(entries, "entries in memory now")                                                            \
    X(bytes, "bytes in memory now, all overhead included")                                         \
    X(queued, "loads waiting for a thread now")                                                    \
    X(flights, "keys being loaded now")                                                            \
    X(waiting, "callers waiting for a load now")                                                   \
    X(threads, "pool threads now")                                                                 \
    X(busy, "pool threads calling the source now")                                                 \
    X(stuck, "pool threads in a call beyond its time now")                                         \
    X(breaker_open, "1 while the breaker is open")

struct rondo_cache_stats {
#define RONDO_CACHE_STAT_FIELD_(name, text) uint64_t name;
    RONDO_CACHE_STATS(RONDO_CACHE_STAT_FIELD_)
#undef RONDO_CACHE_STAT_FIELD_
};

/* A snapshot; each counter is exact once the cache is at rest. */
RONDO_API void rondo_cache_stats(rondo_cache *cache, struct rondo_cache_stats *out);

/* How long something took: buckets[i] counts what took less than 2^i microseconds
 * and not less than half of that; the last one everything above. */
#define RONDO_TIMES_BUCKETS 32
struct rondo_times {
    uint64_t count, sum_ns;
    uint64_t buckets[RONDO_TIMES_BUCKETS];
};
struct rondo_cache_times {
    struct rondo_times loads; /* calls of the source that load, from start to end */
    struct rondo_times waits; /* of those who waited, for a load or a write, to their answer */
};

/* A snapshot, as rondo_cache_stats. */
RONDO_API void rondo_cache_times(rondo_cache *cache, struct rondo_cache_times *out);

#ifdef __cplusplus
}
#endif
#endif
