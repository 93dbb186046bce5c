/* SPDX-License-Identifier: MIT */
/*
 * mysql_conn.h - one connection to MySQL or MariaDB: making it, waiting on its
 * socket, giving up in time.
 *
 * The client library asks us whenever it has to wait (MARIADB_OPT_IO_WAIT), so that
 * a call ends at its time limit or when it is cancelled, looking up a host's name
 * aside.  The server is told the limit, too (max_statement_time, or
 * max_execution_time on MySQL, where it holds for SELECT alone), so that it stops a
 * slow statement by itself and the connection lives on; one that does not answer
 * even then is given up and made again when next needed.
 *
 * Threads: one at a time, but rondo_mysql_conn_cancel on any.
 */
#ifndef RONDO_SOURCE_MYSQL_CONN_H
#define RONDO_SOURCE_MYSQL_CONN_H

#include <mysql.h> /* first: its macros name functions that are banned below */

#include "base/buf.h"
#include "source/backoff.h"
#include "source/mysql_row.h"
#include "source/mysql_url.h"
#include "source/sql.h"

/* Keys of one load_many; statements are prepared for 1, 2, 4, … of them. */
enum { RONDO_MYSQL_BATCH_LOG2 = 8, RONDO_MYSQL_BATCH = 1 << RONDO_MYSQL_BATCH_LOG2 };

/* Prepared statements: those of enum rondo_sql_statement, then load_many for 2, 4, …
 * keys (the one of RONDO_SQL_LOAD_MANY is for 1). */
enum { RONDO_MYSQL_SLOTS = RONDO_SQL_STATEMENTS + RONDO_MYSQL_BATCH_LOG2 };

/* What all connections of a source share. */
struct rondo_mysql_plan {
    struct rondo_mysql_url url;
    uint64_t connect_ns; /* longest that making a connection may take */
    struct rondo_sql sql;
    struct rondo_backoff backoff;
};

struct rondo_mysql_conn {
    struct rondo_mysql_plan *plan;
    MYSQL *my;                            /* NULL: to be made when next needed */
    int wake_fd;                          /* an eventfd: the call is to end */
    bool is_late;                         /* the library was told to give up */
    uint64_t started_ns;                  /* monotonic, of the current call */
    uint64_t deadline_ns;                 /* likewise */
    uint64_t limit_ms;                    /* the limit that the server knows; 0: none */
    unsigned code;                        /* of the last error, the server's or the library's */
    MYSQL_STMT *stmts[RONDO_MYSQL_SLOTS]; /* NULL until first used */
    struct rondo_buf text;                /* of a statement being prepared */
    struct rondo_mysql_row row;           /* what rows are read into */
};

/* Connects.  Errors: CONNECT, NOMEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_mysql_conn_new(struct rondo_mysql_plan *plan,
                                                    struct rondo_source_error *why,
                                                    struct rondo_mysql_conn **out);
void rondo_mysql_conn_free(struct rondo_mysql_conn *conn);

/* A call begins; timeout_ns 0: without a limit. */
void rondo_mysql_conn_begin(struct rondo_mysql_conn *conn, uint64_t timeout_ns);

/* Stops the current call soon. */
void rondo_mysql_conn_cancel(struct rondo_mysql_conn *conn);

/* Sees to it that there is a connection, as far as can be told without asking the
 * server, and that the server knows the time limit.  Errors: CONNECT, TIMEOUT,
 * NOMEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_mysql_conn_ready(struct rondo_mysql_conn *conn,
                                                      struct rondo_source_error *why);

/* What an error of the library means; a connection that is of no use any more is
 * given up. */
RONDO_NODISCARD enum rondo_err rondo_mysql_conn_error(struct rondo_mysql_conn *conn, unsigned code,
                                                      const char *text,
                                                      struct rondo_source_error *why);

/* Gives the connection and its statements up. */
void rondo_mysql_conn_drop(struct rondo_mysql_conn *conn);

#endif
