/* SPDX-License-Identifier: MIT */
/*
 * io.h - descriptors that an actor watches.
 *
 * One registration per descriptor, edge triggered.  The ready message is part of
 * the watch.  `state` holds, in one word, the events that no message has carried
 * yet, whether the message is under way (BUSY) and whether the watch has ended.
 * Whoever sets BUSY sends the message; who frees it sends it again at once if
 * events have come, else clears BUSY.  The block goes when the watch has ended
 * and the message is at rest; it holds a reference to its actor.
 */
#ifndef RONDO_RUNTIME_IO_H
#define RONDO_RUNTIME_IO_H

#include "runtime/executor.h"

struct rondo_io {
    struct rondo_io_ready ready;
    struct rondo_actor *actor; /* const after init; a reference */
    struct rondo_io *next;     /* its worker only */
    struct rondo_io **link;    /* its worker only: what points at us */
    int fd;                    /* const after init */
    unsigned state;            /* atomic: RONDO_IO_*, BUSY, ENDED */
};

/* From the poller, outside turns. */
void rondo_io_notify(struct rondo_io *io, unsigned events);

/* Ends all watches of an actor that stops, on its worker. */
void rondo_io_forget(struct rondo_actor *a);

#endif
