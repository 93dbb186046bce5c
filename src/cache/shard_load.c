/* SPDX-License-Identifier: MIT */
/* How a read that memory cannot answer comes to wait; see shard_internal.h. */
#include "base/clock.h"
#include "cache/loader.h"
#include "cache/shard_internal.h"
#include "cache/times.h"

static struct rondo_part *part_of(const struct rondo_spot *at) {
    return at->shard->memory.parts[at->policy->id];
}

static enum rondo_outcome fail(const struct rondo_spot *at, struct rondo_answer *answer,
                               enum rondo_err err, enum rondo_policy_text text) {
    *answer = rondo_policy_failure(at->policy, err, text);
    return RONDO_FAILED;
}

static enum rondo_outcome shed(const struct rondo_spot *at, struct rondo_answer *answer,
                               enum rondo_policy_text text) {
    part_of(at)->stats.shed++;
    return fail(at, answer, RONDO_ERR_FULL, text);
}

/* -------------------------------------------------------------------- stale --- */

/* A value past its time that may still serve for `window_ms`; what a caller wrote
 * lives to its expiry and no longer. */
static bool is_stale_within(const struct rondo_entry *e, uint64_t window_ms, uint64_t now_ms) {
    return window_ms > 0 && rondo_entry_is_value(e) &&
           !(rondo_entry_bits(e) & RONDO_ENTRY_WRITTEN) &&
           now_ms < rondo_entry_expiry_ms(e) + window_ms;
}

/* What a failure is answered with: the old value if the cache allows it, else the
 * failure (given). */
struct rondo_answer rondo_shard_or_stale_locked(struct rondo_shard *s, struct rondo_part *part,
                                                uint64_t hash, const struct rondo_key *key,
                                                uint64_t now_ms, struct rondo_answer failure)
    RONDO_REQUIRES(s->mu) {
    struct rondo_stale stale = rondo_policy_stale(part->policy);
    if (stale.error_ms == 0) return failure;
    struct rondo_entry *e =
        rondo_table_find(&s->memory.table, hash, key->space, rondo_slice_of(key->data, key->len));
    bool is_fresh = e && rondo_entry_is_value(e) && rondo_entry_expiry_ms(e) > now_ms;
    if (!e || (!is_fresh && !is_stale_within(e, stale.error_ms, now_ms))) return failure;
    struct rondo_slice value = rondo_entry_value(e);
    rondo_blob *blob = rondo_entry_has_blob(e) ? rondo_blob_ref(rondo_entry_blob(e))
                                               : rondo_blob_copy(value.data, value.len);
    if (!blob) return failure;
    rondo_answer_release(&failure);
    struct rondo_answer answer = rondo_answer_of(blob);
    answer.is_stale = !is_fresh;
    rondo_blob_unref(blob);
    return answer;
}

/* ------------------------------------------------------------- join and lead --- */

void rondo_shard_note_left_locked(struct rondo_shard *s, struct rondo_part *part, uint64_t n) {
    part->stats.waiting -= n;
    rondo_shard_account_locked(s, part, n * sizeof(struct rondo_waiter), false);
}

void rondo_shard_leave_all_locked(struct rondo_shard *s, struct rondo_flight *f,
                                  struct rondo_list *out) {
    struct rondo_part *part = f->owner;
    uint64_t now_ns = f->n_waiters ? rondo_runtime_now_ns(s->shards->rt) : 0;
    RONDO_LIST_FOREACH(&f->waiters, node)
    rondo_times_note(&part->waits, RONDO_LIST_ENTRY(node, struct rondo_waiter, link)->joined_ns,
                     now_ns);
    rondo_shard_note_left_locked(s, part, f->n_waiters);
    rondo_flight_leave_all(f, out);
}

static void join(const struct rondo_spot *at, struct rondo_flight *f, struct rondo_waiter *w,
                 const struct rondo_read *read) {
    struct rondo_shard *s = at->shard;
    struct rondo_part *part = part_of(at);
    uint64_t wait_ns = read->wait_ns ? read->wait_ns : at->policy->opt.wait_ns;
    rondo_flight_join(f, w);
    part->stats.waiting++;
    rondo_shard_account_locked(s, part, sizeof *w, true);
    if (wait_ns == RONDO_OFF) return;
    uint64_t at_ns = rondo_deadline(at->now_ns, wait_ns);
    rondo_deadline_set(&s->wheel, &w->deadline, rondo_ms_of(rondo_deadline(at_ns, RONDO_MS - 1)));
}

/* A new flight, on the table; NULL when out of memory. */
static struct rondo_flight *take_off(const struct rondo_spot *at, struct rondo_slice client)
    RONDO_REQUIRES(at->shard->mu) {
    struct rondo_shard *s = at->shard;
    struct rondo_flight *f = rondo_flight_new(at->hash, at->key, client);
    if (!f) return NULL;
    f->home = s;
    f->owner = part_of(at);
    f->epoch = s->epochs[at->key->space];
    f->is_private = at->policy->opt.no_single_flight;
    f->deadline.is_flight = true;
    if (rondo_flights_add(&s->flights, f)) {
        rondo_flight_free(f);
        return NULL;
    }
    struct rondo_entry *e = rondo_shard_find_locked(at);
    if (e) rondo_entry_set_bits(e, 0, RONDO_ENTRY_LOADING);
    part_of(at)->stats.flights++;
    rondo_shard_account_locked(s, part_of(at), rondo_flight_size(f), true);
    return f;
}

void rondo_shard_submit_later_locked(struct rondo_flight *f, struct rondo_after *after) {
    struct rondo_part *part = f->owner;
    rondo_flight_move(f, RONDO_FLIGHT_QUEUED);
    after->loader = part->policy->loader;
    rondo_list_push_back(&after->flights, &f->queue);
}

static struct rondo_waiter *waiter_for(const struct rondo_spot *at, const struct rondo_read *read) {
    return rondo_waiter_new(&read->done, at->index, at->now_ns);
}

/* A place in the queue for a key of this cache.  Errors: INVALID, FULL, CLOSED. */
static enum rondo_err admit(const struct rondo_spot *at) {
    if (!rondo_pattern_match(&at->policy->pattern, rondo_spot_bytes(at), NULL))
        return RONDO_ERR_INVALID;
    return rondo_loader_admit(at->policy->loader, 1, at->now_ns);
}

static enum rondo_outcome refuse(const struct rondo_spot *at, struct rondo_answer *answer,
                                 enum rondo_err err) RONDO_REQUIRES(at->shard->mu) {
    if (err == RONDO_ERR_FULL) return shed(at, answer, RONDO_TEXT_QUEUE);
    if (err == RONDO_ERR_INVALID) return fail(at, answer, err, RONDO_TEXT_NO_MATCH);
    if (err == RONDO_ERR_CONNECT) {
        *answer = rondo_shard_or_stale_locked(
            at->shard, part_of(at), at->hash, at->key, rondo_ms_of(at->now_ns),
            rondo_policy_failure(at->policy, err, RONDO_TEXT_BREAKER));
        part_of(at)->stats.stale_hits += answer->is_stale;
        return answer->outcome;
    }
    return fail(at, answer, RONDO_ERR_CLOSED, RONDO_TEXT_CLOSED);
}

static enum rondo_outcome lead(const struct rondo_spot *at, const struct rondo_read *read,
                               struct rondo_answer *answer, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu) {
    enum rondo_err err = admit(at);
    if (err) return refuse(at, answer, err);
    struct rondo_waiter *w = waiter_for(at, read);
    struct rondo_flight *f = w ? take_off(at, read->client) : NULL;
    if (!f) {
        rondo_waiter_free(w);
        rondo_loader_give_back(at->policy->loader, 1);
        return fail(at, answer, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    }
    join(at, f, w, read);
    rondo_shard_submit_later_locked(f, after);
    if (at->group) rondo_list_splice_back(at->group, &after->flights);
    return RONDO_PENDING;
}

static enum rondo_outcome refuse_write(const struct rondo_spot *at, struct rondo_answer *answer,
                                       enum rondo_err err) {
    if (err == RONDO_ERR_FULL) return shed(at, answer, RONDO_TEXT_QUEUE);
    if (err == RONDO_ERR_INVALID) return fail(at, answer, err, RONDO_TEXT_NO_MATCH);
    if (err == RONDO_ERR_CONNECT) return fail(at, answer, RONDO_ERR_STORE, RONDO_TEXT_BREAKER);
    return fail(at, answer, RONDO_ERR_CLOSED, RONDO_TEXT_CLOSED);
}

/* What a write is to do. */
struct order {
    enum rondo_flight_kind kind;
    rondo_blob *value; /* of a STORE; lent */
    unsigned flags;
    uint64_t ttl_ns;
    rondo_update_fn update;
    void *update_arg;
    bool loads_first;
};

static void fill_in(struct rondo_flight *f, const struct order *order) {
    f->kind = (uint8_t)order->kind;
    f->is_private = true;
    f->value = order->value ? rondo_blob_ref(order->value) : NULL;
    f->write_flags = order->flags;
    f->write_ttl_ns = order->ttl_ns;
    f->update = order->update;
    f->update_arg = order->update_arg;
    f->loads_first = order->loads_first;
}

static enum rondo_outcome lead_write(const struct rondo_spot *at, const struct order *order,
                                     const struct rondo_read *as_read, struct rondo_answer *answer,
                                     struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    enum rondo_err err = part_of(at)->is_closed ? RONDO_ERR_CLOSED : admit(at);
    if (err) return refuse_write(at, answer, err);
    struct rondo_waiter *w = waiter_for(at, as_read);
    struct rondo_flight *f = w ? take_off(at, as_read->client) : NULL;
    if (!f) {
        rondo_waiter_free(w);
        rondo_loader_give_back(at->policy->loader, 1);
        return fail(at, answer, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    }
    fill_in(f, order);
    if (f->value)
        rondo_shard_account_locked(at->shard, part_of(at), rondo_blob_cost(f->value->len), true);
    join(at, f, w, as_read);
    rondo_shard_submit_later_locked(f, after);
    rondo_shard_arm_locked(at->shard, after);
    return RONDO_PENDING;
}

/* A load for nobody in particular. */
static enum rondo_err lead_background(const struct rondo_spot *at, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu) {
    enum rondo_err err = admit(at);
    if (err) return err;
    struct rondo_flight *f = take_off(at, rondo_slice_of(NULL, 0));
    if (!f) {
        rondo_loader_give_back(at->policy->loader, 1);
        return RONDO_ERR_NOMEM;
    }
    f->is_background = true;
    f->is_private = false;
    rondo_shard_submit_later_locked(f, after);
    return RONDO_OK;
}

/* Unless one is under way; nobody minds if there is no room for it. */
static void refresh_locked(const struct rondo_spot *at, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu) {
    struct rondo_shard *s = at->shard;
    if (!at->policy->loader || part_of(at)->is_closed) return;
    if (rondo_flights_find(&s->flights, at->hash, at->key, s->epochs[at->key->space])) return;
    if (lead_background(at, after) == RONDO_OK) part_of(at)->stats.refreshes++;
}

void rondo_shard_refresh_ahead_locked(const struct rondo_spot *at, struct rondo_after *after) {
    refresh_locked(at, after);
}

/* The key's call has overrun: nobody waits for it any more. */
static enum rondo_outcome answer_late(const struct rondo_spot *at, struct rondo_answer *answer)
    RONDO_REQUIRES(at->shard->mu) {
    struct rondo_part *part = part_of(at);
    *answer = rondo_shard_or_stale_locked(
        at->shard, part, at->hash, at->key, rondo_ms_of(at->now_ns),
        rondo_policy_failure(at->policy, RONDO_ERR_TIMEOUT, RONDO_TEXT_TIMEOUT));
    if (answer->outcome == RONDO_VALUE)
        part->stats.stale_hits++;
    else
        part->stats.waits_timeout++;
    return answer->outcome;
}

static enum rondo_outcome join_current(const struct rondo_spot *at, struct rondo_flight *f,
                                       const struct rondo_read *read, struct rondo_answer *answer,
                                       struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    if (f->state == RONDO_FLIGHT_LATE) return answer_late(at, answer);
    if (f->n_waiters >= at->policy->opt.waiters) return shed(at, answer, RONDO_TEXT_WAITERS);
    struct rondo_waiter *w = waiter_for(at, read);
    if (!w) return fail(at, answer, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    join(at, f, w, read);
    part_of(at)->stats.joined++;
    if (f->is_background && f->state == RONDO_FLIGHT_QUEUED) {
        after->loader = at->policy->loader;
        after->promoted = f;
    }
    return RONDO_PENDING;
}

/* --------------------------------------------------------------------- a miss --- */

/* A remembered error is one byte of code, then the text. */
static enum rondo_outcome answer_negative(const struct rondo_spot *at, const struct rondo_entry *e,
                                          struct rondo_answer *answer) {
    if (rondo_entry_bits(e) & RONDO_ENTRY_ABSENT) {
        *answer = rondo_answer_absent();
        return RONDO_ABSENT;
    }
    struct rondo_slice value = rondo_entry_value(e);
    const char *bytes = value.data;
    rondo_blob *text = rondo_blob_copy(bytes + 1, value.len - 1);
    if (!text) return fail(at, answer, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    *answer = rondo_answer_failed((enum rondo_err)(unsigned char)bytes[0], text, "");
    rondo_blob_unref(text);
    return RONDO_FAILED;
}

/* What is past all use goes; what is left may still serve. */
static struct rondo_entry *expire_locked(const struct rondo_spot *at, struct rondo_entry *e,
                                         struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    uint64_t now_ms = rondo_ms_of(at->now_ns);
    if (!e || rondo_entry_expiry_ms(e) > now_ms) return e;
    if (is_stale_within(e, rondo_policy_stale(at->policy).keep_ms, now_ms)) return e;
    if (rondo_entry_is_value(e)) part_of(at)->stats.expired++;
    rondo_memory_drop(&at->shard->memory, e, &after->dead);
    return NULL;
}

static enum rondo_outcome load_locked(const struct rondo_spot *at, const struct rondo_read *read,
                                      struct rondo_answer *answer, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu) {
    struct rondo_shard *s = at->shard;
    if (part_of(at)->is_closed) return fail(at, answer, RONDO_ERR_CLOSED, RONDO_TEXT_CLOSED);
    if (RONDO_UNLIKELY(rondo_loader_asks_for(at->policy->loader, at->hash, at->key)))
        return fail(at, answer, RONDO_ERR_DEADLOCK, RONDO_TEXT_DEADLOCK);
    struct rondo_flight *f =
        rondo_flights_find(&s->flights, at->hash, at->key, s->epochs[at->key->space]);
    enum rondo_outcome outcome =
        f ? join_current(at, f, read, answer, after) : lead(at, read, answer, after);
    if (outcome == RONDO_PENDING) rondo_shard_arm_locked(at->shard, after);
    return outcome;
}

enum rondo_outcome rondo_shard_miss_locked(const struct rondo_spot *at, struct rondo_entry *e,
                                           const struct rondo_read *read,
                                           struct rondo_answer *answer, struct rondo_after *after) {
    struct rondo_cache_stats *stats = &part_of(at)->stats;
    e = expire_locked(at, e, after);
    uint64_t revalidate_ms = rondo_policy_stale(at->policy).revalidate_ms;
    if (e && is_stale_within(e, revalidate_ms, rondo_ms_of(at->now_ns))) {
        stats->stale_hits++;
        rondo_entry_touch(e);
        enum rondo_outcome outcome = rondo_shard_answer_locked(at, e, read, answer);
        answer->is_stale = outcome == RONDO_VALUE;
        refresh_locked(at, after);
        return outcome;
    }
    stats->misses++;
    if (e && !rondo_entry_is_value(e)) return answer_negative(at, e, answer);
    if (at->policy->loader) return load_locked(at, read, answer, after);
    *answer = rondo_answer_absent();
    return RONDO_ABSENT;
}

static enum rondo_outcome write_through(const struct rondo_spot *at, const struct order *order,
                                        const struct rondo_read *as_read,
                                        struct rondo_answer *answer) {
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&at->shard->mu);
    enum rondo_outcome outcome = lead_write(at, order, as_read, answer, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, at->shard, rondo_ms_of(at->now_ns));
    return outcome;
}

enum rondo_outcome rondo_shard_write_through(const struct rondo_spot *at,
                                             enum rondo_flight_kind kind, struct rondo_slice value,
                                             const struct rondo_write *write,
                                             struct rondo_answer *answer) {
    struct rondo_read as_read = {.done = write->done, .client = write->client};
    rondo_blob *blob = kind == RONDO_FLIGHT_STORE ? rondo_blob_copy(value.data, value.len) : NULL;
    if (kind == RONDO_FLIGHT_STORE && !blob)
        return fail(at, answer, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    struct order order = {
        .kind = kind, .value = blob, .flags = write->flags, .ttl_ns = write->ttl_ns};
    enum rondo_outcome outcome = write_through(at, &order, &as_read, answer);
    rondo_blob_unref(blob);
    return outcome;
}

enum rondo_outcome rondo_shard_update_through(const struct rondo_spot *at, bool load_first,
                                              rondo_update_fn fn, void *arg,
                                              const struct rondo_read *read,
                                              struct rondo_answer *answer) {
    struct order order = {
        .kind = RONDO_FLIGHT_UPDATE, .update = fn, .update_arg = arg, .loads_first = load_first};
    return write_through(at, &order, read, answer);
}

enum rondo_err rondo_shard_refresh(const struct rondo_spot *at) {
    struct rondo_shard *s = at->shard;
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&at->shard->mu);
    enum rondo_err err = RONDO_OK;
    if (part_of(at)->is_closed)
        err = RONDO_ERR_CLOSED;
    else if (!rondo_flights_find(&s->flights, at->hash, at->key, s->epochs[at->key->space]))
        err = lead_background(at, &after);
    rondo_mutex_unlock(&at->shard->mu);
    rondo_after_run(&after, s, rondo_ms_of(at->now_ns));
    return err;
}

void rondo_shard_refuse_group(const struct rondo_policy *policy, struct rondo_list *group) {
    struct rondo_list *node;
    while ((node = rondo_list_pop_front(group)) != NULL) {
        struct rondo_landing refused = {.outcome = RONDO_FAILED,
                                        .err = RONDO_ERR_FULL,
                                        .blob = rondo_blob_ref(policy->texts[RONDO_TEXT_QUEUE])};
        rondo_loader_give_back(policy->loader, 1);
        rondo_shard_host.land(NULL, RONDO_LIST_ENTRY(node, struct rondo_flight, queue), &refused);
    }
}

bool rondo_shard_leave(const struct rondo_spot *at, const void *arg) {
    struct rondo_shard *s = at->shard;
    rondo_mutex_lock(&s->mu);
    struct rondo_waiter *w = rondo_flights_waiter(&s->flights, at->hash, at->key, arg);
    if (w) {
        rondo_flight_leave(w->flight, w);
        rondo_times_note(&part_of(at)->waits, w->joined_ns, rondo_runtime_now_ns(s->shards->rt));
        rondo_shard_note_left_locked(s, part_of(at), 1);
        part_of(at)->stats.waits_timeout++;
    }
    rondo_mutex_unlock(&s->mu);
    rondo_waiter_free(w);
    return w != NULL;
}
