/* SPDX-License-Identifier: MIT */
/*
 * postgres_run.h - running a prepared statement on a connection to PostgreSQL.
 *
 * Statements are prepared when first used on a connection, and once more when the
 * server no longer likes what it prepared (a table was changed or made anew).  A
 * statement that only reads is repeated once on a new connection if the old one
 * breaks; one that writes is not, since it may have happened.
 */
#ifndef RONDO_SOURCE_POSTGRES_RUN_H
#define RONDO_SOURCE_POSTGRES_RUN_H

#include "source/postgres_conn.h"
#include "source/sql_call.h"

/* Prepares a statement if it is not.  Errors: LOAD, CONNECT, TIMEOUT, NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_postgres_run_prepare(struct rondo_postgres_conn *conn,
                                                          enum rondo_sql_statement which,
                                                          struct rondo_source_error *why);

/* A rondo_sql_run_fn; the values are those of the statement's names. */
RONDO_NODISCARD enum rondo_err rondo_postgres_run(void *connection, struct rondo_sql_call *call,
                                                  struct rondo_source_error *why);

/* The type of a statement's parameter and the types that need a word, as in the
 * server's catalog pg_type. */
enum {
    RONDO_POSTGRES_BOOL = 16,
    RONDO_POSTGRES_BYTEA = 17,
    RONDO_POSTGRES_INT8 = 20,
    RONDO_POSTGRES_INT2 = 21,
    RONDO_POSTGRES_INT4 = 23,
    RONDO_POSTGRES_OID = 26,
    RONDO_POSTGRES_JSON = 114,
    RONDO_POSTGRES_FLOAT4 = 700,
    RONDO_POSTGRES_FLOAT8 = 701,
    RONDO_POSTGRES_NUMERIC = 1700,
    RONDO_POSTGRES_JSONB = 3802,
    RONDO_POSTGRES_BYTEAS = 1001, /* arrays of these */
    RONDO_POSTGRES_INT2S = 1005,
    RONDO_POSTGRES_INT4S = 1007,
    RONDO_POSTGRES_INT8S = 1016
};

#endif
