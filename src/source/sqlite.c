/* SPDX-License-Identifier: MIT */
/*
 * The source `sqlite`: a loadable object, one connection per pool thread.
 *
 * load_many is one statement for all keys of a call: its one place is bound to a
 * JSON array of the keys' parameters, which the statement unpacks by json_each.
 * Rows find their keys by the first column, compared as bytes.  Where SQLite could
 * take a key for equal to a row that reads otherwise ("042" and 42, or by a
 * collation), the key is asked for alone, so that a batch never answers what a
 * single load would not.
 */
#include "source/settings.h"
#include "source/sqlite_conn.h"
#include "source/sqlite_row.h"
#include "source/utf8.h"

#include "base/clock.h"
#include "base/mem.h"
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct rondo_source_option options[] = {
    {"file", RONDO_SETTING_PATH, true, false, "the database; it must exist"},
    {"load", RONDO_SETTING_TEMPLATE, true, false,
     "the SELECT for one key, with its {parameters}: one row, or none if the key is absent"},
    {"load_many", RONDO_SETTING_TEMPLATE, false, false,
     "the SELECT for many: its {parameter} is a JSON array, as in id IN (SELECT value FROM "
     "json_each({id})); the first column says which key the row is for"},
    {"store", RONDO_SETTING_TEMPLATE, false, false,
     "the statement that writes {value} under the key's {parameters}"},
    {"erase", RONDO_SETTING_TEMPLATE, false, false,
     "the statement that removes the key's {parameters}"},
    {"busy_timeout", RONDO_SETTING_DURATION, false, false,
     "longest wait for a lock, within the call's time limit; default 5s, off: none"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

enum { MAX_PARAMS = 16, BATCH = 1000 };

struct sqlite {
    struct rondo_sqlite_plan plan;
    size_t n_params;
};

/* ----------------------------------------------------------- open, close --- */

static enum rondo_err refuse(const struct rondo_source_config *config, const char *setting,
                             const char *text) {
    rondo_settings_mistake(config, setting, "%s", text);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err open_file(const struct rondo_source_config *config, struct sqlite *s) {
    const char *path = rondo_settings_get(config, "file");
    struct stat st;
    const char *wrong = NULL;
    if (stat(path, &st) != 0)
        wrong = errno == ENOENT ? "there is no such file" : strerror(errno);
    else if (!S_ISREG(st.st_mode))
        wrong = "this is not a file";
    else if (access(path, R_OK) != 0)
        wrong = "it cannot be read";
    if (wrong) {
        rondo_settings_mistake(config, "file", "found \"%s\": %s", path, wrong);
        return RONDO_ERR_CONFIG;
    }
    s->plan.file = rondo_strdup(path);
    return s->plan.file ? RONDO_OK : RONDO_ERR_NOMEM;
}

/* What an empty database can say about a statement: whether it is SQL at all. Not
 * knowing its tables is no mistake. */
static enum rondo_err check_syntax(const struct rondo_source_config *config, const char *setting,
                                   const char *sql) {
    static const char *const signs[] = {"near \"", "unrecognized token", "incomplete input"};
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    enum rondo_err err = RONDO_OK;
    if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_NOMEM)
        err = RONDO_ERR_NOMEM;
    for (size_t i = 0; !err && i < RONDO_COUNT_OF(signs); i++)
        if (strncmp(sqlite3_errmsg(db), signs[i], strlen(signs[i])) == 0)
            err = refuse(config, setting, sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return err;
}

static bool begins_with_word(const char *sql, const char *word) {
    size_t len = strlen(word);
    return strncasecmp(sql, word, len) == 0 && !isalnum((unsigned char)sql[len]);
}

/* What is wrong with a statement beside its syntax, NULL if nothing. */
static const char *unfit(enum rondo_sqlite_statement which, const char *text, uint32_t used,
                         size_t n_params) {
    const char *sql = text + strspn(text, " \t\r\n");
    uint32_t value = UINT32_C(1) << n_params, params = value - 1;
    if (sql[0] == '\0') return "an empty statement";
    if (which == RONDO_SQLITE_STORE) return used & value ? NULL : "it has no place for {value}";
    if (which == RONDO_SQLITE_ERASE) return used & params ? NULL : "it has no place for the key";
    if (isalpha((unsigned char)sql[0]) && !begins_with_word(sql, "SELECT") &&
        !begins_with_word(sql, "WITH") && !begins_with_word(sql, "VALUES"))
        return "a statement that reads begins with SELECT, WITH or VALUES";
    if (which == RONDO_SQLITE_LOAD_MANY && n_params != 1)
        return "it needs a key with exactly one parameter";
    if (which == RONDO_SQLITE_LOAD_MANY && used != params) return "it has no place for the keys";
    return NULL;
}

static enum rondo_err open_statement(const struct rondo_source_config *config, struct sqlite *s,
                                     enum rondo_sqlite_statement which) {
    static const char *const value[] = {"value"}, *const client[] = {"client"};
    const char *name = rondo_sqlite_statement_names[which];
    const char *text = rondo_settings_get(config, name);
    if (!text) return RONDO_OK;
    struct rondo_template_names names = {config->params, config->n_params, NULL, 0};
    names.words = which == RONDO_SQLITE_STORE ? value : client;
    names.n_words = which == RONDO_SQLITE_LOAD || which == RONDO_SQLITE_STORE;
    struct rondo_source_error why;
    struct rondo_template *t;
    enum rondo_err err = rondo_template_new(text, &names, &why, &t);
    if (err) return err == RONDO_ERR_CONFIG ? refuse(config, name, why.text) : err;
    const char *wrong = unfit(which, text, t->used, config->n_params);
    err = wrong ? refuse(config, name, wrong)
                : rondo_template_to_sql(t, '?', &why, &s->plan.sql[which]);
    if (!wrong && err == RONDO_ERR_CONFIG) refuse(config, name, why.text);
    if (!err) err = check_syntax(config, name, s->plan.sql[which].text);
    rondo_template_free(t);
    return err;
}

static void sqlite_close(void *source) {
    struct sqlite *s = source;
    for (int i = 0; i < RONDO_SQLITE_STATEMENTS; i++) rondo_template_sql_fini(&s->plan.sql[i]);
    rondo_free(s->plan.file);
    rondo_free(s);
}

/* All mistakes are told; running out of memory ends it. */
static enum rondo_err open_settings(const struct rondo_source_config *config, struct sqlite *s) {
    enum rondo_err worst = open_file(config, s);
    for (int i = 0; worst != RONDO_ERR_NOMEM && i < RONDO_SQLITE_STATEMENTS; i++) {
        enum rondo_err err = open_statement(config, s, (enum rondo_sqlite_statement)i);
        if (err) worst = err;
    }
    s->plan.busy_ns = 5 * RONDO_SEC;
    if (!rondo_settings_duration(config, "busy_timeout", &s->plan.busy_ns) && !worst)
        worst = RONDO_ERR_CONFIG;
    return worst;
}

static enum rondo_err sqlite_open(const struct rondo_source_config *config, void **out) {
    if (config->n_params > MAX_PARAMS) return refuse(config, NULL, "more than 16 parameters");
    struct sqlite *s = rondo_zalloc(sizeof *s);
    if (!s) return RONDO_ERR_NOMEM;
    s->n_params = config->n_params;
    enum rondo_err err = open_settings(config, s);
    if (err)
        sqlite_close(s);
    else
        *out = s;
    return err;
}

static size_t sqlite_batch(const void *source) {
    const struct sqlite *s = source;
    return s->plan.sql[RONDO_SQLITE_LOAD_MANY].text ? BATCH : 1;
}

static unsigned sqlite_writes(const void *source) {
    const struct sqlite *s = source;
    return (s->plan.sql[RONDO_SQLITE_STORE].text ? RONDO_SOURCE_STORES : 0u) |
           (s->plan.sql[RONDO_SQLITE_ERASE].text ? RONDO_SOURCE_ERASES : 0u);
}

/* ----------------------------------------------------------- connection --- */

struct connection {
    struct rondo_sqlite_conn *conn;
    size_t n_params;
};

static enum rondo_err sqlite_connect(void *source, struct rondo_source_error *why, void **out) {
    const struct sqlite *s = source;
    struct connection *c = rondo_zalloc(sizeof *c);
    if (!c) return RONDO_ERR_NOMEM;
    c->n_params = s->n_params;
    enum rondo_err err = rondo_sqlite_conn_new(&s->plan, why, &c->conn);
    if (err)
        rondo_free(c);
    else
        *out = c;
    return err;
}

static void sqlite_disconnect(void *connection) {
    struct connection *c = connection;
    rondo_sqlite_conn_free(c->conn);
    rondo_free(c);
}

static void sqlite_cancel(void *connection) {
    rondo_sqlite_conn_cancel(((struct connection *)connection)->conn);
}

/* --------------------------------------------------------- one key's load --- */

/* The value of the row that the load statement stands on, if it is the only one. */
static enum rondo_err only_row(struct connection *c, sqlite3_stmt *stmt, struct rondo_buf *value,
                               bool *is_absent, struct rondo_source_error *why) {
    bool more;
    enum rondo_err err = rondo_sqlite_row_value(stmt, 0, value, is_absent, why);
    if (!err) err = rondo_sqlite_conn_step(c->conn, RONDO_SQLITE_LOAD, &more, why);
    if (err || !more) return err;
    snprintf(why->text, sizeof why->text, "load: more than one row for one key");
    return RONDO_ERR_LOAD;
}

static enum rondo_err query_one(struct connection *c, const struct rondo_load_key *key,
                                struct rondo_buf *value, bool *is_absent,
                                struct rondo_source_error *why) {
    struct rondo_slice values[MAX_PARAMS + 1];
    sqlite3_stmt *stmt;
    bool has_row;
    for (size_t i = 0; i < c->n_params; i++) values[i] = key->params[i];
    values[c->n_params] = key->client;
    enum rondo_err err = rondo_sqlite_conn_bind(c->conn, RONDO_SQLITE_LOAD, values, why, &stmt);
    if (err) return err;
    err = rondo_sqlite_conn_step(c->conn, RONDO_SQLITE_LOAD, &has_row, why);
    *is_absent = !err && !has_row;
    if (!err && has_row) err = only_row(c, stmt, value, is_absent, why);
    rondo_sqlite_conn_done(stmt);
    return err;
}

/* What err says where nothing else does. */
static const char *text_of(enum rondo_err err, const struct rondo_source_error *why) {
    return why->text[0] ? why->text : rondo_err_text(err);
}

static void load_one(struct connection *c, const struct rondo_load *load, size_t i) {
    struct rondo_source_error why = {""};
    struct rondo_buf value = {0};
    bool is_absent = false;
    enum rondo_err err = query_one(c, &load->keys[i], &value, &is_absent, &why);
    if (err)
        rondo_load_fail(load, i, err, text_of(err, &why));
    else if (is_absent)
        rondo_load_absent(load, i);
    else
        rondo_load_value(load, i, value.data, value.len, 0);
    rondo_buf_fini(&value);
}

/* ------------------------------------------------------------- load_many --- */

enum found { NOTHING, VALUE, NULL_VALUE, TWICE, ALONE };

struct batch {
    const struct rondo_load *load;
    enum found *found;        /* per key */
    struct rondo_buf *values; /* per key */
    bool stray;               /* a row came that is no key's, read as bytes */
};

static void batch_fini(struct batch *b) {
    for (size_t i = 0; b->values && i < b->load->n; i++) rondo_buf_fini(&b->values[i]);
    rondo_free(b->values);
    rondo_free(b->found);
}

static enum rondo_err batch_init(struct batch *b, const struct rondo_load *load) {
    *b = (struct batch){.load = load};
    b->found = rondo_zalloc(load->n * sizeof *b->found);
    b->values = rondo_zalloc(load->n * sizeof *b->values);
    return b->found && b->values ? RONDO_OK : RONDO_ERR_NOMEM;
}

/* A number as SQLite itself would print it, or no number at all. */
static bool reads_one_way(struct rondo_slice s) {
    const char *p = s.data;
    size_t digits = s.len && p[0] == '-' ? 1 : 0;
    if (s.len == 0) return true;
    if (memchr(p, '\0', s.len) || !rondo_utf8_is_valid(s)) return false; /* not in JSON, either */
    if (!strchr("+-. \t\r\n\v\f0123456789", p[0])) return true;
    if (s.len - digits > 18 || s.len == digits) return false;
    if (p[digits] == '0') return s.len == 1;
    for (size_t i = digits; i < s.len; i++)
        if (p[i] < '0' || p[i] > '9') return false;
    return true;
}

/* The JSON array of the parameters that can be asked for together, NULL when out of
 * memory (free()); the others are marked. */
static char *list_keys(struct batch *b) {
    json_t *array = json_array();
    char *text = NULL;
    for (size_t i = 0; array && i < b->load->n; i++) {
        struct rondo_slice p = b->load->keys[i].params[0];
        if (!reads_one_way(p)) {
            b->found[i] = ALONE;
        } else if (json_array_append_new(array, json_stringn(p.len ? p.data : "", p.len)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    if (array) text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

static size_t find_key(const struct batch *b, struct rondo_slice name) {
    size_t i = 0;
    while (i < b->load->n &&
           (b->found[i] == ALONE || !rondo_slice_eq(b->load->keys[i].params[0], name)))
        i++;
    return i;
}

static enum rondo_err take_row(struct batch *b, sqlite3_stmt *stmt,
                               struct rondo_source_error *why) {
    bool is_null;
    if (sqlite3_column_count(stmt) < 2) {
        snprintf(why->text, sizeof why->text, "load_many: the result has lost its value's column");
        return RONDO_ERR_LOAD;
    }
    size_t i = find_key(b, rondo_sqlite_row_bytes(stmt, 0));
    if (i == b->load->n) {
        b->stray = true;
        return RONDO_OK;
    }
    if (b->found[i] != NOTHING) {
        b->found[i] = TWICE;
        return RONDO_OK;
    }
    enum rondo_err err = rondo_sqlite_row_value(stmt, 1, &b->values[i], &is_null, why);
    if (!err) b->found[i] = is_null ? NULL_VALUE : VALUE;
    return err;
}

static enum rondo_err query_many(struct connection *c, struct batch *b, const char *list,
                                 struct rondo_source_error *why) {
    struct rondo_slice values[] = {rondo_slice_str(list)};
    sqlite3_stmt *stmt;
    bool has_row = true;
    enum rondo_err err =
        rondo_sqlite_conn_bind(c->conn, RONDO_SQLITE_LOAD_MANY, values, why, &stmt);
    if (err) return err;
    while (!err) {
        err = rondo_sqlite_conn_step(c->conn, RONDO_SQLITE_LOAD_MANY, &has_row, why);
        if (err || !has_row) break;
        err = take_row(b, stmt, why);
    }
    rondo_sqlite_conn_done(stmt);
    return err;
}

static void answer_many(struct connection *c, struct batch *b) {
    for (size_t i = 0; i < b->load->n; i++) {
        enum found found = b->found[i];
        if (found == VALUE)
            rondo_load_value(b->load, i, b->values[i].data, b->values[i].len, 0);
        else if (found == TWICE)
            rondo_load_fail(b->load, i, RONDO_ERR_LOAD, "load_many: more than one row for one key");
        else if (found == ALONE || (found == NOTHING && b->stray))
            load_one(c, b->load, i);
        else
            rondo_load_absent(b->load, i);
    }
}

static void load_many(struct connection *c, const struct rondo_load *load) {
    struct rondo_source_error why = {""};
    struct batch b;
    enum rondo_err err = batch_init(&b, load);
    if (!err) {
        char *list = list_keys(&b);
        err = list ? query_many(c, &b, list, &why) : RONDO_ERR_NOMEM;
        free(list);
    }
    if (err)
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, err, text_of(err, &why));
    else
        answer_many(c, &b);
    batch_fini(&b);
}

static void sqlite_load(void *connection, const struct rondo_load *load) {
    struct connection *c = connection;
    struct rondo_source_error why = {""};
    enum rondo_err err = rondo_sqlite_conn_begin(c->conn, load->timeout_ns, &why);
    if (err) {
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, err, text_of(err, &why));
        return;
    }
    if (load->n > 1 && c->conn->plan->sql[RONDO_SQLITE_LOAD_MANY].text) {
        load_many(c, load);
        return;
    }
    for (size_t i = 0; i < load->n; i++) load_one(c, load, i);
}

/* ---------------------------------------------------------------- writes --- */

/* Runs a statement to its end: one with RETURNING has rows. */
static enum rondo_err run(struct connection *c, enum rondo_sqlite_statement which,
                          const struct rondo_slice *values, struct rondo_source_error *why) {
    sqlite3_stmt *stmt;
    bool has_row = true;
    enum rondo_err err = rondo_sqlite_conn_bind(c->conn, which, values, why, &stmt);
    if (err) return err;
    while (!err && has_row) err = rondo_sqlite_conn_step(c->conn, which, &has_row, why);
    if (!err && which == RONDO_SQLITE_STORE && sqlite3_changes(c->conn->db) == 0) {
        snprintf(why->text, sizeof why->text, "store: it changed no row");
        err = RONDO_ERR_STORE;
    }
    rondo_sqlite_conn_done(stmt);
    return err;
}

static enum rondo_err sqlite_write(void *connection, const struct rondo_store *store,
                                   enum rondo_sqlite_statement which,
                                   struct rondo_source_error *why) {
    struct connection *c = connection;
    struct rondo_slice values[MAX_PARAMS + 1];
    if (!c->conn->plan->sql[which].text) {
        snprintf(why->text, sizeof why->text, "the source has no `%s` statement",
                 rondo_sqlite_statement_names[which]);
        return RONDO_ERR_STORE;
    }
    for (size_t i = 0; i < c->n_params; i++) values[i] = store->key.params[i];
    values[c->n_params] = store->value;
    enum rondo_err err = rondo_sqlite_conn_begin(c->conn, store->timeout_ns, why);
    if (!err) err = run(c, which, values, why);
    if (err == RONDO_ERR_NOMEM && !why->text[0])
        snprintf(why->text, sizeof why->text, "%s", rondo_err_text(err));
    return err == RONDO_OK || err == RONDO_ERR_CONNECT || err == RONDO_ERR_TIMEOUT
               ? err
               : RONDO_ERR_STORE;
}

static enum rondo_err sqlite_store(void *connection, const struct rondo_store *store,
                                   struct rondo_source_error *why) {
    return sqlite_write(connection, store, RONDO_SQLITE_STORE, why);
}

static enum rondo_err sqlite_erase(void *connection, const struct rondo_store *store,
                                   struct rondo_source_error *why) {
    return sqlite_write(connection, store, RONDO_SQLITE_ERASE, why);
}

/* ---------------------------------------------------------------- plugin --- */

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "sqlite",
    .help = "rows of an SQLite database",
    .options = options,
    .open = sqlite_open,
    .close = sqlite_close,
    .batch = sqlite_batch,
    .connect = sqlite_connect,
    .disconnect = sqlite_disconnect,
    .load = sqlite_load,
    .store = sqlite_store,
    .erase = sqlite_erase,
    .cancel = sqlite_cancel,
    .writes = sqlite_writes,
};

__attribute__((visibility("default"))) const struct rondo_source_ops *rondo_source_plugin(void);

const struct rondo_source_ops *rondo_source_plugin(void) {
    return &ops;
}
