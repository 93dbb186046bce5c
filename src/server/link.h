/* SPDX-License-Identifier: MIT */
/*
 * link.h - the actor that owns a client's socket.
 *
 * Pinned to one worker, whose poller watches the socket; everything that happens
 * to the connection is a message to this actor: readiness, completions of loads
 * and stores, and what the server asks of it (RONDO_SESSION_*).  Completions that
 * come after its end are dropped by the runtime, which frees what they hold.
 */
#ifndef RONDO_SERVER_LINK_H
#define RONDO_SERVER_LINK_H

#include "server/service.h"

/*
 * Starts a link for a connected, non-blocking socket (given: closed on errors
 * too) on worker 0.. .  `client` (given) is in the registry from now on until the
 * link is gone.  Any thread.  Errors: NOMEM, CLOSED.
 */
RONDO_NODISCARD enum rondo_err rondo_link_start(struct rondo_service *service, unsigned worker,
                                                int fd, struct rondo_client *client);

#endif
