/* SPDX-License-Identifier: MIT */
#include "source/sqlite_row.h"

#include "source/utf8.h"
#include <jansson.h>
#include <math.h>

/* SQLite prints 15 digits; more would turn 0.1 into 0.10000000000000001. */
enum { REAL_DIGITS = 15 };

struct rondo_slice rondo_sqlite_row_bytes(sqlite3_stmt *stmt, int column) {
    const void *data = sqlite3_column_type(stmt, column) == SQLITE_BLOB
                           ? sqlite3_column_blob(stmt, column)
                           : sqlite3_column_text(stmt, column);
    int len = sqlite3_column_bytes(stmt, column);
    return rondo_slice_of(data, data ? (size_t)len : 0);
}

static enum rondo_err complain(struct rondo_source_error *why, sqlite3_stmt *stmt, int column,
                               const char *what) {
    snprintf(why->text, sizeof why->text, "column \"%.64s\" %s", sqlite3_column_name(stmt, column),
             what);
    return RONDO_ERR_LOAD;
}

/* A new reference, NULL on an error. */
static json_t *json_of(sqlite3_stmt *stmt, int column, struct rondo_source_error *why,
                       enum rondo_err *err) {
    json_t *json = NULL;
    struct rondo_slice bytes;
    double real;
    *err = RONDO_ERR_NOMEM;
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL:
        return json_null();
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(stmt, column));
    case SQLITE_FLOAT:
        real = sqlite3_column_double(stmt, column);
        if (!isfinite(real)) *err = complain(why, stmt, column, "is not a finite number");
        return isfinite(real) ? json_real(real) : NULL;
    default: /* text and BLOB */
        bytes = rondo_sqlite_row_bytes(stmt, column);
        if (!rondo_utf8_is_valid(bytes))
            *err = complain(why, stmt, column, "is not UTF-8: take hex() of it, or it alone");
        else
            json = json_stringn(bytes.len ? bytes.data : "", bytes.len);
        return json;
    }
}

static enum rondo_err fill_object(json_t *object, sqlite3_stmt *stmt, int first,
                                  struct rondo_source_error *why) {
    for (int i = first; i < sqlite3_column_count(stmt); i++) {
        const char *name = sqlite3_column_name(stmt, i);
        enum rondo_err err;
        if (!name) return RONDO_ERR_NOMEM;
        if (json_object_get(object, name))
            return complain(why, stmt, i, "occurs twice: name them apart with AS");
        json_t *json = json_of(stmt, i, why, &err);
        if (!json) return err;
        if (json_object_set_new(object, name, json) != 0)
            return complain(why, stmt, i, "has a name that is not UTF-8");
    }
    return RONDO_OK;
}

static enum rondo_err object_value(sqlite3_stmt *stmt, int first, struct rondo_buf *out,
                                   struct rondo_source_error *why) {
    json_t *object = json_object();
    if (!object) return RONDO_ERR_NOMEM;
    enum rondo_err err = fill_object(object, stmt, first, why);
    char *text = NULL;
    if (!err) {
        text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
        err = text ? rondo_buf_append_str(out, text) : RONDO_ERR_NOMEM;
    }
    free(text);
    json_decref(object);
    return err;
}

enum rondo_err rondo_sqlite_row_value(sqlite3_stmt *stmt, int first, struct rondo_buf *out,
                                      bool *is_null, struct rondo_source_error *why) {
    bool alone = sqlite3_column_count(stmt) - first == 1;
    *is_null = alone && sqlite3_column_type(stmt, first) == SQLITE_NULL;
    if (*is_null) return RONDO_OK;
    if (!alone) return object_value(stmt, first, out, why);
    struct rondo_slice bytes = rondo_sqlite_row_bytes(stmt, first);
    return rondo_buf_append(out, bytes.data, bytes.len);
}
