/* SPDX-License-Identifier: MIT */
#include "runtime/msg.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/mem.h"
#include <sched.h>

enum { UNIT = 16, SPINS = 200, MAX_DEPOT_BATCHES = 256 };

/* initial-exec: one instruction more than a plain variable, also in a shared
 * library. */
static __thread struct rondo_msg_cache *this_cache __attribute__((tls_model("initial-exec")));

void rondo_msg_depot_init(struct rondo_msg_depot *d) {
    *d = (struct rondo_msg_depot){.batches = {NULL}};
    rondo_mutex_init(&d->mu);
}

static void free_chain(struct rondo_msg_block *b) {
    while (b) {
        struct rondo_msg_block *next = b->next;
        rondo_free(b);
        b = next;
    }
}

void rondo_msg_depot_fini(struct rondo_msg_depot *d) RONDO_NO_TSA {
    for (unsigned i = 0; i < RONDO_MSG_CLASSES; i++) {
        while (d->batches[i]) {
            struct rondo_msg_block *batch = d->batches[i];
            d->batches[i] = batch->next_batch;
            free_chain(batch);
        }
    }
    rondo_mutex_fini(&d->mu);
}

void rondo_msg_cache_init(struct rondo_msg_cache *c, struct rondo_msg_depot *d) {
    *c = (struct rondo_msg_cache){.depot = d};
}

void rondo_msg_cache_fini(struct rondo_msg_cache *c) {
    for (unsigned i = 0; i < RONDO_MSG_CLASSES; i++) {
        free_chain(c->bins[i].first);
        free_chain(c->bins[i].older);
        c->bins[i].first = c->bins[i].older = NULL;
        c->bins[i].n = 0;
    }
}

struct rondo_msg_cache *rondo_msg_cache_use(struct rondo_msg_cache *c) {
    struct rondo_msg_cache *before = this_cache;
    this_cache = c;
    return before;
}

#ifndef RONDO_SANITIZED
static struct rondo_msg_block *depot_take(struct rondo_msg_depot *d, unsigned k) {
    if (rondo_load_relaxed(&d->n_batches[k]) == 0) return NULL; /* a hint; no partner */
    rondo_mutex_lock(&d->mu);
    struct rondo_msg_block *batch = d->batches[k];
    if (batch) {
        d->batches[k] = batch->next_batch;
        rondo_store_relaxed(&d->n_batches[k], d->n_batches[k] - 1);
    }
    rondo_mutex_unlock(&d->mu);
    return batch;
}

static void depot_give(struct rondo_msg_depot *d, unsigned k, struct rondo_msg_block *batch) {
    rondo_mutex_lock(&d->mu);
    if (d->n_batches[k] < MAX_DEPOT_BATCHES) {
        batch->next_batch = d->batches[k];
        d->batches[k] = batch;
        rondo_store_relaxed(&d->n_batches[k], d->n_batches[k] + 1);
        batch = NULL;
    }
    rondo_mutex_unlock(&d->mu);
    free_chain(batch);
}

static void *cache_take(struct rondo_msg_cache *c, unsigned k) {
    struct rondo_msg_block *b = c->bins[k].first;
    if (!b) {
        b = c->bins[k].older ? c->bins[k].older : depot_take(c->depot, k);
        c->bins[k].older = NULL;
        if (!b) return NULL;
        c->bins[k].n = RONDO_MSG_BATCH;
    }
    c->bins[k].first = b->next;
    c->bins[k].n--;
    return b;
}

static void cache_give(struct rondo_msg_cache *c, unsigned k, void *block) {
    struct rondo_msg_block *b = block;
    if (c->bins[k].n == RONDO_MSG_BATCH) {
        if (c->bins[k].older) depot_give(c->depot, k, c->bins[k].older);
        c->bins[k].older = c->bins[k].first;
        c->bins[k].first = NULL;
        c->bins[k].n = 0;
    }
    b->next = c->bins[k].first;
    c->bins[k].first = b;
    c->bins[k].n++;
}
#else
static void *cache_take(struct rondo_msg_cache *c, unsigned k) {
    (void)c, (void)k;
    return NULL;
}

static void cache_give(struct rondo_msg_cache *c, unsigned k, void *block) {
    (void)c, (void)k;
    rondo_free(block);
}
#endif

void *rondo_msg_new(uint32_t type, size_t size) {
    RONDO_CHECK(size >= sizeof(struct rondo_msg));
    size_t units = size / UNIT + (size % UNIT != 0);
    unsigned k = units < RONDO_MSG_CLASSES ? (unsigned)units : 0;
    void *block = k && this_cache ? cache_take(this_cache, k) : NULL;
    if (!block) block = rondo_alloc(k ? k * UNIT : size);
    if (!block) return NULL;
    memset(block, 0, size);
    struct rondo_msg *m = block;
    m->type = type;
    m->class_ = (uint8_t)k;
    return m;
}

void rondo_msg_await_unheld(const struct rondo_msg *m) {
    /* pairs with the release store when a turn lets go of it */
    for (unsigned i = 0; rondo_load_acquire(&m->held_); i++) {
        if (i < SPINS)
            rondo_cpu_relax();
        else
            sched_yield();
    }
}

void rondo_msg_release(struct rondo_msg *m) {
    rondo_msg_await_unheld(m);
    unsigned k = m->class_, flags = m->flags_;
    if (m->fini) m->fini(m);
    if (flags & RONDO_MSG_STATIC) return;
    if (k && this_cache)
        cache_give(this_cache, k, m);
    else
        rondo_free(m);
}
