/* SPDX-License-Identifier: MIT */
/*
 * An update whose key has to be loaded first waits like a read; when the load is
 * over, it looks at memory again and falls back on what the load brought, should
 * memory have lost it meanwhile.  Everything that the end needs is made at the
 * beginning.
 */
#include "base/mem.h"
#include "cache/keyspace.h"

struct update {
    rondo_cache *cache;
    rondo_update_fn fn;
    void *arg;
    struct rondo_waiter *waiter; /* the caller's completion */
    struct rondo_key key;        /* its bytes follow */
    char bytes[];
};

static void run(struct update *u, struct rondo_slice loaded, struct rondo_answer *answer) {
    struct rondo_spot at;
    uint64_t now_ns = rondo_runtime_now_ns(u->cache->ks->shards.rt);
    rondo_keyspace_spot(u->cache->ks, &u->cache->policy, &u->key, now_ns, &at);
    (void)rondo_shard_update(&at, loaded, u->fn, u->arg, answer);
}

static void loaded(void *arg, uint64_t id, struct rondo_answer *answer) {
    (void)id;
    struct update *u = arg;
    struct rondo_answer outcome = *answer;
    if (answer->outcome != RONDO_FAILED) {
        struct rondo_slice value = {NULL, 0};
        if (answer->outcome == RONDO_VALUE)
            value = (struct rondo_slice){answer->value.data, answer->value.len};
        run(u, value, &outcome);
        rondo_answer_release(answer);
    }
    rondo_waiter_complete(u->waiter, &outcome);
    rondo_free(u);
}

static struct update *update_new(rondo_cache *cache, const struct rondo_key *key,
                                 rondo_update_fn fn, void *arg, const struct rondo_read *read,
                                 uint64_t now_ns) {
    struct update *u = rondo_alloc(sizeof *u + key->len);
    if (!u) return NULL;
    *u = (struct update){.cache = cache, .fn = fn, .arg = arg, .key = *key};
    if (key->len) memcpy(u->bytes, key->data, key->len);
    u->key.data = u->bytes;
    u->waiter = rondo_waiter_new(&read->done, 0, now_ns);
    if (u->waiter) return u;
    rondo_free(u);
    return NULL;
}

/* Loads the key, if it is not there, and goes on when that is over. */
static enum rondo_outcome after_load(rondo_cache *cache, const struct rondo_spot *at,
                                     rondo_update_fn fn, void *arg, const struct rondo_read *read,
                                     struct rondo_answer *answer) {
    struct update *u = update_new(cache, at->key, fn, arg, read, at->now_ns);
    if (!u) {
        *answer = rondo_policy_failure(at->policy, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
        return RONDO_FAILED;
    }
    struct rondo_read load = *read;
    load.done = (struct rondo_completion){.fn = loaded, .arg = u};
    load.scratch_size = 0;
    if (rondo_shard_get(at, &load, answer) == RONDO_PENDING) return RONDO_PENDING;
    if (answer->outcome != RONDO_FAILED) {
        struct rondo_slice value = {NULL, 0};
        struct rondo_answer first = *answer;
        if (first.outcome == RONDO_VALUE)
            value = (struct rondo_slice){first.value.data, first.value.len};
        run(u, value, answer);
        rondo_answer_release(&first);
    }
    rondo_waiter_free(u->waiter);
    rondo_free(u);
    return answer->outcome;
}

enum rondo_outcome rondo_cache_update(rondo_cache *cache, const struct rondo_key *key,
                                      bool load_first, rondo_update_fn fn, void *arg,
                                      const struct rondo_read *read, struct rondo_answer *answer) {
    const struct rondo_policy *policy = &cache->policy;
    if (key->len > RONDO_ENTRY_KEY_MAX || key->space >= RONDO_SPACES) {
        *answer = rondo_policy_failure(policy, RONDO_ERR_TOO_LARGE, RONDO_TEXT_KEY);
        return RONDO_FAILED;
    }
    if (policy->opt.writes == RONDO_WRITES_REFUSE) {
        *answer = rondo_policy_failure(policy, RONDO_ERR_REFUSED, RONDO_TEXT_REFUSED);
        return RONDO_FAILED;
    }
    uint64_t now_ns = read->now_ns ? read->now_ns : rondo_runtime_now_ns(cache->ks->shards.rt);
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_ns, &at);
    if (policy->opt.writes == RONDO_WRITES_THROUGH)
        return rondo_shard_update_through(&at, load_first, fn, arg, read, answer);
    if (load_first && policy->loader && !rondo_shard_has(&at))
        return after_load(cache, &at, fn, arg, read, answer);
    return rondo_shard_update(&at, rondo_slice_of(NULL, 0), fn, arg, answer);
}
