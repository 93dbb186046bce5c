/* SPDX-License-Identifier: MIT */
/*
 * client.h - a small blocking Redis client for the command line and for tests.
 *
 * One thread at a time per client.  A failed call leaves one line in
 * rondo_client_error and the connection unusable.
 */
#ifndef RONDO_CLI_CLIENT_H
#define RONDO_CLI_CLIENT_H

#include "proto/resp.h"
#include "rondo/rondo.h"

struct rondo_client {
    int fd;
    struct rondo_buf in, out;
    size_t in_pos; /* bytes of `in` that replies have used */
    struct rondo_resp_reply reply;
    char error[256];
};

/* Connects to "host:port" ("[v6]:port" too) and says HELLO 3.
 * Errors: INVALID (the address), CONNECT, PROTOCOL, NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_client_connect(struct rondo_client *c, const char *address);
void rondo_client_close(struct rondo_client *c);

/* Sends one command and waits for its reply; pushes are skipped.  *out is valid
 * until the next call.  An error reply is a reply, not an error of this call.
 * Errors: CONNECT (connection lost), PROTOCOL, NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_client_call(struct rondo_client *c,
                                                 const struct rondo_slice *args, size_t n,
                                                 const struct rondo_resp_node **out);
/* The same with NUL-terminated words, the last one followed by NULL. */
RONDO_NODISCARD enum rondo_err rondo_client_say(struct rondo_client *c,
                                                const struct rondo_resp_node **out, ...)
    __attribute__((sentinel));

static inline const char *rondo_client_error(const struct rondo_client *c) {
    return c->error;
}

#endif
