/* SPDX-License-Identifier: MIT */
/*
 * postgres_conn.h - one connection to PostgreSQL: making it, waiting on its socket,
 * giving up in time.
 *
 * Nothing here blocks past the call's time limit, looking up a host's name aside
 * (the C library's own limits hold there).  The server is told the limit, too, as
 * statement_timeout, so that it stops a slow statement by itself and the connection
 * lives on; one that does not answer even then is given up: a cancel request goes
 * out and the connection is made again when next needed.
 *
 * Threads: one at a time, but rondo_postgres_conn_cancel on any.
 */
#ifndef RONDO_SOURCE_POSTGRES_CONN_H
#define RONDO_SOURCE_POSTGRES_CONN_H

#include "source/backoff.h"
#include "source/column.h"
#include "source/sql.h"
#include <libpq-fe.h>

/* What all connections of a source share. */
struct rondo_postgres_plan {
    char *url;
    uint64_t connect_ns; /* longest that making a connection may take */
    struct rondo_sql sql;
    struct rondo_backoff backoff;
};

/* What the server said of a prepared statement. */
struct rondo_postgres_statement {
    bool is_prepared;
    Oid params[RONDO_TEMPLATE_NAMES];
};

struct rondo_postgres_conn {
    struct rondo_postgres_plan *plan;
    PGconn *pg;           /* NULL: to be made when next needed */
    bool is_ending;       /* the server has announced that it closes */
    int wake_fd;          /* an eventfd: the call is to end */
    uint64_t started_ns;  /* monotonic, of the current call */
    uint64_t deadline_ns; /* likewise */
    uint64_t limit_ms;    /* the statement_timeout that the server knows */
    char sqlstate[6];     /* of the last error, "" if it was not the server's */
    struct rondo_postgres_statement statements[RONDO_SQL_STATEMENTS];
    struct rondo_buf params;      /* of the statement being sent */
    struct rondo_column *columns; /* of the row being read */
    size_t n_columns;
};

/* Connects.  Errors: CONNECT, NOMEM, SYSTEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_postgres_conn_new(struct rondo_postgres_plan *plan,
                                                       struct rondo_source_error *why,
                                                       struct rondo_postgres_conn **out);
void rondo_postgres_conn_free(struct rondo_postgres_conn *conn);

/* A call begins; timeout_ns 0: without a limit. */
void rondo_postgres_conn_begin(struct rondo_postgres_conn *conn, uint64_t timeout_ns);

/* Stops the current call soon. */
void rondo_postgres_conn_cancel(struct rondo_postgres_conn *conn);

/* Sees to it that there is a connection, as far as can be told without asking the
 * server, and that the server knows the time limit.  Errors: CONNECT, TIMEOUT,
 * NOMEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_postgres_conn_ready(struct rondo_postgres_conn *conn,
                                                         struct rondo_source_error *why);

/* What to do with each result; an error ends the call with it. */
typedef enum rondo_err (*rondo_postgres_take_fn)(struct rondo_postgres_conn *conn, void *arg,
                                                 const PGresult *result,
                                                 struct rondo_source_error *why);

/*
 * Waits for the results of what was sent (`sent`: what libpq said to that) and
 * hands over those that are no error; `take` may be NULL.  Afterwards the
 * connection is free for the next statement, or given up.
 * Errors: LOAD (the server's error), CONNECT, TIMEOUT, NOMEM, those of `take`.
 */
RONDO_NODISCARD enum rondo_err rondo_postgres_conn_finish(struct rondo_postgres_conn *conn,
                                                          int sent, rondo_postgres_take_fn take,
                                                          void *arg,
                                                          struct rondo_source_error *why);

#endif
