/* SPDX-License-Identifier: MIT */
/*
 * The life of a load as its shard sees it:
 *
 *   get ─▶ miss_locked ─▶ join a current flight, or take off: HELD ─▶ QUEUED
 *   loader ─▶ start    ─▶ RUNNING, its deadline set; or held, or dropped
 *   loader ─▶ land     ─▶ stored unless superseded, waiters completed
 *   timer  ─▶ tick     ─▶ waiters whose time is up leave; a call whose time is up
 *                         is LATE: all its waiters are told, it is awaited still
 */
#include "base/clock.h"
#include "cache/loader.h"
#include "cache/shard.h"

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

/* ------------------------------------------------------------- join and lead --- */

static void account_waiting(struct rondo_shard *s, struct rondo_part *part, size_t size,
                            bool comes) {
    rondo_memory_account(&s->memory, part, comes ? size : 0 - (uint64_t)size);
}

static size_t flight_size(const struct rondo_flight *f) {
    return sizeof *f + f->key_len + f->client_len;
}

static void note_left(struct rondo_shard *s, struct rondo_part *part, uint64_t n) {
    part->stats.waiting -= n;
    account_waiting(s, part, n * sizeof(struct rondo_waiter), false);
}

static void leave_all(struct rondo_shard *s, struct rondo_flight *f, struct rondo_list *out) {
    note_left(s, f->owner, f->n_waiters);
    rondo_flight_leave_all(f, out);
}

static void join(const struct rondo_spot *at, struct rondo_flight *f, struct rondo_waiter *w,
                 const struct rondo_read *read) {
    struct rondo_shard *s = at->shard;
    struct rondo_part *part = part_of(at);
    uint64_t wait_ns = read->wait_ns ? read->wait_ns : at->policy->opt.wait_ns;
    rondo_flight_join(f, w);
    part->stats.waiting++;
    account_waiting(s, part, sizeof *w, true);
    if (wait_ns == RONDO_OFF) return;
    uint64_t at_ns = rondo_deadline(at->now_ns, wait_ns);
    rondo_deadline_set(&s->wheel, &w->deadline, rondo_ms_of(rondo_deadline(at_ns, RONDO_MS - 1)));
}

/* A new flight, on the table; NULL when out of memory. */
static struct rondo_flight *take_off(const struct rondo_spot *at, struct rondo_slice client) {
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
    part_of(at)->stats.flights++;
    account_waiting(s, part_of(at), flight_size(f), true);
    return f;
}

static void submit_later(struct rondo_flight *f, struct rondo_after *after) {
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
    return rondo_loader_admit(at->policy->loader, 1);
}

static enum rondo_outcome refuse(const struct rondo_spot *at, struct rondo_answer *answer,
                                 enum rondo_err err) {
    if (err == RONDO_ERR_FULL) return shed(at, answer, RONDO_TEXT_QUEUE);
    if (err == RONDO_ERR_INVALID) return fail(at, answer, err, RONDO_TEXT_NO_MATCH);
    return fail(at, answer, RONDO_ERR_CLOSED, RONDO_TEXT_CLOSED);
}

static enum rondo_outcome lead(const struct rondo_spot *at, const struct rondo_read *read,
                               struct rondo_answer *answer, struct rondo_after *after) {
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
    submit_later(f, after);
    if (at->group) rondo_list_splice_back(at->group, &after->flights);
    return RONDO_PENDING;
}

/* A load for nobody in particular. */
static enum rondo_err lead_background(const struct rondo_spot *at, struct rondo_after *after) {
    enum rondo_err err = admit(at);
    if (err) return err;
    struct rondo_flight *f = take_off(at, rondo_slice_of(NULL, 0));
    if (!f) {
        rondo_loader_give_back(at->policy->loader, 1);
        return RONDO_ERR_NOMEM;
    }
    f->is_background = true;
    submit_later(f, after);
    return RONDO_OK;
}

static enum rondo_outcome join_current(const struct rondo_spot *at, struct rondo_flight *f,
                                       const struct rondo_read *read, struct rondo_answer *answer) {
    if (f->state == RONDO_FLIGHT_LATE) {
        part_of(at)->stats.waits_timeout++;
        return fail(at, answer, RONDO_ERR_TIMEOUT, RONDO_TEXT_TIMEOUT);
    }
    if (f->n_waiters >= at->policy->opt.waiters) return shed(at, answer, RONDO_TEXT_WAITERS);
    struct rondo_waiter *w = waiter_for(at, read);
    if (!w) return fail(at, answer, RONDO_ERR_NOMEM, RONDO_TEXT_NOMEM);
    join(at, f, w, read);
    part_of(at)->stats.joined++;
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
    if (!e || rondo_entry_expiry_ms(e) > rondo_ms_of(at->now_ns)) return e;
    if (rondo_entry_is_value(e)) part_of(at)->stats.expired++;
    rondo_memory_drop(&at->shard->memory, e, &after->dead);
    return NULL;
}

enum rondo_outcome rondo_shard_miss_locked(const struct rondo_spot *at, struct rondo_entry *e,
                                           const struct rondo_read *read,
                                           struct rondo_answer *answer, struct rondo_after *after) {
    struct rondo_shard *s = at->shard;
    part_of(at)->stats.misses++;
    e = expire_locked(at, e, after);
    if (e) return answer_negative(at, e, answer);
    if (!at->policy->loader) {
        *answer = rondo_answer_absent();
        return RONDO_ABSENT;
    }
    if (part_of(at)->is_closed) return fail(at, answer, RONDO_ERR_CLOSED, RONDO_TEXT_CLOSED);
    struct rondo_flight *f =
        rondo_flights_find(&s->flights, at->hash, at->key, s->epochs[at->key->space]);
    enum rondo_outcome outcome =
        f ? join_current(at, f, read, answer) : lead(at, read, answer, after);
    if (outcome == RONDO_PENDING) rondo_shard_arm_locked(at->shard, after);
    return outcome;
}

enum rondo_err rondo_shard_refresh(const struct rondo_spot *at) {
    struct rondo_shard *s = at->shard;
    struct rondo_after after;
    rondo_after_init(&after);
    rondo_mutex_lock(&s->mu);
    enum rondo_err err = RONDO_OK;
    if (part_of(at)->is_closed)
        err = RONDO_ERR_CLOSED;
    else if (!rondo_flights_find(&s->flights, at->hash, at->key, s->epochs[at->key->space]))
        err = lead_background(at, &after);
    rondo_mutex_unlock(&s->mu);
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
        note_left(s, part_of(at), 1);
        part_of(at)->stats.waits_timeout++;
    }
    rondo_mutex_unlock(&s->mu);
    rondo_waiter_free(w);
    return w != NULL;
}

/* ---------------------------------------------------- what the loader calls --- */

static void take_down(struct rondo_shard *s, struct rondo_flight *f) {
    struct rondo_part *part = f->owner;
    rondo_flight_move(f, RONDO_FLIGHT_LANDED);
    rondo_deadline_clear(&f->deadline);
    rondo_flights_remove(&s->flights, f);
    part->stats.flights--;
    account_waiting(s, part, flight_size(f), false);
}

/* Once a call of the key less runs or waits to run. */
static void release_held_locked(struct rondo_shard *s, const struct rondo_flight *f,
                                struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_key key = rondo_flight_full_key(f);
    struct rondo_flight *held = rondo_flights_held(&s->flights, f->hash, &key);
    if (!held) return;
    struct rondo_part *part = held->owner;
    rondo_loader_admit_always(part->policy->loader, 1);
    submit_later(held, after);
}

static bool host_start(void *host, struct rondo_flight *f, uint64_t now_ns) {
    (void)host;
    struct rondo_shard *s = f->home;
    struct rondo_part *part = f->owner;
    struct rondo_key key = rondo_flight_full_key(f);
    uint64_t timeout_ns = part->policy->opt.load_timeout_ns;
    struct rondo_after after;
    rondo_after_init(&after);
    bool starts = false, is_dropped = false;
    rondo_mutex_lock(&s->mu);
    if (f->n_waiters == 0 && !f->is_background) {
        take_down(s, f);
        release_held_locked(s, f, &after);
        is_dropped = true;
    } else if (!f->is_private &&
               rondo_flights_running(&s->flights, f->hash, &key) >= RONDO_FLIGHT_CALLS_MAX) {
        rondo_flight_move(f, RONDO_FLIGHT_HELD);
    } else {
        starts = true;
        rondo_flight_move(f, RONDO_FLIGHT_RUNNING);
        if (timeout_ns != RONDO_OFF)
            rondo_deadline_set(&s->wheel, &f->deadline,
                               rondo_ms_of(rondo_deadline(now_ns, timeout_ns)));
        rondo_shard_arm_locked(s, &after);
    }
    rondo_mutex_unlock(&s->mu);
    rondo_after_run(&after, s, rondo_ms_of(now_ns));
    if (is_dropped) rondo_flight_free(f);
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

static void count_landing(struct rondo_part *part, const struct rondo_landing *landing) {
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
    return rondo_entry_new(&init);
}

/* A failure leaves a value alone; an absence takes it away. */
static void store_locked(struct rondo_shard *s, const struct rondo_flight *f,
                         const struct rondo_landing *landing, struct rondo_entry *e,
                         uint64_t now_ms, struct rondo_after *after) RONDO_REQUIRES(s->mu) {
    struct rondo_memory *m = &s->memory;
    struct rondo_entry *old = rondo_table_find(&m->table, f->hash, f->space, rondo_flight_key(f));
    bool keeps_old = landing->outcome == RONDO_FAILED && old && rondo_entry_is_value(old);
    if (keeps_old || (e && rondo_memory_store(m, e, f->hash, old, now_ms, &after->dead))) {
        if (e) rondo_dead_add(&after->dead, e);
        e = NULL;
    } else if (e) {
        old = NULL; /* replaced */
    }
    if (landing->outcome == RONDO_ABSENT && old) rondo_memory_drop(m, old, &after->dead);
    after->is_short = !rondo_budget_holds(m->budget);
}

static struct rondo_answer answer_of(const struct rondo_landing *landing) {
    if (landing->outcome == RONDO_VALUE) return rondo_answer_of(landing->blob);
    if (landing->outcome == RONDO_ABSENT) return rondo_answer_absent();
    return rondo_answer_failed(landing->err, landing->blob, rondo_err_text(landing->err));
}

static void complete_all(struct rondo_list *waiters, const struct rondo_landing *landing) {
    struct rondo_list *node;
    while ((node = rondo_list_pop_front(waiters)) != NULL) {
        struct rondo_answer answer = answer_of(landing);
        rondo_waiter_complete(RONDO_LIST_ENTRY(node, struct rondo_waiter, link), &answer);
    }
}

static void host_land(void *host, struct rondo_flight *f, struct rondo_landing *landing) {
    (void)host;
    struct rondo_shard *s = f->home;
    struct rondo_part *part = f->owner;
    uint64_t now_ns = rondo_runtime_now_ns(s->shards->rt);
    struct rondo_entry *e = entry_of(f, landing, now_ns);
    struct rondo_list waiters;
    rondo_list_init(&waiters);
    struct rondo_after after;
    rondo_after_init(&after);

    rondo_mutex_lock(&s->mu);
    if (f->state != RONDO_FLIGHT_LATE) count_landing(part, landing);
    take_down(s, f);
    if (rondo_flight_is_superseded(f, s->epochs[f->space]) || part->is_closed) {
        part->stats.superseded += landing->outcome == RONDO_VALUE;
        if (e) rondo_dead_add(&after.dead, e);
    } else {
        store_locked(s, f, landing, e, rondo_ms_of(now_ns), &after);
    }
    leave_all(s, f, &waiters);
    release_held_locked(s, f, &after);
    rondo_mutex_unlock(&s->mu);

    complete_all(&waiters, landing);
    rondo_after_run(&after, s, rondo_ms_of(now_ns));
    rondo_flight_free(f);
    rondo_landing_release(landing);
}

const struct rondo_loader_host rondo_shard_host = {host_start, host_retry, host_land};

/* ---------------------------------------------------------------- time and end --- */

static void fail_waiters(struct rondo_list *waiters, const struct rondo_policy *policy,
                         enum rondo_err err, enum rondo_policy_text text) {
    RONDO_LIST_FOREACH(waiters, node) {
        struct rondo_waiter *w = RONDO_LIST_ENTRY(node, struct rondo_waiter, link);
        w->reply.answer = rondo_policy_failure(policy, err, text);
    }
}

static void end_waiter(struct rondo_shard *s, struct rondo_waiter *w, struct rondo_after *after) {
    struct rondo_part *part = w->flight->owner;
    rondo_flight_leave(w->flight, w);
    note_left(s, part, 1);
    part->stats.waits_timeout++;
    w->reply.answer = rondo_policy_failure(part->policy, RONDO_ERR_TIMEOUT, RONDO_TEXT_TIMEOUT);
    rondo_list_push_back(&after->waiters, &w->link);
}

static void end_call(struct rondo_shard *s, struct rondo_flight *f, struct rondo_after *after) {
    struct rondo_part *part = f->owner;
    struct rondo_list waiters;
    rondo_list_init(&waiters);
    rondo_flight_move(f, RONDO_FLIGHT_LATE);
    part->stats.loads_timeout++;
    leave_all(s, f, &waiters);
    fail_waiters(&waiters, part->policy, RONDO_ERR_TIMEOUT, RONDO_TEXT_TIMEOUT);
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
        if (d->is_flight)
            end_call(s, RONDO_CONTAINER_OF(d, struct rondo_flight, deadline), &after);
        else
            end_waiter(s, RONDO_CONTAINER_OF(d, struct rondo_waiter, deadline), &after);
    }
    rondo_shard_arm_locked(s, &after);
    rondo_mutex_unlock(&s->mu);
    rondo_after_run(&after, s, now_ms);
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
    leave_all(c->shard, f, &c->waiters);
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
