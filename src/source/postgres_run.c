/* SPDX-License-Identifier: MIT */
#include "source/postgres_run.h"

#include "base/mem.h"

/* Statements' names on the server. */
static const char *const names[] = {"rondo_load", "rondo_load_many", "rondo_store", "rondo_erase"};

/* ---------------------------------------------------------------- prepare --- */

static enum rondo_err mismatch(enum rondo_sql_statement which, const char *what,
                               struct rondo_source_error *why) {
    snprintf(why->text, sizeof why->text, "%s: %s", rondo_sql_names[which], what);
    return RONDO_ERR_LOAD;
}

/* Takes the description of a statement; arg points to which. */
static enum rondo_err take_description(struct rondo_postgres_conn *conn, void *arg,
                                       const PGresult *result, struct rondo_source_error *why) {
    enum rondo_sql_statement which = *(const enum rondo_sql_statement *)arg;
    const struct rondo_template_sql *sql = &conn->plan->sql.sql[which];
    int n = PQnparams(result), fields = PQnfields(result);
    if (n != (int)sql->n_bind)
        return mismatch(which, "a {place} where no parameter can be bound", why);
    if (rondo_sql_reads(which) && fields == 0)
        return mismatch(which, "a statement without a result", why);
    if (which == RONDO_SQL_LOAD_MANY && fields < 2)
        return mismatch(which, "it needs two columns or more: the key's parameter, then the value",
                        why);
    for (int i = 0; i < n; i++) conn->statements[which].params[i] = PQparamtype(result, i);
    return RONDO_OK;
}

/* A statement of that name may be left from an attempt that failed halfway. */
static enum rondo_err forget(struct rondo_postgres_conn *conn, enum rondo_sql_statement which,
                             struct rondo_source_error *why) {
    char text[64];
    conn->statements[which].is_prepared = false;
    snprintf(text, sizeof text, "DEALLOCATE %s", names[which]);
    enum rondo_err err =
        rondo_postgres_conn_finish(conn, PQsendQuery(conn->pg, text), NULL, NULL, why);
    return err == RONDO_ERR_LOAD ? RONDO_OK : err; /* there was none */
}

enum rondo_err rondo_postgres_run_prepare(struct rondo_postgres_conn *conn,
                                          enum rondo_sql_statement which,
                                          struct rondo_source_error *why) {
    enum rondo_err err = rondo_postgres_conn_ready(conn, why);
    if (err || conn->statements[which].is_prepared) return err;
    const char *text = conn->plan->sql.sql[which].text;
    RONDO_CHECK(text != NULL);
    int sent = PQsendPrepare(conn->pg, names[which], text, 0, NULL);
    err = rondo_postgres_conn_finish(conn, sent, NULL, NULL, why);
    if (err) return err;
    sent = PQsendDescribePrepared(conn->pg, names[which]);
    err = rondo_postgres_conn_finish(conn, sent, take_description, &which, why);
    if (!err)
        conn->statements[which].is_prepared = true;
    else if (conn->pg) {
        struct rondo_source_error unheard;
        enum rondo_err ignored = forget(conn, which, &unheard);
        (void)ignored;
    }
    return err;
}

/* ------------------------------------------------------------------- bind --- */

struct binding {
    const char *values[RONDO_TEMPLATE_NAMES];
    int lengths[RONDO_TEMPLATE_NAMES], formats[RONDO_TEMPLATE_NAMES];
};

static enum rondo_err not_text(struct rondo_source_error *why) {
    snprintf(why->text, sizeof why->text,
             "a NUL byte, which PostgreSQL's text cannot hold (bytea can)");
    return RONDO_ERR_LOAD;
}

/* All parameters' texts together, each with a NUL behind it. */
static enum rondo_err make_room(struct rondo_postgres_conn *conn,
                                const struct rondo_sql_call *call) {
    const struct rondo_template_sql *sql = &conn->plan->sql.sql[call->which];
    size_t size = 0;
    for (unsigned i = 0; i < sql->n_bind; i++) {
        size_t len = call->values[sql->bind[i]].len;
        if (len >= INT32_MAX || !rondo_size_add(size, len + 1, &size)) return RONDO_ERR_NOMEM;
    }
    rondo_buf_shrink(&conn->params, 65536);
    return rondo_buf_reserve(&conn->params, size);
}

static enum rondo_err bind(struct rondo_postgres_conn *conn, const struct rondo_sql_call *call,
                           struct binding *b, struct rondo_source_error *why) {
    const struct rondo_template_sql *sql = &conn->plan->sql.sql[call->which];
    conn->params.len = 0;
    enum rondo_err err = make_room(conn, call);
    for (unsigned i = 0; !err && i < sql->n_bind; i++) {
        struct rondo_slice value = call->values[sql->bind[i]];
        bool binary = conn->statements[call->which].params[i] == RONDO_POSTGRES_BYTEA;
        if (!binary && value.len && memchr(value.data, '\0', value.len)) return not_text(why);
        b->values[i] = conn->params.data + conn->params.len;
        b->lengths[i] = (int)value.len;
        b->formats[i] = binary;
        err = rondo_buf_append(&conn->params, value.data, value.len);
        if (!err) err = rondo_buf_append(&conn->params, "", 1);
    }
    return err;
}

/* ------------------------------------------------------------------- rows --- */

static enum rondo_column_kind kind_of(Oid type) {
    switch (type) {
    case RONDO_POSTGRES_BOOL:
        return RONDO_COLUMN_BOOL;
    case RONDO_POSTGRES_INT2:
    case RONDO_POSTGRES_INT4:
    case RONDO_POSTGRES_INT8:
    case RONDO_POSTGRES_OID:
    case RONDO_POSTGRES_FLOAT4:
    case RONDO_POSTGRES_FLOAT8:
    case RONDO_POSTGRES_NUMERIC:
        return RONDO_COLUMN_NUMBER;
    case RONDO_POSTGRES_JSON:
    case RONDO_POSTGRES_JSONB:
        return RONDO_COLUMN_JSON;
    default:
        return RONDO_COLUMN_TEXT;
    }
}

static enum rondo_err room_for_columns(struct rondo_postgres_conn *conn, size_t n) {
    size_t size;
    if (n <= conn->n_columns) return RONDO_OK;
    if (!rondo_size_mul(n, sizeof *conn->columns, &size)) return RONDO_ERR_NOMEM;
    struct rondo_column *columns = rondo_realloc(conn->columns, size);
    if (!columns) return RONDO_ERR_NOMEM;
    conn->columns = columns;
    conn->n_columns = n;
    return RONDO_OK;
}

/* The raw bytes of a bytea; freed by PQfreemem. */
static enum rondo_err unescape(struct rondo_column *c, unsigned char **out) {
    size_t len;
    if (c->is_null) return RONDO_OK;
    *out = PQunescapeBytea(c->bytes.data, &len);
    if (!*out) return RONDO_ERR_NOMEM;
    c->bytes = rondo_slice_of(*out, len);
    return RONDO_OK;
}

/* bytea that is a value of its own, or a key to compare with, is raw; inside a JSON
 * object it stays as the server prints it. */
static bool is_raw(const struct rondo_sql_call *call, const PGresult *result, int i) {
    int first = call->which == RONDO_SQL_LOAD_MANY ? 1 : 0;
    if (PQftype(result, i) != RONDO_POSTGRES_BYTEA) return false;
    return i < first || PQnfields(result) - first == 1;
}

static enum rondo_err take_row(struct rondo_postgres_conn *conn, struct rondo_sql_call *call,
                               const PGresult *result, int row, struct rondo_source_error *why) {
    int n = PQnfields(result);
    unsigned char *raw[2] = {NULL, NULL}; /* the key and the value, at most */
    enum rondo_err err = room_for_columns(conn, (size_t)n);
    for (int i = 0; !err && i < n; i++) {
        struct rondo_column *c = &conn->columns[i];
        c->name = PQfname(result, i);
        c->kind = kind_of(PQftype(result, i));
        c->is_null = PQgetisnull(result, row, i);
        c->bytes = rondo_slice_of(PQgetvalue(result, row, i), (size_t)PQgetlength(result, row, i));
        if (is_raw(call, result, i)) err = unescape(c, &raw[i > 0]);
    }
    if (!err) err = call->row(call->arg, conn->columns, (size_t)n, why);
    PQfreemem(raw[0]);
    PQfreemem(raw[1]);
    return err;
}

static enum rondo_err take_result(struct rondo_postgres_conn *conn, void *arg,
                                  const PGresult *result, struct rondo_source_error *why) {
    struct rondo_sql_call *call = arg;
    /* PQcmdTuples only reads; its parameter lacks a const. */
    const char *count = PQcmdTuples((PGresult *)(uintptr_t)result);
    call->changed_nothing = strcmp(count, "0") == 0;
    if (!call->row) return RONDO_OK;
    for (int row = 0; row < PQntuples(result); row++) {
        enum rondo_err err = take_row(conn, call, result, row, why);
        if (err) return err;
    }
    return RONDO_OK;
}

/* -------------------------------------------------------------------- run --- */

/* Errors of the kind that a statement prepared anew may not have: undefined or
 * changed tables and columns, a changed result, a statement that got lost, a value
 * that does not suit the type which its column had when it was prepared. */
static bool is_outdated(const char *sqlstate) {
    static const char *const signs[] = {"42", "0A000", "26000", "22P02", "22003", "22007"};
    for (size_t i = 0; i < RONDO_COUNT_OF(signs); i++)
        if (strncmp(sqlstate, signs[i], strlen(signs[i])) == 0) return true;
    return false;
}

static enum rondo_err run_once(struct rondo_postgres_conn *conn, struct rondo_sql_call *call,
                               struct rondo_source_error *why) {
    struct binding b;
    conn->sqlstate[0] = '\0';
    enum rondo_err err = rondo_postgres_run_prepare(conn, call->which, why);
    if (!err) err = bind(conn, call, &b, why);
    if (err) return err;
    int n = (int)conn->plan->sql.sql[call->which].n_bind;
    int sent =
        PQsendQueryPrepared(conn->pg, names[call->which], n, b.values, b.lengths, b.formats, 0);
    if (sent) PQsetSingleRowMode(conn->pg);
    return rondo_postgres_conn_finish(conn, sent, take_result, call, why);
}

static enum rondo_err run_twice(struct rondo_postgres_conn *conn, struct rondo_sql_call *call,
                                struct rondo_source_error *why) {
    bool was_connected = conn->pg != NULL;
    bool was_prepared = conn->statements[call->which].is_prepared;
    enum rondo_err err = run_once(conn, call, why);
    bool again = err == RONDO_ERR_CONNECT && was_connected && rondo_sql_reads(call->which);
    if (err == RONDO_ERR_LOAD && was_prepared && conn->pg && is_outdated(conn->sqlstate)) {
        err = forget(conn, call->which, why);
        again = !err;
    }
    if (!again) return err;
    if (call->restart) call->restart(call->arg);
    return run_once(conn, call, why);
}

enum rondo_err rondo_postgres_run(void *connection, struct rondo_sql_call *call,
                                  struct rondo_source_error *why) {
    struct rondo_source_error plain = {""};
    const char *name = rondo_sql_names[call->which];
    enum rondo_err err = run_twice(connection, call, &plain);
    if (!plain.text[0])
        why->text[0] = '\0';
    else if (strncmp(plain.text, name, strlen(name)) == 0 || err == RONDO_ERR_CONNECT)
        *why = plain;
    else
        snprintf(why->text, sizeof why->text, "%s: %.240s", name, plain.text);
    return err;
}
