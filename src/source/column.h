/* SPDX-License-Identifier: MIT */
/*
 * column.h - what the columns of a row are worth as the value of a key.
 *
 * One column is that value, byte for byte; NULL is no value.  Several are a JSON
 * object of their names: numbers as numbers with all their digits, JSON embedded as
 * it stands, NULL as null.  Bytes that are not UTF-8 have no place in one and are
 * an error.
 */
#ifndef RONDO_SOURCE_COLUMN_H
#define RONDO_SOURCE_COLUMN_H

#include "base/buf.h"
#include "rondo/source.h"

enum rondo_column_kind {
    RONDO_COLUMN_TEXT = 0, /* and bytes */
    RONDO_COLUMN_NUMBER,   /* decimal, as the server prints it */
    RONDO_COLUMN_BOOL,     /* prints as t or f, or as a number */
    RONDO_COLUMN_JSON
};

struct rondo_column {
    const char *name;
    enum rondo_column_kind kind;
    bool is_null;
    struct rondo_slice bytes;
};

/*
 * Appends the value of n columns (at least one); *is_null says that there is none.
 * Errors: LOAD (with `why`), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_column_value(const struct rondo_column *columns, size_t n,
                                                  struct rondo_buf *out, bool *is_null,
                                                  struct rondo_source_error *why);

/* Whether the text is a number as JSON writes them. */
bool rondo_column_is_number(struct rondo_slice text);

#endif
