/* SPDX-License-Identifier: MIT */
/*
 * The source `postgres`: a loadable object, one connection per pool thread.
 *
 * load_many is one statement for all keys of a call: its place is bound to one
 * parameter, an array of the keys' parameters as PostgreSQL writes arrays, whose
 * type the server infers (`id = ANY({id})`).  rows.h says how rows find their keys.
 */
#include "source/postgres_run.h"
#include "source/rows.h"
#include "source/settings.h"
#include "source/utf8.h"

#include "base/clock.h"
#include "base/mem.h"

static const struct rondo_source_option options[] = {
    {"url", RONDO_SETTING_TEXT, true, true,
     "the server and database, postgresql://user:password@host:port/database"},
    {"load", RONDO_SETTING_TEMPLATE, true, false,
     "the SELECT for one key, with its {parameters}: one row, or none if the key is absent"},
    {"load_many", RONDO_SETTING_TEMPLATE, false, false,
     "the SELECT for many: its {parameter} is an array, as in id = ANY({id}); the first column "
     "says which key the row is for"},
    {"store", RONDO_SETTING_TEMPLATE, false, false,
     "the statement that writes {value} under the key's {parameters}"},
    {"erase", RONDO_SETTING_TEMPLATE, false, false,
     "the statement that removes the key's {parameters}"},
    {"connect_timeout", RONDO_SETTING_DURATION, false, false,
     "longest that making a connection may take, within the call's time limit; default 5s"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

enum { BATCH = 1000 };

struct postgres {
    struct rondo_postgres_plan plan;
};

/* ----------------------------------------------------------- open, close --- */

static enum rondo_err refuse_url(const struct rondo_source_config *config, const char *text) {
    rondo_settings_mistake(config, "url", "%s", text);
    return RONDO_ERR_CONFIG;
}

/* libpq's own words about a URL could quote the password that is in it. */
static enum rondo_err check_url(const struct rondo_source_config *config, const char *url) {
    char *text = NULL;
    const char *wrong = NULL;
    if (strncmp(url, "postgresql://", 13) != 0 && strncmp(url, "postgres://", 11) != 0)
        return refuse_url(config, "it begins with postgresql://");
    PQconninfoOption *parts = PQconninfoParse(url, &text);
    if (!parts && !text) return RONDO_ERR_NOMEM;
    if (!parts)
        wrong = "it does not read as postgresql://user:password@host:port/database?option=value "
                "(special characters are written as %XX)";
    for (const PQconninfoOption *p = parts; p && p->keyword; p++)
        if (strcmp(p->keyword, "host") == 0 && p->val && strchr(p->val, '@'))
            wrong = "it has more than one @: one in a user or password is written as %40";
    PQfreemem(text);
    PQconninfoFree(parts);
    return wrong ? refuse_url(config, wrong) : RONDO_OK;
}

static enum rondo_err open_settings(const struct rondo_source_config *config, struct postgres *s) {
    const char *url = rondo_settings_get(config, "url");
    enum rondo_err url_err = check_url(config, url);
    enum rondo_err sql_err = rondo_sql_open(config, '$', &s->plan.sql);
    s->plan.connect_ns = 5 * RONDO_SEC;
    bool good = rondo_settings_duration(config, "connect_timeout", &s->plan.connect_ns);
    if (good && s->plan.connect_ns == 0) {
        rondo_settings_mistake(config, "connect_timeout", "it cannot be off");
        good = false;
    }
    if (url_err == RONDO_ERR_NOMEM || sql_err == RONDO_ERR_NOMEM) return RONDO_ERR_NOMEM;
    if (url_err || sql_err || !good) return RONDO_ERR_CONFIG;
    s->plan.url = rondo_strdup(url);
    return s->plan.url ? RONDO_OK : RONDO_ERR_NOMEM;
}

static void postgres_close(void *source) {
    struct postgres *s = source;
    rondo_sql_fini(&s->plan.sql);
    rondo_backoff_fini(&s->plan.backoff);
    rondo_free(s->plan.url);
    rondo_free(s);
}

static enum rondo_err postgres_open(const struct rondo_source_config *config, void **out) {
    struct postgres *s = rondo_zalloc(sizeof *s);
    if (!s) return RONDO_ERR_NOMEM;
    rondo_backoff_init(&s->plan.backoff);
    enum rondo_err err = open_settings(config, s);
    if (err)
        postgres_close(s);
    else
        *out = s;
    return err;
}

static size_t postgres_batch(const void *source) {
    const struct postgres *s = source;
    return s->plan.sql.templates[RONDO_SQL_LOAD_MANY] ? BATCH : 1;
}

static unsigned postgres_writes(const void *source) {
    return rondo_sql_writes(&((const struct postgres *)source)->plan.sql);
}

static enum rondo_err postgres_connect(void *source, struct rondo_source_error *why, void **out) {
    struct rondo_postgres_conn *conn;
    enum rondo_err err = rondo_postgres_conn_new(&((struct postgres *)source)->plan, why, &conn);
    if (!err) *out = conn;
    return err;
}

static void postgres_disconnect(void *connection) {
    rondo_postgres_conn_free(connection);
}

static void postgres_cancel(void *connection) {
    rondo_postgres_conn_cancel(connection);
}

/* ------------------------------------------------------------------ loads --- */

static enum rondo_err load_one(void *connection, const struct rondo_load_key *key,
                               struct rondo_buf *value, bool *is_absent,
                               struct rondo_source_error *why) {
    struct rondo_postgres_conn *conn = connection;
    return rondo_sql_load_one(rondo_postgres_run, conn, &conn->plan->sql, key, value, is_absent,
                              why);
}

static Oid array_type(const struct rondo_postgres_conn *conn) {
    return conn->statements[RONDO_SQL_LOAD_MANY].params[0];
}

static enum rondo_err prepare_many(void *connection, struct rondo_source_error *why) {
    return rondo_postgres_run_prepare(connection, RONDO_SQL_LOAD_MANY, why);
}

/* One element that the server cannot read spoils the array for all. */
static bool fits(void *connection, struct rondo_slice param) {
    switch (array_type(connection)) {
    case RONDO_POSTGRES_BYTEAS:
        return true;
    case RONDO_POSTGRES_INT2S:
        return param.len <= 4 && rondo_rows_is_plain_number(param);
    case RONDO_POSTGRES_INT4S:
        return param.len <= 9 && rondo_rows_is_plain_number(param);
    case RONDO_POSTGRES_INT8S:
        return rondo_rows_is_plain_number(param);
    default:
        return rondo_utf8_is_valid(param) && !(param.len && memchr(param.data, '\0', param.len));
    }
}

static enum rondo_err append_bytea(struct rondo_buf *out, struct rondo_slice s) {
    static const char digits[] = "0123456789abcdef";
    enum rondo_err err = rondo_buf_append_str(out, "\"\\\\x");
    for (size_t i = 0; !err && i < s.len; i++) {
        unsigned byte = ((const unsigned char *)s.data)[i];
        const char pair[] = {digits[byte >> 4], digits[byte & 15]};
        err = rondo_buf_append(out, pair, 2);
    }
    return err ? err : rondo_buf_append_str(out, "\"");
}

static enum rondo_err append_text(struct rondo_buf *out, struct rondo_slice s) {
    const char *text = s.data;
    enum rondo_err err = rondo_buf_append_str(out, "\"");
    for (size_t i = 0; !err && i < s.len; i++) {
        if (text[i] == '"' || text[i] == '\\') err = rondo_buf_append_str(out, "\\");
        if (!err) err = rondo_buf_append(out, &text[i], 1);
    }
    return err ? err : rondo_buf_append_str(out, "\"");
}

static enum rondo_err list_keys(const struct rondo_rows *rows, bool bytea, struct rondo_buf *out) {
    enum rondo_err err = rondo_buf_append_str(out, "{");
    for (size_t k = 0; !err && k < rows->n_asked; k++) {
        if (k) err = rondo_buf_append_str(out, ",");
        if (!err) err = (bytea ? append_bytea : append_text)(out, rondo_rows_asked(rows, k));
    }
    return err ? err : rondo_buf_append_str(out, "}");
}

static enum rondo_err load_many(void *connection, struct rondo_rows *rows,
                                struct rondo_source_error *why) {
    struct rondo_postgres_conn *conn = connection;
    struct rondo_buf list = {0};
    enum rondo_err err = list_keys(rows, array_type(conn) == RONDO_POSTGRES_BYTEAS, &list);
    struct rondo_slice value = rondo_slice_of(list.data, list.len);
    if (!err) err = rondo_sql_load_many(rondo_postgres_run, conn, rows, &value, 1, why);
    rondo_buf_fini(&list);
    return err;
}

static void postgres_load(void *connection, const struct rondo_load *load) {
    static const struct rondo_rows_driver driver = {load_one, load_many, prepare_many, fits};
    struct rondo_postgres_conn *conn = connection;
    rondo_postgres_conn_begin(conn, load->timeout_ns);
    rondo_rows_load(&driver, conn, load, conn->plan->sql.templates[RONDO_SQL_LOAD_MANY] != NULL);
}

/* ----------------------------------------------------------------- writes --- */

static enum rondo_err run_write(struct rondo_postgres_conn *conn, const struct rondo_store *store,
                                enum rondo_sql_statement which, struct rondo_source_error *why) {
    rondo_postgres_conn_begin(conn, store->timeout_ns);
    return rondo_sql_write(rondo_postgres_run, conn, &conn->plan->sql, which, store, why);
}

static enum rondo_err postgres_store(void *connection, const struct rondo_store *store,
                                     struct rondo_source_error *why) {
    return run_write(connection, store, RONDO_SQL_STORE, why);
}

static enum rondo_err postgres_erase(void *connection, const struct rondo_store *store,
                                     struct rondo_source_error *why) {
    return run_write(connection, store, RONDO_SQL_ERASE, why);
}

/* ---------------------------------------------------------------- plugin --- */

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "postgres",
    .help = "rows of a PostgreSQL database",
    .options = options,
    .open = postgres_open,
    .close = postgres_close,
    .batch = postgres_batch,
    .connect = postgres_connect,
    .disconnect = postgres_disconnect,
    .load = postgres_load,
    .store = postgres_store,
    .erase = postgres_erase,
    .cancel = postgres_cancel,
    .writes = postgres_writes,
};

__attribute__((visibility("default"))) const struct rondo_source_ops *rondo_source_plugin(void);

const struct rondo_source_ops *rondo_source_plugin(void) {
    return &ops;
}
