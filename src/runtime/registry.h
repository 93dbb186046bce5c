/* SPDX-License-Identifier: MIT */
/*
 * registry.h - which actors of a runtime are alive, and how long its memory is
 * needed.
 *
 * Live actors are on one of several lists, each with a lock of its own, so that
 * spawning workers do not meet.  `refs` counts blocks of actors that still
 * exist plus one for the runtime itself; whoever drops the last calls `release`,
 * possibly long after the runtime was freed.
 */
#ifndef RONDO_RUNTIME_REGISTRY_H
#define RONDO_RUNTIME_REGISTRY_H

#include "base/list.h"
#include "base/sync.h"
#include "rondo/runtime.h"
#include <stddef.h>

struct rondo_registry_list {
    struct rondo_mutex mu;
    struct rondo_list actors; /* guarded by mu */
    bool is_closed;           /* guarded by mu */
};

struct rondo_registry {
    size_t refs;      /* atomic */
    size_t n_live;    /* atomic */
    uint64_t dropped; /* atomic: messages, on whatever thread */
    uint64_t spawned; /* atomic */
    unsigned n_lists; /* const after init */
    struct rondo_registry_list *lists;
    /* What tells of dropped messages: const after init, but for `is_quiet`, atomic. */
    void (*on_drop)(void *arg, const rondo_actor *to, const struct rondo_msg *m);
    void *drop_arg;
    bool is_quiet;
    void (*on_empty)(struct rondo_registry *r); /* the last live actor is gone */
    void (*release)(struct rondo_registry *r);
};

/* Errors: NOMEM.  `release` must call fini. */
RONDO_NODISCARD enum rondo_err rondo_registry_init(struct rondo_registry *r, unsigned n_lists);
void rondo_registry_fini(struct rondo_registry *r);

/* Puts an actor's node on list `i`.  False: closed. */
RONDO_NODISCARD bool rondo_registry_add(struct rondo_registry *r, unsigned i,
                                        struct rondo_list *node);
/* Takes it off; the node may be off already (rondo_registry_pop). */
void rondo_registry_remove(struct rondo_registry *r, unsigned i, struct rondo_list *node);

/* From now on rondo_registry_add refuses. */
void rondo_registry_close(struct rondo_registry *r);
/* Any live actor's node, taken off its list; NULL if there is none. It still
 * counts as alive until rondo_registry_remove. */
struct rondo_list *rondo_registry_pop(struct rondo_registry *r);

/* One for each block that needs the runtime's memory. */
void rondo_registry_ref(struct rondo_registry *r);
void rondo_registry_unref(struct rondo_registry *r);

#endif
