/* SPDX-License-Identifier: MIT */
/*
 * listener.h - the actor that accepts connections and deals them out to the
 * workers in turn.
 *
 * One acceptor rather than a listening socket per worker: connections are spread
 * evenly however few there are, and a second server on the same port is refused by
 * the kernel instead of sharing it.  When the process or the system is out of
 * descriptors it tries again a little later; nothing spins.  It also ticks once a
 * second for the figures that need a rate.
 */
#ifndef RONDO_SERVER_LISTENER_H
#define RONDO_SERVER_LISTENER_H

#include "server/service.h"

/*
 * Opens, binds and listens; *fd and *port (the kernel's choice for port 0) are
 * written on success.  Errors: SYSTEM, with `why` (of `size` bytes) saying what
 * failed in one line.
 */
RONDO_NODISCARD enum rondo_err rondo_listener_open(const struct rondo_config_address *address,
                                                   int *fd, uint16_t *port, char *why, size_t size);

/* Starts accepting on `fd` (given, closed on errors too); the caller gets a
 * reference to the actor, which it stops by rondo_actor_stop: nothing is accepted
 * after that.  Errors: NOMEM, CLOSED. */
RONDO_NODISCARD enum rondo_err rondo_listener_start(struct rondo_service *service, int fd,
                                                    rondo_actor **out);

#endif
