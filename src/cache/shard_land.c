/* SPDX-License-Identifier: MIT */
/* What the loader calls: a flight starts, is asked again, lands. */
#include "base/clock.h"
#include "cache/loader.h"
#include "cache/shard_internal.h"

void rondo_shard_take_down_locked(struct rondo_shard *s, struct rondo_flight *f) {
    struct rondo_part *part = f->owner;
    rondo_flight_move(f, RONDO_FLIGHT_LANDED);
    rondo_deadline_clear(&f->deadline);
    rondo_flights_remove(&s->flights, f);
    struct rondo_entry *e =
        rondo_table_find(&s->memory.table, f->hash, f->space, rondo_flight_key(f));
    if (e) rondo_entry_set_bits(e, RONDO_ENTRY_LOADING, 0);
    part->stats.flights--;
    rondo_shard_account_locked(s, part, rondo_flight_size(f), false);
}

void rondo_shard_release_held_locked(struct rondo_shard *s, const struct rondo_flight *f,
                                     struct rondo_after *after) {
    struct rondo_key key = rondo_flight_full_key(f);
    struct rondo_flight *held;
    while ((held = rondo_flights_held(&s->flights, f->hash, &key)) != NULL) {
        struct rondo_part *part = held->owner;
        rondo_loader_admit_always(part->policy->loader, 1);
        rondo_shard_submit_later_locked(held, after);
    }
}

/* A load waits for a write of its key that runs, and for other calls of its key if
 * too many run; a write waits for those before it. */
static bool must_wait_locked(struct rondo_shard *s, const struct rondo_flight *f)
    RONDO_REQUIRES(s->mu) {
    struct rondo_key key = rondo_flight_full_key(f);
    const struct rondo_flight *write = rondo_flights_first_write(&s->flights, f->hash, &key);
    if (f->kind != RONDO_FLIGHT_LOAD) return write != f;
    if (write && (write->state == RONDO_FLIGHT_RUNNING || write->state == RONDO_FLIGHT_LATE))
        return true;
    return !f->is_private &&
           rondo_flights_running(&s->flights, f->hash, &key) >= RONDO_FLIGHT_CALLS_MAX;
}

static void run_locked(struct rondo_shard *s, struct rondo_flight *f, uint64_t now_ns,
                       struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_part *part = f->owner;
    uint64_t timeout_ns = part->policy->opt.load_timeout_ns;
    rondo_flight_move(f, RONDO_FLIGHT_RUNNING);
    if (timeout_ns != RONDO_OFF) {
        uint64_t until_ns = rondo_deadline(now_ns, timeout_ns);
        rondo_deadline_set(&s->wheel, &f->deadline,
                           rondo_ms_of(rondo_deadline(until_ns, RONDO_MS - 1)));
    }
    rondo_shard_arm_locked(s, after);
}

static bool host_start(void *host, struct rondo_flight *f, uint64_t now_ns) {
    (void)host;
    struct rondo_shard *s = f->home;
    struct rondo_after after;
    rondo_after_init(&after);
    bool starts = false, is_over = false;
    rondo_mutex_lock(&s->mu);
    if (f->kind == RONDO_FLIGHT_LOAD && f->n_waiters == 0 && !f->is_background) {
        rondo_shard_take_down_locked(s, f);
        rondo_shard_release_held_locked(s, f, &after);
        is_over = true;
    } else if (must_wait_locked(s, f)) {
        rondo_flight_move(f, RONDO_FLIGHT_HELD);
    } else if (f->kind != RONDO_FLIGHT_LOAD &&
               !rondo_shard_start_write_locked(s, f, now_ns, &after)) {
        is_over = true;
    } else {
        starts = true;
        run_locked(s, f, now_ns, &after);
    }
    rondo_mutex_unlock(&s->mu);
    rondo_after_run(&after, s, rondo_ms_of(now_ns));
    if (is_over) rondo_flight_free(f);
    return starts;
}

static bool host_retry(void *host, struct rondo_flight *f) {
    (void)host;
    struct rondo_shard *s = f->home;
    rondo_mutex_lock(&s->mu);
    bool again = f->state == RONDO_FLIGHT_RUNNING;
    if (again) {
        rondo_flight_move(f, RONDO_FLIGHT_QUEUED);
        rondo_deadline_clear(&f->deadline);
    }
    rondo_mutex_unlock(&s->mu);
    return again;
}

void rondo_shard_count_landing(struct rondo_part *part, const struct rondo_landing *landing) {
    struct rondo_cache_stats *stats = &part->stats;
    if (landing->outcome == RONDO_VALUE)
        stats->loads_ok++;
    else if (landing->outcome == RONDO_ABSENT)
        stats->loads_absent++;
    else if (landing->err == RONDO_ERR_FULL)
        stats->shed++;
    else if (landing->err == RONDO_ERR_TIMEOUT)
        stats->loads_timeout++;
    else
        stats->loads_error++;
}

/* Whether a failure says something about the source; the others are ours. */
static bool is_of_source(enum rondo_err err) {
    return err == RONDO_ERR_LOAD || err == RONDO_ERR_CONNECT || err == RONDO_ERR_TIMEOUT;
}

/* The entry that a landing leaves in memory; NULL: none, or out of memory. */
static struct rondo_entry *entry_of(const struct rondo_flight *f,
                                    const struct rondo_landing *landing, uint64_t now_ns) {
    const struct rondo_part *part = f->owner;
    const struct rondo_cache_options *opt = &part->policy->opt;
    struct rondo_entry_init init = {
        .hash = f->hash, .space = f->space, .key = rondo_flight_key(f), .cache = part->policy->id};
    char error[1 + RONDO_ENTRY_INLINE_MAX];
    uint64_t ttl_ns = 0;
    if (landing->outcome == RONDO_VALUE) {
        init.blob = landing->blob;
        init.value = rondo_slice_of(landing->blob->data, landing->blob->len);
        if (opt->ttl_from_source) ttl_ns = landing->ttl_ns;
    } else if (landing->outcome == RONDO_ABSENT) {
        init.bits = RONDO_ENTRY_ABSENT;
        ttl_ns = opt->miss_ttl_ns;
        if (ttl_ns == RONDO_OFF) return NULL;
    } else {
        init.bits = RONDO_ENTRY_ERROR;
        ttl_ns = opt->error_ttl_ns;
        if (ttl_ns == RONDO_OFF || !is_of_source(landing->err) || !landing->blob) return NULL;
        size_t len = landing->blob->len;
        if (len > RONDO_ENTRY_INLINE_MAX - 1) len = RONDO_ENTRY_INLINE_MAX - 1;
        error[0] = (char)landing->err;
        memcpy(error + 1, landing->blob->data, len);
        init.value = rondo_slice_of(error, len + 1);
    }
    init.expiry_ms = rondo_policy_expiry_ms(part->policy, ttl_ns, now_ns, f->hash ^ now_ns);
    if (landing->outcome == RONDO_VALUE && init.expiry_ms != RONDO_ENTRY_NEVER)
        init.lead_ms = (init.expiry_ms - rondo_ms_of(now_ns)) * opt->refresh_ahead_percent / 100;
    return rondo_entry_new(&init);
}

/* A failure leaves a value alone; an absence takes it away. */
static void store_locked(struct rondo_shard *s, const struct rondo_flight *f,
                         const struct rondo_landing *landing, struct rondo_entry *e,
                         uint64_t now_ms, struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_memory *m = &s->memory;
    struct rondo_entry *old = rondo_table_find(&m->table, f->hash, f->space, rondo_flight_key(f));
    bool keeps_old = landing->outcome == RONDO_FAILED && old && rondo_entry_is_value(old);
    /* A refresh that failed is tried again when half of what is left has passed. */
    if (keeps_old && old->lead && rondo_entry_expiry_ms(old) > now_ms)
        rondo_entry_set_lead(old, (rondo_entry_expiry_ms(old) - now_ms) / 2);
    if (keeps_old || (e && rondo_memory_store(m, e, f->hash, old, now_ms, &after->dead))) {
        if (e) rondo_dead_add(&after->dead, e);
        e = NULL;
    } else if (e) {
        old = NULL; /* replaced */
    }
    if (landing->outcome == RONDO_ABSENT && old) {
        ++*rondo_memory_version(m, old->hash);
        rondo_memory_drop(m, old, &after->dead);
    }
    after->is_short = !rondo_budget_holds(m->budget);
}

static struct rondo_answer answer_of(const struct rondo_landing *landing) {
    if (landing->outcome == RONDO_VALUE) return rondo_answer_of(landing->blob);
    if (landing->outcome == RONDO_ABSENT) return rondo_answer_absent();
    return rondo_answer_failed(landing->err, landing->blob, rondo_err_text(landing->err));
}

static void complete_all(struct rondo_list *waiters, const struct rondo_answer *answer) {
    struct rondo_list *node;
    while ((node = rondo_list_pop_front(waiters)) != NULL) {
        struct rondo_answer copy = rondo_answer_share(answer);
        rondo_waiter_complete(RONDO_LIST_ENTRY(node, struct rondo_waiter, link), &copy);
    }
}

/* What all waiters get. */
struct rondo_answer rondo_shard_landing_answer_locked(struct rondo_shard *s,
                                                      const struct rondo_flight *f,
                                                      const struct rondo_landing *landing,
                                                      uint64_t now_ms) RONDO_REQUIRES(s->mu) {
    struct rondo_part *part = f->owner;
    struct rondo_key key = rondo_flight_full_key(f);
    struct rondo_answer answer = answer_of(landing);
    if (answer.outcome == RONDO_FAILED && f->n_waiters > 0 && is_of_source(landing->err))
        answer = rondo_shard_or_stale_locked(s, part, f->hash, &key, now_ms, answer);
    if (answer.is_stale) part->stats.stale_hits += f->n_waiters;
    return answer;
}

static void host_land(void *host, struct rondo_flight *f, struct rondo_landing *landing) {
    (void)host;
    struct rondo_shard *s = f->home;
    struct rondo_part *part = f->owner;
    uint64_t now_ns = rondo_runtime_now_ns(s->shards->rt);
    if (f->kind != RONDO_FLIGHT_LOAD) {
        rondo_shard_land_write(f, landing, now_ns);
        return;
    }
    struct rondo_entry *e = entry_of(f, landing, now_ns);
    struct rondo_list waiters;
    rondo_list_init(&waiters);
    struct rondo_after after;
    rondo_after_init(&after);

    rondo_mutex_lock(&s->mu);
    if (f->state != RONDO_FLIGHT_LATE) rondo_shard_count_landing(part, landing);
    rondo_shard_take_down_locked(s, f);
    if (rondo_flight_is_superseded(f, s->epochs[f->space]) || part->is_closed) {
        part->stats.superseded += landing->outcome == RONDO_VALUE;
        if (e) rondo_dead_add(&after.dead, e);
    } else {
        store_locked(s, f, landing, e, rondo_ms_of(now_ns), &after);
    }
    struct rondo_answer answer =
        rondo_shard_landing_answer_locked(s, f, landing, rondo_ms_of(now_ns));
    rondo_shard_leave_all_locked(s, f, &waiters);
    rondo_shard_release_held_locked(s, f, &after);
    rondo_mutex_unlock(&s->mu);

    complete_all(&waiters, &answer);
    rondo_answer_release(&answer);
    rondo_after_run(&after, s, rondo_ms_of(now_ns));
    rondo_flight_free(f);
    rondo_landing_release(landing);
}

const struct rondo_loader_host rondo_shard_host = {host_start, host_retry, rondo_shard_host_compute,
                                                   host_land};
