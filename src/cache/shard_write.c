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

/* The source has it: memory follows.  Without memory for it the key is forgotten,
 * since what memory had is out of date. */
static enum rondo_outcome follow_locked(const struct rondo_spot *at, const struct rondo_flight *f,
                                        struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    if (f->kind == RONDO_FLIGHT_ERASE)
        return rondo_shard_delete_locked(at, after) ? RONDO_VALUE : RONDO_ABSENT;
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

static struct rondo_answer land_locked(const struct rondo_spot *at, const struct rondo_flight *f,
                                       const struct rondo_landing *landing,
                                       struct rondo_after *after) RONDO_REQUIRES(at->shard->mu) {
    struct rondo_part *part = f->owner;
    bool is_closed = landing->err == RONDO_ERR_CLOSED;
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
