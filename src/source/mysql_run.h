/* SPDX-License-Identifier: MIT */
/*
 * mysql_run.h - running a prepared statement on a connection to MySQL or MariaDB.
 *
 * Every place of a statement is a `?` that a value is bound to.  The place of
 * load_many becomes as many as there are keys, rounded up to a power of two (the last
 * key fills up), so that a few prepared statements serve all batches:
 * `id IN ({id})` is prepared as `id IN (?, ?, ?, ?)`.
 *
 * Statements are prepared when first used on a connection, and once more when the
 * server no longer likes what it prepared.  One that only reads is repeated once on
 * a new connection if the old one breaks; one that writes is not, since it may have
 * happened.
 */
#ifndef RONDO_SOURCE_MYSQL_RUN_H
#define RONDO_SOURCE_MYSQL_RUN_H

#include "source/mysql_conn.h"
#include "source/sql_call.h"

/* A rondo_sql_run_fn; the values are those of the statement's names, of load_many
 * the parameters of the keys: 1 to RONDO_MYSQL_BATCH. */
RONDO_NODISCARD enum rondo_err rondo_mysql_run(void *connection, struct rondo_sql_call *call,
                                               struct rondo_source_error *why);

#endif
