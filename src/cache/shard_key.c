/* SPDX-License-Identifier: MIT */
/* What is asked of keys that memory has, and the change of a value in place. */
#include "base/clock.h"
#include "cache/shard_internal.h"

/* The fresh value of a key, or NULL. */
static struct rondo_entry *fresh_locked(const struct rondo_spot *at) RONDO_REQUIRES(at->shard->mu) {
    struct rondo_entry *e = rondo_shard_find_locked(at);
    return e && rondo_is_fresh_value(e, rondo_ms_of(at->now_ns)) ? e : NULL;
}

uint64_t rondo_shard_expiry_locked(const struct rondo_spot *at) {
    struct rondo_entry *e = fresh_locked(at);
    uint64_t ms = e ? rondo_entry_expiry_ms(e) : 0;
    return ms == RONDO_ENTRY_NEVER ? RONDO_OFF : ms * RONDO_MS;
}

uint64_t rondo_shard_expiry(const struct rondo_spot *at) {
    rondo_mutex_lock(&at->shard->mu);
    uint64_t expiry_ns = rondo_shard_expiry_locked(at);
    rondo_mutex_unlock(&at->shard->mu);
    return expiry_ns;
}

static uint64_t expiry_ms_of(uint64_t expiry_ns) {
    if (expiry_ns == RONDO_OFF) return RONDO_ENTRY_NEVER;
    uint64_t ms = expiry_ns / RONDO_MS + (expiry_ns % RONDO_MS != 0);
    return ms < RONDO_ENTRY_NEVER ? ms : RONDO_ENTRY_NEVER;
}

bool rondo_shard_expire_locked(const struct rondo_spot *at, uint64_t expiry_ns,
                               struct rondo_after *after) {
    struct rondo_entry *e = fresh_locked(at);
    if (!e) return false;
    if (expiry_ms_of(expiry_ns) <= rondo_ms_of(at->now_ns)) {
        (void)rondo_shard_delete_locked(at, after);
        return true;
    }
    rondo_entry_set_expiry_ms(e, expiry_ms_of(expiry_ns));
    /* Whoever sets the time says how long it is to live. */
    rondo_entry_set_lead(e, 0);
    ++*rondo_memory_version(&at->shard->memory, e->hash);
    return true;
}

bool rondo_shard_expire(const struct rondo_spot *at, uint64_t expiry_ns) {
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&at->shard->mu);
    bool was_there = rondo_shard_expire_locked(at, expiry_ns, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, at->shard, rondo_ms_of(at->now_ns));
    return was_there;
}

bool rondo_shard_has(const struct rondo_spot *at) {
    rondo_mutex_lock(&at->shard->mu);
    bool has = fresh_locked(at) != NULL;
    rondo_mutex_unlock(&at->shard->mu);
    return has;
}

/* A value that expires changes without a count: whether it is there is part of
 * the number. */
uint64_t rondo_shard_version_locked(const struct rondo_spot *at) {
    uint64_t version = *rondo_memory_version(&at->shard->memory, (uint32_t)at->hash);
    return version << 1 | (fresh_locked(at) != NULL);
}

uint64_t rondo_shard_version(const struct rondo_spot *at) {
    rondo_mutex_lock(&at->shard->mu);
    uint64_t version = rondo_shard_version_locked(at);
    rondo_mutex_unlock(&at->shard->mu);
    return version;
}

struct scan {
    unsigned space;
    uint64_t now_ms;
    size_t *n;
    rondo_scan_fn fn;
    void *arg;
    rondo_cache *const *caches;
};

static void scan_entry(void *arg, struct rondo_entry *e) {
    const struct scan *scan = arg;
    if (rondo_entry_space(e) != scan->space || !rondo_is_fresh_value(e, scan->now_ms)) return;
    struct rondo_key key = {rondo_entry_key(e), rondo_entry_key_len(e), scan->space};
    ++*scan->n;
    scan->fn(scan->arg, &key, scan->caches[e->cache]);
}

uint32_t rondo_shard_scan(struct rondo_shard *s, unsigned space, uint32_t cursor, uint64_t now_ns,
                          size_t *n, rondo_scan_fn fn, void *arg, rondo_cache *const *caches) {
    struct scan scan = {space, rondo_ms_of(now_ns), n, fn, arg, caches};
    rondo_mutex_lock(&s->mu);
    uint32_t next = rondo_table_scan(&s->memory.table, cursor, scan_entry, &scan);
    rondo_mutex_unlock(&s->mu);
    return next;
}

/* ------------------------------------------------------------------- update --- */

static enum rondo_err change_locked(const struct rondo_spot *at, struct rondo_slice old,
                                    rondo_update_fn fn, void *arg, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu) {
    struct rondo_value value = {0};
    struct rondo_write write = {0};
    enum rondo_err err = RONDO_OK;
    enum rondo_change change = fn(arg, old, &value, &write);
    if (change == RONDO_CHANGE_DELETE) (void)rondo_shard_delete_locked(at, after);
    if (change == RONDO_CHANGE_PUT) {
        struct rondo_slice bytes = {value.data, value.len};
        bool is_too_large = bytes.len > at->policy->opt.max_value_bytes;
        struct rondo_entry *e = is_too_large ? NULL : rondo_shard_entry_for(at, bytes, &write);
        err = is_too_large ? RONDO_ERR_TOO_LARGE : RONDO_ERR_NOMEM;
        if (e) err = rondo_shard_put_locked(at, e, &write, after);
    }
    rondo_value_release(&value);
    return err;
}

enum rondo_outcome rondo_shard_update(const struct rondo_spot *at, struct rondo_slice loaded,
                                      rondo_update_fn fn, void *arg, struct rondo_answer *answer) {
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&at->shard->mu);
    struct rondo_entry *e = fresh_locked(at);
    enum rondo_err err = change_locked(at, e ? rondo_entry_value(e) : loaded, fn, arg, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, at->shard, rondo_ms_of(at->now_ns));
    *answer = rondo_shard_put_answer(at->policy, err);
    return answer->outcome;
}
