/* SPDX-License-Identifier: MIT */
/*
 * systemd.h - what a service manager tells a service, and hears from it: the
 * protocols of sd_notify(3) and sd_listen_fds(3), which are stable and small enough
 * to speak without libsystemd (and the five libraries that come with it).
 *
 * Both go by the environment; without its variables nothing happens.  Main thread,
 * before or after other threads run, but for rondo_systemd_listener: before.
 */
#ifndef RONDO_SERVER_SYSTEMD_H
#define RONDO_SERVER_SYSTEMD_H

#include "config/address.h"

/* Sends "READY=1" and the like to $NOTIFY_SOCKET.  A failure is logged: nothing
 * can be done about it. */
void rondo_systemd_notify(const char *state);

/*
 * The listening socket that the manager opened: *fd (given) and its address, or -1
 * if it opened none.  Takes the variables out of the environment, so that no child
 * finds them.  Errors: CONFIG (more than one, or no listening TCP socket), with one
 * line in `why`.
 */
RONDO_NODISCARD enum rondo_err rondo_systemd_listener(int *fd, struct rondo_config_address *address,
                                                      char *why, size_t size);

#endif
