/* SPDX-License-Identifier: MIT */
/*
 * server.h - the whole of `rondo serve`: runtime, keyspace, caches, listener, and
 * how they come up and go down.
 *
 * Going down runs the arrow backwards: nothing is accepted any more; every
 * connection answers what it was asked and closes; after `drain_timeout` what
 * still waits is answered with an error; then the caches close, then the runtime.
 */
#ifndef RONDO_SERVER_SERVER_H
#define RONDO_SERVER_SERVER_H

#include "config/config.h"
#include "server/service.h"

struct rondo_server;

struct rondo_server_options {
    struct rondo_service_limits limits; /* zeroed: the defaults */
    uint64_t drain_timeout_ns;          /* 0: 10 s */
    int listen_fd; /* a socket that listens at the config's address (given); 0: none */
};

/* Why it could not start, one line for people. */
struct rondo_server_why {
    char text[512];
};

/*
 * Brings everything up; when it returns, connections are accepted.  `config` is
 * lent until rondo_server_stop; its sources are given away.  NULL options: the
 * defaults.  Errors: SYSTEM (port in use, no threads), NOMEM, INVALID, EXISTS,
 * CONFIG, all with `why`.
 */
RONDO_NODISCARD enum rondo_err rondo_server_start(struct rondo_config *config,
                                                  const struct rondo_server_options *options,
                                                  struct rondo_server_why *why,
                                                  struct rondo_server **out);

/* Where it listens: the port that the kernel chose if the config said 0. */
uint16_t rondo_server_port(const struct rondo_server *server);

/* One line: address, workers, caches and their sources, the most threads that all
 * pools can have.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_server_describe(const struct rondo_server *server,
                                                     struct rondo_buf *out);

/* Stops it and frees it; blocks.  Not in a turn.  NULL does nothing. */
void rondo_server_stop(struct rondo_server *server);

/* Called once it listens; false (said on stderr) makes rondo_server_run fail. */
typedef bool (*rondo_server_ready_fn)(void *arg, const struct rondo_server *server);

/*
 * A server's main: takes the socket that a service manager gave, if any, in place
 * of config->listen; tells the manager (systemd.h) when it is up; starts it, prints its line to
 * stdout, waits for SIGTERM or SIGINT on the calling thread and stops it.  A second signal ends the
 * process at once.  Returns the exit code: 0 after a clean stop, 1 with one line on stderr if it
 * could not start.
 */
int rondo_server_run(struct rondo_config *config, const struct rondo_server_options *options,
                     rondo_server_ready_fn ready, void *arg);

#endif
