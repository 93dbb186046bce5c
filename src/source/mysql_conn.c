/* SPDX-License-Identifier: MIT */
#include "source/mysql_conn.h"

#include "base/clock.h"
#include "base/mem.h"
#include "source/quantity.h"
#include <errmsg.h>
#include <errno.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* The server's clock starts later than ours and its answer has to come back. */
#define LONGEST_MARGIN (500 * RONDO_MS)

/* The connection that this thread is in a call of: the library's question whether to
 * wait on has no argument of ours. */
static _Thread_local struct rondo_mysql_conn *current;

static uint64_t now_ns(void) {
    return rondo_clock_now(&rondo_clock_real);
}

/* ---------------------------------------------------------------- waiting --- */

static int wait_for(struct rondo_mysql_conn *conn, struct pollfd *fds) {
    int n;
    do {
        uint64_t now = now_ns();
        uint64_t left = conn->deadline_ns > now ? conn->deadline_ns - now : 0;
        struct timespec t = {(time_t)(left / RONDO_SEC), (long)(left % RONDO_SEC)};
        n = ppoll(fds, 2, conn->deadline_ns == UINT64_MAX ? NULL : &t, NULL);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* The library waits: 1 go on, 0 give up. */
static int on_wait(my_socket fd, my_bool is_read, int timeout_ms) {
    struct rondo_mysql_conn *conn = current;
    (void)timeout_ms;
    RONDO_CHECK(conn != NULL);
    struct pollfd fds[] = {{fd, is_read ? POLLIN : POLLOUT, 0}, {conn->wake_fd, POLLIN, 0}};
    if (wait_for(conn, fds) > 0 && !fds[1].revents) return 1;
    conn->is_late = true;
    errno = ETIMEDOUT;
    return 0;
}

void rondo_mysql_conn_begin(struct rondo_mysql_conn *conn, uint64_t timeout_ns) {
    uint64_t count;
    current = conn;
    conn->is_late = false;
    conn->started_ns = now_ns();
    conn->deadline_ns = timeout_ns ? rondo_deadline(conn->started_ns, timeout_ns) : UINT64_MAX;
    /* A cancel that came late was for the call before. */
    while (read(conn->wake_fd, &count, sizeof count) > 0) continue;
}

void rondo_mysql_conn_cancel(struct rondo_mysql_conn *conn) {
    const uint64_t one = 1;
    /* Full means that somebody else has said so already. */
    ssize_t n = write(conn->wake_fd, &one, sizeof one);
    (void)n;
}

/* ----------------------------------------------------------------- errors --- */

void rondo_mysql_conn_drop(struct rondo_mysql_conn *conn) {
    current = conn;
    if (conn->my) mysql_close(conn->my);
    conn->my = NULL;
    /* After the connection: a statement that still has one would first read what is
     * left of its rows. */
    for (int i = 0; i < RONDO_MYSQL_SLOTS; i++) {
        if (conn->stmts[i]) mysql_stmt_close(conn->stmts[i]);
        conn->stmts[i] = NULL;
    }
}

static enum rondo_err kind_of(unsigned code) {
    switch (code) {
    case CR_OUT_OF_MEMORY:
        return RONDO_ERR_NOMEM;
    case ER_STATEMENT_TIMEOUT:
    case 3024: /* MySQL's ER_QUERY_TIMEOUT */
    case ER_QUERY_INTERRUPTED:
        return RONDO_ERR_TIMEOUT;
    case ER_SERVER_SHUTDOWN:
    case ER_NORMAL_SHUTDOWN:
    case ER_SHUTDOWN_COMPLETE:
    case ER_CON_COUNT_ERROR:
    case ER_NEW_ABORTING_CONNECTION:
    case ER_CONNECTION_KILLED:
    case ER_UNKNOWN_COM_ERROR:
        return RONDO_ERR_CONNECT;
    default:
        /* The library's own errors speak of the connection, those of the use of
         * statements aside. */
        return code >= CR_MIN_ERROR && code <= CR_MAX_ERROR && code != CR_NEW_STMT_METADATA &&
                       code != CR_NO_PREPARE_STMT
                   ? RONDO_ERR_CONNECT
                   : RONDO_ERR_LOAD;
    }
}

enum rondo_err rondo_mysql_conn_error(struct rondo_mysql_conn *conn, unsigned code,
                                      const char *text, struct rondo_source_error *why) {
    char limit[24];
    enum rondo_err err = conn->is_late ? RONDO_ERR_TIMEOUT : kind_of(code);
    conn->code = code;
    if (conn->is_late) {
        uint64_t took = (now_ns() - conn->started_ns) / RONDO_MS + 1;
        rondo_quantity_print_duration(took * RONDO_MS, limit);
        snprintf(why->text, sizeof why->text, "stopped at its time limit, after %s", limit);
    } else {
        snprintf(why->text, sizeof why->text, "%s", text);
    }
    if (conn->is_late || err == RONDO_ERR_CONNECT) rondo_mysql_conn_drop(conn);
    return err;
}

/* ------------------------------------------------------------- connecting --- */

static void set_options(MYSQL *my, const struct rondo_mysql_plan *plan) {
    unsigned seconds = (unsigned)(plan->connect_ns / RONDO_SEC) + 1, off = 0;
    my_bool yes = 1;
    const struct rondo_mysql_url *url = &plan->url;
    union {
        int (*fn)(my_socket, my_bool, int);
        void *arg;
    } hook = {.fn = on_wait};
    mysql_optionsv(my, MARIADB_OPT_IO_WAIT, hook.arg);
    mysql_optionsv(my, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_optionsv(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(my, MYSQL_OPT_LOCAL_INFILE, &off);
    /* Without it a server may keep one snapshot for all reads of a connection. */
    mysql_optionsv(my, MYSQL_INIT_COMMAND, "SET autocommit=1");
    if (url->tls != RONDO_MYSQL_TLS_OFF) mysql_optionsv(my, MYSQL_OPT_SSL_ENFORCE, &yes);
    if (url->tls == RONDO_MYSQL_TLS_VERIFY)
        mysql_optionsv(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    if (url->ca) mysql_optionsv(my, MYSQL_OPT_SSL_CA, url->ca);
}

static enum rondo_err start(struct rondo_mysql_conn *conn, struct rondo_source_error *why) {
    const struct rondo_mysql_url *url = &conn->plan->url;
    MYSQL *my = mysql_init(NULL);
    if (!my) return RONDO_ERR_NOMEM;
    set_options(my, conn->plan);
    if (mysql_real_connect(my, url->socket ? NULL : url->host, url->user, url->password,
                           url->database, url->port, url->socket, CLIENT_FOUND_ROWS)) {
        conn->my = my;
        conn->limit_ms = 0;
        return RONDO_OK;
    }
    enum rondo_err err = mysql_errno(my) == CR_OUT_OF_MEMORY ? RONDO_ERR_NOMEM : RONDO_ERR_CONNECT;
    if (conn->is_late)
        snprintf(why->text, sizeof why->text, "connecting to \"%.100s\" took too long",
                 url->socket ? url->socket
                 : url->host ? url->host
                             : "");
    else
        snprintf(why->text, sizeof why->text, "%s", mysql_error(my));
    mysql_close(my);
    return err;
}

static enum rondo_err dial(struct rondo_mysql_conn *conn, struct rondo_source_error *why) {
    uint64_t now = now_ns(), deadline = rondo_deadline(now, conn->plan->connect_ns);
    uint64_t whole = conn->deadline_ns;
    if (!rondo_backoff_may_try(&conn->plan->backoff, now, why)) return RONDO_ERR_CONNECT;
    if (deadline < whole) conn->deadline_ns = deadline;
    enum rondo_err err = start(conn, why);
    conn->deadline_ns = whole;
    conn->is_late = false;
    if (err)
        rondo_backoff_failed(&conn->plan->backoff, now_ns(), why);
    else
        rondo_backoff_worked(&conn->plan->backoff);
    return err;
}

/* An idle server has nothing to say but that it closes. */
static bool is_gone(struct rondo_mysql_conn *conn) {
    struct pollfd fd = {mysql_get_socket(conn->my), POLLIN, 0};
    return poll(&fd, 1, 0) > 0;
}

/* The server gives up a little before we do. */
static uint64_t server_limit_ms(const struct rondo_mysql_conn *conn) {
    if (conn->deadline_ns == UINT64_MAX) return 0;
    uint64_t limit = conn->deadline_ns - conn->started_ns, margin = limit / 8;
    if (margin > LONGEST_MARGIN) margin = LONGEST_MARGIN;
    uint64_t ms = (limit - margin) / RONDO_MS;
    return ms == 0 ? 1 : ms < INT32_MAX ? ms : INT32_MAX;
}

static enum rondo_err tell_limit(struct rondo_mysql_conn *conn, struct rondo_source_error *why) {
    uint64_t ms = server_limit_ms(conn);
    char text[80];
    if (ms == conn->limit_ms) return RONDO_OK;
    if (mariadb_connection(conn->my))
        snprintf(text, sizeof text, "SET SESSION max_statement_time=%" PRIu64 ".%03u", ms / 1000,
                 (unsigned)(ms % 1000));
    else
        snprintf(text, sizeof text, "SET SESSION max_execution_time=%" PRIu64, ms);
    conn->limit_ms = ms;
    if (mysql_query(conn->my, text) == 0) return RONDO_OK;
    enum rondo_err err =
        rondo_mysql_conn_error(conn, mysql_errno(conn->my), mysql_error(conn->my), why);
    /* A server too old to know the word: our own limit holds. */
    return err == RONDO_ERR_LOAD ? RONDO_OK : err;
}

enum rondo_err rondo_mysql_conn_ready(struct rondo_mysql_conn *conn,
                                      struct rondo_source_error *why) {
    if (conn->my && is_gone(conn)) rondo_mysql_conn_drop(conn);
    enum rondo_err err = conn->my ? RONDO_OK : dial(conn, why);
    return err ? err : tell_limit(conn, why);
}

enum rondo_err rondo_mysql_conn_new(struct rondo_mysql_plan *plan, struct rondo_source_error *why,
                                    struct rondo_mysql_conn **out) {
    struct rondo_mysql_conn *conn = rondo_zalloc(sizeof *conn);
    if (!conn) return RONDO_ERR_NOMEM;
    conn->plan = plan;
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum rondo_err err = RONDO_OK;
    if (conn->wake_fd < 0) {
        snprintf(why->text, sizeof why->text, "no eventfd: %s", strerror(errno));
        err = RONDO_ERR_CONNECT;
    } else {
        rondo_mysql_conn_begin(conn, 0);
        err = dial(conn, why);
    }
    if (err)
        rondo_mysql_conn_free(conn);
    else
        *out = conn;
    return err;
}

void rondo_mysql_conn_free(struct rondo_mysql_conn *conn) {
    if (!conn) return;
    rondo_mysql_conn_drop(conn);
    current = NULL;
    if (conn->wake_fd >= 0) close(conn->wake_fd);
    rondo_mysql_row_fini(&conn->row);
    rondo_buf_fini(&conn->text);
    rondo_free(conn);
}
