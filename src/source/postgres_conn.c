/* SPDX-License-Identifier: MIT */
#include "source/postgres_conn.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include "source/quantity.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Results that are read and thrown away after an error before it is cheaper to
 * connect again. */
enum { MOST_DRAINED = 100 };

/* The server's clock starts later than ours and its answer has to come back. */
#define LONGEST_MARGIN (500 * RONDO_MS)

static uint64_t now_ns(void) {
    return rondo_clock_now(&rondo_clock_real);
}

/* ---------------------------------------------------------------- waiting --- */

static enum rondo_err out_of_time(struct rondo_postgres_conn *conn,
                                  struct rondo_source_error *why) {
    char limit[24];
    rondo_quantity_print_duration((now_ns() - conn->started_ns) / RONDO_MS * RONDO_MS + RONDO_MS,
                                  limit);
    snprintf(why->text, sizeof why->text, "stopped at its time limit, after %s", limit);
    return RONDO_ERR_TIMEOUT;
}

static enum rondo_err wait_for(struct rondo_postgres_conn *conn, PGconn *pg, short events,
                               uint64_t deadline_ns, struct rondo_source_error *why) {
    struct pollfd fds[] = {{PQsocket(pg), events, 0}, {conn->wake_fd, POLLIN, 0}};
    int n;
    do {
        uint64_t now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
        struct timespec t = {(time_t)(left / RONDO_SEC), (long)(left % RONDO_SEC)};
        n = ppoll(fds, 2, deadline_ns == UINT64_MAX ? NULL : &t, NULL);
    } while (n < 0 && errno == EINTR);
    return n > 0 && !fds[1].revents ? RONDO_OK : out_of_time(conn, why);
}

void rondo_postgres_conn_begin(struct rondo_postgres_conn *conn, uint64_t timeout_ns) {
    uint64_t count;
    conn->started_ns = now_ns();
    conn->deadline_ns = timeout_ns ? rondo_deadline(conn->started_ns, timeout_ns) : UINT64_MAX;
    /* A cancel that came late was for the call before. */
    while (read(conn->wake_fd, &count, sizeof count) > 0) continue;
}

void rondo_postgres_conn_cancel(struct rondo_postgres_conn *conn) {
    const uint64_t one = 1;
    /* Full means that somebody else has said so already. */
    ssize_t n = write(conn->wake_fd, &one, sizeof one);
    (void)n;
}

/* ----------------------------------------------------------------- errors --- */

/* What libpq says, as one line: without its hints, which are indented, and with what
 * it says of several hosts side by side. */
static void say(struct rondo_source_error *why, const char *text) {
    const char *hint = strstr(text, "\n\t");
    int len = hint ? (int)(hint - text) : (int)strlen(text);
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' ')) len--;
    snprintf(why->text, sizeof why->text, "%.*s", len, text);
    for (char *p = why->text; *p; p++)
        if (*p == '\n' || *p == '\t') *p = ' ';
}

/* The classes of SQLSTATE that speak of the connection or of time; all others are
 * about the statement. */
static enum rondo_err kind_of(const char *sqlstate) {
    static const char *const broken[] = {"08", "57P01", "57P02", "57P03", "57P05"};
    if (!sqlstate[0]) return RONDO_ERR_CONNECT;
    if (strcmp(sqlstate, "57014") == 0) return RONDO_ERR_TIMEOUT;
    for (size_t i = 0; i < RONDO_COUNT_OF(broken); i++)
        if (strncmp(sqlstate, broken[i], strlen(broken[i])) == 0) return RONDO_ERR_CONNECT;
    return RONDO_ERR_LOAD;
}

static enum rondo_err server_error(struct rondo_postgres_conn *conn, const PGresult *result,
                                   struct rondo_source_error *why) {
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    snprintf(conn->sqlstate, sizeof conn->sqlstate, "%s", sqlstate ? sqlstate : "");
    say(why, primary ? primary : PQresultErrorMessage(result));
    return kind_of(conn->sqlstate);
}

static enum rondo_err libpq_error(struct rondo_postgres_conn *conn,
                                  struct rondo_source_error *why) {
    conn->sqlstate[0] = '\0';
    say(why, PQerrorMessage(conn->pg));
    return RONDO_ERR_CONNECT;
}

/* --------------------------------------------------------------- giving up --- */

/* A server that hangs would keep whoever sends the request, hence a thread that owns
 * all it touches. */
static void send_cancel(void *arg) {
    char text[256];
    PQcancel(arg, text, sizeof text);
    PQfreeCancel(arg);
}

static void ask_to_cancel(PGconn *pg) {
    struct rondo_thread thread;
    PGcancel *cancel = PQgetCancel(pg);
    if (!cancel) return;
    if (rondo_thread_start(&thread, "pg-cancel", send_cancel, cancel))
        PQfreeCancel(cancel);
    else
        rondo_thread_detach(&thread);
}

static void drop(struct rondo_postgres_conn *conn) {
    PQfinish(conn->pg);
    conn->pg = NULL;
    for (int i = 0; i < RONDO_SQL_STATEMENTS; i++) conn->statements[i].is_prepared = false;
}

static void give_up(struct rondo_postgres_conn *conn) {
    if (PQtransactionStatus(conn->pg) == PQTRANS_ACTIVE) ask_to_cancel(conn->pg);
    drop(conn);
}

/* ---------------------------------------------------------------- results --- */

/* Sends what is left to send and reads until a result is there. */
static enum rondo_err await_result(struct rondo_postgres_conn *conn,
                                   struct rondo_source_error *why) {
    for (;;) {
        int unsent = PQflush(conn->pg);
        if (unsent < 0) return libpq_error(conn, why);
        if (!unsent && !PQisBusy(conn->pg)) return RONDO_OK;
        enum rondo_err err =
            wait_for(conn, conn->pg, unsent ? POLLIN | POLLOUT : POLLIN, conn->deadline_ns, why);
        if (err) return err;
        if (!PQconsumeInput(conn->pg)) return libpq_error(conn, why);
    }
}

static enum rondo_err look_at(struct rondo_postgres_conn *conn, const PGresult *result,
                              rondo_postgres_take_fn take, void *arg,
                              struct rondo_source_error *why) {
    switch (PQresultStatus(result)) {
    case PGRES_SINGLE_TUPLE:
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
        return take ? take(conn, arg, result, why) : RONDO_OK;
    case PGRES_BAD_RESPONSE:
    case PGRES_NONFATAL_ERROR:
    case PGRES_FATAL_ERROR:
        return server_error(conn, result, why);
    case PGRES_COPY_OUT:
    case PGRES_COPY_IN:
    case PGRES_COPY_BOTH:
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED:
        break;
    }
    snprintf(why->text, sizeof why->text, "a statement that copies has no place here");
    return RONDO_ERR_CONNECT; /* it cannot be got out of by reading on */
}

enum rondo_err rondo_postgres_conn_finish(struct rondo_postgres_conn *conn, int sent,
                                          rondo_postgres_take_fn take, void *arg,
                                          struct rondo_source_error *why) {
    struct rondo_source_error unheard;
    enum rondo_err err = sent ? RONDO_OK : libpq_error(conn, why), lost = err;
    unsigned n_drained = 0;
    while (!lost) {
        lost = await_result(conn, err ? &unheard : why);
        PGresult *result = lost ? NULL : PQgetResult(conn->pg);
        if (!result) break;
        if (!err)
            err = look_at(conn, result, take, arg, why);
        else if (++n_drained == MOST_DRAINED)
            lost = err;
        PQclear(result);
        if (err == RONDO_ERR_CONNECT) lost = err;
    }
    if (lost || PQstatus(conn->pg) == CONNECTION_BAD) give_up(conn);
    return err ? err : lost;
}

/* ------------------------------------------------------------- connecting --- */

/* Notices would go to stderr.  The last words of a server that ends the connection
 * come as one. */
static void hear_notice(void *arg, const PGresult *result) {
    struct rondo_postgres_conn *conn = arg;
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        conn->is_ending = true;
}

static enum rondo_err start(struct rondo_postgres_conn *conn, PGconn **out) {
    const char *const names[] = {"dbname", "client_encoding", "fallback_application_name", NULL};
    const char *const values[] = {conn->plan->url, "UTF8", "rondo", NULL};
    *out = PQconnectStartParams(names, values, 1);
    if (!*out) return RONDO_ERR_NOMEM;
    PQsetNoticeReceiver(*out, hear_notice, conn);
    return RONDO_OK;
}

static enum rondo_err handshake(struct rondo_postgres_conn *conn, PGconn *pg, uint64_t deadline_ns,
                                struct rondo_source_error *why) {
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    if (PQstatus(pg) == CONNECTION_BAD) state = PGRES_POLLING_FAILED;
    while (state != PGRES_POLLING_OK && state != PGRES_POLLING_FAILED) {
        short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        enum rondo_err err = wait_for(conn, pg, events, deadline_ns, why);
        if (err) {
            snprintf(why->text, sizeof why->text, "connecting to \"%.100s\" took too long",
                     PQhost(pg) ? PQhost(pg) : "");
            return RONDO_ERR_CONNECT;
        }
        state = PQconnectPoll(pg);
    }
    if (state == PGRES_POLLING_OK) return RONDO_OK;
    say(why, PQerrorMessage(pg));
    return RONDO_ERR_CONNECT;
}

static enum rondo_err dial(struct rondo_postgres_conn *conn, struct rondo_source_error *why) {
    uint64_t now = now_ns(), deadline = rondo_deadline(now, conn->plan->connect_ns);
    PGconn *pg;
    if (!rondo_backoff_may_try(&conn->plan->backoff, now, why)) return RONDO_ERR_CONNECT;
    if (deadline > conn->deadline_ns) deadline = conn->deadline_ns;
    enum rondo_err err = start(conn, &pg);
    if (err) return err;
    err = handshake(conn, pg, deadline, why);
    if (err) {
        rondo_backoff_failed(&conn->plan->backoff, now_ns(), why);
        PQfinish(pg);
        return err;
    }
    rondo_backoff_worked(&conn->plan->backoff);
    PQsetnonblocking(pg, 1);
    conn->pg = pg;
    conn->limit_ms = 0;
    conn->is_ending = false;
    return RONDO_OK;
}

/* Whether the server has gone while nobody looked: it said so, or closed. */
static bool is_gone(struct rondo_postgres_conn *conn) {
    struct pollfd fd = {PQsocket(conn->pg), POLLIN, 0};
    while (poll(&fd, 1, 0) > 0)
        if (!PQconsumeInput(conn->pg)) return true;
    return PQisBusy(conn->pg) || conn->is_ending || PQstatus(conn->pg) == CONNECTION_BAD;
}

/* The server gives up a little before we do. */
static uint64_t server_limit_ms(const struct rondo_postgres_conn *conn) {
    if (conn->deadline_ns == UINT64_MAX) return 0;
    uint64_t limit = conn->deadline_ns - conn->started_ns, margin = limit / 8;
    if (margin > LONGEST_MARGIN) margin = LONGEST_MARGIN;
    uint64_t ms = (limit - margin) / RONDO_MS;
    return ms == 0 ? 1 : ms < INT32_MAX ? ms : INT32_MAX;
}

static enum rondo_err tell_limit(struct rondo_postgres_conn *conn, struct rondo_source_error *why) {
    uint64_t ms = server_limit_ms(conn);
    char text[24];
    const char *const values[] = {text};
    if (ms == conn->limit_ms) return RONDO_OK;
    snprintf(text, sizeof text, "%" PRIu64, ms);
    int sent =
        PQsendQueryParams(conn->pg, "SELECT pg_catalog.set_config('statement_timeout', $1, false)",
                          1, NULL, values, NULL, NULL, 0);
    enum rondo_err err = rondo_postgres_conn_finish(conn, sent, NULL, NULL, why);
    if (!err) conn->limit_ms = ms;
    return err;
}

enum rondo_err rondo_postgres_conn_ready(struct rondo_postgres_conn *conn,
                                         struct rondo_source_error *why) {
    if (conn->pg && is_gone(conn)) drop(conn);
    enum rondo_err err = conn->pg ? RONDO_OK : dial(conn, why);
    return err ? err : tell_limit(conn, why);
}

enum rondo_err rondo_postgres_conn_new(struct rondo_postgres_plan *plan,
                                       struct rondo_source_error *why,
                                       struct rondo_postgres_conn **out) {
    struct rondo_postgres_conn *conn = rondo_zalloc(sizeof *conn);
    if (!conn) return RONDO_ERR_NOMEM;
    conn->plan = plan;
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum rondo_err err = RONDO_OK;
    if (conn->wake_fd < 0) {
        snprintf(why->text, sizeof why->text, "no eventfd: %s", strerror(errno));
        err = RONDO_ERR_CONNECT;
    } else {
        rondo_postgres_conn_begin(conn, 0);
        err = dial(conn, why);
    }
    if (err)
        rondo_postgres_conn_free(conn);
    else
        *out = conn;
    return err;
}

void rondo_postgres_conn_free(struct rondo_postgres_conn *conn) {
    if (!conn) return;
    PQfinish(conn->pg);
    if (conn->wake_fd >= 0) close(conn->wake_fd);
    rondo_buf_fini(&conn->params);
    rondo_free(conn->columns);
    rondo_free(conn);
}
