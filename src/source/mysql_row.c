/* SPDX-License-Identifier: MIT */
#include "source/mysql_row.h"

#include "base/mem.h"

enum { SMALL = 64, LARGEST_KEPT = 65536 };

/* Where a column's text arrives: what does not fit into `small` is fetched again into
 * `large`, once its length is known. */
struct rondo_mysql_cell {
    char small[SMALL];
    struct rondo_buf large;
    unsigned long length;
    my_bool is_null, is_cut;
};

static enum rondo_err make_room(struct rondo_mysql_row *row, size_t n) {
    if (n <= row->cap) return RONDO_OK;
    rondo_mysql_row_fini(row);
    row->cells = rondo_zalloc(n * sizeof *row->cells);
    row->binds = rondo_zalloc(n * sizeof *row->binds);
    row->columns = rondo_zalloc(n * sizeof *row->columns);
    row->cap = n;
    if (row->cells && row->binds && row->columns) return RONDO_OK;
    rondo_mysql_row_fini(row);
    return RONDO_ERR_NOMEM;
}

void rondo_mysql_row_end(struct rondo_mysql_row *row) {
    if (row->fields) mysql_free_result(row->fields);
    row->fields = NULL;
    for (size_t i = 0; i < row->n; i++) {
        row->cells[i].large.len = 0;
        rondo_buf_shrink(&row->cells[i].large, LARGEST_KEPT);
    }
    row->n = 0;
}

void rondo_mysql_row_fini(struct rondo_mysql_row *row) {
    rondo_mysql_row_end(row);
    for (size_t i = 0; row->cells && i < row->cap; i++) rondo_buf_fini(&row->cells[i].large);
    rondo_free(row->cells);
    rondo_free(row->binds);
    rondo_free(row->columns);
    *row = (struct rondo_mysql_row){.n = 0};
}

/* MariaDB's JSON is text that says so. */
static bool says_json(const MYSQL_FIELD *field) {
    MARIADB_CONST_STRING format;
    if (field->type == MYSQL_TYPE_JSON) return true;
    if (mariadb_field_attr(&format, field, MARIADB_FIELD_ATTR_FORMAT_NAME) != 0) return false;
    return rondo_slice_is(rondo_slice_of(format.str, format.length), "json");
}

static enum rondo_column_kind kind_of(const MYSQL_FIELD *field) {
    switch ((int)field->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
        return RONDO_COLUMN_NUMBER;
    default:
        return says_json(field) ? RONDO_COLUMN_JSON : RONDO_COLUMN_TEXT;
    }
}

enum rondo_err rondo_mysql_row_begin(struct rondo_mysql_row *row, MYSQL_STMT *stmt) {
    MYSQL_RES *fields = mysql_stmt_result_metadata(stmt);
    if (!fields) return RONDO_ERR_LOAD;
    size_t n = mysql_num_fields(fields);
    enum rondo_err err = make_room(row, n);
    if (err) {
        mysql_free_result(fields);
        return err;
    }
    row->n = n;
    row->fields = fields;
    for (size_t i = 0; i < n; i++) {
        struct rondo_mysql_cell *cell = &row->cells[i];
        const MYSQL_FIELD *field = mysql_fetch_field_direct(fields, (unsigned)i);
        row->binds[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                                     .buffer = cell->small,
                                     .buffer_length = SMALL,
                                     .length = &cell->length,
                                     .is_null = &cell->is_null,
                                     .error = &cell->is_cut};
        row->columns[i].name = field->name;
        row->columns[i].kind = kind_of(field);
    }
    return mysql_stmt_bind_result(stmt, row->binds) ? RONDO_ERR_LOAD : RONDO_OK;
}

static enum rondo_err fetch_large(struct rondo_mysql_row *row, MYSQL_STMT *stmt, size_t i) {
    struct rondo_mysql_cell *cell = &row->cells[i];
    MYSQL_BIND bind = row->binds[i];
    cell->large.len = 0;
    enum rondo_err err = rondo_buf_reserve(&cell->large, cell->length);
    if (err) return err;
    bind.buffer = cell->large.data;
    bind.buffer_length = cell->length;
    return mysql_stmt_fetch_column(stmt, &bind, (unsigned)i, 0) ? RONDO_ERR_LOAD : RONDO_OK;
}

enum rondo_err rondo_mysql_row_next(struct rondo_mysql_row *row, MYSQL_STMT *stmt, bool *more) {
    int rc = mysql_stmt_fetch(stmt);
    *more = rc == 0 || rc == MYSQL_DATA_TRUNCATED;
    if (!*more) return rc == MYSQL_NO_DATA ? RONDO_OK : RONDO_ERR_LOAD;
    for (size_t i = 0; i < row->n; i++) {
        struct rondo_mysql_cell *cell = &row->cells[i];
        const char *bytes = cell->small;
        if (!cell->is_null && cell->length > SMALL) {
            enum rondo_err err = fetch_large(row, stmt, i);
            if (err) return err;
            bytes = cell->large.data;
        }
        row->columns[i].is_null = cell->is_null;
        row->columns[i].bytes = rondo_slice_of(bytes, cell->is_null ? 0 : cell->length);
    }
    return RONDO_OK;
}
