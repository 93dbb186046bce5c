/* SPDX-License-Identifier: MIT */
/*
 * sqlite_row.h - what a row of a result is worth as the value of a key.
 *
 * One column is that value: text and BLOB byte for byte, numbers as SQLite prints
 * them, NULL is no value.  Several columns are a JSON object of their names, with
 * numbers as numbers and NULL as null; bytes that are not UTF-8 have no place in
 * one and are an error.
 */
#ifndef RONDO_SOURCE_SQLITE_ROW_H
#define RONDO_SOURCE_SQLITE_ROW_H

#include "base/buf.h"
#include "rondo/source.h"
#include <sqlite3.h>

/*
 * Appends the value of the columns from `first` on of the row that `stmt` stands
 * on; *is_null says that there is none.
 * Errors: LOAD (with `why`), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_sqlite_row_value(sqlite3_stmt *stmt, int first,
                                                      struct rondo_buf *out, bool *is_null,
                                                      struct rondo_source_error *why);

/* The bytes of a column as text or BLOB, without conversion of either; valid until
 * the statement moves. */
struct rondo_slice rondo_sqlite_row_bytes(sqlite3_stmt *stmt, int column);

#endif
