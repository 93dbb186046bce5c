/* SPDX-License-Identifier: MIT */
/*
 * A transaction holds the locks of all shards that its keys live in, taken in
 * ascending order: the only place that holds two.  What follows from its changes
 * is collected per shard and done after all locks are released.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "cache/keyspace.h"
#include "cache/shard_internal.h"

struct item {
    struct rondo_spot at;
    size_t shard;              /* index into txn.shards */
    size_t first;              /* the key may be given more than once: its first item */
    struct rondo_slice loaded; /* data NULL: nothing */
    bool is_changed;           /* of a first item: what was loaded for the key is out of date */
};

struct locked {
    struct rondo_shard *shard;
    struct rondo_after after;
};

struct rondo_txn {
    struct item *items;
    size_t n;
    struct locked *shards; /* ascending, each once */
    size_t n_shards;
};

static int by_address(const void *a, const void *b) {
    const struct locked *x = a, *y = b;
    return (x->shard > y->shard) - (x->shard < y->shard);
}

static void sort_shards(struct rondo_txn *txn) {
    qsort(txn->shards, txn->n, sizeof *txn->shards, by_address);
    for (size_t i = 0; i < txn->n; i++)
        if (txn->n_shards == 0 || txn->shards[txn->n_shards - 1].shard != txn->shards[i].shard)
            txn->shards[txn->n_shards++].shard = txn->shards[i].shard;
    for (size_t i = 0; i < txn->n_shards; i++) rondo_after_init(&txn->shards[i].after);
    for (size_t i = 0; i < txn->n; i++)
        for (size_t s = 0; s < txn->n_shards; s++)
            if (txn->shards[s].shard == txn->items[i].at.shard) txn->items[i].shard = s;
}

static int by_key(const void *a, const void *b) {
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
    struct rondo_slice s = rondo_spot_bytes(&x->at), t = rondo_spot_bytes(&y->at);
    if (x->at.hash != y->at.hash) return x->at.hash < y->at.hash ? -1 : 1;
    if (x->at.key->space != y->at.key->space) return x->at.key->space < y->at.key->space ? -1 : 1;
    if (s.len != t.len) return s.len < t.len ? -1 : 1;
    return s.len ? memcmp(s.data, t.data, s.len) : 0;
}

/* Under the locks a change must not look through all items for its key. */
static enum rondo_err join_same_keys(struct rondo_txn *txn) {
    struct item **order = rondo_alloc((txn->n + 1) * sizeof *order);
    if (!order) return RONDO_ERR_NOMEM;
    for (size_t i = 0; i < txn->n; i++) order[i] = &txn->items[i];
    qsort(order, txn->n, sizeof *order, by_key);
    for (size_t i = 0; i < txn->n; i++) {
        bool is_same = i > 0 && by_key(&order[i - 1], &order[i]) == 0;
        order[i]->first = is_same ? order[i - 1]->first : (size_t)(order[i] - txn->items);
    }
    rondo_free(order);
    return RONDO_OK;
}

static void fill_in(struct rondo_txn *txn, rondo_keyspace *ks, const struct rondo_key *keys,
                    const struct rondo_answer *loaded) {
    uint64_t now_ns = rondo_runtime_now_ns(ks->shards.rt);
    for (size_t i = 0; i < txn->n; i++) {
        struct item *item = &txn->items[i];
        rondo_cache *cache = rondo_keyspace_route(ks, rondo_slice_of(keys[i].data, keys[i].len));
        if (!cache) cache = ks->caches[0];
        rondo_keyspace_spot(ks, &cache->policy, &keys[i], now_ns, &item->at);
        if (loaded && loaded[i].outcome == RONDO_VALUE)
            item->loaded = rondo_slice_of(loaded[i].value.data, loaded[i].value.len);
        txn->shards[i].shard = item->at.shard;
    }
    sort_shards(txn);
}

/* The analysis cannot follow locks in a loop. */
static void lock_all(struct rondo_txn *txn) RONDO_NO_TSA {
    for (size_t i = 0; i < txn->n_shards; i++) rondo_mutex_lock(&txn->shards[i].shard->mu);
}

static void unlock_all(struct rondo_txn *txn) RONDO_NO_TSA {
    for (size_t i = txn->n_shards; i-- > 0;) rondo_mutex_unlock(&txn->shards[i].shard->mu);
}

enum rondo_err rondo_keyspace_txn(rondo_keyspace *ks, const struct rondo_key *keys, size_t n,
                                  const struct rondo_answer *loaded, rondo_txn_fn fn, void *arg) {
    for (size_t i = 0; i < n; i++)
        if (keys[i].len > RONDO_ENTRY_KEY_MAX || keys[i].space >= RONDO_SPACES)
            return RONDO_ERR_TOO_LARGE;
    struct rondo_txn txn = {.n = n};
    size_t n_items, n_shards;
    if (!rondo_size_mul(n + 1, sizeof *txn.items, &n_items) ||
        !rondo_size_mul(n + 1, sizeof *txn.shards, &n_shards))
        return RONDO_ERR_NOMEM;
    txn.items = rondo_zalloc(n_items);
    txn.shards = rondo_zalloc(n_shards);
    enum rondo_err err = txn.items && txn.shards ? RONDO_OK : RONDO_ERR_NOMEM;
    if (!err) fill_in(&txn, ks, keys, loaded);
    if (!err && loaded) err = join_same_keys(&txn);
    if (!err) {
        lock_all(&txn);
        fn(arg, &txn);
        unlock_all(&txn);
        uint64_t now_ms = rondo_ms_of(rondo_runtime_now_ns(ks->shards.rt));
        for (size_t i = 0; i < txn.n_shards; i++)
            rondo_after_run(&txn.shards[i].after, txn.shards[i].shard, now_ms);
    }
    rondo_free(txn.items);
    rondo_free(txn.shards);
    return err;
}

static struct item *first_of(rondo_txn *txn, size_t i) {
    return &txn->items[txn->items[i].first];
}

enum rondo_outcome rondo_txn_get(rondo_txn *txn, size_t i, struct rondo_slice *out) RONDO_NO_TSA {
    const struct item *item = &txn->items[i];
    struct rondo_entry *e = rondo_shard_find_locked(&item->at);
    if (e && rondo_is_fresh_value(e, rondo_ms_of(item->at.now_ns)))
        *out = rondo_entry_value(e);
    else if (item->loaded.data && !first_of(txn, i)->is_changed)
        *out = item->loaded;
    else
        return RONDO_ABSENT;
    return RONDO_VALUE;
}

enum rondo_err rondo_txn_put(rondo_txn *txn, size_t i, struct rondo_slice value,
                             const struct rondo_write *write) RONDO_NO_TSA {
    static const struct rondo_write defaults = {0};
    struct item *item = &txn->items[i];
    const struct rondo_cache_options *opt = &item->at.policy->opt;
    if (opt->writes != RONDO_WRITES_MEMORY) return RONDO_ERR_REFUSED;
    if (value.len > opt->max_value_bytes) return RONDO_ERR_TOO_LARGE;
    if (!write) write = &defaults;
    if (write->now_ns) item->at.now_ns = write->now_ns;
    struct rondo_entry *e = rondo_shard_entry_for(&item->at, value, write);
    if (!e) return RONDO_ERR_NOMEM;
    enum rondo_err err =
        rondo_shard_put_locked(&item->at, e, write, &txn->shards[item->shard].after);
    if (!err) first_of(txn, i)->is_changed = true;
    return err;
}

bool rondo_txn_delete(rondo_txn *txn, size_t i) RONDO_NO_TSA {
    struct item *item = &txn->items[i];
    if (item->at.policy->opt.writes != RONDO_WRITES_MEMORY) return false;
    struct rondo_slice old;
    bool was_there = rondo_txn_get(txn, i, &old) == RONDO_VALUE;
    (void)rondo_shard_delete_locked(&item->at, &txn->shards[item->shard].after);
    first_of(txn, i)->is_changed = true;
    return was_there;
}

uint64_t rondo_txn_expiry(rondo_txn *txn, size_t i) RONDO_NO_TSA {
    return rondo_shard_expiry_locked(&txn->items[i].at);
}

bool rondo_txn_expire(rondo_txn *txn, size_t i, uint64_t expiry_ns) RONDO_NO_TSA {
    struct item *item = &txn->items[i];
    bool was_there =
        rondo_shard_expire_locked(&item->at, expiry_ns, &txn->shards[item->shard].after);
    if (was_there) first_of(txn, i)->is_changed = true;
    return was_there;
}

uint64_t rondo_txn_version(rondo_txn *txn, size_t i) RONDO_NO_TSA {
    return rondo_shard_version_locked(&txn->items[i].at);
}
