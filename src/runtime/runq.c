/* SPDX-License-Identifier: MIT */
#include "runtime/runq.h"

#define SLOT(q, i) (&(q)->ring[(i) % RONDO_RUNQ_CAP])

bool rondo_runq_push(struct rondo_runq *q, struct rondo_actor *a) {
    uint32_t head = rondo_load_acquire(&q->head); /* pairs with the swaps that take */
    uint32_t tail = rondo_load_relaxed(&q->tail); /* our own */
    if (tail - head >= RONDO_RUNQ_CAP) return false;
    rondo_store_relaxed(SLOT(q, tail), a);   /* published by tail */
    rondo_store_release(&q->tail, tail + 1); /* pairs with the load in steal */
    return true;
}

struct rondo_actor *rondo_runq_pop(struct rondo_runq *q) {
    uint32_t head = rondo_load_acquire(&q->head); /* pairs with the swaps that take */
    for (;;) {
        if (head == rondo_load_relaxed(&q->tail)) return NULL; /* our own */
        struct rondo_actor *a = rondo_load_relaxed(SLOT(q, head));
        if (rondo_cas_acq_rel(&q->head, &head, head + 1)) return a; /* pairs with thieves */
    }
}

unsigned rondo_runq_steal(struct rondo_runq *q, struct rondo_runq *into, bool one) {
    uint32_t head = rondo_load_acquire(&q->head); /* pairs with other takers */
    for (;;) {
        uint32_t n = rondo_load_acquire(&q->tail) - head; /* pairs with push */
        if (n > RONDO_RUNQ_CAP) {                         /* head is old news */
            head = rondo_load_acquire(&q->head);
            continue;
        }
        uint32_t take = n / 2;
        if (take == 0 && one) take = n;
        if (take == 0) return 0;
        uint32_t to = rondo_load_relaxed(&into->tail); /* our own */
        for (uint32_t i = 0; i < take; i++)
            rondo_store_relaxed(SLOT(into, to + i), rondo_load_relaxed(SLOT(q, head + i)));
        if (rondo_cas_acq_rel(&q->head, &head, head + take)) { /* pairs with the owner's pop */
            rondo_store_release(&into->tail, to + take);       /* pairs with the load in steal */
            return take;
        }
    }
}

void rondo_actor_queue_push(struct rondo_actor_queue *q, struct rondo_actor *a) {
    a->run_next = NULL;
    if (q->last)
        q->last->run_next = a;
    else
        q->first = a;
    q->last = a;
    q->n++;
}

struct rondo_actor *rondo_actor_queue_pop(struct rondo_actor_queue *q) {
    struct rondo_actor *a = q->first;
    if (!a) return NULL;
    q->first = a->run_next;
    if (!q->first) q->last = NULL;
    q->n--;
    return a;
}

void rondo_actor_inbox_push(struct rondo_actor **top, struct rondo_actor *a) {
    struct rondo_actor *old = rondo_load_relaxed(top); /* checked by the swap */
    do {
        a->run_next = old;
    } while (!rondo_cas_acq_rel(top, &old, a)); /* pairs with the exchange in take */
}

void rondo_actor_inbox_take(struct rondo_actor **top, struct rondo_actor_queue *q) {
    struct rondo_actor *a = rondo_exchange_acq_rel(top, NULL); /* pairs with push */
    struct rondo_actor *oldest = NULL;
    while (a) {
        struct rondo_actor *below = a->run_next;
        a->run_next = oldest;
        oldest = a;
        a = below;
    }
    while (oldest) {
        struct rondo_actor *above = oldest->run_next;
        rondo_actor_queue_push(q, oldest);
        oldest = above;
    }
}
