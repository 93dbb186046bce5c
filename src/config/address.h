/* SPDX-License-Identifier: MIT */
/*
 * address.h - where to listen: "127.0.0.1:6380", "[::1]:6380", "localhost:6380",
 * "*:6380".
 *
 * Numbers and those two names only: a name that needs a look-up could mean
 * another place tomorrow, and whether an address is loopback must be certain.
 */
#ifndef RONDO_CONFIG_ADDRESS_H
#define RONDO_CONFIG_ADDRESS_H

#include "rondo/rondo.h"

struct rondo_config_address {
    bool is_set;
    bool is_ipv6;
    bool is_loopback;
    uint16_t port; /* 0: the kernel chooses */
    char host[48]; /* a numeric address, without brackets, for inet_pton */
};

/* NULL and *out written, or a phrase that says what is allowed (static). */
const char *rondo_config_address_parse(const char *text, struct rondo_config_address *out);

#endif
