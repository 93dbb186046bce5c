/* SPDX-License-Identifier: MIT */
#include "cache/flight.h"

#include "base/atomic.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/sm.h"
#include "cache/blob.h"

static const char *const state_names[] = {"HELD", "QUEUED", "RUNNING", "LATE", "LANDED"};
static const uint32_t moves[] = {
    [RONDO_FLIGHT_HELD] = RONDO_SM_TO(RONDO_FLIGHT_QUEUED) | RONDO_SM_TO(RONDO_FLIGHT_LANDED),
    [RONDO_FLIGHT_QUEUED] = RONDO_SM_TO(RONDO_FLIGHT_HELD) | RONDO_SM_TO(RONDO_FLIGHT_RUNNING) |
                            RONDO_SM_TO(RONDO_FLIGHT_LANDED),
    [RONDO_FLIGHT_RUNNING] = RONDO_SM_TO(RONDO_FLIGHT_QUEUED) | RONDO_SM_TO(RONDO_FLIGHT_LATE) |
                             RONDO_SM_TO(RONDO_FLIGHT_LANDED),
    [RONDO_FLIGHT_LATE] = RONDO_SM_TO(RONDO_FLIGHT_LANDED),
    [RONDO_FLIGHT_LANDED] = 0,
};
static const struct rondo_sm machine = {"flight", RONDO_COUNT_OF(moves), state_names, moves};

struct rondo_flight *rondo_flight_new(uint64_t hash, const struct rondo_key *key,
                                      struct rondo_slice client) {
    size_t size;
    if (!rondo_size_add(key->len, client.len, &size) ||
        !rondo_size_add(size, sizeof(struct rondo_flight), &size))
        return NULL;
    struct rondo_flight *f = rondo_alloc(size);
    if (!f) return NULL;
    *f = (struct rondo_flight){.hash = hash,
                               .space = key->space,
                               .key_len = (uint32_t)key->len,
                               .client_len = (uint32_t)client.len};
    if (key->len) memcpy(f->bytes, key->data, key->len);
    if (client.len) memcpy(f->bytes + key->len, client.data, client.len);
    rondo_list_init(&f->chain);
    rondo_list_init(&f->queue);
    rondo_list_init(&f->waiters);
    rondo_deadline_init(&f->deadline);
    return f;
}

void rondo_flight_free(struct rondo_flight *f) {
    if (!f) return;
    RONDO_CHECK(rondo_list_is_empty(&f->waiters) && rondo_list_is_empty(&f->chain));
    rondo_blob_unref(f->value);
    rondo_free(f);
}

void rondo_flight_move(struct rondo_flight *f, enum rondo_flight_state to) {
    /* Partner: rondo_loader_cancel, which has the flight but not the lock. */
    if (to == RONDO_FLIGHT_LATE) rondo_store_relaxed(&f->is_late, true);
    rondo_sm_move(&machine, &f->state, to);
}

void rondo_flight_join(struct rondo_flight *f, struct rondo_waiter *w) {
    RONDO_DEBUG_CHECK(!w->flight);
    w->flight = f;
    rondo_list_push_back(&f->waiters, &w->link);
    f->n_waiters++;
}

void rondo_flight_leave(struct rondo_flight *f, struct rondo_waiter *w) {
    RONDO_CHECK(w->flight == f);
    w->flight = NULL;
    rondo_list_remove(&w->link);
    rondo_deadline_clear(&w->deadline);
    f->n_waiters--;
}

void rondo_flight_leave_all(struct rondo_flight *f, struct rondo_list *out) {
    RONDO_LIST_FOREACH(&f->waiters, node) {
        struct rondo_waiter *w = RONDO_LIST_ENTRY(node, struct rondo_waiter, link);
        w->flight = NULL;
        rondo_deadline_clear(&w->deadline);
    }
    rondo_list_splice_back(out, &f->waiters);
    f->n_waiters = 0;
}

void rondo_flights_fini(struct rondo_flights *t) {
    RONDO_CHECK(t->count == 0);
    rondo_free(t->buckets);
    *t = (struct rondo_flights){0};
}

static struct rondo_list *bucket(const struct rondo_flights *t, uint64_t hash) {
    return &t->buckets[hash % RONDO_FLIGHTS_BUCKETS];
}

enum rondo_err rondo_flights_add(struct rondo_flights *t, struct rondo_flight *f) {
    if (!t->buckets) {
        t->buckets = rondo_alloc(RONDO_FLIGHTS_BUCKETS * sizeof *t->buckets);
        if (!t->buckets) return RONDO_ERR_NOMEM;
        for (unsigned i = 0; i < RONDO_FLIGHTS_BUCKETS; i++) rondo_list_init(&t->buckets[i]);
    }
    rondo_list_push_back(bucket(t, f->hash), &f->chain);
    t->count++;
    return RONDO_OK;
}

void rondo_flights_remove(struct rondo_flights *t, struct rondo_flight *f) {
    RONDO_CHECK(!rondo_list_is_empty(&f->chain));
    rondo_list_remove(&f->chain);
    t->count--;
}

bool rondo_flight_is_of(const struct rondo_flight *f, uint64_t hash, const struct rondo_key *key) {
    return f->hash == hash && f->space == key->space &&
           rondo_slice_eq(rondo_flight_key(f), rondo_slice_of(key->data, key->len));
}

#define FOREACH_OF_KEY(t, hash, key, f)                                                            \
    if ((t)->count > 0) RONDO_LIST_FOREACH(bucket((t), (hash)), f##_node)                          \
    for (struct rondo_flight *f = RONDO_LIST_ENTRY(f##_node, struct rondo_flight, chain);          \
         f && rondo_flight_is_of(f, (hash), (key)); f = NULL)

struct rondo_flight *rondo_flights_find(const struct rondo_flights *t, uint64_t hash,
                                        const struct rondo_key *key, uint32_t epoch) {
    FOREACH_OF_KEY(t, hash, key, f)
    if (!f->is_private && !rondo_flight_is_superseded(f, epoch)) return f;
    return NULL;
}

unsigned rondo_flights_supersede(struct rondo_flights *t, uint64_t hash,
                                 const struct rondo_key *key) {
    unsigned n = 0;
    FOREACH_OF_KEY(t, hash, key, f) {
        n += !f->superseded;
        f->superseded = true;
    }
    return n;
}

unsigned rondo_flights_running(const struct rondo_flights *t, uint64_t hash,
                               const struct rondo_key *key) {
    unsigned n = 0;
    FOREACH_OF_KEY(t, hash, key, f)
    n += !f->is_private && (f->state == RONDO_FLIGHT_RUNNING || f->state == RONDO_FLIGHT_LATE);
    return n;
}

struct rondo_flight *rondo_flights_held(const struct rondo_flights *t, uint64_t hash,
                                        const struct rondo_key *key) {
    FOREACH_OF_KEY(t, hash, key, f)
    if (f->state == RONDO_FLIGHT_HELD) return f;
    return NULL;
}

struct rondo_flight *rondo_flights_first_write(const struct rondo_flights *t, uint64_t hash,
                                               const struct rondo_key *key) {
    FOREACH_OF_KEY(t, hash, key, f)
    if (f->kind != RONDO_FLIGHT_LOAD) return f;
    return NULL;
}

static struct rondo_waiter *waiter_of(const struct rondo_flight *f, const void *arg) {
    RONDO_LIST_FOREACH(&f->waiters, node) {
        struct rondo_waiter *w = RONDO_LIST_ENTRY(node, struct rondo_waiter, link);
        if (w->fn && w->arg == arg) return w;
    }
    return NULL;
}

struct rondo_waiter *rondo_flights_waiter(const struct rondo_flights *t, uint64_t hash,
                                          const struct rondo_key *key, const void *arg) {
    FOREACH_OF_KEY(t, hash, key, f) {
        struct rondo_waiter *w = waiter_of(f, arg);
        if (w) return w;
    }
    return NULL;
}

void rondo_flights_each(const struct rondo_flights *t,
                        void (*fn)(void *arg, struct rondo_flight *f), void *arg) {
    for (unsigned i = 0; t->buckets && i < RONDO_FLIGHTS_BUCKETS; i++)
        RONDO_LIST_FOREACH(&t->buckets[i], node)
    fn(arg, RONDO_LIST_ENTRY(node, struct rondo_flight, chain));
}
