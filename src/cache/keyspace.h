/* SPDX-License-Identifier: MIT */
/*
 * keyspace.h - the memory that caches share, and the caches themselves.
 *
 * A keyspace is its shards, a router from keys to caches, and one actor, the
 * housekeeper, to which timers of waits and loads are sent.  The housekeeper
 * may be in a turn while the keyspace is freed, so both hold a reference; what
 * is large is given back at once.
 *
 * Caches are opened before the keyspace is used by several threads: opening one
 * is not synchronised with routing.
 */
#ifndef RONDO_CACHE_KEYSPACE_H
#define RONDO_CACHE_KEYSPACE_H

#include "base/hash.h"
#include "cache/router.h"
#include "cache/shard.h"

struct rondo_cache {
    struct rondo_policy policy;
    struct rondo_keyspace *ks;
    bool owns_keyspace;
};

struct rondo_keyspace {
    struct rondo_shards shards;
    uint64_t seed;
    uint32_t refs; /* atomic: the owner and the housekeeper */
    bool refuse_unmatched;
    rondo_actor *housekeeper; /* a reference */
    rondo_cache **caches;
    size_t n_caches;
    rondo_cache *fallback; /* for keys that no cache claims; NULL: none */
    struct rondo_router router;
};

/* A keyspace without any cache. */
RONDO_NODISCARD enum rondo_err rondo_keyspace_new_bare(rondo_runtime *rt,
                                                       const struct rondo_keyspace_options *options,
                                                       rondo_keyspace **out);

/* Where a key lives. */
static inline void rondo_keyspace_spot(struct rondo_keyspace *ks, struct rondo_policy *policy,
                                       const struct rondo_key *key, uint64_t now_ns,
                                       struct rondo_spot *at) {
    uint64_t seed = ks->seed + key->space * UINT64_C(0x9e3779b97f4a7c15);
    at->hash = rondo_hash(key->data, key->len, seed);
    /* The low half chooses the bucket, the top 16 bits are the tag. */
    at->shard = &ks->shards.at[(at->hash >> 40) & (ks->shards.n - 1)];
    at->policy = policy;
    at->key = key;
    at->now_ns = now_ns;
    at->index = 0;
    at->group = NULL;
}

#endif
