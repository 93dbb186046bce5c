/* SPDX-License-Identifier: MIT */
/* Instead of admin.c where libmicrohttpd is missing: `admin:` is refused. */
#include "base/check.h"
#include "server/admin.h"
#include <stdio.h>

const char *rondo_admin_library(void) {
    return NULL;
}

enum rondo_err rondo_admin_start(const struct rondo_config_address *address, char *why, size_t size,
                                 struct rondo_admin **out) {
    (void)address, (void)out;
    (void)snprintf(why, size,
                   "admin: this rondo was built without libmicrohttpd: install "
                   "libmicrohttpd-dev and build it anew, or leave `admin` out");
    return RONDO_ERR_CONFIG;
}

/* Nobody has one to ask about. */
uint16_t rondo_admin_port(const struct rondo_admin *admin) {
    (void)admin;
    return 0;
}

void rondo_admin_show(struct rondo_admin *admin, struct rondo_service *service) {
    (void)service;
    RONDO_CHECK(!admin);
}

void rondo_admin_drain(struct rondo_admin *admin) {
    RONDO_CHECK(!admin);
}

void rondo_admin_hide(struct rondo_admin *admin) {
    RONDO_CHECK(!admin);
}

void rondo_admin_stop(struct rondo_admin *admin) {
    RONDO_CHECK(!admin);
}
