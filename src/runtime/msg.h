/* SPDX-License-Identifier: MIT */
/*
 * msg.h - where messages come from and go to.
 *
 * Every message is a block of its own from base/mem.h, rounded up to a multiple
 * of 16 bytes.  A worker keeps the blocks it frees, by size, and takes new ones
 * from there; when it has too many, a batch goes to the runtime's depot, where a
 * worker that has none takes it (so memory comes back to the producers of a
 * one-way flow).  Any block may be freed on any thread.  With RONDO_SANITIZED
 * nothing is kept, so that sanitizers see each message's end.
 */
#ifndef RONDO_RUNTIME_MSG_H
#define RONDO_RUNTIME_MSG_H

#include "base/sync.h"
#include "rondo/runtime.h"

enum {
    RONDO_MSG_STATIC = 1, /* flags_: part of something else; `fini` says it is at rest */
    RONDO_MSG_CONTROL =
        2, /* flags_: for the runtime, not for receive; neither handled nor dropped */
    RONDO_MSG_COUNTED = 4,  /* flags_: against the bound of the mailbox it is in */
    RONDO_MSG_CLASSES = 17, /* class k: k * 16 bytes; 0: not kept */
    RONDO_MSG_BATCH = 64    /* messages that move between worker and depot at once */
};

/* What a kept block holds. */
struct rondo_msg_block {
    struct rondo_msg_block *next;
    struct rondo_msg_block *next_batch;
};

struct rondo_msg_depot {
    struct rondo_mutex mu;
    struct rondo_msg_block *batches[RONDO_MSG_CLASSES]; /* guarded by mu */
    unsigned n_batches[RONDO_MSG_CLASSES];              /* guarded by mu; read relaxed */
};

/* One worker's blocks: owner thread only. */
struct rondo_msg_cache {
    struct rondo_msg_depot *depot;
    struct {
        struct rondo_msg_block *first, *older; /* each at most a batch */
        unsigned n;                            /* of `first` */
    } bins[RONDO_MSG_CLASSES];
};

void rondo_msg_depot_init(struct rondo_msg_depot *d);
void rondo_msg_depot_fini(struct rondo_msg_depot *d);
void rondo_msg_cache_init(struct rondo_msg_cache *c, struct rondo_msg_depot *d);
void rondo_msg_cache_fini(struct rondo_msg_cache *c);

/* The cache that this thread uses from now on (lent), NULL for none.  Returns
 * the one before. */
struct rondo_msg_cache *rondo_msg_cache_use(struct rondo_msg_cache *c);

/* Frees a message (given) that is not held by this thread's turn; waits if
 * another thread's turn still holds it. */
void rondo_msg_release(struct rondo_msg *m);

/* Waits until no other thread's turn holds `m` (see mailbox.h). */
void rondo_msg_await_unheld(const struct rondo_msg *m);

#endif
