/* SPDX-License-Identifier: MIT */
/*
 * runq.h - runnable actors: a worker's ring that others steal from, and a
 * linked queue.
 *
 * The ring is bounded; its owner pushes at `tail`, owner and thieves take at
 * `head` with a compare-and-swap (after the run queues of Go's scheduler).  A
 * thief takes half, and leaves a queue of one alone unless told otherwise: the
 * owner will get to it sooner than a cold core would.
 */
#ifndef RONDO_RUNTIME_RUNQ_H
#define RONDO_RUNTIME_RUNQ_H

#include "base/atomic.h"
#include "base/sync.h"
#include "runtime/actor.h"

enum { RONDO_RUNQ_CAP = 256 };

struct rondo_runq {
    uint32_t head;                            /* atomic: next to take */
    uint32_t tail;                            /* atomic: next free; written by the owner */
    struct rondo_actor *ring[RONDO_RUNQ_CAP]; /* atomic slots */
};

/* Owner only.  False: full. */
RONDO_NODISCARD bool rondo_runq_push(struct rondo_runq *q, struct rondo_actor *a);
/* Owner only.  NULL: empty. */
struct rondo_actor *rondo_runq_pop(struct rondo_runq *q);
/* Any thread but `q`'s owner, who owns `into`, which has room for half a ring:
 * takes up to half of `q`, with `one` also the only one.  Returns how many. */
unsigned rondo_runq_steal(struct rondo_runq *q, struct rondo_runq *into, bool one);
/* Any thread: about how many. */
static inline unsigned rondo_runq_len(const struct rondo_runq *q) {
    uint32_t head = rondo_load_relaxed(&q->head); /* an estimate; no partner */
    uint32_t n = rondo_load_relaxed(&q->tail) - head;
    return n <= RONDO_RUNQ_CAP ? n : 0;
}

/* A queue of actors linked by run_next; its owner's only. */
struct rondo_actor_queue {
    struct rondo_actor *first, *last;
    unsigned n;
};

void rondo_actor_queue_push(struct rondo_actor_queue *q, struct rondo_actor *a);
struct rondo_actor *rondo_actor_queue_pop(struct rondo_actor_queue *q);

/* A stack that any thread pushes to and one takes whole: a worker's inbox. */
void rondo_actor_inbox_push(struct rondo_actor **top, struct rondo_actor *a);
/* Moves all, oldest first, to `q`. */
void rondo_actor_inbox_take(struct rondo_actor **top, struct rondo_actor_queue *q);

#endif
