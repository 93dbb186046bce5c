/* SPDX-License-Identifier: MIT */
#include "source/sql_call.h"

/* ---------------------------------------------------------------- one key --- */

struct only_row {
    struct rondo_buf *value;
    unsigned n;
    bool is_null;
};

static enum rondo_err take_only_row(void *arg, const struct rondo_column *columns, size_t n,
                                    struct rondo_source_error *why) {
    struct only_row *row = arg;
    if (row->n++) {
        snprintf(why->text, sizeof why->text, "more than one row for one key");
        return RONDO_ERR_LOAD;
    }
    return rondo_column_value(columns, n, row->value, &row->is_null, why);
}

static void forget_row(void *arg) {
    struct only_row *row = arg;
    row->n = 0;
    row->value->len = 0;
}

enum rondo_err rondo_sql_load_one(rondo_sql_run_fn run, void *connection,
                                  const struct rondo_sql *sql, const struct rondo_load_key *key,
                                  struct rondo_buf *value, bool *is_absent,
                                  struct rondo_source_error *why) {
    struct rondo_slice values[RONDO_SQL_PARAMS + 1];
    struct only_row row = {.value = value};
    struct rondo_sql_call call = {.which = RONDO_SQL_LOAD,
                                  .values = values,
                                  .n_values = sql->n_params + 1,
                                  .row = take_only_row,
                                  .restart = forget_row,
                                  .arg = &row};
    rondo_sql_values(sql, key, key->client, values);
    enum rondo_err err = run(connection, &call, why);
    *is_absent = row.n == 0 || row.is_null;
    return err;
}

/* -------------------------------------------------------------- many keys --- */

static enum rondo_err take_row(void *arg, const struct rondo_column *columns, size_t n,
                               struct rondo_source_error *why) {
    return rondo_rows_take(arg, columns, n, why);
}

static void forget_rows(void *arg) {
    rondo_rows_restart(arg);
}

enum rondo_err rondo_sql_load_many(rondo_sql_run_fn run, void *connection, struct rondo_rows *rows,
                                   const struct rondo_slice *values, size_t n_values,
                                   struct rondo_source_error *why) {
    struct rondo_sql_call call = {.which = RONDO_SQL_LOAD_MANY,
                                  .values = values,
                                  .n_values = n_values,
                                  .row = take_row,
                                  .restart = forget_rows,
                                  .arg = rows};
    return run(connection, &call, why);
}

/* ----------------------------------------------------------------- writes --- */

static enum rondo_err as_write_error(enum rondo_err err, struct rondo_source_error *why) {
    if (err && !why->text[0]) snprintf(why->text, sizeof why->text, "%s", rondo_err_text(err));
    return err == RONDO_OK || err == RONDO_ERR_CONNECT || err == RONDO_ERR_TIMEOUT
               ? err
               : RONDO_ERR_STORE;
}

enum rondo_err rondo_sql_write(rondo_sql_run_fn run, void *connection, const struct rondo_sql *sql,
                               enum rondo_sql_statement which, const struct rondo_store *store,
                               struct rondo_source_error *why) {
    struct rondo_slice values[RONDO_SQL_PARAMS + 1];
    struct rondo_sql_call call = {.which = which, .values = values, .n_values = sql->n_params + 1};
    why->text[0] = '\0';
    if (!sql->templates[which]) {
        snprintf(why->text, sizeof why->text, "the source has no `%s` statement",
                 rondo_sql_names[which]);
        return RONDO_ERR_STORE;
    }
    rondo_sql_values(sql, &store->key, store->value, values);
    enum rondo_err err = run(connection, &call, why);
    if (!err && which == RONDO_SQL_STORE && call.changed_nothing) {
        snprintf(why->text, sizeof why->text, "store: it changed no row");
        err = RONDO_ERR_STORE;
    }
    return as_write_error(err, why);
}
