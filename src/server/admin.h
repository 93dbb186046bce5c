/* SPDX-License-Identifier: MIT */
/*
 * admin.h - the port for operators, over HTTP: /metrics (metrics.h), /healthz (the
 * process lives) and /readyz (it serves: 503 while it starts and stops).
 *
 * It has one thread of its own, libmicrohttpd's, which shares nothing with the
 * workers but counters: a slow reader of metrics delays no client, and a busy
 * worker no probe.  Connections, the bytes of a request and the time without
 * progress are bounded; nothing secret is shown, as it has no password (which is
 * why the configuration keeps it on loopback unless told otherwise).
 *
 * Threads: the functions are called by the one that starts and stops the server.
 */
#ifndef RONDO_SERVER_ADMIN_H
#define RONDO_SERVER_ADMIN_H

#include "config/address.h"
#include "server/service.h"

struct rondo_admin;

/* "libmicrohttpd 0.9.75", or NULL: this build has no admin port. */
const char *rondo_admin_library(void);

/* Listens; `why` gets one line for people.  Errors: SYSTEM, NOMEM, CONFIG (this
 * build has none). */
RONDO_NODISCARD enum rondo_err rondo_admin_start(const struct rondo_config_address *address,
                                                 char *why, size_t size, struct rondo_admin **out);

/* That the kernel gave. */
uint16_t rondo_admin_port(const struct rondo_admin *admin);

/* NULL `admin` does nothing in all of these.
 *
 * The server is up: `service` is lent until rondo_admin_hide. */
void rondo_admin_show(struct rondo_admin *admin, struct rondo_service *service);
/* It stops: not ready from now on; its metrics are still shown. */
void rondo_admin_drain(struct rondo_admin *admin);
/* Takes the service back; waits for who reads it. */
void rondo_admin_hide(struct rondo_admin *admin);
/* Closes the port and frees it; blocks. */
void rondo_admin_stop(struct rondo_admin *admin);

#endif
