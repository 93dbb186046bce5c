/* SPDX-License-Identifier: MIT */
#include "source/mysql_run.h"

#include "base/mem.h"
#include "source/utf8.h"
#include <errmsg.h>
#include <mysqld_error.h>

/* Rows that are read and thrown away before it is cheaper to connect again. */
enum { MOST_DRAINED = 100 };

/* ------------------------------------------------------------------- places --- */

/* How many keys a statement of load_many is prepared for, and in which slot. */
static size_t round_up(const struct rondo_sql_call *call, size_t *slot) {
    size_t n = 1;
    RONDO_CHECK(call->which != RONDO_SQL_LOAD_MANY || call->n_values <= RONDO_MYSQL_BATCH);
    *slot = call->which;
    if (call->which != RONDO_SQL_LOAD_MANY || call->n_values < 2) return n;
    for (*slot = RONDO_SQL_STATEMENTS - 1; n < call->n_values; n *= 2) ++*slot;
    return n;
}

static size_t count_places(const struct rondo_template *t) {
    return t->n_parts - 1; /* the last part is the text behind the last place */
}

static enum rondo_err write_text(const struct rondo_template *t, size_t n_each,
                                 struct rondo_buf *out) {
    enum rondo_err err = RONDO_OK;
    out->len = 0;
    for (size_t i = 0; !err && i < t->n_parts; i++) {
        err = rondo_buf_append(out, t->parts[i].text.data, t->parts[i].text.len);
        for (size_t k = 0; !err && t->parts[i].name >= 0 && k < n_each; k++)
            err = rondo_buf_append_str(out, k ? ", ?" : "?");
    }
    return err;
}

/* ------------------------------------------------------------------ prepare --- */

/* What fails while rows are read is told of the connection alone. */
static enum rondo_err stmt_error(struct rondo_mysql_conn *conn, MYSQL_STMT *stmt,
                                 struct rondo_source_error *why) {
    unsigned code = mysql_stmt_errno(stmt);
    const char *text = mysql_stmt_error(stmt);
    if (code == 0) {
        code = mysql_errno(conn->my);
        text = mysql_error(conn->my);
    }
    return rondo_mysql_conn_error(conn, code, text, why);
}

static void forget(struct rondo_mysql_conn *conn, size_t slot) {
    if (conn->stmts[slot]) mysql_stmt_close(conn->stmts[slot]);
    conn->stmts[slot] = NULL;
}

/* What is wrong with a statement that the server does not say, NULL if nothing. */
static const char *unfit(enum rondo_sql_statement which, MYSQL_STMT *stmt, size_t n_params) {
    unsigned n_fields = mysql_stmt_field_count(stmt);
    if (mysql_stmt_param_count(stmt) != n_params)
        return "a {place} where no parameter can be bound";
    if (rondo_sql_reads(which) && n_fields == 0) return "a statement without a result";
    if (which == RONDO_SQL_LOAD_MANY && n_fields < 2)
        return "it needs two columns or more: the key's parameter, then the value";
    return NULL;
}

static enum rondo_err prepare(struct rondo_mysql_conn *conn, enum rondo_sql_statement which,
                              size_t slot, size_t n_each, struct rondo_source_error *why) {
    const struct rondo_template *t = conn->plan->sql.templates[which];
    RONDO_CHECK(t != NULL);
    enum rondo_err err = rondo_mysql_conn_ready(conn, why);
    if (err || conn->stmts[slot]) return err;
    err = write_text(t, n_each, &conn->text);
    if (err) return err;
    MYSQL_STMT *stmt = mysql_stmt_init(conn->my);
    if (!stmt) return RONDO_ERR_NOMEM;
    conn->stmts[slot] = stmt;
    if (mysql_stmt_prepare(stmt, conn->text.data, conn->text.len) != 0) {
        err = stmt_error(conn, stmt, why);
    } else {
        const char *wrong = unfit(which, stmt, count_places(t) * n_each);
        if (wrong) snprintf(why->text, sizeof why->text, "%s", wrong);
        err = wrong ? RONDO_ERR_LOAD : RONDO_OK;
    }
    if (err) forget(conn, slot);
    return err;
}

/* --------------------------------------------------------------------- bind --- */

/* Bytes that are no text are bound as such; text as text, so that the column's
 * collation decides how it compares. */
static void bind_one(MYSQL_BIND *bind, struct rondo_slice value) {
    static char nothing[1];
    *bind = (MYSQL_BIND){.buffer_type =
                             rondo_utf8_is_valid(value) ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB};
    /* The library only reads; its parameter lacks a const. */
    bind->buffer = value.len ? (void *)(uintptr_t)value.data : nothing;
    bind->buffer_length = value.len;
}

static void fill(MYSQL_BIND *binds, const struct rondo_template *t,
                 const struct rondo_sql_call *call, size_t n_each) {
    size_t n = 0;
    for (size_t i = 0; i < count_places(t); i++) {
        if (call->which != RONDO_SQL_LOAD_MANY) {
            bind_one(&binds[n++], call->values[t->parts[i].name]);
            continue;
        }
        for (size_t k = 0; k < n_each; k++)
            bind_one(&binds[n++], call->values[k < call->n_values ? k : call->n_values - 1]);
    }
}

/* The values are lent until the statement was executed, the array until then, too. */
static enum rondo_err bind(struct rondo_mysql_conn *conn, const struct rondo_sql_call *call,
                           MYSQL_STMT *stmt, size_t n_each, MYSQL_BIND **out,
                           struct rondo_source_error *why) {
    const struct rondo_template *t = conn->plan->sql.templates[call->which];
    size_t n = count_places(t) * n_each;
    *out = NULL;
    if (n == 0) return RONDO_OK;
    *out = rondo_zalloc(n * sizeof **out);
    if (!*out) return RONDO_ERR_NOMEM;
    fill(*out, t, call, n_each);
    return mysql_stmt_bind_param(stmt, *out) ? stmt_error(conn, stmt, why) : RONDO_OK;
}

/* --------------------------------------------------------------------- rows --- */

/* After an error: reads on if that is quick, or gives the connection up. */
static void drain(struct rondo_mysql_conn *conn, MYSQL_STMT *stmt) {
    for (int i = 0; i < MOST_DRAINED; i++) {
        int rc = mysql_stmt_fetch(stmt);
        if (rc == 0 || rc == MYSQL_DATA_TRUNCATED) continue;
        if (rc == MYSQL_NO_DATA) return;
        break;
    }
    rondo_mysql_conn_drop(conn);
}

static enum rondo_err read_rows(struct rondo_mysql_conn *conn, const struct rondo_sql_call *call,
                                MYSQL_STMT *stmt, struct rondo_source_error *why) {
    struct rondo_mysql_row *row = &conn->row;
    bool more = true;
    enum rondo_err err = rondo_mysql_row_begin(row, stmt);
    if (err == RONDO_ERR_LOAD) return stmt_error(conn, stmt, why);
    while (!err) {
        err = rondo_mysql_row_next(row, stmt, &more);
        if (err == RONDO_ERR_LOAD) {
            rondo_mysql_row_end(row);
            return stmt_error(conn, stmt, why);
        }
        if (err || !more) break;
        if (call->row) err = call->row(call->arg, row->columns, row->n, why);
    }
    rondo_mysql_row_end(row);
    if (err) drain(conn, stmt);
    return err;
}

/* ---------------------------------------------------------------------- run --- */

static enum rondo_err execute(struct rondo_mysql_conn *conn, struct rondo_sql_call *call,
                              MYSQL_STMT *stmt, struct rondo_source_error *why) {
    if (mysql_stmt_execute(stmt) != 0) return stmt_error(conn, stmt, why);
    if (mysql_stmt_field_count(stmt) == 0) {
        call->changed_nothing = mysql_stmt_affected_rows(stmt) == 0;
        return RONDO_OK;
    }
    return read_rows(conn, call, stmt, why);
}

static enum rondo_err run_once(struct rondo_mysql_conn *conn, struct rondo_sql_call *call,
                               struct rondo_source_error *why) {
    size_t slot, n_each = round_up(call, &slot);
    MYSQL_BIND *binds = NULL;
    conn->code = 0;
    enum rondo_err err = prepare(conn, call->which, slot, n_each, why);
    if (err) return err;
    err = bind(conn, call, conn->stmts[slot], n_each, &binds, why);
    if (!err) err = execute(conn, call, conn->stmts[slot], why);
    /* Leaves the statement without rows, for its next use. */
    if (conn->my && conn->stmts[slot]) mysql_stmt_free_result(conn->stmts[slot]);
    rondo_free(binds);
    return err;
}

/* Errors of the kind that a statement prepared anew may not have. */
static bool is_outdated(unsigned code) {
    switch (code) {
    case ER_BAD_FIELD_ERROR:
    case ER_NO_SUCH_TABLE:
    case ER_UNKNOWN_STMT_HANDLER:
    case ER_NEED_REPREPARE:
    case ER_TABLE_DEF_CHANGED:
    case CR_NEW_STMT_METADATA:
    case CR_NO_PREPARE_STMT:
        return true;
    default:
        return false;
    }
}

static enum rondo_err run_twice(struct rondo_mysql_conn *conn, struct rondo_sql_call *call,
                                struct rondo_source_error *why) {
    size_t slot;
    round_up(call, &slot);
    bool was_connected = conn->my != NULL, was_prepared = conn->stmts[slot] != NULL;
    enum rondo_err err = run_once(conn, call, why);
    bool again = err == RONDO_ERR_CONNECT && was_connected && rondo_sql_reads(call->which);
    if (err == RONDO_ERR_LOAD && was_prepared && conn->my && is_outdated(conn->code)) {
        forget(conn, slot);
        again = true;
    }
    if (!again) return err;
    if (call->restart) call->restart(call->arg);
    return run_once(conn, call, why);
}

enum rondo_err rondo_mysql_run(void *connection, struct rondo_sql_call *call,
                               struct rondo_source_error *why) {
    struct rondo_source_error plain = {""};
    enum rondo_err err = run_twice(connection, call, &plain);
    if (!plain.text[0] || err == RONDO_ERR_CONNECT)
        *why = plain;
    else
        snprintf(why->text, sizeof why->text, "%s: %.240s", rondo_sql_names[call->which],
                 plain.text);
    return err;
}
