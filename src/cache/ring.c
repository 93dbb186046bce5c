/* SPDX-License-Identifier: MIT */
#include "cache/ring.h"

#include "base/mem.h"

enum { FIRST_CAP = 16 };

static struct rondo_entry **slot(const struct rondo_ring *r, uint32_t seq) {
    return &r->slots[seq & (r->cap - 1)];
}

void rondo_ring_fini(struct rondo_ring *r) {
    rondo_free(r->slots);
    *r = (struct rondo_ring){0};
}

static enum rondo_err grow(struct rondo_ring *r) {
    uint32_t cap = r->cap ? 2 * r->cap : FIRST_CAP;
    if (cap < r->cap) return RONDO_ERR_NOMEM;
    struct rondo_entry **slots = rondo_alloc((size_t)cap * sizeof *slots);
    if (!slots) return RONDO_ERR_NOMEM;
    for (uint32_t seq = r->head; seq != r->tail; seq++) slots[seq & (cap - 1)] = *slot(r, seq);
    rondo_free(r->slots);
    r->slots = slots;
    r->cap = cap;
    return RONDO_OK;
}

/* Closes the holes; paid for by the removals that made them, as at least half of
 * the places are holes. */
static void compact(struct rondo_ring *r) {
    uint32_t to = r->head;
    for (uint32_t seq = r->head; seq != r->tail; seq++) {
        struct rondo_entry *e = *slot(r, seq);
        if (!e) continue;
        e->pos = to;
        *slot(r, to++) = e;
    }
    r->tail = to;
}

enum rondo_err rondo_ring_push(struct rondo_ring *r, struct rondo_entry *e) {
    if (r->tail - r->head == r->cap) {
        if (r->cap && r->count <= r->cap / 2)
            compact(r);
        else if (grow(r))
            return RONDO_ERR_NOMEM;
    }
    e->pos = r->tail;
    *slot(r, r->tail++) = e;
    r->count++;
    return RONDO_OK;
}

static void skip_holes(struct rondo_ring *r) {
    while (r->head != r->tail && !*slot(r, r->head)) r->head++;
}

struct rondo_entry *rondo_ring_pop(struct rondo_ring *r) {
    skip_holes(r);
    if (r->head == r->tail) return NULL;
    r->count--;
    return *slot(r, r->head++);
}

void rondo_ring_remove(struct rondo_ring *r, struct rondo_entry *e) {
    RONDO_DEBUG_CHECK(*slot(r, e->pos) == e);
    *slot(r, e->pos) = NULL;
    r->count--;
    skip_holes(r);
    while (r->head != r->tail && !*slot(r, r->tail - 1)) r->tail--;
}

void rondo_ring_replace(struct rondo_ring *r, const struct rondo_entry *old,
                        struct rondo_entry *e) {
    RONDO_DEBUG_CHECK(*slot(r, old->pos) == old);
    e->pos = old->pos;
    *slot(r, e->pos) = e;
}
