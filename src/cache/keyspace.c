/* SPDX-License-Identifier: MIT */
#include "cache/keyspace.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/loader.h"
#include <unistd.h>

enum { SHARDS_PER_CORE = 16, SHARDS_MAX = 256, MSG_TICK = 1 };

struct tick {
    struct rondo_msg head;
    struct rondo_shard *shard;
};

/* ------------------------------------------------------------- housekeeper --- */

static void unref(void *arg) {
    struct rondo_keyspace *ks = arg;
    /* Partner: the other holder; the last one frees. */
    if (rondo_sub_acq_rel(&ks->refs, 1) != 1) return;
    for (size_t i = 0; i < ks->shards.n; i++) rondo_shard_fini(&ks->shards.at[i]);
    rondo_free(ks->shards.at);
    rondo_free(ks);
}

static void housekeeper_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)self;
    struct rondo_keyspace *ks = state;
    if (m->type == MSG_TICK)
        rondo_shard_tick(((struct tick *)(void *)m)->shard,
                         rondo_ms_of(rondo_runtime_now_ns(ks->shards.rt)));
    rondo_msg_free(m);
}

static enum rondo_err arm(struct rondo_shards *shards, struct rondo_shard *shard, uint64_t at_ms) {
    struct rondo_keyspace *ks = RONDO_CONTAINER_OF(shards, struct rondo_keyspace, shards);
    struct tick *m = rondo_msg_new(MSG_TICK, sizeof *m);
    if (!m) return RONDO_ERR_NOMEM;
    m->shard = shard;
    uint64_t now_ns = rondo_runtime_now_ns(shards->rt), at_ns = at_ms * RONDO_MS;
    return rondo_send_after(ks->housekeeper, m, at_ns > now_ns ? at_ns - now_ns : 0, NULL);
}

static enum rondo_err hire(struct rondo_keyspace *ks) {
    struct rondo_actor_options o = {.size = sizeof o,
                                    .name = "rondo-keyspace",
                                    .receive = housekeeper_receive,
                                    .state = ks,
                                    .free_state = unref};
    enum rondo_err err = rondo_spawn(ks->shards.rt, &o, &ks->housekeeper);
    if (!err) rondo_add_relaxed(&ks->refs, 1); /* partner: unref */
    return err;
}

/* ------------------------------------------------------------------ settings --- */

/* The cgroup's limit, or UINT64_MAX. */
static uint64_t cgroup_limit(void) {
    unsigned long long limit = 0;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
    if (!f) return UINT64_MAX;
    if (fscanf(f, "%llu", &limit) != 1) limit = UINT64_MAX;
    fclose(f);
    return limit;
}

static uint64_t default_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t ram = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_C(1) << 31;
    uint64_t limit = cgroup_limit();
    return (limit < ram ? limit : ram) / 2;
}

static size_t default_shards(void) {
    size_t want = (size_t)SHARDS_PER_CORE * rondo_cpu_count(), n = 1;
    while (n < want && n < SHARDS_MAX) n *= 2;
    return n;
}

static enum rondo_err init_shards(struct rondo_keyspace *ks, rondo_runtime *rt, size_t n,
                                  uint64_t bytes) {
    struct rondo_shard *at = rondo_alloc_aligned(RONDO_CACHE_LINE, n * sizeof *at);
    if (!at) return RONDO_ERR_NOMEM;
    ks->shards =
        (struct rondo_shards){.rt = rt, .budget.limit = bytes, .at = at, .n = n, .arm = arm};
    for (size_t i = 0; i < n; i++) rondo_shard_init(&at[i], &ks->shards);
    return RONDO_OK;
}

/* ---------------------------------------------------------------------- life --- */

enum rondo_err rondo_keyspace_new_bare(rondo_runtime *rt,
                                       const struct rondo_keyspace_options *options,
                                       rondo_keyspace **out) {
    size_t n = options->shards ? options->shards : default_shards();
    if (options->size < sizeof *options || n > SHARDS_MAX || (n & (n - 1))) {
        rondo_log(RONDO_LOG_ERROR, "keyspace option shards: a power of two up to %d", SHARDS_MAX);
        return RONDO_ERR_INVALID;
    }
    struct rondo_keyspace *ks = rondo_zalloc(sizeof *ks);
    if (!ks) return RONDO_ERR_NOMEM;
    ks->refs = 1;
    ks->seed = rondo_hash_seed();
    ks->refuse_unmatched = options->refuse_unmatched;
    uint64_t bytes = options->memory_bytes ? options->memory_bytes : default_bytes();
    enum rondo_err err = init_shards(ks, rt, n, bytes);
    if (err) goto err_keyspace;
    err = hire(ks);
    if (err) goto err_shards;
    *out = ks;
    return RONDO_OK;

err_shards:
    for (size_t i = 0; i < n; i++) rondo_shard_fini(&ks->shards.at[i]);
    rondo_free(ks->shards.at);
err_keyspace:
    rondo_free(ks);
    return err;
}

enum rondo_err rondo_keyspace_new(rondo_runtime *rt, const struct rondo_keyspace_options *options,
                                  rondo_keyspace **out) {
    static const struct rondo_keyspace_options defaults = {.size = sizeof defaults};
    rondo_keyspace *ks;
    enum rondo_err err = rondo_keyspace_new_bare(rt, options ? options : &defaults, &ks);
    if (err) return err;
    struct rondo_cache_options o = {.size = sizeof o, .keyspace = ks, .ttl_ns = RONDO_OFF};
    rondo_cache *cache;
    err = rondo_cache_open(rt, &o, &cache);
    if (err) {
        rondo_keyspace_free(ks);
        return err;
    }
    if (!ks->refuse_unmatched) ks->fallback = cache;
    *out = ks;
    return RONDO_OK;
}

static void close_cache(struct rondo_keyspace *ks, rondo_cache *cache) {
    struct rondo_policy *policy = &cache->policy;
    for (size_t i = 0; i < ks->shards.n; i++) rondo_shard_close_part(&ks->shards.at[i], policy);
    if (policy->loader) rondo_loader_close(policy->loader);
}

static void free_cache(struct rondo_keyspace *ks, rondo_cache *cache) {
    rondo_loader_free(cache->policy.loader);
    for (size_t i = 0; i < ks->shards.n; i++)
        rondo_shard_remove_part(&ks->shards.at[i], &cache->policy);
    rondo_policy_fini(&cache->policy);
    rondo_free(cache);
}

void rondo_keyspace_free(rondo_keyspace *ks) {
    if (!ks) return;
    for (size_t i = 0; i < ks->n_caches; i++) close_cache(ks, ks->caches[i]);
    rondo_keyspace_flush(ks, RONDO_ALL_SPACES);
    rondo_router_fini(&ks->router);
    for (size_t i = 0; i < ks->n_caches; i++) free_cache(ks, ks->caches[i]);
    rondo_actor_stop(ks->housekeeper);
    rondo_actor_unref(ks->housekeeper);
    rondo_free(ks->caches);
    unref(ks);
}

/* ------------------------------------------------------------------- routing --- */

rondo_cache *rondo_keyspace_route(rondo_keyspace *ks, struct rondo_slice key) {
    rondo_cache *cache = rondo_router_route(&ks->router, key);
    return cache ? cache : ks->fallback;
}

rondo_cache *rondo_keyspace_cache(rondo_keyspace *ks, size_t i) {
    return i < ks->n_caches ? ks->caches[i] : NULL;
}

uint64_t rondo_keyspace_limit(const rondo_keyspace *ks) {
    return ks->shards.budget.limit;
}

rondo_cache *rondo_keyspace_find(rondo_keyspace *ks, const char *name) {
    for (size_t i = 0; i < ks->n_caches; i++)
        if (strcmp(ks->caches[i]->policy.name, name) == 0) return ks->caches[i];
    return NULL;
}

void rondo_keyspace_flush(rondo_keyspace *ks, unsigned space) {
    for (size_t i = 0; i < ks->shards.n; i++) rondo_shard_flush(&ks->shards.at[i], space);
}

uint64_t rondo_keyspace_size(rondo_keyspace *ks, unsigned space) {
    uint64_t n = 0;
    for (size_t i = 0; i < ks->shards.n; i++) n += rondo_shard_size(&ks->shards.at[i], space);
    return n;
}

/* A spot without a cache: for what looks at memory alone. */
static void spot_of(rondo_keyspace *ks, const struct rondo_key *key, struct rondo_spot *at) {
    rondo_keyspace_spot(ks, &ks->caches[0]->policy, key, rondo_runtime_now_ns(ks->shards.rt), at);
}

uint64_t rondo_keyspace_version(rondo_keyspace *ks, const struct rondo_key *key) {
    struct rondo_spot at;
    spot_of(ks, key, &at);
    return rondo_shard_version(&at);
}

size_t rondo_keyspace_lookup(rondo_keyspace *ks, const struct rondo_key *keys, size_t n,
                             bool *found) {
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        struct rondo_spot at;
        spot_of(ks, &keys[i], &at);
        found[i] = rondo_shard_has(&at);
        n_found += found[i];
    }
    return n_found;
}

/* The cursor: a shard in the upper half, a bucket of it in the lower. */
uint64_t rondo_keyspace_scan(rondo_keyspace *ks, unsigned space, uint64_t cursor, size_t count,
                             rondo_scan_fn fn, void *arg) {
    uint64_t now_ns = rondo_runtime_now_ns(ks->shards.rt);
    size_t shard = (size_t)(cursor >> 32), seen = 0, visited = 0;
    uint32_t bucket = (uint32_t)cursor;
    while (shard < ks->shards.n) {
        bucket = rondo_shard_scan(&ks->shards.at[shard], space, bucket, now_ns, &seen, fn, arg,
                                  ks->caches);
        if (bucket == 0) shard++;
        /* Empty buckets count too, so that one call never walks far. */
        if (seen >= count || ++visited > 10 * count) break;
    }
    return shard < ks->shards.n ? (uint64_t)shard << 32 | bucket : 0;
}
