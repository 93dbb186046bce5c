/* SPDX-License-Identifier: MIT */
/*
 * sqlite_conn.h - one connection to one SQLite file, and the statements that were
 * prepared on it.
 *
 * A call begins with rondo_sqlite_conn_begin, which sets its time limit; whatever
 * runs longer, or waits longer for a lock, is stopped.
 *
 * Threads: one at a time, but rondo_sqlite_conn_cancel on any.
 */
#ifndef RONDO_SOURCE_SQLITE_CONN_H
#define RONDO_SOURCE_SQLITE_CONN_H

#include "base/sync.h"
#include "rondo/source.h"
#include "source/template.h"
#include <sqlite3.h>

enum rondo_sqlite_statement {
    RONDO_SQLITE_LOAD,
    RONDO_SQLITE_LOAD_MANY,
    RONDO_SQLITE_STORE,
    RONDO_SQLITE_ERASE,
    RONDO_SQLITE_STATEMENTS
};

/* "load", "load_many", "store", "erase": also the names of the settings. */
extern const char *const rondo_sqlite_statement_names[RONDO_SQLITE_STATEMENTS];

/* What all connections of a source share; const while there is one. */
struct rondo_sqlite_plan {
    char *file;
    struct rondo_template_sql sql[RONDO_SQLITE_STATEMENTS]; /* text NULL: not given */
    uint64_t busy_ns;                                       /* longest wait for a lock */
};

struct rondo_sqlite_conn {
    const struct rondo_sqlite_plan *plan;
    struct rondo_mutex mu; /* held to exchange db, and to interrupt it from another thread */
    sqlite3 *db;
    sqlite3_stmt *stmts[RONDO_SQLITE_STATEMENTS]; /* NULL until first used */
    uint64_t deadline_ns, busy_deadline_ns;       /* monotonic, of the current call */
    int cancelled;                                /* atomic */
};

/* Opens the file: read-only unless the plan has a statement that writes.  Errors:
 * CONNECT, NOMEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_sqlite_conn_new(const struct rondo_sqlite_plan *plan,
                                                     struct rondo_source_error *why,
                                                     struct rondo_sqlite_conn **out);
void rondo_sqlite_conn_free(struct rondo_sqlite_conn *conn);

/* A call begins; timeout_ns 0: without a limit.  If another file has taken the place
 * of the one that is open, that one is opened.  Errors: CONNECT, NOMEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_sqlite_conn_begin(struct rondo_sqlite_conn *conn,
                                                       uint64_t timeout_ns,
                                                       struct rondo_source_error *why);

/* Stops the current call soon. */
void rondo_sqlite_conn_cancel(struct rondo_sqlite_conn *conn);

/* The prepared statement with values bound to its numbers, values[name] as text.
 * Reset it with rondo_sqlite_conn_done; the values are lent until then.
 * Errors: LOAD, CONNECT, TIMEOUT, NOMEM, with `why`. */
RONDO_NODISCARD enum rondo_err rondo_sqlite_conn_bind(struct rondo_sqlite_conn *conn,
                                                      enum rondo_sqlite_statement which,
                                                      const struct rondo_slice *values,
                                                      struct rondo_source_error *why,
                                                      sqlite3_stmt **out);
void rondo_sqlite_conn_done(sqlite3_stmt *stmt);

/* Steps a statement: *has_row says whether it stands on a row.  Errors as above. */
RONDO_NODISCARD enum rondo_err rondo_sqlite_conn_step(struct rondo_sqlite_conn *conn,
                                                      enum rondo_sqlite_statement which,
                                                      bool *has_row,
                                                      struct rondo_source_error *why);

#endif
