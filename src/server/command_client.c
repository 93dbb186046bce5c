/* SPDX-License-Identifier: MIT */
/* CLIENT and its sub-commands. */
#include "server/session.h"

static enum rondo_run set_text(struct rondo_cmd *call, enum rondo_client_text which, size_t arg) {
    if (!rondo_cmd_set_text(call, which, call->argv[arg])) return RONDO_RUN_DONE;
    return rondo_cmd_ok(call);
}

static bool is_client_text(struct rondo_slice text) {
    const char *p = text.data;
    for (size_t i = 0; i < text.len; i++)
        if (p[i] < '!' || p[i] > '~') return false;
    return true;
}

bool rondo_cmd_set_text(struct rondo_cmd *call, enum rondo_client_text which,
                        struct rondo_slice text) {
    static const char *const what[] = {"Client names", "lib-name", "lib-ver"};
    struct rondo_session *s = call->session;
    if (!is_client_text(text))
        (void)rondo_cmd_error(call, "ERR %s cannot contain spaces, newlines or special characters.",
                              what[which]);
    else if (rondo_clients_set_text(&s->service->clients, s->client, which, text) != RONDO_OK)
        (void)rondo_cmd_error(call, "OOM out of memory");
    else
        return true;
    return false;
}

static enum rondo_run run_setname(struct rondo_cmd *call) {
    return set_text(call, RONDO_CLIENT_NAME, 2);
}

static enum rondo_run run_getname(struct rondo_cmd *call) {
    const char *name = call->session->client->texts[RONDO_CLIENT_NAME];
    if (name)
        rondo_resp_write_bulk_str(&call->w, name);
    else
        rondo_resp_write_null(&call->w);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_setinfo(struct rondo_cmd *call) {
    if (rondo_cmd_is(call, 2, "LIB-NAME")) return set_text(call, RONDO_CLIENT_LIB_NAME, 3);
    if (rondo_cmd_is(call, 2, "LIB-VER")) return set_text(call, RONDO_CLIENT_LIB_VER, 3);
    return rondo_cmd_error(call, "ERR Unrecognized option '%.*s'",
                           call->argv[2].len < 64 ? (int)call->argv[2].len : 64,
                           (const char *)call->argv[2].data);
}

static enum rondo_run run_id(struct rondo_cmd *call) {
    rondo_resp_write_int(&call->w, (int64_t)call->session->client->id);
    return RONDO_RUN_DONE;
}

/* ---- LIST, INFO ------------------------------------------------------------------- */

/* Of clients, as LIST and KILL name them. There are no masters and no replicas. */
enum type { ANY_TYPE, NORMAL, PUBSUB, NONE_HERE, UNKNOWN };

static enum type type_at(const struct rondo_cmd *call, size_t i) {
    if (rondo_cmd_is(call, i, "normal")) return NORMAL;
    if (rondo_cmd_is(call, i, "pubsub")) return PUBSUB;
    bool is_known = rondo_cmd_is(call, i, "master") || rondo_cmd_is(call, i, "replica") ||
                    rondo_cmd_is(call, i, "slave");
    return is_known ? NONE_HERE : UNKNOWN;
}

static enum rondo_run type_error(struct rondo_cmd *call, size_t i) {
    return rondo_cmd_error(call, "ERR Unknown client type '%.*s'",
                           call->argv[i].len < 64 ? (int)call->argv[i].len : 64,
                           (const char *)call->argv[i].data);
}

/* The relaxed loads' partners are the stores of the client's own connection. */
static bool is_of_type(const struct rondo_client *client, enum type type) {
    if (type == ANY_TYPE) return true;
    bool is_listening =
        rondo_load_relaxed(&client->channels) + rondo_load_relaxed(&client->patterns) > 0;
    return type == (is_listening ? PUBSUB : NORMAL);
}

struct list {
    struct rondo_buf text;
    enum type type;
    const struct rondo_cmd *call;
    size_t first_id; /* argument number of the ids; 0: all clients */
    uint64_t now_ns;
    enum rondo_err err;
};

static bool is_wanted(const struct list *l, const struct rondo_client *client) {
    if (!l->first_id) return true;
    for (size_t i = l->first_id; i < l->call->argc; i++) {
        int64_t id;
        if (rondo_slice_to_int(l->call->argv[i], &id) && (uint64_t)id == client->id) return true;
    }
    return false;
}

static const char *text_of(const struct rondo_client *client, enum rondo_client_text which) {
    return client->texts[which] ? client->texts[which] : "";
}

static uint64_t seconds_since(uint64_t now_ns, uint64_t then_ns) {
    return now_ns > then_ns ? (now_ns - then_ns) / RONDO_SEC : 0;
}

/* The relaxed loads' partners are the stores of the client's own connection. */
static void add_line(void *arg, const struct rondo_client *client) {
    struct list *l = arg;
    if (!is_wanted(l, client) || !is_of_type(client, l->type) || l->err) return;
    const char *command = rondo_load_relaxed(&client->command);
    char peer[RONDO_CLIENT_ADDRESS], local[RONDO_CLIENT_ADDRESS];
    rondo_client_address_format(&client->peer, peer);
    rondo_client_address_format(&client->local, local);
    l->err = rondo_buf_printf(
        &l->text,
        "id=%llu addr=%s laddr=%s fd=%d name=%s age=%llu idle=%llu flags=N db=%u sub=%u psub=%u "
        "ssub=0 multi=-1 cmd=%s user=default redir=-1 resp=%u lib-name=%s lib-ver=%s\n",
        (unsigned long long)client->id, peer, local, client->fd, text_of(client, RONDO_CLIENT_NAME),
        (unsigned long long)seconds_since(l->now_ns, client->since_ns),
        (unsigned long long)seconds_since(l->now_ns, rondo_load_relaxed(&client->last_ns)),
        rondo_load_relaxed(&client->db), rondo_load_relaxed(&client->channels),
        rondo_load_relaxed(&client->patterns), command ? command : "NULL",
        rondo_load_relaxed(&client->proto), text_of(client, RONDO_CLIENT_LIB_NAME),
        text_of(client, RONDO_CLIENT_LIB_VER));
}

static enum rondo_run write_list(struct rondo_cmd *call, struct list *l) {
    if (l->err)
        (void)rondo_cmd_error(call, "OOM out of memory");
    else
        rondo_resp_write_verbatim(&call->w, "txt", l->text.data, l->text.len);
    rondo_buf_fini(&l->text);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_list(struct rondo_cmd *call) {
    struct list l = {.call = call, .now_ns = call->now_ns};
    if (call->argc == 4 && rondo_cmd_is(call, 2, "TYPE")) {
        l.type = type_at(call, 3);
        if (l.type == UNKNOWN) return type_error(call, 3);
    } else if (call->argc > 3 && rondo_cmd_is(call, 2, "ID")) {
        l.first_id = 3;
        for (size_t i = 3; i < call->argc; i++) {
            int64_t id;
            if (!rondo_slice_to_int(call->argv[i], &id))
                return rondo_cmd_error(call, "ERR Invalid client ID");
        }
    } else if (call->argc > 2) {
        return rondo_cmd_syntax_error(call);
    }
    rondo_clients_each(&call->session->service->clients, add_line, &l);
    return write_list(call, &l);
}

static enum rondo_run run_info(struct rondo_cmd *call) {
    struct list l = {.call = call, .now_ns = call->now_ns};
    add_line(&l, call->session->client);
    return write_list(call, &l);
}

/* ---- KILL ------------------------------------------------------------------------- */

struct kill {
    uint64_t id; /* 0: any */
    struct rondo_slice peer, local;
    bool skip_me, kills_me;
    enum type type;
    const struct rondo_client *me;
};

static bool is_address(struct rondo_slice wanted, const struct rondo_client_address *address) {
    char text[RONDO_CLIENT_ADDRESS];
    if (wanted.data == NULL) return true;
    rondo_client_address_format(address, text);
    return rondo_slice_is(wanted, text);
}

static bool is_victim(void *arg, const struct rondo_client *client) {
    struct kill *k = arg;
    if ((k->id && k->id != client->id) || !is_of_type(client, k->type)) return false;
    if (!is_address(k->peer, &client->peer) || !is_address(k->local, &client->local)) return false;
    if (client != k->me) return true;
    k->kills_me = !k->skip_me;
    return k->kills_me;
}

/* False after an error reply. */
static bool read_kill_option(struct rondo_cmd *call, size_t i, struct kill *k) {
    struct rondo_slice value = call->argv[i + 1];
    int64_t id = 0;
    if (rondo_cmd_is(call, i, "ID")) {
        if (!rondo_slice_to_int(value, &id) || id <= 0) {
            (void)rondo_cmd_error(call, "ERR client-id should be greater than 0");
            return false;
        }
        k->id = (uint64_t)id;
    } else if (rondo_cmd_is(call, i, "ADDR")) {
        k->peer = value;
    } else if (rondo_cmd_is(call, i, "LADDR")) {
        k->local = value;
    } else if (rondo_cmd_is(call, i, "TYPE")) {
        k->type = type_at(call, i + 1);
        if (k->type != UNKNOWN) return true;
        (void)type_error(call, i + 1);
        return false;
    } else if (rondo_cmd_is(call, i, "USER")) {
        if (rondo_slice_is(value, "default")) return true;
        (void)rondo_cmd_error(call, "ERR No such user '%.*s'", value.len < 64 ? (int)value.len : 64,
                              (const char *)value.data);
        return false;
    } else if (rondo_cmd_is(call, i, "SKIPME") &&
               (rondo_cmd_is(call, i + 1, "yes") || rondo_cmd_is(call, i + 1, "no"))) {
        k->skip_me = rondo_cmd_is(call, i + 1, "yes");
    } else {
        (void)rondo_cmd_syntax_error(call);
        return false;
    }
    return true;
}

/* False after an error reply. */
static bool read_kill(struct rondo_cmd *call, struct kill *k) {
    for (size_t i = 2; i < call->argc; i += 2) {
        if (i + 1 == call->argc) {
            (void)rondo_cmd_syntax_error(call);
            return false;
        }
        if (!read_kill_option(call, i, k)) return false;
    }
    return true;
}

static enum rondo_run run_kill(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    struct kill k = {.me = s->client, .skip_me = true};
    bool is_old_form = call->argc == 3;
    if (is_old_form) {
        k.peer = call->argv[2];
        k.skip_me = false;
    } else if (!read_kill(call, &k)) {
        return RONDO_RUN_DONE;
    }
    size_t n = rondo_clients_tell(&s->service->clients, RONDO_SESSION_KILL, is_victim, &k, NULL);
    if (is_old_form && n == 0) return rondo_cmd_error(call, "ERR No such client");
    if (is_old_form) return rondo_cmd_ok(call);
    rondo_resp_write_int(&call->w, (int64_t)n);
    return RONDO_RUN_DONE;
}

/* ---- switches --------------------------------------------------------------------- */

static enum rondo_run run_reply(struct rondo_cmd *call) {
    uint8_t *mode = &call->session->reply_mode;
    if (rondo_cmd_is(call, 2, "ON")) {
        *mode = RONDO_REPLY_ON;
        return rondo_cmd_ok(call);
    }
    if (rondo_cmd_is(call, 2, "OFF"))
        *mode = RONDO_REPLY_OFF;
    else if (!rondo_cmd_is(call, 2, "SKIP"))
        return rondo_cmd_syntax_error(call);
    else if (*mode != RONDO_REPLY_OFF)
        *mode = RONDO_REPLY_SKIP_NEXT;
    return RONDO_RUN_DONE;
}

/* NO-EVICT and NO-TOUCH: this server never evicts clients, and a touch is what a
 * cache lives by. */
static enum rondo_run run_switch(struct rondo_cmd *call) {
    if (rondo_cmd_is(call, 2, "ON") || rondo_cmd_is(call, 2, "OFF")) return rondo_cmd_ok(call);
    return rondo_cmd_syntax_error(call);
}

static enum rondo_run run_help(struct rondo_cmd *call) {
    static const char *const lines[] = {
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GETNAME",
        "    Return the name of the current connection.",
        "ID",
        "    Return the ID of the current connection.",
        "INFO",
        "    Return information about the current client connection.",
        "KILL <ip:port>",
        "    Kill connection made from <ip:port>.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Kill connections. Options are: ADDR, LADDR, TYPE, USER, SKIPME, ID.",
        "LIST [options ...]",
        "    Return information about client connections. Options: TYPE, ID.",
        "NO-EVICT (ON|OFF)",
        "    Accepted; clients are never evicted.",
        "NO-TOUCH (ON|OFF)",
        "    Accepted; a read always counts as one.",
        "REPLY (ON|OFF|SKIP)",
        "    Control the replies sent to the current connection.",
        "SETINFO (LIB-NAME|LIB-VER) <value>",
        "    Set what the client library is called.",
        "SETNAME <name>",
        "    Assign the name <name> to the current connection; sources see it.",
        "HELP",
        "    Print this help.",
    };
    return rondo_cmd_help(call, lines, RONDO_COUNT_OF(lines));
}

#define CLIENT(name, arity, flags, since, summary, run)                                            \
    { "client|" name, arity, flags, {0, 0, 0}, "connection", since, summary, run, NULL }

static const struct rondo_command table[] = {
    CLIENT("setname", 3, 0, "2.6.9", "Set the current connection name", run_setname),
    CLIENT("getname", 2, 0, "2.6.9", "Get the current connection name", run_getname),
    CLIENT("setinfo", 4, 0, "7.2.0", "Set client or connection specific info", run_setinfo),
    CLIENT("id", 2, 0, "5.0.0", "Returns the client ID for the current connection", run_id),
    CLIENT("info", 2, 0, "6.2.0", "Returns information about the current client connection.",
           run_info),
    CLIENT("list", -2, RONDO_COMMAND_ADMIN, "2.4.0", "Get the list of client connections",
           run_list),
    CLIENT("kill", -3, RONDO_COMMAND_ADMIN, "2.4.0", "Kill the connection of a client", run_kill),
    CLIENT("reply", 3, RONDO_COMMAND_NO_MULTI, "3.2.0",
           "Instruct the server whether to reply to commands", run_reply),
    CLIENT("no-evict", 3, RONDO_COMMAND_ADMIN, "7.0.0",
           "Set client eviction mode for the current connection", run_switch),
    CLIENT("no-touch", 3, 0, "7.2.0", "Controls whether commands of the client touch keys",
           run_switch),
    CLIENT("help", 2, 0, "5.0.0", "Show helpful text about the different subcommands", run_help),
};

const struct rondo_command_family rondo_commands_client = {table, RONDO_COUNT_OF(table)};
