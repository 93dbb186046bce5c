/* SPDX-License-Identifier: MIT */
/*
 * sql_call.h - one run of a configured statement, whatever server runs it, and the
 * calls of a source that are made of such runs.
 */
#ifndef RONDO_SOURCE_SQL_CALL_H
#define RONDO_SOURCE_SQL_CALL_H

#include "source/rows.h"
#include "source/sql.h"

struct rondo_sql_call {
    enum rondo_sql_statement which;
    const struct rondo_slice *values; /* as its driver takes them */
    size_t n_values;
    /* Each row, its bytes lent; NULL: nobody wants them.  An error ends the call with
     * it. */
    enum rondo_err (*row)(void *arg, const struct rondo_column *columns, size_t n,
                          struct rondo_source_error *why);
    void (*restart)(void *arg); /* forget the rows: they come again */
    void *arg;
    bool changed_nothing; /* out: the statement found no row to change */
};

/* How a driver runs one on its connection.  Errors: LOAD, CONNECT, TIMEOUT, NOMEM,
 * those of `row`; with `why`. */
typedef enum rondo_err (*rondo_sql_run_fn)(void *connection, struct rondo_sql_call *call,
                                           struct rondo_source_error *why);

/* `load` for one key: the value of the only row, or that it is absent.  Errors: those
 * of `run`. */
RONDO_NODISCARD enum rondo_err rondo_sql_load_one(rondo_sql_run_fn run, void *connection,
                                                  const struct rondo_sql *sql,
                                                  const struct rondo_load_key *key,
                                                  struct rondo_buf *value, bool *is_absent,
                                                  struct rondo_source_error *why);

/* `load_many` for what `rows` asks for, with the values that the driver has made of
 * it.  Errors: those of `run`. */
RONDO_NODISCARD enum rondo_err rondo_sql_load_many(rondo_sql_run_fn run, void *connection,
                                                   struct rondo_rows *rows,
                                                   const struct rondo_slice *values,
                                                   size_t n_values, struct rondo_source_error *why);

/* `store` or `erase`.  Errors: STORE, CONNECT, TIMEOUT, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_sql_write(rondo_sql_run_fn run, void *connection,
                                               const struct rondo_sql *sql,
                                               enum rondo_sql_statement which,
                                               const struct rondo_store *store,
                                               struct rondo_source_error *why);

#endif
