/* SPDX-License-Identifier: MIT */
/*
 * mysql_url.h - where a MySQL or MariaDB server is, as one line:
 *
 *     mysql://user:password@host:port/database?option=value&...
 *
 * `mariadb://` means the same.  What is left out is the client library's default.
 * Special characters are written %XX; an IPv6 address stands in brackets.  Options:
 *     socket=PATH           the server's unix socket, in place of host and port
 *     tls=off|require|verify  default off; require encrypts, verify also checks the
 *                           certificate and the name in it
 *     ca=PATH               the certificates to check against; verify needs it
 */
#ifndef RONDO_SOURCE_MYSQL_URL_H
#define RONDO_SOURCE_MYSQL_URL_H

#include "rondo/rondo.h"

enum rondo_mysql_tls { RONDO_MYSQL_TLS_OFF = 0, RONDO_MYSQL_TLS_REQUIRE, RONDO_MYSQL_TLS_VERIFY };

/* All texts NULL where not given. */
struct rondo_mysql_url {
    char *user, *password, *host, *database, *socket, *ca;
    unsigned port; /* 0: not given */
    enum rondo_mysql_tls tls;
};

/* Errors: CONFIG (*wrong is a phrase that says what is allowed and quotes nothing,
 * static), NOMEM.  `out` is to be finished whatever comes back. */
RONDO_NODISCARD enum rondo_err rondo_mysql_url_parse(const char *text, struct rondo_mysql_url *out,
                                                     const char **wrong);
void rondo_mysql_url_fini(struct rondo_mysql_url *url);

#endif
