/* SPDX-License-Identifier: MIT */
#include "runtime/mailbox.h"
#include <sched.h>

enum { SPINS = 200 };

struct rondo_msg *rondo_mailbox_wait(void *const *link) {
    void *next;
    /* The producer is between its exchange and its store, a few instructions,
     * unless the system took its core away: then give it ours. */
    for (unsigned i = 0; !(next = rondo_load_acquire(link)); i++) { /* pairs with push */
        if (i < SPINS)
            rondo_cpu_relax();
        else
            sched_yield();
    }
    return next;
}

void rondo_mailbox_detach(struct rondo_mailbox *mb, struct rondo_msg *m) {
    struct rondo_msg *expected = m;
    rondo_store_relaxed(&mb->tail, NULL); /* published by the swap below */
    /* pairs with the exchange in push */
    if (rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_RUNNING)) return;
    rondo_mailbox_step(mb, rondo_mailbox_wait(&m->link_));
}

/* The oldest message of a mailbox that is to be closed, taken out of `tail`, which
 * must not point at what is being dropped; NULL: there was none, it is DEAD. */
static struct rondo_msg *take_oldest(struct rondo_mailbox *mb) {
    struct rondo_msg *m = rondo_load_acquire(&mb->tail); /* pairs with push */
    if (!m) {
        struct rondo_msg *expected = RONDO_MAILBOX_RUNNING;
        /* pairs with the exchange in push */
        if (rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_DEAD)) return NULL;
        m = rondo_mailbox_wait((void *const *)(const void *)&mb->tail);
    }
    rondo_store_relaxed(&mb->tail, NULL);
    return m;
}

void rondo_mailbox_drain(struct rondo_mailbox *mb, struct rondo_msg *first,
                         void (*drop)(void *arg, struct rondo_msg *m), void *arg) {
    struct rondo_msg *m = first ? first : take_oldest(mb);
    while (m) {
        struct rondo_msg *next = rondo_mailbox_next(m), *expected = m;
        bool is_last = false;
        /* pairs with the exchange in push */
        if (!next) is_last = rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_DEAD);
        if (!next && !is_last) next = rondo_mailbox_wait(&m->link_);
        drop(arg, m);
        m = next;
    }
}
