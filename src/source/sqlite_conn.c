/* SPDX-License-Identifier: MIT */
#include "source/sqlite_conn.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/mem.h"
#include "source/quantity.h"
#include "source/utf8.h"
#include <time.h>

const char *const rondo_sqlite_statement_names[] = {"load", "load_many", "store", "erase"};

enum { OPS_BETWEEN_LOOKS = 4000, LONGEST_NAP_MS = 16 };

static uint64_t now_ns(void) {
    return rondo_clock_now(&rondo_clock_real);
}

/* ---------------------------------------------------------------- limits --- */

static bool is_cancelled(const struct rondo_sqlite_conn *conn) {
    /* Partner: the store in rondo_sqlite_conn_cancel; a flag that carries nothing. */
    return rondo_load_relaxed(&conn->cancelled) != 0;
}

/* SQLite asks while a statement runs; non-zero stops it. */
static int on_progress(void *arg) {
    const struct rondo_sqlite_conn *conn = arg;
    return is_cancelled(conn) || now_ns() >= conn->deadline_ns;
}

/* SQLite asks when a lock is held by another; zero gives up.  Its own handler would
 * sleep through a cancel and past the deadline. */
static int on_busy(void *arg, int n_before) {
    const struct rondo_sqlite_conn *conn = arg;
    uint64_t now = now_ns();
    if (is_cancelled(conn) || now >= conn->busy_deadline_ns) return 0;
    uint64_t nap = (n_before < 4 ? UINT64_C(1) << n_before : LONGEST_NAP_MS) * RONDO_MS;
    if (nap > conn->busy_deadline_ns - now) nap = conn->busy_deadline_ns - now;
    struct timespec t = {0, (long)nap};
    nanosleep(&t, NULL);
    return 1;
}

void rondo_sqlite_conn_cancel(struct rondo_sqlite_conn *conn) {
    /* Partner: is_cancelled. */
    rondo_store_relaxed(&conn->cancelled, 1);
    rondo_mutex_lock(&conn->mu);
    sqlite3_interrupt(conn->db);
    rondo_mutex_unlock(&conn->mu);
}

/* ---------------------------------------------------------------- errors --- */

static enum rondo_err kind_of(const struct rondo_sqlite_conn *conn, int code) {
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return RONDO_ERR_NOMEM;
    case SQLITE_INTERRUPT:
        return RONDO_ERR_TIMEOUT;
    case SQLITE_BUSY:
        return now_ns() >= conn->deadline_ns ? RONDO_ERR_TIMEOUT : RONDO_ERR_LOAD;
    case SQLITE_CANTOPEN:
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
        return RONDO_ERR_CONNECT;
    default:
        return RONDO_ERR_LOAD;
    }
}

static enum rondo_err explain(struct rondo_sqlite_conn *conn, enum rondo_sqlite_statement which,
                              int code, struct rondo_source_error *why) {
    enum rondo_err err = kind_of(conn, code);
    const char *name = rondo_sqlite_statement_names[which];
    char waited[24];
    if ((code & 0xff) == SQLITE_INTERRUPT) {
        snprintf(why->text, sizeof why->text, "%s: stopped at its time limit", name);
    } else if ((code & 0xff) == SQLITE_BUSY) {
        rondo_quantity_print_duration(conn->plan->busy_ns, waited);
        snprintf(why->text, sizeof why->text, "%s: %s (busy_timeout is %s)", name,
                 sqlite3_errmsg(conn->db), waited);
    } else {
        snprintf(why->text, sizeof why->text, "%s: %.200s", name, sqlite3_errmsg(conn->db));
    }
    return err;
}

/* ------------------------------------------------------------ connection --- */

static bool writes(const struct rondo_sqlite_plan *plan) {
    return plan->sql[RONDO_SQLITE_STORE].text || plan->sql[RONDO_SQLITE_ERASE].text;
}

static enum rondo_err open_db(struct rondo_sqlite_conn *conn, struct rondo_source_error *why,
                              sqlite3 **out) {
    sqlite3 *db = NULL;
    int flags = writes(conn->plan) ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    int code = sqlite3_open_v2(conn->plan->file, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        snprintf(why->text, sizeof why->text, "%.150s: %s", conn->plan->file,
                 db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
        sqlite3_close(db);
        return code == SQLITE_NOMEM ? RONDO_ERR_NOMEM : RONDO_ERR_CONNECT;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_handler(db, on_busy, conn);
    sqlite3_progress_handler(db, OPS_BETWEEN_LOOKS, on_progress, conn);
    *out = db;
    return RONDO_OK;
}

enum rondo_err rondo_sqlite_conn_new(const struct rondo_sqlite_plan *plan,
                                     struct rondo_source_error *why,
                                     struct rondo_sqlite_conn **out) {
    struct rondo_sqlite_conn *conn = rondo_zalloc(sizeof *conn);
    if (!conn) return RONDO_ERR_NOMEM;
    conn->plan = plan;
    rondo_mutex_init(&conn->mu);
    enum rondo_err err = open_db(conn, why, &conn->db);
    if (err)
        rondo_sqlite_conn_free(conn);
    else
        *out = conn;
    return err;
}

static void close_db(struct rondo_sqlite_conn *conn, sqlite3 *db) {
    for (int i = 0; i < RONDO_SQLITE_STATEMENTS; i++) {
        sqlite3_finalize(conn->stmts[i]);
        conn->stmts[i] = NULL;
    }
    sqlite3_close(db);
}

void rondo_sqlite_conn_free(struct rondo_sqlite_conn *conn) {
    if (!conn) return;
    close_db(conn, conn->db);
    rondo_mutex_fini(&conn->mu);
    rondo_free(conn);
}

/* A new database is often put in place by a rename: the old file, which is still
 * open, would answer for ever. */
static enum rondo_err follow_file(struct rondo_sqlite_conn *conn, struct rondo_source_error *why) {
    int has_moved = 0;
    int code = sqlite3_file_control(conn->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (code != SQLITE_OK || !has_moved) return RONDO_OK;
    sqlite3 *db, *old = conn->db;
    enum rondo_err err = open_db(conn, why, &db);
    if (err) return err;
    rondo_mutex_lock(&conn->mu);
    conn->db = db;
    rondo_mutex_unlock(&conn->mu);
    close_db(conn, old);
    return RONDO_OK;
}

enum rondo_err rondo_sqlite_conn_begin(struct rondo_sqlite_conn *conn, uint64_t timeout_ns,
                                       struct rondo_source_error *why) {
    uint64_t now = now_ns(), busy = rondo_deadline(now, conn->plan->busy_ns);
    conn->deadline_ns = timeout_ns ? rondo_deadline(now, timeout_ns) : UINT64_MAX;
    conn->busy_deadline_ns = busy < conn->deadline_ns ? busy : conn->deadline_ns;
    /* Partner: rondo_sqlite_conn_cancel.  One that comes late stops the wrong call, which
     * then fails as timed out: no worse than a slow database. */
    rondo_store_relaxed(&conn->cancelled, 0);
    return follow_file(conn, why);
}

/* ------------------------------------------------------------ statements --- */

static bool is_blank(const char *s) {
    return s[strspn(s, " \t\r\n;")] == '\0';
}

/* What prepare cannot know before it has seen the schema. */
static const char *unfit(enum rondo_sqlite_statement which, sqlite3_stmt *stmt, const char *tail) {
    bool reads = which == RONDO_SQLITE_LOAD || which == RONDO_SQLITE_LOAD_MANY;
    if (!stmt) return "an empty statement";
    if (!is_blank(tail)) return "more than one statement";
    if (reads && !sqlite3_stmt_readonly(stmt)) return "a statement that writes";
    if (reads && sqlite3_column_count(stmt) == 0) return "a statement without a result";
    if (which == RONDO_SQLITE_LOAD_MANY && sqlite3_column_count(stmt) < 2)
        return "needs two columns or more: the key's parameter, then the value";
    return NULL;
}

static enum rondo_err prepare(struct rondo_sqlite_conn *conn, enum rondo_sqlite_statement which,
                              struct rondo_source_error *why) {
    const char *sql = conn->plan->sql[which].text, *tail = "";
    sqlite3_stmt *stmt = NULL;
    if (conn->stmts[which]) return RONDO_OK;
    RONDO_CHECK(sql != NULL);
    int code = sqlite3_prepare_v3(conn->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, &tail);
    if (code != SQLITE_OK) return explain(conn, which, code, why);
    const char *what = unfit(which, stmt, tail);
    if (what) {
        snprintf(why->text, sizeof why->text, "%s: %s", rondo_sqlite_statement_names[which], what);
        sqlite3_finalize(stmt);
        return RONDO_ERR_LOAD;
    }
    conn->stmts[which] = stmt;
    return RONDO_OK;
}

/* Text, so that a column's affinity decides how it compares (42 and "42" are equal
 * to an INTEGER column, not to a TEXT one); bytes that are no text are a BLOB. */
static int bind_one(sqlite3_stmt *stmt, int number, struct rondo_slice value) {
    const char *data = value.len ? value.data : "";
    if (rondo_utf8_is_valid(value))
        return sqlite3_bind_text64(stmt, number, data, value.len, SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_blob64(stmt, number, data, value.len, SQLITE_STATIC);
}

enum rondo_err rondo_sqlite_conn_bind(struct rondo_sqlite_conn *conn,
                                      enum rondo_sqlite_statement which,
                                      const struct rondo_slice *values,
                                      struct rondo_source_error *why, sqlite3_stmt **out) {
    const struct rondo_template_sql *sql = &conn->plan->sql[which];
    enum rondo_err err = prepare(conn, which, why);
    if (err) return err;
    for (unsigned i = 0; i < sql->n_bind; i++) {
        int code = bind_one(conn->stmts[which], (int)i + 1, values[sql->bind[i]]);
        if (code == SQLITE_OK) continue;
        err = explain(conn, which, code, why);
        rondo_sqlite_conn_done(conn->stmts[which]);
        return err;
    }
    *out = conn->stmts[which];
    return RONDO_OK;
}

void rondo_sqlite_conn_done(sqlite3_stmt *stmt) {
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
}

enum rondo_err rondo_sqlite_conn_step(struct rondo_sqlite_conn *conn,
                                      enum rondo_sqlite_statement which, bool *has_row,
                                      struct rondo_source_error *why) {
    int code = sqlite3_step(conn->stmts[which]);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return explain(conn, which, code, why);
    *has_row = code == SQLITE_ROW;
    return RONDO_OK;
}
