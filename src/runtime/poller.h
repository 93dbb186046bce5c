/* SPDX-License-Identifier: MIT */
/*
 * poller.h - where a worker waits: descriptors, a deadline, and a wake-up from
 * another thread, all in one system call (epoll and an eventfd).
 *
 * Threads: wake, any; everything else, the worker.
 */
#ifndef RONDO_RUNTIME_POLLER_H
#define RONDO_RUNTIME_POLLER_H

#include "rondo/rondo.h"

enum { RONDO_POLLER_BATCH = 64 };

struct rondo_poller {
    int epoll_fd, wake_fd;
    bool is_coarse; /* the system waits in milliseconds only */
};

struct rondo_poller_event {
    void *data;
    unsigned events; /* RONDO_IO_* */
};

/* Errors: SYSTEM. */
RONDO_NODISCARD enum rondo_err rondo_poller_init(struct rondo_poller *p);
void rondo_poller_fini(struct rondo_poller *p);

/* Edge triggered, reading and writing; `data` is not NULL.  Errors: SYSTEM. */
RONDO_NODISCARD enum rondo_err rondo_poller_add(struct rondo_poller *p, int fd, void *data);
void rondo_poller_remove(struct rondo_poller *p, int fd);

/* Waits until something happens or `timeout_ns` have passed (never less;
 * UINT64_MAX: no limit).  Fills at most RONDO_POLLER_BATCH events and returns
 * how many; a wake-up is none. */
unsigned rondo_poller_wait(struct rondo_poller *p, uint64_t timeout_ns,
                           struct rondo_poller_event *events);

/* Makes the current or the next wait return. */
void rondo_poller_wake(struct rondo_poller *p);

#endif
