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

void rondo_mailbox_drain(struct rondo_mailbox *mb, struct rondo_msg *first,
                         void (*drop)(void *arg, struct rondo_msg *m), void *arg) {
    struct rondo_msg *m = first ? first : rondo_load_acquire(&mb->tail); /* pairs with push */
    while (!m) {
        struct rondo_msg *expected = RONDO_MAILBOX_RUNNING;
        if (rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_DEAD)) return;
        m = rondo_mailbox_wait((void *const *)(const void *)&mb->tail);
    }
    for (;;) {
        struct rondo_msg *next = rondo_mailbox_next(m), *expected = m;
        if (!next && rondo_cas_acq_rel(&mb->head, &expected, RONDO_MAILBOX_DEAD)) break;
        if (!next) next = rondo_mailbox_wait(&m->link_);
        drop(arg, m);
        m = next;
    }
    drop(arg, m);
}
