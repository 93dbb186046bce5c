/* SPDX-License-Identifier: MIT */
/*
 * Write-through: the source first, then memory.  A write is a flight that nobody
 * joins.  Those of a key stand in line in the table, in the order in which they
 * took off; when one starts, the loads of the key are superseded, and none starts
 * until it has ended.
 */
#include "base/clock.h"
#include "cache/shard_internal.h"

static void answer_all(struct rondo_shard *s, struct rondo_flight *f,
                       const struct rondo_answer *answer, struct rondo_after *after) {
    struct rondo_list waiters;
    rondo_list_init(&waiters);
    rondo_shard_leave_all_locked(s, f, &waiters);
    RONDO_LIST_FOREACH(&waiters, node) {
        struct rondo_waiter *w = RONDO_LIST_ENTRY(node, struct rondo_waiter, link);
        w->reply.answer = rondo_answer_share(answer);
    }
    rondo_list_splice_back(&after->waiters, &waiters);
}

bool rondo_shard_start_write_locked(struct rondo_shard *s, struct rondo_flight *f, uint64_t now_ns,
                                    struct rondo_after *after) {
    struct rondo_key key = rondo_flight_full_key(f);
    struct rondo_entry *e =
        rondo_table_find(&s->memory.table, f->hash, f->space, rondo_flight_key(f));
    bool is_there = e && rondo_is_fresh_value(e, rondo_ms_of(now_ns));
    if (rondo_shard_condition_holds(f->write_flags, is_there)) {
        (void)rondo_flights_supersede(&s->flights, f->hash, &key);
        return true;
    }
    rondo_shard_take_down_locked(s, f);
    struct rondo_answer not_met = rondo_answer_absent();
    answer_all(s, f, &not_met, after);
    rondo_shard_release_held_locked(s, f, after);
    return false;
}

/* ------------------------------------------------------------------- update --- */

static enum rondo_update_step over(const struct rondo_flight *f, struct rondo_landing *end,
                                   enum rondo_err err, enum rondo_policy_text text) {
    const struct rondo_part *part = f->owner;
    *end = (struct rondo_landing){
        .outcome = RONDO_FAILED, .err = err, .blob = rondo_blob_ref(part->policy->texts[text])};
    return RONDO_UPDATE_OVER;
}

/* An update that is to put a value: a STORE from now on. */
static enum rondo_update_step store_instead(struct rondo_flight *f, const struct rondo_value *value,
                                            const struct rondo_write *write, bool is_there,
                                            struct rondo_landing *end) {
    struct rondo_part *part = f->owner;
    if (!rondo_shard_condition_holds(write->flags, is_there)) {
        *end = (struct rondo_landing){.outcome = RONDO_ABSENT};
        return RONDO_UPDATE_OVER;
    }
    if (value->len > part->policy->opt.max_value_bytes)
        return over(f, end, RONDO_ERR_TOO_LARGE, RONDO_TEXT_VALUE);
    f->value = value->blob ? rondo_blob_ref(value->blob) : rondo_blob_copy(value->data, value->len);
    if (!f->value) return over(f, end, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    f->kind = RONDO_FLIGHT_STORE;
    f->write_flags = write->flags & RONDO_WRITE_KEEP_TTL;
    f->write_ttl_ns = write->ttl_ns;
    rondo_shard_account_locked(f->home, part, rondo_blob_cost(f->value->len), true);
    return RONDO_UPDATE_WRITE;
}

static enum rondo_update_step change_locked(struct rondo_flight *f, struct rondo_slice old,
                                            struct rondo_landing *end) {
    const struct rondo_part *part = f->owner;
    struct rondo_value value = {0};
    struct rondo_write write = {0};
    enum rondo_update_step next = RONDO_UPDATE_OVER;
    *end = (struct rondo_landing){.outcome = RONDO_VALUE};
    enum rondo_change change = f->update(f->update_arg, old, &value, &write);
    if (change == RONDO_CHANGE_PUT) {
        next = store_instead(f, &value, &write, old.data != NULL, end);
    } else if (change == RONDO_CHANGE_DELETE && !part->policy->can_erase) {
        next = over(f, end, RONDO_ERR_REFUSED, RONDO_TEXT_REFUSED);
    } else if (change == RONDO_CHANGE_DELETE) {
        f->kind = RONDO_FLIGHT_ERASE;
        next = RONDO_UPDATE_WRITE;
    }
    rondo_value_release(&value);
    return next;
}

/* Who waits lends the function; once nobody does, it must not be called. */
static enum rondo_update_step compute_locked(const struct rondo_spot *at, struct rondo_flight *f,
                                             const struct rondo_landing *loaded,
                                             struct rondo_landing *end)
    RONDO_REQUIRES(at->shard->mu) {
    struct rondo_slice old = {NULL, 0};
    if (f->n_waiters == 0) {
        *end = (struct rondo_landing){.outcome = RONDO_ABSENT};
        return RONDO_UPDATE_OVER;
    }
    struct rondo_entry *e = rondo_shard_find_locked(at);
    if (e && rondo_is_fresh_value(e, rondo_ms_of(at->now_ns)))
        old = rondo_entry_value(e);
    else if (loaded && loaded->outcome == RONDO_VALUE)
        old = rondo_slice_of(loaded->blob->data, loaded->blob->len);
    else if (!loaded && f->loads_first)
        return RONDO_UPDATE_LOAD;
    return change_locked(f, old, end);
}

enum rondo_update_step rondo_shard_host_compute(void *host, struct rondo_flight *f,
                                                const struct rondo_landing *loaded,
                                                struct rondo_landing *end) {
    (void)host;
    struct rondo_shard *s = f->home;
    struct rondo_key key = rondo_flight_full_key(f);
    struct rondo_spot at = rondo_flight_spot(f, &key, rondo_runtime_now_ns(s->shards->rt));
    rondo_mutex_lock(&at.shard->mu);
    if (loaded && f->state != RONDO_FLIGHT_LATE) rondo_shard_count_landing(f->owner, loaded);
    enum rondo_update_step next = compute_locked(&at, f, loaded, end);
    rondo_mutex_unlock(&at.shard->mu);
    return next;
}

/* --------------------------------------------------------------------- end --- */

/* The source has it: memory follows.  Without memory for it the key is forgotten,
 * since what memory had is out of date. */
static enum rondo_outcome follow_locked(const struct rondo_spot *at, const struct rondo_flight *f,
                                        struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    if (f->kind == RONDO_FLIGHT_ERASE) {
        bool was_there = rondo_shard_delete_locked(at, after);
        return was_there || f->update ? RONDO_VALUE : RONDO_ABSENT;
    }
    struct rondo_write write = {.flags = f->write_flags & RONDO_WRITE_KEEP_TTL,
                                .ttl_ns = f->write_ttl_ns};
    struct rondo_slice value = {f->value->data, f->value->len};
    struct rondo_entry *e = f->epoch == at->shard->epochs[f->space]
                                ? rondo_shard_entry_for(at, value, &write)
                                : NULL; /* flushed meanwhile: memory stays empty */
    if (!e || rondo_shard_put_locked(at, e, &write, after))
        (void)rondo_shard_delete_locked(at, after);
    return RONDO_VALUE;
}

/* An update that wrote nothing: its value was not to be had, or not to be kept. */
static struct rondo_answer land_unwritten(const struct rondo_flight *f,
                                          const struct rondo_landing *landing) {
    if (landing->outcome != RONDO_FAILED) return (struct rondo_answer){.outcome = landing->outcome};
    bool is_load = landing->err == RONDO_ERR_LOAD || landing->err == RONDO_ERR_TIMEOUT ||
                   landing->err == RONDO_ERR_CONNECT;
    /* Partner: rondo_flight_move; both under the lock. */
    if (is_load && !rondo_load_relaxed(&f->is_late)) rondo_shard_count_landing(f->owner, landing);
    return rondo_answer_failed(landing->err, landing->blob, rondo_err_text(landing->err));
}

static struct rondo_answer land_locked(const struct rondo_spot *at, const struct rondo_flight *f,
                                       const struct rondo_landing *landing,
                                       struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    struct rondo_part *part = f->owner;
    bool is_closed = landing->err == RONDO_ERR_CLOSED;
    if (f->kind == RONDO_FLIGHT_UPDATE) return land_unwritten(f, landing);
    if (landing->outcome == RONDO_VALUE) {
        part->stats.stores_ok++;
        struct rondo_answer done = {.outcome = RONDO_VALUE};
        if (!part->is_closed) done.outcome = follow_locked(at, f, after);
        return done;
    }
    part->stats.stores_error++;
    if (landing->is_unknown) (void)rondo_shard_delete_locked(at, after);
    return rondo_answer_failed(is_closed ? RONDO_ERR_CLOSED : RONDO_ERR_STORE, landing->blob,
                               rondo_err_text(RONDO_ERR_STORE));
}

void rondo_shard_land_write(struct rondo_flight *f, struct rondo_landing *landing,
                            uint64_t now_ns) {
    struct rondo_key key = rondo_flight_full_key(f);
    struct rondo_spot at = rondo_flight_spot(f, &key, now_ns);
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&at.shard->mu);
    rondo_shard_take_down_locked(at.shard, f);
    struct rondo_answer answer = land_locked(&at, f, landing, &after);
    answer_all(at.shard, f, &answer, &after);
    rondo_shard_release_held_locked(at.shard, f, &after);
    rondo_mutex_unlock(&at.shard->mu);
    rondo_answer_release(&answer);
    rondo_after_run(&after, at.shard, rondo_ms_of(now_ns));
    rondo_flight_free(f);
    rondo_landing_release(landing);
}
