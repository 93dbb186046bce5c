/* SPDX-License-Identifier: MIT */
#include "cache/shard_internal.h"

#include "base/clock.h"
#include "cache/loader.h"

void rondo_shard_init(struct rondo_shard *s, struct rondo_shards *shards) {
    *s = (struct rondo_shard){.shards = shards, .armed_ms = UINT64_MAX};
    rondo_mutex_init(&s->mu);
    rondo_memory_init(&s->memory, &shards->budget);
    rondo_wheel_init(&s->wheel, rondo_ms_of(rondo_runtime_now_ns(shards->rt)));
}

void rondo_shard_fini(struct rondo_shard *s) {
    rondo_flights_fini(&s->flights);
    rondo_memory_fini(&s->memory);
    rondo_mutex_fini(&s->mu);
}

/* ----------------------------------------------------------- after the lock --- */

void rondo_after_init(struct rondo_after *after) {
    after->dead = (struct rondo_dead){NULL};
    after->loader = NULL;
    after->promoted = NULL;
    after->n_late = 0;
    after->is_short = false;
    after->arm_ms = UINT64_MAX;
    rondo_list_init(&after->waiters);
    rondo_list_init(&after->flights);
}

static void arm(struct rondo_shard *s, uint64_t at_ms) {
    if (s->shards->arm(s->shards, s, at_ms) == RONDO_OK) return;
    /* No memory for a timer: the next miss tries again. */
    rondo_mutex_lock(&s->mu);
    s->armed_ms = UINT64_MAX;
    rondo_mutex_unlock(&s->mu);
}

static void make_room_elsewhere(struct rondo_shard *s, uint64_t now_ms) {
    struct rondo_shards *all = s->shards;
    size_t first = (size_t)(s - all->at);
    /* Its own shard comes last: now without mercy for what was just stored. */
    for (size_t i = 1; i <= all->n && !rondo_budget_holds(&all->budget); i++)
        rondo_shard_make_room(&all->at[(first + i) % all->n], now_ms);
}

void rondo_after_run(struct rondo_after *after, struct rondo_shard *s, uint64_t now_ms) {
    rondo_dead_free(&after->dead);
    if (after->arm_ms != UINT64_MAX) arm(s, after->arm_ms);
    if (after->is_short) make_room_elsewhere(s, now_ms);
    if (after->promoted) rondo_loader_promote(after->loader, after->promoted);
    if (!rondo_list_is_empty(&after->flights)) rondo_loader_submit(after->loader, &after->flights);
    for (unsigned i = 0; i < after->n_late; i++)
        rondo_loader_cancel(after->late[i].loader, after->late[i].flight);
    struct rondo_list *node;
    while ((node = rondo_list_pop_front(&after->waiters)) != NULL)
        rondo_waiter_complete_ready(RONDO_LIST_ENTRY(node, struct rondo_waiter, link));
}

void rondo_shard_arm_locked(struct rondo_shard *s, struct rondo_after *after) {
    uint64_t next = rondo_wheel_next_ms(&s->wheel);
    if (next >= s->armed_ms) return;
    s->armed_ms = after->arm_ms = next;
}

/* ------------------------------------------------------------------ reading --- */

enum rondo_outcome rondo_shard_answer_locked(const struct rondo_spot *at,
                                             const struct rondo_entry *e,
                                             const struct rondo_read *read,
                                             struct rondo_answer *answer) {
    struct rondo_slice value = rondo_entry_value(e);
    *answer = (struct rondo_answer){.outcome = RONDO_VALUE, .was_hit = true};
    if (RONDO_UNLIKELY(rondo_entry_has_blob(e))) {
        answer->value = rondo_blob_value(rondo_entry_blob(e));
        return RONDO_VALUE;
    }
    if (RONDO_LIKELY(read && value.len <= read->scratch_size)) {
        rondo_copy_few(read->scratch, value.data, value.len);
        answer->value = (struct rondo_value){read->scratch, value.len, NULL};
        return RONDO_VALUE;
    }
    rondo_blob *blob = rondo_blob_copy(value.data, value.len);
    if (!blob) {
        *answer = rondo_policy_failure(at->policy, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
        return RONDO_FAILED;
    }
    answer->value = (struct rondo_value){blob->data, blob->len, blob};
    return RONDO_VALUE;
}

struct rondo_entry *rondo_shard_find_locked(const struct rondo_spot *at) {
    return rondo_table_find(&at->shard->memory.table, at->hash, at->key->space,
                            rondo_spot_bytes(at));
}

static __attribute__((noinline)) enum rondo_outcome
miss_locked(const struct rondo_spot *at, struct rondo_entry *e, const struct rondo_read *read,
            struct rondo_answer *answer) RONDO_RELEASE(at->shard->mu) {
    struct rondo_shard *s = at->shard;
    struct rondo_after after;
    rondo_after_init(&after);
    enum rondo_outcome outcome = rondo_shard_miss_locked(at, e, read, answer, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, s, rondo_ms_of(at->now_ns));
    return outcome;
}

static bool is_due(const struct rondo_entry *e, uint64_t now_ms) {
    return rondo_entry_expiry_ms(e) - now_ms <= rondo_entry_lead_ms(e);
}

static __attribute__((noinline)) enum rondo_outcome
hit_late_locked(const struct rondo_spot *at, struct rondo_entry *e, const struct rondo_read *read,
                struct rondo_answer *answer) RONDO_RELEASE(at->shard->mu) {
    struct rondo_after after;
    rondo_after_init(&after);
    enum rondo_outcome outcome = rondo_shard_answer_locked(at, e, read, answer);
    rondo_shard_refresh_ahead_locked(at, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, at->shard, rondo_ms_of(at->now_ns));
    return outcome;
}

enum rondo_outcome rondo_shard_get(const struct rondo_spot *at, const struct rondo_read *read,
                                   struct rondo_answer *answer) {
    struct rondo_shard *s = at->shard;
    rondo_mutex_lock(&at->shard->mu);
    struct rondo_entry *e = rondo_shard_find_locked(at);
    if (RONDO_UNLIKELY(!e || !rondo_is_fresh_value(e, rondo_ms_of(at->now_ns))))
        return miss_locked(at, e, read, answer);
    rondo_entry_touch(e);
    s->memory.parts[at->policy->id]->stats.hits++;
    if (RONDO_UNLIKELY(e->lead && is_due(e, rondo_ms_of(at->now_ns))))
        return hit_late_locked(at, e, read, answer);
    enum rondo_outcome outcome = rondo_shard_answer_locked(at, e, read, answer);
    rondo_mutex_unlock(&at->shard->mu);
    return outcome;
}

enum rondo_outcome rondo_shard_peek(const struct rondo_spot *at, const struct rondo_read *read,
                                    struct rondo_answer *answer) {
    rondo_mutex_lock(&at->shard->mu);
    struct rondo_entry *e = rondo_shard_find_locked(at);
    enum rondo_outcome outcome = RONDO_ABSENT;
    if (e && rondo_is_fresh_value(e, rondo_ms_of(at->now_ns)))
        outcome = rondo_shard_answer_locked(at, e, read, answer);
    else
        *answer = rondo_answer_absent();
    rondo_mutex_unlock(&at->shard->mu);
    return outcome;
}

/* ------------------------------------------------------------------ writing --- */

struct rondo_entry *rondo_shard_entry_for(const struct rondo_spot *at, struct rondo_slice value,
                                          const struct rondo_write *write) {
    struct rondo_entry_init init = {
        .hash = at->hash,
        .space = at->key->space,
        .key = rondo_spot_bytes(at),
        .cache = at->policy->id,
        /* Written through, it is what the source has: as good as loaded. */
        .bits = at->policy->opt.writes == RONDO_WRITES_THROUGH ? 0 : RONDO_ENTRY_WRITTEN,
        .expiry_ms =
            rondo_policy_expiry_ms(at->policy, write->ttl_ns, at->now_ns, at->hash ^ at->now_ns),
        .value = value,
    };
    return rondo_entry_new(&init);
}

bool rondo_shard_condition_holds(unsigned flags, bool is_there) {
    if (is_there) return !(flags & RONDO_WRITE_IF_ABSENT);
    return !(flags & RONDO_WRITE_IF_PRESENT);
}

enum rondo_err rondo_shard_put_locked(const struct rondo_spot *at, struct rondo_entry *e,
                                      const struct rondo_write *write, struct rondo_after *after) {
    struct rondo_shard *s = at->shard;
    uint64_t now_ms = rondo_ms_of(at->now_ns);
    struct rondo_entry *old = rondo_shard_find_locked(at);
    bool is_there = old && rondo_is_fresh_value(old, now_ms);
    if (!rondo_shard_condition_holds(write->flags, is_there)) {
        rondo_dead_add(&after->dead, e);
        return RONDO_ERR_NOT_FOUND;
    }
    if (is_there && (write->flags & RONDO_WRITE_KEEP_TTL))
        rondo_entry_set_expiry_ms(e, rondo_entry_expiry_ms(old));
    enum rondo_err err = rondo_memory_store(&s->memory, e, at->hash, old, now_ms, &after->dead);
    if (err) {
        rondo_dead_add(&after->dead, e);
        return err;
    }
    (void)rondo_flights_supersede(&s->flights, at->hash, at->key);
    s->memory.parts[at->policy->id]->stats.puts++;
    after->is_short = !rondo_budget_holds(s->memory.budget);
    return RONDO_OK;
}

struct rondo_answer rondo_shard_put_answer(const struct rondo_policy *policy, enum rondo_err err) {
    if (err == RONDO_ERR_NOMEM) return rondo_policy_failure(policy, err, RONDO_TEXT_NOMEM);
    if (err == RONDO_ERR_TOO_LARGE) return rondo_policy_failure(policy, err, RONDO_TEXT_VALUE);
    return (struct rondo_answer){.outcome = err ? RONDO_ABSENT : RONDO_VALUE};
}

enum rondo_outcome rondo_shard_put(const struct rondo_spot *at, struct rondo_slice value,
                                   const struct rondo_write *write, struct rondo_answer *answer) {
    struct rondo_entry *e = rondo_shard_entry_for(at, value, write);
    enum rondo_err err = RONDO_ERR_NOMEM;
    if (e) {
        struct rondo_after after;
        rondo_after_init(&after);
        rondo_mutex_lock(&at->shard->mu);
        err = rondo_shard_put_locked(at, e, write, &after);
        rondo_mutex_unlock(&at->shard->mu);
        rondo_after_run(&after, at->shard, rondo_ms_of(at->now_ns));
    }
    *answer = rondo_shard_put_answer(at->policy, err);
    return answer->outcome;
}

bool rondo_shard_delete_locked(const struct rondo_spot *at, struct rondo_after *after) {
    struct rondo_memory *m = &at->shard->memory;
    struct rondo_entry *e = rondo_shard_find_locked(at);
    bool was_there = e && rondo_is_fresh_value(e, rondo_ms_of(at->now_ns));
    if (was_there) ++*rondo_memory_version(m, e->hash);
    if (e) rondo_memory_drop(m, e, &after->dead);
    (void)rondo_flights_supersede(&at->shard->flights, at->hash, at->key);
    m->parts[at->policy->id]->stats.deletes += was_there;
    return was_there;
}

bool rondo_shard_delete(const struct rondo_spot *at) {
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&at->shard->mu);
    bool was_there = rondo_shard_delete_locked(at, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, at->shard, rondo_ms_of(at->now_ns));
    return was_there;
}

/* -------------------------------------------------------------- whole shard --- */

void rondo_shard_make_room(struct rondo_shard *s, uint64_t now_ms) {
    struct rondo_dead dead = {NULL};
    rondo_mutex_lock(&s->mu);
    (void)rondo_memory_make_room(&s->memory, NULL, NULL, now_ms, &dead);
    rondo_mutex_unlock(&s->mu);
    rondo_dead_free(&dead);
}

static void flush_all(struct rondo_shard *s) {
    rondo_mutex_lock(&s->mu);
    for (unsigned i = 0; i < RONDO_SPACES; i++) s->epochs[i]++;
    struct rondo_table table = rondo_memory_flush_all(&s->memory);
    rondo_mutex_unlock(&s->mu);
    rondo_memory_discard(&table);
}

void rondo_shard_flush(struct rondo_shard *s, unsigned space) {
    if (space == RONDO_ALL_SPACES) {
        flush_all(s);
        return;
    }
    if (space >= RONDO_SPACES) return;
    struct rondo_dead dead = {NULL};
    rondo_mutex_lock(&s->mu);
    s->epochs[space]++;
    rondo_memory_flush(&s->memory, space, &dead);
    rondo_mutex_unlock(&s->mu);
    rondo_dead_free(&dead);
}

enum rondo_err rondo_shard_add_part(struct rondo_shard *s, struct rondo_policy *policy) {
    rondo_mutex_lock(&s->mu);
    enum rondo_err err = rondo_memory_add_part(&s->memory, policy);
    rondo_mutex_unlock(&s->mu);
    return err;
}

void rondo_shard_remove_part(struct rondo_shard *s, const struct rondo_policy *policy) {
    rondo_mutex_lock(&s->mu);
    rondo_memory_remove_part(&s->memory, policy);
    rondo_mutex_unlock(&s->mu);
}

void rondo_shard_stats(struct rondo_shard *s, const struct rondo_policy *policy,
                       struct rondo_cache_stats *sum) {
    rondo_mutex_lock(&s->mu);
    const struct rondo_cache_stats *one = &s->memory.parts[policy->id]->stats;
#define ADD(name, text) sum->name += one->name;
    RONDO_CACHE_STATS(ADD)
#undef ADD
    rondo_mutex_unlock(&s->mu);
}

uint64_t rondo_shard_size(struct rondo_shard *s, unsigned space) {
    uint64_t n = 0;
    rondo_mutex_lock(&s->mu);
    for (unsigned i = 0; i < RONDO_SPACES; i++)
        if (space == i || space == RONDO_ALL_SPACES) n += s->memory.sizes[i];
    rondo_mutex_unlock(&s->mu);
    return n;
}
