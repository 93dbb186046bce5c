/* SPDX-License-Identifier: MIT */
#include "cache/memory.h"

#include "base/mem.h"

enum { SLOT = sizeof(struct rondo_entry *) };

void rondo_memory_init(struct rondo_memory *m, struct rondo_budget *budget) {
    *m = (struct rondo_memory){.budget = budget};
}

static void empty_part(struct rondo_memory *m, struct rondo_part *part) {
    rondo_evict_fini(&part->own_evict);
    rondo_ring_fini(&part->negatives);
    rondo_memory_account(m, part, 0 - (part->overhead + part->entry_bytes));
    /* Partners: other shards. */
    rondo_sub_relaxed(&part->policy->negative.used, part->negative_bytes);
    part->overhead = 0;
    part->entry_bytes = part->negative_bytes = part->stats.entries = 0;
}

void rondo_memory_fini(struct rondo_memory *m) {
    struct rondo_table table = rondo_memory_flush_all(m);
    rondo_memory_discard(&table);
    for (size_t i = 0; i < m->n_parts; i++) rondo_free(m->parts[i]);
    rondo_free(m->parts);
    *m = (struct rondo_memory){.budget = m->budget};
}

static enum rondo_err fit_parts(struct rondo_memory *m, size_t n) {
    if (n <= m->n_parts) return RONDO_OK;
    struct rondo_part **parts = rondo_realloc(m->parts, n * sizeof(struct rondo_part *));
    if (!parts) return RONDO_ERR_NOMEM;
    while (m->n_parts < n) parts[m->n_parts++] = NULL;
    m->parts = parts;
    return RONDO_OK;
}

enum rondo_err rondo_memory_add_part(struct rondo_memory *m, struct rondo_policy *policy) {
    enum rondo_err err = fit_parts(m, (size_t)policy->id + 1);
    if (err) return err;
    struct rondo_part *part = rondo_zalloc(sizeof *part);
    if (!part) return RONDO_ERR_NOMEM;
    part->policy = policy;
    part->evict = policy->budget.limit == UINT64_MAX ? &m->evict : &part->own_evict;
    m->parts[policy->id] = part;
    return RONDO_OK;
}

void rondo_memory_remove_part(struct rondo_memory *m, const struct rondo_policy *policy) {
    struct rondo_part *part = policy->id < m->n_parts ? m->parts[policy->id] : NULL;
    if (!part || part->policy != policy) return;
    RONDO_CHECK(part->stats.entries == 0);
    empty_part(m, part);
    rondo_free(part);
    m->parts[policy->id] = NULL;
}

/* ------------------------------------------------------------- accounts --- */

static size_t negatives_overhead(const struct rondo_part *part) {
    return ((size_t)part->negatives.cap - part->negatives.count) * SLOT;
}

/* Brings the accounts of what tables and rings take up to date. */
static void account_overhead(struct rondo_memory *m, struct rondo_part *part) {
    size_t own = rondo_evict_overhead(&part->own_evict) + negatives_overhead(part);
    if (own != part->overhead) rondo_memory_account(m, part, own - part->overhead);
    part->overhead = own;
    size_t common = m->table.bytes + rondo_evict_overhead(&m->evict);
    if (common != m->overhead) rondo_add_relaxed(&m->budget->used, common - m->overhead);
    m->overhead = common;
}

static void account_entry(struct rondo_memory *m, const struct rondo_entry *e, int sign) {
    struct rondo_part *part = rondo_memory_part(m, e);
    uint64_t one = sign > 0 ? 1 : UINT64_MAX, cost = one * rondo_entry_cost(e);
    rondo_memory_account(m, part, cost);
    part->entry_bytes += cost;
    if (rondo_entry_is_value(e)) {
        part->stats.entries += one;
        m->sizes[rondo_entry_space(e)] += one;
    } else {
        part->negative_bytes += cost;
        rondo_add_relaxed(&part->policy->negative.used, cost); /* partners: other shards */
    }
}

/* ---------------------------------------------------------- store and drop --- */

static void unqueue(struct rondo_memory *m, struct rondo_entry *e) {
    struct rondo_part *part = rondo_memory_part(m, e);
    if (rondo_entry_is_value(e))
        rondo_evict_remove(part->evict, e);
    else
        rondo_ring_remove(&part->negatives, e);
}

/* `e` has left its queue already. */
static void bury(struct rondo_memory *m, struct rondo_entry *e, struct rondo_dead *dead) {
    rondo_table_remove(&m->table, e);
    account_entry(m, e, -1);
    rondo_dead_add(dead, e);
}

void rondo_memory_drop(struct rondo_memory *m, struct rondo_entry *e, struct rondo_dead *dead) {
    unqueue(m, e);
    bury(m, e, dead);
}

/* Remembered absences and errors make room among themselves only. */
static bool make_room_negative(struct rondo_memory *m, struct rondo_part *part,
                               const struct rondo_entry *e, struct rondo_dead *dead) {
    struct rondo_budget *own = &part->policy->negative;
    uint64_t cost = rondo_entry_cost(e);
    while (rondo_load_relaxed(&own->used) + cost > own->limit ||
           rondo_load_relaxed(&m->budget->used) + cost > m->budget->limit ||
           rondo_load_relaxed(&part->policy->budget.used) + cost > part->policy->budget.limit) {
        struct rondo_entry *oldest = rondo_ring_pop(&part->negatives);
        if (!oldest) return false;
        bury(m, oldest, dead);
    }
    return true;
}

static enum rondo_err enqueue(struct rondo_memory *m, struct rondo_entry *e) {
    struct rondo_part *part = rondo_memory_part(m, e);
    return rondo_entry_is_value(e) ? rondo_evict_add(part->evict, e)
                                   : rondo_ring_push(&part->negatives, e);
}

static enum rondo_err insert(struct rondo_memory *m, struct rondo_entry *e, uint64_t hash) {
    enum rondo_err err = rondo_table_insert(&m->table, e, hash);
    if (err) return err;
    err = enqueue(m, e);
    if (err) {
        rondo_table_remove(&m->table, e);
        return err;
    }
    account_entry(m, e, 1);
    account_overhead(m, rondo_memory_part(m, e));
    return RONDO_OK;
}

static void replace(struct rondo_memory *m, struct rondo_entry *e, uint64_t hash,
                    struct rondo_entry *old, struct rondo_dead *dead) {
    rondo_table_replace(&m->table, old, e, hash);
    rondo_evict_replace(rondo_memory_part(m, e)->evict, old, e);
    account_entry(m, e, 1);
    account_entry(m, old, -1);
    rondo_dead_add(dead, old);
}

enum rondo_err rondo_memory_store(struct rondo_memory *m, struct rondo_entry *e, uint64_t hash,
                                  struct rondo_entry *old, uint64_t now_ms,
                                  struct rondo_dead *dead) {
    struct rondo_part *part = rondo_memory_part(m, e);
    bool is_value = rondo_entry_is_value(e);
    uint64_t cost = rondo_entry_cost(e);
    if (cost > m->budget->limit || cost > part->policy->budget.limit) return RONDO_ERR_TOO_LARGE;
    if (old && is_value && rondo_entry_is_value(old) &&
        rondo_memory_part(m, old)->evict == part->evict) {
        replace(m, e, hash, old, dead);
    } else {
        /* The old one goes first only when nothing can fail any more. */
        if (!is_value && !make_room_negative(m, part, e, dead)) return RONDO_ERR_FULL;
        enum rondo_err err = insert(m, e, hash);
        if (err) return err;
        if (old) rondo_memory_drop(m, old, dead);
    }
    ++*rondo_memory_version(m, e->hash);
    if (is_value) (void)rondo_memory_make_room(m, part->policy, e, now_ms, dead);
    return RONDO_OK;
}

/* -------------------------------------------------------------- eviction --- */

static uint64_t bytes_of(const struct rondo_evict *ev) {
    return ev->small_bytes + ev->main_bytes;
}

/* The queue that has to give: the one with the most bytes. */
static struct rondo_evict *largest(struct rondo_memory *m) {
    struct rondo_evict *best = &m->evict;
    for (size_t i = 0; i < m->n_parts; i++) {
        struct rondo_part *part = m->parts[i];
        if (part && part->evict != &m->evict && bytes_of(part->evict) > bytes_of(best))
            best = part->evict;
    }
    return best;
}

static bool evict_one(struct rondo_memory *m, struct rondo_evict *ev, struct rondo_entry *keep,
                      uint64_t now_ms, struct rondo_dead *dead) {
    struct rondo_entry *e = rondo_evict_pick(ev);
    if (e && e == keep) {
        struct rondo_entry *other = rondo_evict_pick(ev);
        /* Right after a pick there is room for one more. */
        RONDO_CHECK(rondo_evict_add(ev, e) == RONDO_OK);
        e = other;
    }
    if (!e) return false;
    struct rondo_part *part = rondo_memory_part(m, e);
    if (rondo_entry_expiry_ms(e) <= now_ms)
        part->stats.expired++;
    else
        part->stats.evicted++;
    ++*rondo_memory_version(m, e->hash);
    bury(m, e, dead);
    return true;
}

/* Last resort, when no value is left. */
static bool forget_one(struct rondo_memory *m, struct rondo_dead *dead) {
    for (size_t i = 0; i < m->n_parts; i++) {
        struct rondo_part *part = m->parts[i];
        struct rondo_entry *e = part ? rondo_ring_pop(&part->negatives) : NULL;
        if (!e) continue;
        bury(m, e, dead);
        return true;
    }
    return false;
}

bool rondo_memory_make_room(struct rondo_memory *m, const struct rondo_policy *policy,
                            struct rondo_entry *keep, uint64_t now_ms, struct rondo_dead *dead) {
    if (policy && !rondo_budget_holds(&policy->budget)) {
        struct rondo_evict *own = m->parts[policy->id]->evict;
        while (!rondo_budget_holds(&policy->budget) && evict_one(m, own, keep, now_ms, dead)) {
        }
    }
    while (!rondo_budget_holds(m->budget)) {
        if (evict_one(m, largest(m), keep, now_ms, dead)) continue;
        if (!forget_one(m, dead)) break;
    }
    return rondo_budget_holds(m->budget) && (!policy || rondo_budget_holds(&policy->budget));
}

/* ----------------------------------------------------------------- flush --- */

struct flush {
    struct rondo_memory *memory;
    unsigned space;
    struct rondo_dead *dead;
};

static bool flush_entry(void *arg, struct rondo_entry *e, uint64_t word) {
    (void)word;
    struct flush *f = arg;
    if (rondo_entry_space(e) != f->space) return false;
    if (rondo_entry_is_value(e)) ++*rondo_memory_version(f->memory, e->hash);
    unqueue(f->memory, e);
    account_entry(f->memory, e, -1);
    rondo_dead_add(f->dead, e);
    return true;
}

void rondo_memory_flush(struct rondo_memory *m, unsigned space, struct rondo_dead *dead) {
    struct flush f = {m, space, dead};
    (void)rondo_table_sweep(&m->table, flush_entry, &f);
}

struct rondo_table rondo_memory_flush_all(struct rondo_memory *m) {
    struct rondo_table table = m->table;
    m->table = (struct rondo_table){0};
    rondo_evict_fini(&m->evict);
    rondo_sub_relaxed(&m->budget->used, m->overhead); /* partners: other shards */
    m->overhead = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i]) empty_part(m, m->parts[i]);
    memset(m->sizes, 0, sizeof m->sizes);
    for (unsigned i = 0; i < RONDO_VERSIONS; i++) m->versions[i]++;
    return table;
}

static bool forget_entry(void *arg, struct rondo_entry *e, uint64_t word) {
    (void)arg;
    (void)word;
    rondo_entry_free(e);
    return true;
}

void rondo_memory_discard(struct rondo_table *t) {
    (void)rondo_table_sweep(t, forget_entry, NULL);
    rondo_table_fini(t);
}
