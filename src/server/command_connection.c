/* SPDX-License-Identifier: MIT */
/* The commands of a connection about itself, but for CLIENT. */
#include "server/session.h"

/* Takes the same time however much of the password is right. */
static bool is_password(const char *password, struct rondo_slice given) {
    const unsigned char *p = (const unsigned char *)password, *g = given.data;
    size_t n = strlen(password);
    unsigned differ = n != given.len;
    for (size_t i = 0; i < given.len; i++) differ |= (unsigned)(g[i] ^ p[n ? i % n : 0]);
    return differ == 0;
}

static enum rondo_run wrong_password(struct rondo_cmd *call) {
    rondo_resp_write_error(&call->w,
                           "WRONGPASS invalid username-password pair or user is disabled.");
    return RONDO_RUN_DONE;
}

/* The one user there is is Redis's "default"; without a password any will do. */
static bool authenticate(struct rondo_session *s, struct rondo_slice user,
                         struct rondo_slice password) {
    const char *expected = s->service->config->password;
    bool is_right = !expected || is_password(expected, password);
    if (!is_right || !rondo_slice_is(user, "default")) return false;
    s->is_authenticated = true;
    return true;
}

static enum rondo_run run_auth(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    if (call->argc > 3) return rondo_cmd_syntax_error(call);
    if (call->argc == 2 && !s->service->config->password)
        return rondo_cmd_error(call,
                               "ERR AUTH <password> called without any password configured for "
                               "the default user. Are you sure your configuration is correct?");
    struct rondo_slice user = call->argc == 3 ? call->argv[1] : rondo_slice_str("default");
    if (!authenticate(s, user, call->argv[call->argc - 1])) return wrong_password(call);
    return rondo_cmd_ok(call);
}

/* ---- HELLO ------------------------------------------------------------------------ */

struct hello {
    int64_t proto;
    struct rondo_slice user, password, name;
    bool has_auth, has_name;
};

/* False after an error reply. */
static bool read_hello(struct rondo_cmd *call, struct hello *h) {
    size_t i = 1;
    if (call->argc > 1) {
        if (!rondo_slice_to_int(call->argv[i++], &h->proto)) {
            (void)rondo_cmd_error(call, "ERR Protocol version is not an integer or out of range");
            return false;
        }
        if (h->proto < 2 || h->proto > 3) {
            (void)rondo_cmd_error(call, "NOPROTO unsupported protocol version");
            return false;
        }
    }
    for (; i < call->argc; i++) {
        size_t more = call->argc - 1 - i;
        if (rondo_cmd_is(call, i, "AUTH") && more >= 2) {
            h->has_auth = true;
            h->user = call->argv[++i];
            h->password = call->argv[++i];
        } else if (rondo_cmd_is(call, i, "SETNAME") && more >= 1) {
            h->has_name = true;
            h->name = call->argv[++i];
        } else {
            (void)rondo_cmd_error(call, "ERR Syntax error in HELLO option '%.*s'",
                                  call->argv[i].len < 64 ? (int)call->argv[i].len : 64,
                                  (const char *)call->argv[i].data);
            return false;
        }
    }
    return true;
}

static void write_hello(struct rondo_cmd *call) {
    struct rondo_resp_writer *w = &call->w;
    w->proto = call->session->proto; /* the answer is in the new protocol already */
    rondo_resp_write_map(w, 7);
    rondo_resp_write_bulk_str(w, "server");
    rondo_resp_write_bulk_str(w, "redis");
    rondo_resp_write_bulk_str(w, "version");
    rondo_resp_write_bulk_str(w, RONDO_SESSION_REDIS_VERSION);
    rondo_resp_write_bulk_str(w, "proto");
    rondo_resp_write_int(w, call->session->proto);
    rondo_resp_write_bulk_str(w, "id");
    rondo_resp_write_int(w, (int64_t)call->session->client->id);
    rondo_resp_write_bulk_str(w, "mode");
    rondo_resp_write_bulk_str(w, "standalone");
    rondo_resp_write_bulk_str(w, "role");
    rondo_resp_write_bulk_str(w, "master");
    rondo_resp_write_bulk_str(w, "modules");
    rondo_resp_write_array(w, 0);
}

static enum rondo_run run_hello(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    struct hello h = {.proto = s->proto};
    if (!read_hello(call, &h)) return RONDO_RUN_DONE;
    if (h.has_auth && !authenticate(s, h.user, h.password)) return wrong_password(call);
    if (!s->is_authenticated)
        return rondo_cmd_error(
            call, "NOAUTH HELLO must be called with the client already authenticated, otherwise "
                  "the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the "
                  "client and select the RESP protocol version at the same time");
    if (h.has_name && !rondo_cmd_set_text(call, RONDO_CLIENT_NAME, h.name)) return RONDO_RUN_DONE;
    rondo_session_set_proto(s, (uint8_t)h.proto);
    write_hello(call);
    return RONDO_RUN_DONE;
}

/* ---- the small ones --------------------------------------------------------------- */

static enum rondo_run run_ping(struct rondo_cmd *call) {
    bool is_listening = call->session->is_listening && call->session->proto == 2;
    if (call->argc > 2) return rondo_cmd_arity_error(call);
    if (is_listening) {
        rondo_resp_write_array(&call->w, 2);
        rondo_resp_write_bulk_str(&call->w, "pong");
    }
    if (is_listening && call->argc == 1)
        rondo_resp_write_bulk_str(&call->w, "");
    else if (call->argc == 2)
        rondo_resp_write_bulk(&call->w, call->argv[1].data, call->argv[1].len);
    else
        rondo_resp_write_simple(&call->w, "PONG");
    return RONDO_RUN_DONE;
}

static enum rondo_run run_echo(struct rondo_cmd *call) {
    rondo_resp_write_bulk(&call->w, call->argv[1].data, call->argv[1].len);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_select(struct rondo_cmd *call) {
    int64_t db;
    if (!rondo_slice_to_int(call->argv[1], &db))
        return rondo_cmd_error(call, "ERR value is not an integer or out of range");
    if (db < INT32_MIN || db > INT32_MAX)
        return rondo_cmd_error(
            call, "ERR value is out of range, value must between -2147483648 and 2147483647");
    if (db < 0 || db >= RONDO_SESSION_DATABASES)
        return rondo_cmd_error(call, "ERR DB index is out of range");
    rondo_session_set_db(call->session, (uint8_t)db);
    return rondo_cmd_ok(call);
}

static enum rondo_run run_quit(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    bool is_known = s->leave != NULL;
    s->is_quitting = true;
    if (is_known) rondo_session_reset(s);
    return is_known ? rondo_command_leave(call) : rondo_cmd_ok(call);
}

static enum rondo_run run_reset(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    bool is_known = s->leave != NULL;
    rondo_session_reset(s);
    if (!rondo_cmd_set_text(call, RONDO_CLIENT_NAME, (struct rondo_slice){0}))
        return RONDO_RUN_DONE;
    if (is_known) return rondo_command_leave(call);
    rondo_resp_write_simple(&call->w, "RESET");
    return RONDO_RUN_DONE;
}

#define CONNECTION(name, arity, flags, since, summary, run)                                        \
    { name, arity, flags, {0, 0, 0}, "connection", since, summary, run, NULL }

enum {
    OPEN = RONDO_COMMAND_NO_AUTH | RONDO_COMMAND_FAST,
    LEAVE = RONDO_COMMAND_ASKS | RONDO_COMMAND_LISTENING | RONDO_COMMAND_AT_ONCE
};

static const struct rondo_command table[] = {
    CONNECTION("ping", -1, RONDO_COMMAND_FAST | RONDO_COMMAND_LISTENING, "1.0.0", "Ping the server",
               run_ping),
    CONNECTION("echo", 2, RONDO_COMMAND_FAST, "1.0.0", "Echo the given string", run_echo),
    CONNECTION("hello", -1, OPEN, "6.0.0", "Handshake with the server", run_hello),
    CONNECTION("auth", -2, OPEN, "1.0.0", "Authenticate to the server", run_auth),
    CONNECTION("select", 2, RONDO_COMMAND_FAST, "1.0.0",
               "Change the selected database for the current connection", run_select),
    CONNECTION("quit", -1, OPEN | LEAVE, "1.0.0", "Close the connection", run_quit),
    CONNECTION("reset", 1, OPEN | LEAVE, "6.2.0", "Reset the connection", run_reset),
    {"client",
     -2,
     0,
     {0, 0, 0},
     "connection",
     "2.4.0",
     "A container for client connection commands",
     NULL,
     &rondo_commands_client},
};

const struct rondo_command_family rondo_commands_connection = {table, RONDO_COUNT_OF(table)};
