/* SPDX-License-Identifier: MIT */
/*
 * mailbox.h - many producers, one consumer, two atomics a message.
 *
 * An intrusive queue of two words and no stub node.  `head` is the newest
 * message, or one of three states in which there is none:
 *
 *   IDLE     empty, and nobody runs the consumer.  Whoever pushes onto it gets
 *            the scheduling rights (RONDO_PUSH_SCHEDULE): exactly one party.
 *   RUNNING  empty, and the consumer is at work; it will look again.
 *   DEAD     closed.  Whoever pushes onto it owns what it pushed, and what
 *            others push behind it, until it has drained the mailbox.
 *
 * A push exchanges `head` and then links the old newest message to the new one;
 * between the two the chain is broken and the consumer waits the few
 * instructions that the producer still needs.
 *
 * The consumer takes a message off by stepping `tail` to the next one.  The last
 * message cannot be stepped over: producers still may write its link.  It stays
 * in the mailbox, *held*, while it is being handled, and one compare-and-swap
 * afterwards takes it off and makes the mailbox idle at once.  So a message that
 * finds its receiver idle, as each does in a ring, costs one exchange and one
 * compare-and-swap.  A held message must not be linked anywhere else, nor freed;
 * its `held_` byte says so to other threads that got hold of it.
 *
 * Threads: push, any; everything else, the consumer (whoever holds the
 * scheduling rights, handed on with release/acquire by the run queues).
 */
#ifndef RONDO_RUNTIME_MAILBOX_H
#define RONDO_RUNTIME_MAILBOX_H

#include "base/atomic.h"
#include "base/check.h"
#include "rondo/runtime.h"

struct rondo_mailbox {
    struct rondo_msg *head; /* atomic: producers exchange it, the consumer swaps states in */
    struct rondo_msg *tail; /* atomic: the oldest message; NULL when RUNNING was swapped in */
};

#define RONDO_MAILBOX_RUNNING ((struct rondo_msg *)0)
#define RONDO_MAILBOX_IDLE ((struct rondo_msg *)1)
#define RONDO_MAILBOX_DEAD ((struct rondo_msg *)2)

enum rondo_push {
    RONDO_PUSH_QUEUED,   /* nothing more to do */
    RONDO_PUSH_SCHEDULE, /* the caller must make the consumer run */
    RONDO_PUSH_DEAD      /* the caller must rondo_mailbox_drain from `first` */
};

static inline void rondo_mailbox_init(struct rondo_mailbox *mb) {
    mb->head = RONDO_MAILBOX_IDLE;
    mb->tail = NULL;
}

static inline bool rondo_mailbox_is_dead(const struct rondo_mailbox *mb) {
    return rondo_load_relaxed(&mb->head) == RONDO_MAILBOX_DEAD; /* a hint; no partner */
}

/* Appends a chain (given) that is linked from `first` to `last`. */
static inline enum rondo_push rondo_mailbox_push(struct rondo_mailbox *mb, struct rondo_msg *first,
                                                 struct rondo_msg *last) {
    rondo_store_relaxed(&last->link_, NULL); /* published by the exchange */
    /* pairs with itself in other producers and with the consumer's swaps */
    struct rondo_msg *prev = rondo_exchange_acq_rel(&mb->head, last);
    if (prev == RONDO_MAILBOX_IDLE) {
        rondo_store_relaxed(&mb->tail, first); /* published by scheduling the consumer */
        return RONDO_PUSH_SCHEDULE;
    }
    if (RONDO_UNLIKELY(prev == RONDO_MAILBOX_DEAD)) return RONDO_PUSH_DEAD;
    if (prev == RONDO_MAILBOX_RUNNING)
        rondo_store_release(&mb->tail, first); /* pairs with rondo_mailbox_first */
    else
        rondo_store_release(&prev->link_, first); /* pairs with rondo_mailbox_next */
    return RONDO_PUSH_QUEUED;
}

/* The message behind `m`, NULL if `m` is the newest (or its link is still on the
 * way). */
static inline struct rondo_msg *rondo_mailbox_next(const struct rondo_msg *m) {
    return rondo_load_acquire(&m->link_); /* pairs with the link store in push */
}

/* Steps over a message that has a next one. */
static inline void rondo_mailbox_step(struct rondo_mailbox *mb, struct rondo_msg *next) {
    rondo_store_relaxed(&mb->tail, next);
}

/* Waits for a link that a producer is about to store. */
struct rondo_msg *rondo_mailbox_wait(void *const *link);

/* After handling the held message `m`: takes it off.  True: the mailbox is idle
 * and no longer the caller's.  False: more has come; the consumer goes on. */
static inline bool rondo_mailbox_finish(struct rondo_mailbox *mb, struct rondo_msg *m) {
    struct rondo_msg *expected = m;
    /* pairs with the exchange in push */
    if (RONDO_LIKELY(rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_IDLE))) return true;
    rondo_mailbox_step(mb, rondo_mailbox_wait(&m->link_));
    return false;
}

/* Takes the held message off in the middle of its handling; the consumer keeps
 * the mailbox. */
void rondo_mailbox_detach(struct rondo_mailbox *mb, struct rondo_msg *m);

/* The oldest message.  NULL: there is none, the mailbox went idle and is no
 * longer the caller's.  Not while a message is held. */
static inline struct rondo_msg *rondo_mailbox_first(struct rondo_mailbox *mb) {
    struct rondo_msg *m = rondo_load_acquire(&mb->tail); /* pairs with push onto RUNNING */
    if (RONDO_LIKELY(m)) return m;
    struct rondo_msg *expected = RONDO_MAILBOX_RUNNING;
    if (rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_IDLE)) return NULL;
    return rondo_mailbox_wait((void *const *)(const void *)&mb->tail);
}

/* Closes a mailbox from its oldest message on (`first`; NULL reads it from the
 * mailbox): gives each message to `drop` and leaves the mailbox DEAD. */
void rondo_mailbox_drain(struct rondo_mailbox *mb, struct rondo_msg *first,
                         void (*drop)(void *arg, struct rondo_msg *m), void *arg);

#endif
