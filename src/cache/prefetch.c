/* SPDX-License-Identifier: MIT */
/*
 * Reads that are known beforehand wait for the memory together instead of one after
 * another: first the line of each key's bucket is asked for, then, when these are
 * there, the entries.  Shard by shard, so that a lock is taken twice a shard and
 * not twice a key.
 */
#include "base/buf.h"
#include "cache/keyspace.h"

enum { AT_ONCE = 32 };

struct ahead {
    rondo_keyspace *ks;
    struct rondo_spot spots[AT_ONCE];
    size_t n;
};

typedef void (*each_fn)(const struct rondo_table *table, uint64_t hash);

/* The keys from `first` on that live in its shard. */
static void one_shard(const struct ahead *a, size_t first, uint64_t *todo, each_fn fn) {
    struct rondo_shard *shard = a->spots[first].shard;
    rondo_mutex_lock(&shard->mu);
    for (size_t i = first; i < a->n; i++) {
        if (a->spots[i].shard != shard) continue;
        fn(&shard->memory.table, a->spots[i].hash);
        *todo &= ~(UINT64_C(1) << i);
    }
    rondo_mutex_unlock(&shard->mu);
}

static void all_shards(const struct ahead *a, each_fn fn) {
    uint64_t todo = (UINT64_C(1) << a->n) - 1;
    for (size_t i = 0; i < a->n; i++)
        if (todo >> i & 1) one_shard(a, i, &todo, fn);
}

void rondo_keyspace_prefetch(rondo_keyspace *ks, const struct rondo_key *keys, size_t n) {
    struct ahead a = {.ks = ks};
    for (size_t at = 0; at < n; at += a.n) {
        a.n = n - at < AT_ONCE ? n - at : AT_ONCE;
        for (size_t i = 0; i < a.n; i++)
            rondo_keyspace_spot(ks, &ks->caches[0]->policy, &keys[at + i], 0, &a.spots[i]);
        all_shards(&a, rondo_table_prefetch);
        all_shards(&a, rondo_table_prefetch_entry);
    }
}
