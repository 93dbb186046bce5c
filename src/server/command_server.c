/* SPDX-License-Identifier: MIT */
/* INFO, the size of things, flushing, time, and the small commands that client
 * libraries ask a server for. */
#include "server/info.h"
#include "server/session.h"
#include <strings.h>

/* ---- INFO ------------------------------------------------------------------------- */

static bool wants_section(void *arg, const char *section) {
    const struct rondo_cmd *call = arg;
    if (call->argc == 1) return true;
    for (size_t i = 1; i < call->argc; i++) {
        if (rondo_cmd_is(call, i, section) || rondo_cmd_is(call, i, "all") ||
            rondo_cmd_is(call, i, "default") || rondo_cmd_is(call, i, "everything"))
            return true;
    }
    return false;
}

static enum rondo_run run_info(struct rondo_cmd *call) {
    struct rondo_buf text = {0};
    if (rondo_info_write(call->session->service, call->now_ns, wants_section, call, &text))
        (void)rondo_cmd_error(call, "OOM out of memory");
    else
        rondo_resp_write_verbatim(&call->w, "txt", text.data, text.len);
    rondo_buf_fini(&text);
    return RONDO_RUN_DONE;
}

/* ---- keyspace --------------------------------------------------------------------- */

static enum rondo_run run_dbsize(struct rondo_cmd *call) {
    uint64_t n = rondo_keyspace_size(call->session->service->ks, call->session->db);
    rondo_resp_write_int(&call->w, (int64_t)n);
    return RONDO_RUN_DONE;
}

static enum rondo_run flush(struct rondo_cmd *call, unsigned space) {
    if (call->argc > 2 ||
        (call->argc == 2 && !rondo_cmd_is(call, 1, "ASYNC") && !rondo_cmd_is(call, 1, "SYNC")))
        return rondo_cmd_syntax_error(call);
    rondo_keyspace_flush(call->session->service->ks, space);
    return rondo_cmd_ok(call);
}

static enum rondo_run run_flushdb(struct rondo_cmd *call) {
    return flush(call, call->session->db);
}

static enum rondo_run run_flushall(struct rondo_cmd *call) {
    return flush(call, RONDO_ALL_SPACES);
}

/* ---- what clients ask for --------------------------------------------------------- */

static enum rondo_run run_time(struct rondo_cmd *call) {
    uint64_t us = rondo_clock_wall(call->session->service->clock) / RONDO_US;
    char text[24];
    rondo_resp_write_array(&call->w, 2);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)(us / 1000000));
    rondo_resp_write_bulk_str(&call->w, text);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)(us % 1000000));
    rondo_resp_write_bulk_str(&call->w, text);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_role(struct rondo_cmd *call) {
    rondo_resp_write_array(&call->w, 3);
    rondo_resp_write_bulk_str(&call->w, "master");
    rondo_resp_write_int(&call->w, 0);
    rondo_resp_write_array(&call->w, 0);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_wait(struct rondo_cmd *call) {
    int64_t n;
    if (!rondo_slice_to_int(call->argv[1], &n))
        return rondo_cmd_error(call, "ERR value is not an integer or out of range");
    if (!rondo_slice_to_int(call->argv[2], &n))
        return rondo_cmd_error(call, "ERR timeout is not an integer or out of range");
    if (n < 0) return rondo_cmd_error(call, "ERR timeout is negative");
    rondo_resp_write_int(&call->w, 0); /* there are no replicas */
    return RONDO_RUN_DONE;
}

static enum rondo_run run_no_cluster(struct rondo_cmd *call) {
    return rondo_cmd_error(call, "ERR This instance has cluster support disabled");
}

static enum rondo_run run_module_list(struct rondo_cmd *call) {
    rondo_resp_write_array(&call->w, 0);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_whoami(struct rondo_cmd *call) {
    rondo_resp_write_bulk_str(&call->w, "default");
    return RONDO_RUN_DONE;
}

/* No slow log is kept and no latency event is recorded: both are empty. */
static enum rondo_run run_nothing(struct rondo_cmd *call) {
    rondo_resp_write_array(&call->w, 0);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_slowlog_get(struct rondo_cmd *call) {
    int64_t n = 0;
    if (call->argc > 3)
        return rondo_cmd_error(call, "ERR unknown subcommand or wrong number of arguments for "
                                     "'GET'. Try SLOWLOG HELP.");
    if (call->argc == 3 && (!rondo_slice_to_int(call->argv[2], &n) || n < -1))
        return rondo_cmd_error(call, "ERR count should be greater than or equal to -1");
    return run_nothing(call);
}

static enum rondo_run run_zero(struct rondo_cmd *call) {
    rondo_resp_write_int(&call->w, 0);
    return RONDO_RUN_DONE;
}

/* ---- the table -------------------------------------------------------------------- */

#define SERVER(name, arity, flags, since, summary, run)                                            \
    { name, arity, flags, {0, 0, 0}, "server", since, summary, run, NULL }
#define CONTAINER(name, since, summary, run, arity, subs)                                          \
    { name, arity, 0, {0, 0, 0}, "server", since, summary, run, subs }

static const struct rondo_command module_table[] = {
    SERVER("module|list", 2, RONDO_COMMAND_ADMIN, "4.0.0", "List all modules loaded by the server",
           run_module_list)};
static const struct rondo_command_family module_subs = {module_table, 1};
static const struct rondo_command acl_table[] = {
    SERVER("acl|whoami", 2, 0, "6.0.0",
           "Return the name of the user associated to the current connection", run_whoami)};
static const struct rondo_command_family acl_subs = {acl_table, 1};

static const struct rondo_command slowlog_table[] = {
    SERVER("slowlog|get", -2, RONDO_COMMAND_ADMIN, "2.2.12", "Get the slow log's entries",
           run_slowlog_get),
    SERVER("slowlog|len", 2, RONDO_COMMAND_ADMIN, "2.2.12", "Get the slow log's length", run_zero),
    SERVER("slowlog|reset", 2, RONDO_COMMAND_ADMIN, "2.2.12", "Clear all entries from the slow log",
           rondo_cmd_ok)};
static const struct rondo_command_family slowlog_subs = {slowlog_table,
                                                         RONDO_COUNT_OF(slowlog_table)};
static const struct rondo_command latency_table[] = {
    SERVER("latency|latest", 2, RONDO_COMMAND_ADMIN, "2.8.13",
           "Return the latest latency samples for all events", run_nothing),
    SERVER("latency|history", 3, RONDO_COMMAND_ADMIN, "2.8.13",
           "Return timestamp-latency samples for the event", run_nothing),
    SERVER("latency|reset", -2, RONDO_COMMAND_ADMIN, "2.8.13",
           "Reset latency data for one or more events", run_zero)};
static const struct rondo_command_family latency_subs = {latency_table,
                                                         RONDO_COUNT_OF(latency_table)};

enum { WHOLE = RONDO_COMMAND_WHOLE };

static const struct rondo_command table[] = {
    SERVER("info", -1, WHOLE, "1.0.0", "Get information and statistics about the server", run_info),
    SERVER("dbsize", 1, WHOLE | RONDO_COMMAND_FAST, "1.0.0",
           "Return the number of keys in the selected database", run_dbsize),
    SERVER("flushdb", -1, WHOLE | RONDO_COMMAND_WRITE, "1.0.0",
           "Remove all keys from the current database", run_flushdb),
    SERVER("flushall", -1, WHOLE | RONDO_COMMAND_WRITE, "1.0.0",
           "Remove all keys from all databases", run_flushall),
    SERVER("time", 1, RONDO_COMMAND_FAST, "2.6.0", "Return the current server time", run_time),
    SERVER("role", 1, RONDO_COMMAND_FAST, "2.8.12",
           "Return the role of the instance in the context of replication", run_role),
    SERVER("wait", 3, 0, "3.0.0", "Wait for replicas; there are none", run_wait),
    SERVER("readonly", 1, RONDO_COMMAND_FAST, "3.0.0",
           "Enables read queries for a connection to a cluster replica node", run_no_cluster),
    SERVER("readwrite", 1, RONDO_COMMAND_FAST, "3.0.0",
           "Disables read queries for a connection to a cluster replica node", run_no_cluster),
    SERVER("cluster", -2, 0, "3.0.0", "Cluster support is disabled", run_no_cluster),
    CONTAINER("config", "2.0.0", "A container for server configuration commands", NULL, -2,
              &rondo_commands_config),
    CONTAINER("command", "2.8.13", "Get array of command details", rondo_command_run_command, -1,
              &rondo_commands_command),
    CONTAINER("slowlog", "2.2.12", "A container for slow log commands", NULL, -2, &slowlog_subs),
    CONTAINER("latency", "2.8.13", "A container for latency diagnostics commands", NULL, -2,
              &latency_subs),
    CONTAINER("module", "4.0.0", "A container for module commands", NULL, -2, &module_subs),
    CONTAINER("acl", "6.0.0", "A container for Access List Control commands", NULL, -2, &acl_subs),
};

const struct rondo_command_family rondo_commands_server = {table, RONDO_COUNT_OF(table)};
