/* SPDX-License-Identifier: MIT */
/*
 * actor.h - one actor's block: mailbox, receive function, state, references.
 *
 * References are counted on copy, never on send.  A live actor holds one on
 * itself, given up after it has stopped and its mailbox is drained; the block
 * stays until the last reference, so an address never dangles and a send to a
 * stopped actor is a counted drop.
 *
 * The block is at most 160 bytes: a million actors are ordinary.
 */
#ifndef RONDO_RUNTIME_ACTOR_H
#define RONDO_RUNTIME_ACTOR_H

#include "base/list.h"
#include "runtime/mailbox.h"
#include "runtime/registry.h"

struct rondo_bound;
struct rondo_io;

struct rondo_actor {
    /* hot: one cache line */
    struct rondo_mailbox mailbox;
    rondo_receive_fn receive;     /* const after init */
    void *state;                  /* whoever runs the turn */
    struct rondo_actor *run_next; /* whichever run queue it is on */
    struct rondo_runtime *rt;     /* const after init */
    uint16_t pin;                 /* const after init; 0: none, k: worker k - 1 */
    uint8_t is_paused;            /* atomic; changed under the runtime's pause_mu */
    uint8_t is_flushing;          /* atomic: a turn that ended still publishes what it sent */
    uint8_t is_stop_sent;         /* atomic */
    uint16_t home;                /* const after init; list of the registry */
    struct rondo_registry *registry;

    void (*free_state)(void *state); /* const after init */
    const char *name;                /* const after init */
    struct rondo_list node;          /* guarded by its registry list's mu */
    struct rondo_io *ios;            /* its worker only: what it watches */
    struct rondo_list watches;       /* its turns only: who wants to know when it stops */
    size_t refs;                     /* atomic */
    struct rondo_bound *bound;       /* const after spawn; NULL: none; owned */
    struct rondo_msg stop;           /* so that stopping cannot fail */
};

_Static_assert(sizeof(struct rondo_actor) <= 160, "an actor is small");

/* A block with two references: the caller's and the live actor's own.  It is not
 * yet on a registry list.  NULL when out of memory. */
struct rondo_actor *rondo_actor_new(struct rondo_runtime *rt, struct rondo_registry *registry,
                                    const struct rondo_actor_options *o);

/* Gives up a reference without looking at what this thread's turn has not
 * published yet (rondo_actor_unref does). */
void rondo_actor_release(struct rondo_actor *a);

/* Drops a chain that was pushed onto a dead actor, and what follows it. */
void rondo_actor_drop(struct rondo_actor *a, struct rondo_msg *first);

/* By whoever runs the actor: drops everything in its mailbox, which is dead
 * afterwards.  No message is held. */
void rondo_actor_close(struct rondo_actor *a);

#endif
