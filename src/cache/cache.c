/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/keyspace.h"
#include "cache/loader.h"

/* ----------------------------------------------------------------- the door --- */

static bool refuse_key(const rondo_cache *cache, const struct rondo_key *key,
                       struct rondo_answer *answer) {
    if (RONDO_LIKELY(key->len <= RONDO_ENTRY_KEY_MAX && key->space < RONDO_SPACES)) return false;
    *answer = rondo_policy_failure(&cache->policy, RONDO_ERR_TOO_LARGE, RONDO_TEXT_KEY);
    return true;
}

static uint64_t now_of(const rondo_cache *cache, uint64_t now_ns) {
    return now_ns ? now_ns : rondo_runtime_now_ns(cache->ks->shards.rt);
}

enum rondo_outcome rondo_cache_get(rondo_cache *cache, const struct rondo_key *key,
                                   const struct rondo_read *read, struct rondo_answer *answer) {
    if (refuse_key(cache, key, answer)) return RONDO_FAILED;
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, read->now_ns), &at);
    return rondo_shard_get(&at, read, answer);
}

/* What is left of a scratch space when a value lies in its front. */
static void take_scratch(struct rondo_read *read, const struct rondo_answer *answer) {
    const struct rondo_value *v = &answer->value;
    if (answer->outcome != RONDO_VALUE || v->blob || v->len == 0) return;
    read->scratch = (char *)read->scratch + v->len;
    read->scratch_size -= v->len;
}

size_t rondo_cache_get_many(rondo_cache *cache, const struct rondo_key *keys, size_t n,
                            const struct rondo_read *read, struct rondo_answer *answers) {
    struct rondo_read each = *read;
    struct rondo_list group;
    rondo_list_init(&group);
    size_t n_pending = 0;
    bool is_refused = false;
    uint64_t now_ns = now_of(cache, read->now_ns);
    for (size_t i = 0; i < n; i++) {
        answers[i] = (struct rondo_answer){.outcome = RONDO_PENDING};
        if (refuse_key(cache, &keys[i], &answers[i])) continue;
        struct rondo_spot at;
        rondo_keyspace_spot(cache->ks, &cache->policy, &keys[i], now_ns, &at);
        at.index = (uint32_t)i;
        at.group = &group;
        n_pending += rondo_shard_get(&at, &each, &answers[i]) == RONDO_PENDING;
        is_refused |= answers[i].outcome == RONDO_FAILED && answers[i].err == RONDO_ERR_FULL;
        take_scratch(&each, &answers[i]);
    }
    if (is_refused)
        rondo_shard_refuse_group(&cache->policy, &group);
    else if (!rondo_list_is_empty(&group))
        rondo_loader_submit(cache->policy.loader, &group);
    return n_pending;
}

enum rondo_err rondo_cache_refresh(rondo_cache *cache, const struct rondo_key *key) {
    if (key->len > RONDO_ENTRY_KEY_MAX || key->space >= RONDO_SPACES) return RONDO_ERR_TOO_LARGE;
    if (!cache->policy.loader) return RONDO_ERR_NOT_FOUND;
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, 0), &at);
    return rondo_shard_refresh(&at);
}

enum rondo_outcome rondo_cache_peek(rondo_cache *cache, const struct rondo_key *key,
                                    const struct rondo_read *read, struct rondo_answer *answer) {
    if (refuse_key(cache, key, answer)) return RONDO_FAILED;
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, read ? read->now_ns : 0),
                        &at);
    return rondo_shard_peek(&at, read, answer);
}

/* ------------------------------------------------------------------ blocking --- */

struct wait {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    bool is_over;                /* guarded by mu */
    struct rondo_answer *answer; /* written before is_over */
};

static void wait_over(void *arg, uint64_t id, struct rondo_answer *answer) {
    (void)id;
    struct wait *w = arg;
    rondo_mutex_lock(&w->mu);
    *w->answer = *answer;
    w->is_over = true;
    rondo_cond_signal(&w->cond);
    rondo_mutex_unlock(&w->mu);
}

/* The waiter's own deadline is served by a timer; should nobody run the timers
 * (a runtime without threads), the time is kept here. */
static void wait_for(struct wait *w, const struct rondo_spot *at, uint64_t until_ns) {
    bool in_time = true;
    rondo_mutex_lock(&w->mu);
    while (!w->is_over && in_time) in_time = rondo_cond_wait_until(&w->cond, &w->mu, until_ns);
    bool is_over = w->is_over;
    rondo_mutex_unlock(&w->mu);
    if (is_over) return;
    if (rondo_shard_leave(at, w)) {
        *w->answer = rondo_policy_failure(at->policy, RONDO_ERR_TIMEOUT, RONDO_TEXT_TIMEOUT);
        return;
    }
    rondo_mutex_lock(&w->mu);
    while (!w->is_over) rondo_cond_wait(&w->cond, &w->mu);
    rondo_mutex_unlock(&w->mu);
}

static bool is_over(struct wait *w) {
    rondo_mutex_lock(&w->mu);
    bool is_over = w->is_over;
    rondo_mutex_unlock(&w->mu);
    return is_over;
}

/* A thread of the cache's own pool must not wait for the others, who may all be
 * waiting likewise: it makes the calls itself. */
static void help(struct wait *w, struct rondo_loader *loader) {
    while (rondo_loader_is_inside(loader) && !is_over(w) && rondo_loader_help(loader)) {
    }
}

static uint64_t grace(uint64_t wait_ns) {
    return wait_ns == RONDO_OFF ? UINT64_MAX / 2 : rondo_deadline(wait_ns, 50 * RONDO_MS);
}

enum rondo_outcome rondo_cache_get_wait(rondo_cache *cache, const struct rondo_key *key,
                                        const struct rondo_read *read,
                                        struct rondo_answer *answer) {
    if (refuse_key(cache, key, answer)) return RONDO_FAILED;
    struct wait w = {.answer = answer};
    struct rondo_read mine = read ? *read : (struct rondo_read){0};
    mine.done = (struct rondo_completion){.fn = wait_over, .arg = &w};
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, mine.now_ns), &at);
    rondo_mutex_init(&w.mu);
    rondo_cond_init(&w.cond);
    struct rondo_answer first;
    if (rondo_shard_get(&at, &mine, &first) == RONDO_PENDING) {
        help(&w, cache->policy.loader);
        uint64_t wait_ns = mine.wait_ns ? mine.wait_ns : cache->policy.opt.wait_ns;
        wait_for(&w, &at, rondo_deadline(rondo_clock_now(&rondo_clock_real), grace(wait_ns)));
    } else {
        *answer = first;
    }
    rondo_cond_fini(&w.cond);
    rondo_mutex_fini(&w.mu);
    return answer->outcome;
}

/* -------------------------------------------------------------------- writing --- */

enum rondo_outcome rondo_cache_put(rondo_cache *cache, const struct rondo_key *key,
                                   struct rondo_slice value, const struct rondo_write *write,
                                   struct rondo_answer *answer) {
    static const struct rondo_write defaults = {0};
    if (!write) write = &defaults;
    if (refuse_key(cache, key, answer)) return RONDO_FAILED;
    const struct rondo_policy *policy = &cache->policy;
    if (policy->opt.writes == RONDO_WRITES_REFUSE) {
        *answer = rondo_policy_failure(policy, RONDO_ERR_REFUSED, RONDO_TEXT_REFUSED);
        return RONDO_FAILED;
    }
    if (value.len > policy->opt.max_value_bytes) {
        *answer = rondo_policy_failure(policy, RONDO_ERR_TOO_LARGE, RONDO_TEXT_VALUE);
        return RONDO_FAILED;
    }
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, write->now_ns), &at);
    if (policy->opt.writes == RONDO_WRITES_THROUGH)
        return rondo_shard_write_through(&at, RONDO_FLIGHT_STORE, value, write, answer);
    return rondo_shard_put(&at, value, write, answer);
}

enum rondo_outcome rondo_cache_delete(rondo_cache *cache, const struct rondo_key *key,
                                      const struct rondo_write *write,
                                      struct rondo_answer *answer) {
    static const struct rondo_write defaults = {0};
    if (!write) write = &defaults;
    if (refuse_key(cache, key, answer)) return RONDO_FAILED;
    const struct rondo_policy *policy = &cache->policy;
    bool is_through = policy->opt.writes == RONDO_WRITES_THROUGH;
    if (policy->opt.writes == RONDO_WRITES_REFUSE || (is_through && !policy->can_erase)) {
        *answer = rondo_policy_failure(policy, RONDO_ERR_REFUSED, RONDO_TEXT_REFUSED);
        return RONDO_FAILED;
    }
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, write->now_ns), &at);
    if (is_through)
        return rondo_shard_write_through(&at, RONDO_FLIGHT_ERASE, rondo_slice_of(NULL, 0), write,
                                         answer);
    *answer =
        (struct rondo_answer){.outcome = rondo_shard_delete(&at) ? RONDO_VALUE : RONDO_ABSENT};
    return answer->outcome;
}

bool rondo_cache_invalidate(rondo_cache *cache, const struct rondo_key *key) {
    if (key->len > RONDO_ENTRY_KEY_MAX || key->space >= RONDO_SPACES) return false;
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, 0), &at);
    return rondo_shard_delete(&at);
}

/* ---------------------------------------------------------------- memory alone --- */

uint64_t rondo_cache_expiry(rondo_cache *cache, const struct rondo_key *key, uint64_t now_ns) {
    if (key->len > RONDO_ENTRY_KEY_MAX || key->space >= RONDO_SPACES) return 0;
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, now_ns), &at);
    return rondo_shard_expiry(&at);
}

bool rondo_cache_expire(rondo_cache *cache, const struct rondo_key *key, uint64_t expiry_ns,
                        uint64_t now_ns) {
    if (key->len > RONDO_ENTRY_KEY_MAX || key->space >= RONDO_SPACES) return false;
    struct rondo_spot at;
    rondo_keyspace_spot(cache->ks, &cache->policy, key, now_of(cache, now_ns), &at);
    return rondo_shard_expire(&at, expiry_ns);
}

/* ------------------------------------------------------------ open and close --- */

static enum rondo_err add_parts(rondo_keyspace *ks, struct rondo_policy *policy) {
    for (size_t i = 0; i < ks->shards.n; i++) {
        enum rondo_err err = rondo_shard_add_part(&ks->shards.at[i], policy);
        if (err) return err;
    }
    return RONDO_OK;
}

static enum rondo_err start_loader(rondo_runtime *rt, struct rondo_policy *policy) {
    const struct rondo_cache_options *opt = &policy->opt;
    if (!opt->source.ops) return RONDO_OK;
    struct rondo_loader_options o = {.name = policy->name,
                                     .pattern = &policy->pattern,
                                     .host = &rondo_shard_host,
                                     .source = opt->source,
                                     .threads = opt->threads,
                                     .max_stuck = opt->max_stuck,
                                     .load_timeout_ns = opt->load_timeout_ns,
                                     .queue = opt->queue,
                                     .batch = opt->batch,
                                     .max_value_bytes = opt->max_value_bytes,
                                     .breaker_failures = opt->breaker_failures,
                                     .breaker_probe_ns = opt->breaker_probe_ns};
    return rondo_loader_new(rt, &o, &policy->loader);
}

/* Makes the cache part of the keyspace.  The source is taken over by the last
 * step that can fail, so that on an error it is still the caller's. */
static enum rondo_err join_keyspace(rondo_runtime *rt, rondo_keyspace *ks, rondo_cache *cache,
                                    bool is_shared) {
    struct rondo_policy *policy = &cache->policy;
    if (ks->n_caches > UINT16_MAX) return RONDO_ERR_INVALID;
    rondo_cache **caches = rondo_realloc(ks->caches, (ks->n_caches + 1) * sizeof(rondo_cache *));
    if (!caches) return RONDO_ERR_NOMEM;
    ks->caches = caches;
    policy->id = (uint16_t)ks->n_caches;
    bool is_routed = is_shared && ks->n_caches > 0; /* the first is the default cache */
    enum rondo_err err = add_parts(ks, policy);
    if (err) goto err_parts;
    if (is_routed) err = rondo_router_add(&ks->router, &policy->pattern, cache);
    if (err) goto err_parts;
    err = start_loader(rt, policy);
    if (err) goto err_route;
    ks->caches[ks->n_caches++] = cache;
    return RONDO_OK;

err_route:
    if (is_routed) rondo_router_remove(&ks->router, &policy->pattern);
err_parts:
    for (size_t i = 0; i < ks->shards.n; i++) rondo_shard_remove_part(&ks->shards.at[i], policy);
    return err;
}

static enum rondo_err own_keyspace(rondo_runtime *rt, const struct rondo_cache_options *options,
                                   rondo_keyspace **out) {
    struct rondo_keyspace_options o = {.size = sizeof o, .memory_bytes = options->memory_bytes};
    return rondo_keyspace_new_bare(rt, &o, out);
}

static enum rondo_err open_in(rondo_runtime *rt, rondo_keyspace *ks,
                              const struct rondo_cache_options *options, rondo_cache **out) {
    rondo_cache *cache = rondo_zalloc(sizeof *cache);
    if (!cache) return RONDO_ERR_NOMEM;
    cache->ks = ks;
    enum rondo_err err = rondo_policy_init(&cache->policy, options, ks->shards.budget.limit);
    if (err) goto err_cache;
    if (rondo_keyspace_find(ks, cache->policy.name)) {
        rondo_log(RONDO_LOG_ERROR, "cache %s: there is one of this name", cache->policy.name);
        err = RONDO_ERR_EXISTS;
        goto err_policy;
    }
    err = join_keyspace(rt, ks, cache, options->keyspace != NULL);
    if (err) goto err_policy;
    *out = cache;
    return RONDO_OK;

err_policy:
    rondo_policy_fini(&cache->policy);
err_cache:
    rondo_free(cache);
    return err;
}

enum rondo_err rondo_cache_open(rondo_runtime *rt, const struct rondo_cache_options *options,
                                rondo_cache **out) {
    if (options->keyspace) return open_in(rt, options->keyspace, options, out);
    if (options->size < sizeof *options) return RONDO_ERR_INVALID;
    rondo_keyspace *ks;
    enum rondo_err err = own_keyspace(rt, options, &ks);
    if (err) return err;
    /* The keyspace's budget is the cache's: no need to keep it twice. */
    struct rondo_cache_options alone = *options;
    alone.memory_bytes = 0;
    rondo_cache *cache;
    err = open_in(rt, ks, &alone, &cache);
    if (err) {
        rondo_keyspace_free(ks);
        return err;
    }
    cache->owns_keyspace = true;
    *out = cache;
    return RONDO_OK;
}

void rondo_cache_close(rondo_cache *cache) {
    if (!cache) return;
    if (cache->owns_keyspace)
        rondo_keyspace_free(cache->ks);
    else
        rondo_log(RONDO_LOG_WARN, "cache %s is closed with its keyspace", cache->policy.name);
}

const char *rondo_cache_name(const rondo_cache *cache) {
    return cache->policy.name;
}

void rondo_cache_stats(rondo_cache *cache, struct rondo_cache_stats *out) {
    struct rondo_cache_stats sum = {0};
    struct rondo_shards *shards = &cache->ks->shards;
    for (size_t i = 0; i < shards->n; i++) rondo_shard_stats(&shards->at[i], &cache->policy, &sum);
    if (cache->policy.loader) {
        struct rondo_loader_stats l;
        rondo_loader_stats(cache->policy.loader, &l);
        sum.loads = l.loads;
        sum.calls = l.calls;
        sum.queued = l.queued;
        sum.threads = l.threads;
        sum.busy = l.busy;
        sum.stuck = l.stuck;
        sum.breaker_open = l.breaker_open;
    }
    *out = sum;
}

void rondo_cache_times(rondo_cache *cache, struct rondo_cache_times *out) {
    struct rondo_cache_times sum = {0};
    struct rondo_shards *shards = &cache->ks->shards;
    for (size_t i = 0; i < shards->n; i++)
        rondo_shard_times(&shards->at[i], &cache->policy, &sum.waits);
    if (cache->policy.loader) rondo_loader_times(cache->policy.loader, &sum.loads);
    *out = sum;
}
