/* SPDX-License-Identifier: MIT */
/*
 * mysql_row.h - reading the rows of a prepared statement of MySQL or MariaDB as
 * columns of text.
 *
 * Rows come one by one, unbuffered, so that a statement with far too many costs no
 * memory.
 */
#ifndef RONDO_SOURCE_MYSQL_ROW_H
#define RONDO_SOURCE_MYSQL_ROW_H

#include <mysql.h> /* first: its macros name functions that are banned below */

#include "base/buf.h"
#include "source/column.h"

/* Room for one row; zeroed memory is empty. */
struct rondo_mysql_row {
    struct rondo_mysql_cell *cells;
    MYSQL_BIND *binds;
    struct rondo_column *columns;
    size_t n, cap;
    MYSQL_RES *fields; /* the names, while a result is read */
};

/* Gets ready for the result of an executed statement that has one.  Errors: NOMEM;
 * LOAD: the library's, see mysql_stmt_errno. */
RONDO_NODISCARD enum rondo_err rondo_mysql_row_begin(struct rondo_mysql_row *row, MYSQL_STMT *stmt);

/* Reads the next row into row->columns, its bytes valid until the next call; *more
 * says whether there was one.  Errors as above. */
RONDO_NODISCARD enum rondo_err rondo_mysql_row_next(struct rondo_mysql_row *row, MYSQL_STMT *stmt,
                                                    bool *more);

/* The result has been read. */
void rondo_mysql_row_end(struct rondo_mysql_row *row);
void rondo_mysql_row_fini(struct rondo_mysql_row *row);

#endif
