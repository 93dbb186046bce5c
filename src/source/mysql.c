/* SPDX-License-Identifier: MIT */
/*
 * The source `mysql`, for MySQL and MariaDB: a loadable object, one connection per
 * pool thread.
 *
 * load_many is one statement for all keys of a call, with a placeholder for each
 * (mysql_run.h).  rows.h says how rows find their keys.
 */
#include "source/mysql_run.h"
#include "source/settings.h"
#include "source/utf8.h"

#include "base/clock.h"
#include "base/mem.h"

static const struct rondo_source_option options[] = {
    {"url", RONDO_SETTING_TEXT, true, true,
     "the server and database, mysql://user:password@host:port/database"},
    {"load", RONDO_SETTING_TEMPLATE, true, false,
     "the SELECT for one key, with its {parameters}: one row, or none if the key is absent"},
    {"load_many", RONDO_SETTING_TEMPLATE, false, false,
     "the SELECT for many: its {parameter} is a list, as in id IN ({id}); the first column says "
     "which key the row is for"},
    {"store", RONDO_SETTING_TEMPLATE, false, false,
     "the statement that writes {value} under the key's {parameters}"},
    {"erase", RONDO_SETTING_TEMPLATE, false, false,
     "the statement that removes the key's {parameters}"},
    {"connect_timeout", RONDO_SETTING_DURATION, false, false,
     "longest that making a connection may take, within the call's time limit; default 5s"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

struct mysql {
    struct rondo_mysql_plan plan;
};

/* ----------------------------------------------------------- open, close --- */

static enum rondo_err check_url(const struct rondo_source_config *config,
                                struct rondo_mysql_url *out) {
    const char *wrong;
    enum rondo_err err = rondo_mysql_url_parse(rondo_settings_get(config, "url"), out, &wrong);
    if (err == RONDO_ERR_CONFIG) rondo_settings_mistake(config, "url", "%s", wrong);
    return err;
}

static enum rondo_err open_settings(const struct rondo_source_config *config, struct mysql *s) {
    enum rondo_err url_err = check_url(config, &s->plan.url);
    enum rondo_err sql_err = rondo_sql_open(config, '?', &s->plan.sql);
    s->plan.connect_ns = 5 * RONDO_SEC;
    bool good = rondo_settings_duration(config, "connect_timeout", &s->plan.connect_ns);
    if (good && s->plan.connect_ns == 0) {
        rondo_settings_mistake(config, "connect_timeout", "it cannot be off");
        good = false;
    }
    if (url_err == RONDO_ERR_NOMEM || sql_err == RONDO_ERR_NOMEM) return RONDO_ERR_NOMEM;
    return url_err || sql_err || !good ? RONDO_ERR_CONFIG : RONDO_OK;
}

static void source_close(void *source) {
    struct mysql *s = source;
    rondo_sql_fini(&s->plan.sql);
    rondo_backoff_fini(&s->plan.backoff);
    rondo_mysql_url_fini(&s->plan.url);
    rondo_free(s);
}

static enum rondo_err source_open(const struct rondo_source_config *config, void **out) {
    struct mysql *s = rondo_zalloc(sizeof *s);
    if (!s) return RONDO_ERR_NOMEM;
    if (mysql_library_init(0, NULL, NULL) != 0) {
        rondo_free(s);
        return RONDO_ERR_NOMEM;
    }
    rondo_backoff_init(&s->plan.backoff);
    enum rondo_err err = open_settings(config, s);
    if (err)
        source_close(s);
    else
        *out = s;
    return err;
}

static size_t source_batch(const void *source) {
    const struct mysql *s = source;
    return s->plan.sql.templates[RONDO_SQL_LOAD_MANY] ? RONDO_MYSQL_BATCH : 1;
}

static unsigned source_writes(const void *source) {
    return rondo_sql_writes(&((const struct mysql *)source)->plan.sql);
}

static enum rondo_err source_connect(void *source, struct rondo_source_error *why, void **out) {
    struct rondo_mysql_conn *conn;
    enum rondo_err err = rondo_mysql_conn_new(&((struct mysql *)source)->plan, why, &conn);
    if (!err) *out = conn;
    return err;
}

static void source_disconnect(void *connection) {
    rondo_mysql_conn_free(connection);
}

static void source_cancel(void *connection) {
    rondo_mysql_conn_cancel(connection);
}

/* ------------------------------------------------------------------ loads --- */

static enum rondo_err load_one(void *connection, const struct rondo_load_key *key,
                               struct rondo_buf *value, bool *is_absent,
                               struct rondo_source_error *why) {
    struct rondo_mysql_conn *conn = connection;
    return rondo_sql_load_one(rondo_mysql_run, conn, &conn->plan->sql, key, value, is_absent, why);
}

/* Bytes that are no text are an error to a column of text, which would spoil the batch
 * for the others. */
static bool fits(void *connection, struct rondo_slice param) {
    (void)connection;
    return rondo_utf8_is_valid(param);
}

static enum rondo_err load_many(void *connection, struct rondo_rows *rows,
                                struct rondo_source_error *why) {
    struct rondo_slice values[RONDO_MYSQL_BATCH];
    RONDO_CHECK(rows->n_asked <= RONDO_MYSQL_BATCH);
    for (size_t k = 0; k < rows->n_asked; k++) values[k] = rondo_rows_asked(rows, k);
    return rondo_sql_load_many(rondo_mysql_run, connection, rows, values, rows->n_asked, why);
}

static void source_load(void *connection, const struct rondo_load *load) {
    static const struct rondo_rows_driver driver = {load_one, load_many, NULL, fits};
    struct rondo_mysql_conn *conn = connection;
    rondo_mysql_conn_begin(conn, load->timeout_ns);
    rondo_rows_load(&driver, conn, load, conn->plan->sql.templates[RONDO_SQL_LOAD_MANY] != NULL);
}

/* ----------------------------------------------------------------- writes --- */

static enum rondo_err run_write(struct rondo_mysql_conn *conn, const struct rondo_store *store,
                                enum rondo_sql_statement which, struct rondo_source_error *why) {
    rondo_mysql_conn_begin(conn, store->timeout_ns);
    return rondo_sql_write(rondo_mysql_run, conn, &conn->plan->sql, which, store, why);
}

static enum rondo_err source_store(void *connection, const struct rondo_store *store,
                                   struct rondo_source_error *why) {
    return run_write(connection, store, RONDO_SQL_STORE, why);
}

static enum rondo_err source_erase(void *connection, const struct rondo_store *store,
                                   struct rondo_source_error *why) {
    return run_write(connection, store, RONDO_SQL_ERASE, why);
}

/* ---------------------------------------------------------------- plugin --- */

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "mysql",
    .help = "rows of a MySQL or MariaDB database",
    .options = options,
    .open = source_open,
    .close = source_close,
    .batch = source_batch,
    .connect = source_connect,
    .disconnect = source_disconnect,
    .load = source_load,
    .store = source_store,
    .erase = source_erase,
    .cancel = source_cancel,
    .writes = source_writes,
};

__attribute__((visibility("default"))) const struct rondo_source_ops *rondo_source_plugin(void);

const struct rondo_source_ops *rondo_source_plugin(void) {
    return &ops;
}
