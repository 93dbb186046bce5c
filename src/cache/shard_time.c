/* SPDX-License-Identifier: MIT */
/* What ends waits early: their time is up, their call's is, the cache closes. */
#include "base/clock.h"
#include "cache/loader.h"
#include "cache/shard_internal.h"
#include "cache/times.h"

static void fail_waiters(struct rondo_list *waiters, const struct rondo_policy *policy,
                         enum rondo_err err, enum rondo_policy_text text) {
    RONDO_LIST_FOREACH(waiters, node) {
        struct rondo_waiter *w = RONDO_LIST_ENTRY(node, struct rondo_waiter, link);
        w->reply.answer = rondo_policy_failure(policy, err, text);
    }
}

static void end_waiter_locked(struct rondo_shard *s, struct rondo_waiter *w, uint64_t now_ms,
                              struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_flight *f = w->flight;
    struct rondo_part *part = f->owner;
    struct rondo_key key = rondo_flight_full_key(f);
    rondo_flight_leave(f, w);
    rondo_times_note(&part->waits, w->joined_ns, rondo_runtime_now_ns(s->shards->rt));
    rondo_shard_note_left_locked(s, part, 1);
    part->stats.waits_timeout++;
    if (f->kind != RONDO_FLIGHT_LOAD)
        w->reply.answer = rondo_policy_failure(part->policy, RONDO_ERR_STORE, RONDO_TEXT_TIMEOUT);
    else
        w->reply.answer = rondo_shard_or_stale_locked(
            s, part, f->hash, &key, now_ms,
            rondo_policy_failure(part->policy, RONDO_ERR_TIMEOUT, RONDO_TEXT_TIMEOUT));
    part->stats.stale_hits += w->reply.answer.is_stale;
    rondo_list_push_back(&after->waiters, &w->link);
}

/* Whether the write happened is unknown: what memory has may be out of date. */
static void end_write_locked(struct rondo_shard *s, struct rondo_flight *f, uint64_t now_ms,
                             struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_part *part = f->owner;
    struct rondo_entry *e =
        rondo_table_find(&s->memory.table, f->hash, f->space, rondo_flight_key(f));
    if (e && rondo_is_fresh_value(e, now_ms)) ++*rondo_memory_version(&s->memory, e->hash);
    if (e) rondo_memory_drop(&s->memory, e, &after->dead);
    struct rondo_list waiters;
    rondo_list_init(&waiters);
    rondo_shard_leave_all_locked(s, f, &waiters);
    fail_waiters(&waiters, part->policy, RONDO_ERR_STORE, RONDO_TEXT_TIMEOUT);
    rondo_list_splice_back(&after->waiters, &waiters);
}

static void end_call_locked(struct rondo_shard *s, struct rondo_flight *f, uint64_t now_ms,
                            struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_part *part = f->owner;
    rondo_flight_move(f, RONDO_FLIGHT_LATE);
    after->late[after->n_late].loader = part->policy->loader;
    after->late[after->n_late++].flight = f;
    if (f->kind != RONDO_FLIGHT_LOAD) {
        end_write_locked(s, f, now_ms, after);
        return;
    }
    part->stats.loads_timeout++;
    struct rondo_landing late = {.outcome = RONDO_FAILED,
                                 .err = RONDO_ERR_TIMEOUT,
                                 .blob = part->policy->texts[RONDO_TEXT_TIMEOUT]};
    struct rondo_answer answer = rondo_shard_landing_answer_locked(s, f, &late, now_ms);
    struct rondo_list waiters;
    rondo_list_init(&waiters);
    rondo_shard_leave_all_locked(s, f, &waiters);
    RONDO_LIST_FOREACH(&waiters, node) {
        struct rondo_waiter *w = RONDO_LIST_ENTRY(node, struct rondo_waiter, link);
        w->reply.answer = rondo_answer_share(&answer);
    }
    rondo_answer_release(&answer);
    rondo_list_splice_back(&after->waiters, &waiters);
}

void rondo_shard_tick(struct rondo_shard *s, uint64_t now_ms) {
    struct rondo_list due, *node;
    rondo_list_init(&due);
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&s->mu);
    s->armed_ms = UINT64_MAX;
    rondo_wheel_advance(&s->wheel, now_ms, &due);
    while ((node = rondo_list_pop_front(&due)) != NULL) {
        struct rondo_deadline *d = RONDO_LIST_ENTRY(node, struct rondo_deadline, link);
        if (d->is_flight && after.n_late == RONDO_AFTER_LATE_MAX)
            rondo_deadline_set(&s->wheel, d, now_ms + 1);
        else if (d->is_flight)
            end_call_locked(s, RONDO_CONTAINER_OF(d, struct rondo_flight, deadline), now_ms,
                            &after);
        else
            end_waiter_locked(s, RONDO_CONTAINER_OF(d, struct rondo_waiter, deadline), now_ms,
                              &after);
    }
    rondo_shard_arm_locked(s, &after);
    rondo_mutex_unlock(&s->mu);
    rondo_after_run(&after, s, now_ms);
}

void rondo_shard_times(struct rondo_shard *s, const struct rondo_policy *policy,
                       struct rondo_times *waits) {
    rondo_mutex_lock(&s->mu);
    rondo_times_merge(waits, &s->memory.parts[policy->id]->waits);
    rondo_mutex_unlock(&s->mu);
}

struct closing {
    struct rondo_shard *shard;
    struct rondo_part *part;
    struct rondo_list waiters;
};

static void close_flight(void *arg, struct rondo_flight *f) {
    struct closing *c = arg;
    if (f->owner != c->part) return;
    f->superseded = true;
    rondo_shard_leave_all_locked(c->shard, f, &c->waiters);
}

void rondo_shard_close_part(struct rondo_shard *s, const struct rondo_policy *policy) {
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&s->mu);
    struct closing c = {.shard = s, .part = s->memory.parts[policy->id]};
    rondo_list_init(&c.waiters);
    c.part->is_closed = true;
    rondo_flights_each(&s->flights, close_flight, &c);
    rondo_mutex_unlock(&s->mu);
    fail_waiters(&c.waiters, policy, RONDO_ERR_CLOSED, RONDO_TEXT_CLOSED);
    rondo_list_splice_back(&after.waiters, &c.waiters);
    rondo_after_run(&after, s, 0);
}
