/* SPDX-License-Identifier: MIT */
/*
 * view.h - the keyspace as a command sees it: the caches themselves, or the inside
 * of a block of commands that runs as one (MULTI ... EXEC, MSETNX, RENAME).
 *
 * A view of a block knows all keys that the block touches, and what was loaded for
 * them beforehand.  While it runs, the shards of these keys are locked: reads see
 * memory and the block's own changes, or what was loaded where memory has lost it;
 * nothing waits, nothing is loaded, and no value is copied that need not be.
 *
 * The functions that take a view behave as their namesakes in cache.h; without a
 * view (NULL) they are these.  In a block they never return PENDING, and the bytes
 * of an answer are lent until the next change.  One thread at a time.
 */
#ifndef RONDO_SERVER_VIEW_H
#define RONDO_SERVER_VIEW_H

#include "server/service.h"

struct rondo_view_mark {
    bool wants_load; /* a command reads it before one overwrites it */
    bool is_written; /* by a command that needs no old value; for wants_load alone */
    bool is_changed; /* while it runs: what was loaded is out of date */
};

/* Zeroed memory with `service` set is a view of no keys. */
struct rondo_view {
    struct rondo_service *service;     /* borrowed */
    struct rondo_key *keys;            /* each once; their bytes are borrowed */
    struct rondo_view_mark *marks;     /* of each key */
    uint32_t *index;                   /* open addressing, 0: free, else number + 1 */
    size_t n, cap, index_cap;          /* powers of two, or 0 */
    const struct rondo_answer *loaded; /* while it runs: of each key, or NULL */
    rondo_txn *txn;                    /* while it runs */
};

void rondo_view_fini(struct rondo_view *v);

/* Adds a key unless it is there; its bytes must stay until the view is gone.
 * Errors: NOMEM, FULL (more than 2^20 - 1 keys). */
RONDO_NODISCARD enum rondo_err rondo_view_add(struct rondo_view *v, const struct rondo_key *key,
                                              size_t *number);
/* The number of a key that was added. */
size_t rondo_view_find(const struct rondo_view *v, const struct rondo_key *key);

/* Calls `fn` with all shards of the keys locked.  `loaded[i]` is of key i; NULL:
 * nothing was loaded.  Errors: NOMEM, TOO_LARGE; `fn` was not called then. */
RONDO_NODISCARD enum rondo_err rondo_view_run(struct rondo_view *v,
                                              const struct rondo_answer *loaded,
                                              void (*fn)(void *arg), void *arg);

enum rondo_outcome rondo_view_get(struct rondo_view *v, rondo_cache *cache,
                                  const struct rondo_key *key, const struct rondo_read *read,
                                  struct rondo_answer *answer);
size_t rondo_view_get_many(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *keys,
                           size_t n, const struct rondo_read *read, struct rondo_answer *answers);
/* Of rondo_cache_peek. */
enum rondo_outcome rondo_view_peek(struct rondo_view *v, rondo_cache *cache,
                                   const struct rondo_key *key, const struct rondo_read *read,
                                   struct rondo_answer *answer);
/* Is there a value in memory? */
bool rondo_view_has(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *key,
                    uint64_t now_ns);
/* Where writes go through to a source, a block cannot write: FAILED, UNSUPPORTED. */
enum rondo_outcome rondo_view_put(struct rondo_view *v, rondo_cache *cache,
                                  const struct rondo_key *key, struct rondo_slice value,
                                  const struct rondo_write *write, struct rondo_answer *answer);
enum rondo_outcome rondo_view_delete(struct rondo_view *v, rondo_cache *cache,
                                     const struct rondo_key *key, const struct rondo_write *write,
                                     struct rondo_answer *answer);
enum rondo_outcome rondo_view_update(struct rondo_view *v, rondo_cache *cache,
                                     const struct rondo_key *key, rondo_update_fn fn, void *arg,
                                     const struct rondo_read *read, struct rondo_answer *answer);
uint64_t rondo_view_expiry(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *key,
                           uint64_t now_ns);
bool rondo_view_expire(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *key,
                       uint64_t expiry_ns, uint64_t now_ns);

#endif
