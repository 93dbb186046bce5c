/* SPDX-License-Identifier: MIT */
#include "source/rows.h"

#include "base/mem.h"

enum found { NOTHING, VALUE, NULL_VALUE, TWICE };

struct rondo_rows_key {
    enum found found;
    bool is_alone; /* asked for by `load` */
    struct rondo_buf value;
};

enum { PLAIN_DIGITS = 15 }; /* a double holds them all */

bool rondo_rows_is_plain_number(struct rondo_slice s) {
    const char *p = s.data;
    size_t sign = s.len && p[0] == '-' ? 1 : 0, digits = s.len - sign;
    if (digits == 0 || digits > PLAIN_DIGITS) return false;
    if (p[sign] == '0') return s.len == 1;
    for (size_t i = sign; i < s.len; i++)
        if (p[i] < '0' || p[i] > '9') return false;
    return true;
}

/* ------------------------------------------------------------------- rows --- */

static void rows_fini(struct rondo_rows *rows) {
    for (size_t i = 0; rows->keys && i < rows->load->n; i++) rondo_buf_fini(&rows->keys[i].value);
    rondo_free(rows->keys);
    rondo_free(rows->asked);
}

static enum rondo_err rows_init(struct rondo_rows *rows, const struct rondo_load *load) {
    *rows = (struct rondo_rows){.load = load};
    rows->asked = rondo_zalloc(load->n * sizeof *rows->asked);
    rows->keys = rondo_zalloc(load->n * sizeof *rows->keys);
    return rows->asked && rows->keys ? RONDO_OK : RONDO_ERR_NOMEM;
}

struct rondo_slice rondo_rows_asked(const struct rondo_rows *rows, size_t k) {
    return rows->load->keys[rows->asked[k]].params[0];
}

static struct rondo_rows_key *find_key(struct rondo_rows *rows, struct rondo_slice name) {
    for (size_t k = 0; k < rows->n_asked; k++)
        if (rondo_slice_eq(rondo_rows_asked(rows, k), name)) return &rows->keys[rows->asked[k]];
    return NULL;
}

enum rondo_err rondo_rows_take(struct rondo_rows *rows, const struct rondo_column *columns,
                               size_t n, struct rondo_source_error *why) {
    if (n < 2) {
        snprintf(why->text, sizeof why->text,
                 "load_many needs two columns or more: the key's parameter, then the value");
        return RONDO_ERR_LOAD;
    }
    struct rondo_rows_key *key = columns[0].is_null ? NULL : find_key(rows, columns[0].bytes);
    if (!key) {
        rows->has_strays = true;
        return RONDO_OK;
    }
    if (key->found != NOTHING) {
        key->found = TWICE;
        return RONDO_OK;
    }
    bool is_null;
    enum rondo_err err = rondo_column_value(columns + 1, n - 1, &key->value, &is_null, why);
    if (!err) key->found = is_null ? NULL_VALUE : VALUE;
    return err;
}

void rondo_rows_restart(struct rondo_rows *rows) {
    rows->has_strays = false;
    for (size_t k = 0; k < rows->n_asked; k++) {
        struct rondo_rows_key *key = &rows->keys[rows->asked[k]];
        key->found = NOTHING;
        key->value.len = 0;
    }
}

/* ---------------------------------------------------------------- answers --- */

/* What err says where nothing else does. */
static const char *text_of(enum rondo_err err, const struct rondo_source_error *why) {
    return why->text[0] ? why->text : rondo_err_text(err);
}

/* Returns an error only if the next key would meet it, too. */
static enum rondo_err answer_one(const struct rondo_rows_driver *driver, void *connection,
                                 const struct rondo_load *load, size_t i,
                                 struct rondo_source_error *why) {
    struct rondo_buf value = {0};
    bool is_absent = false;
    why->text[0] = '\0';
    enum rondo_err err = driver->one(connection, &load->keys[i], &value, &is_absent, why);
    if (err)
        rondo_load_fail(load, i, err, text_of(err, why));
    else if (is_absent)
        rondo_load_absent(load, i);
    else
        rondo_load_value(load, i, value.data, value.len, 0);
    rondo_buf_fini(&value);
    return err == RONDO_ERR_CONNECT || err == RONDO_ERR_TIMEOUT ? err : RONDO_OK;
}

static void answer_found(const struct rondo_load *load, size_t i,
                         const struct rondo_rows_key *key) {
    if (key->found == VALUE)
        rondo_load_value(load, i, key->value.data, key->value.len, 0);
    else if (key->found == TWICE)
        rondo_load_fail(load, i, RONDO_ERR_LOAD, "load_many: more than one row for one key");
    else
        rondo_load_absent(load, i);
}

/* Answers all; `rows` NULL: each key alone. */
static void answer(const struct rondo_rows_driver *driver, void *connection,
                   const struct rondo_load *load, const struct rondo_rows *rows) {
    struct rondo_source_error why = {""};
    enum rondo_err broken = RONDO_OK;
    for (size_t i = 0; i < load->n; i++) {
        if (rows && !rows->keys[i].is_alone)
            answer_found(load, i, &rows->keys[i]);
        else if (broken)
            rondo_load_fail(load, i, broken, text_of(broken, &why));
        else
            broken = answer_one(driver, connection, load, i, &why);
    }
}

/* ------------------------------------------------------------------ batch --- */

static void ask_what_fits(struct rondo_rows *rows, const struct rondo_rows_driver *driver,
                          void *connection) {
    for (size_t i = 0; i < rows->load->n; i++) {
        rows->keys[i].is_alone =
            driver->fits && !driver->fits(connection, rows->load->keys[i].params[0]);
        if (!rows->keys[i].is_alone) rows->asked[rows->n_asked++] = i;
    }
    if (rows->n_asked != 1) return;
    rows->keys[rows->asked[0]].is_alone = true;
    rows->n_asked = 0;
}

static bool all_plain(const struct rondo_rows *rows) {
    for (size_t k = 0; k < rows->n_asked; k++)
        if (!rondo_rows_is_plain_number(rondo_rows_asked(rows, k))) return false;
    return true;
}

/* Keeps in `asked` what has no row. */
static void ask_the_missing(struct rondo_rows *rows) {
    size_t n = 0;
    for (size_t k = 0; k < rows->n_asked; k++)
        if (rows->keys[rows->asked[k]].found == NOTHING) rows->asked[n++] = rows->asked[k];
    rows->n_asked = n;
}

static enum rondo_err run_batch(struct rondo_rows *rows, const struct rondo_rows_driver *driver,
                                void *connection, struct rondo_source_error *why) {
    enum rondo_err err = driver->prepare ? driver->prepare(connection, why) : RONDO_OK;
    if (err) return err;
    ask_what_fits(rows, driver, connection);
    if (rows->n_asked == 0) return RONDO_OK;
    size_t n_first = rows->n_asked;
    bool plain = all_plain(rows);
    err = driver->many(connection, rows, why);
    if (err) return err;
    ask_the_missing(rows);
    if (!rows->has_strays && rows->n_asked && rows->n_asked < n_first && !plain) {
        err = driver->many(connection, rows, why);
        if (err) return err;
        ask_the_missing(rows);
    }
    for (size_t k = 0; rows->has_strays && k < rows->n_asked; k++)
        rows->keys[rows->asked[k]].is_alone = true;
    return RONDO_OK;
}

void rondo_rows_load(const struct rondo_rows_driver *driver, void *connection,
                     const struct rondo_load *load, bool has_many) {
    struct rondo_source_error why = {""};
    struct rondo_rows rows;
    if (load->n < 2 || !has_many) {
        answer(driver, connection, load, NULL);
        return;
    }
    enum rondo_err err = rows_init(&rows, load);
    if (!err) err = run_batch(&rows, driver, connection, &why);
    if (err)
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, err, text_of(err, &why));
    else
        answer(driver, connection, load, &rows);
    rows_fini(&rows);
}
