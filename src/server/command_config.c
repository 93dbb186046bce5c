/* SPDX-License-Identifier: MIT */
/* CONFIG: what clients look up of Redis's settings, with this server's values. */
#include "server/glob.h"
#include "server/session.h"
#include <inttypes.h>

enum { VALUE_MAX = 64 };

typedef void (*value_fn)(const struct rondo_service *s, char *out);

static void put_number(char *out, uint64_t n) {
    (void)snprintf(out, VALUE_MAX, "%" PRIu64, n);
}

static void get_bind(const struct rondo_service *s, char *out) {
    (void)snprintf(out, VALUE_MAX, "%s", s->config->listen.host);
}
static void get_io_threads(const struct rondo_service *s, char *out) {
    put_number(out, s->n_workers);
}
static void get_maxclients(const struct rondo_service *s, char *out) {
    put_number(out, s->clients.max);
}
static void get_maxmemory(const struct rondo_service *s, char *out) {
    put_number(out, s->config->memory_bytes);
}
static void get_port(const struct rondo_service *s, char *out) {
    put_number(out, s->port);
}
static void get_argument(const struct rondo_service *s, char *out) {
    put_number(out, s->limits.argument);
}
static void get_input(const struct rondo_service *s, char *out) {
    put_number(out, s->limits.input);
}
static void get_timeout(const struct rondo_service *s, char *out) {
    put_number(out, s->limits.idle_ns / RONDO_SEC);
}

static const struct setting {
    const char *name;
    const char *value; /* NULL: get */
    value_fn get;
} settings[] = {
    {"appendonly", "no", NULL},
    {"bind", NULL, get_bind},
    {"client-query-buffer-limit", NULL, get_input},
    {"cluster-enabled", "no", NULL},
    {"databases", "16", NULL},
    {"io-threads", NULL, get_io_threads},
    {"maxclients", NULL, get_maxclients},
    {"maxmemory", NULL, get_maxmemory},
    {"maxmemory-policy", "allkeys-lfu", NULL},
    {"notify-keyspace-events", "", NULL},
    {"port", NULL, get_port},
    {"proto-max-bulk-len", NULL, get_argument},
    {"replica-read-only", "yes", NULL},
    {"save", "", NULL},
    {"slave-read-only", "yes", NULL},
    {"timeout", NULL, get_timeout},
};

/* The name as it was asked for, or as it is if a pattern matches it; data NULL: it
 * was not asked for. */
static struct rondo_slice wanted_as(const struct rondo_cmd *call, const char *name) {
    for (size_t i = 2; i < call->argc; i++) {
        struct rondo_slice arg = call->argv[i];
        if (rondo_glob_match(arg, rondo_slice_str(name), true))
            return rondo_glob_is_literal(arg) ? arg : rondo_slice_str(name);
    }
    return (struct rondo_slice){0};
}

static enum rondo_run run_get(struct rondo_cmd *call) {
    size_t n = 0;
    for (size_t i = 0; i < RONDO_COUNT_OF(settings); i++)
        n += wanted_as(call, settings[i].name).data != NULL;
    rondo_resp_write_map(&call->w, n);
    for (size_t i = 0; i < RONDO_COUNT_OF(settings); i++) {
        const struct setting *setting = &settings[i];
        struct rondo_slice name = wanted_as(call, setting->name);
        if (!name.data) continue;
        char value[VALUE_MAX];
        if (!setting->value) setting->get(call->session->service, value);
        rondo_resp_write_bulk(&call->w, name.data, name.len);
        rondo_resp_write_bulk_str(&call->w, setting->value ? setting->value : value);
    }
    return RONDO_RUN_DONE;
}

static bool is_setting(const struct rondo_cmd *call, size_t arg) {
    for (size_t i = 0; i < RONDO_COUNT_OF(settings); i++)
        if (rondo_cmd_is(call, arg, settings[i].name)) return true;
    return false;
}

/* What is set stands in the file; nothing changes while the server runs. */
static enum rondo_run run_set(struct rondo_cmd *call) {
    if (call->argc % 2 != 0) return rondo_cmd_arity_error(call);
    size_t arg = 2;
    while (arg + 2 < call->argc && is_setting(call, arg)) arg += 2;
    int len = call->argv[arg].len < 64 ? (int)call->argv[arg].len : 64;
    if (!is_setting(call, arg))
        return rondo_cmd_error(call,
                               "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                               len, (const char *)call->argv[arg].data);
    return rondo_cmd_error(call,
                           "ERR CONFIG SET failed (possibly related to argument '%.*s') - can't "
                           "set immutable config",
                           len, (const char *)call->argv[arg].data);
}

static enum rondo_run run_resetstat(struct rondo_cmd *call) {
    rondo_service_reset_counts(call->session->service);
    return rondo_cmd_ok(call);
}

#define CONFIG(name, arity, since, summary, run)                                                   \
    { "config|" name, arity, RONDO_COMMAND_ADMIN, {0, 0, 0}, "server", since, summary, run, NULL }

static const struct rondo_command table[] = {
    CONFIG("get", -3, "2.0.0", "Get the values of configuration parameters", run_get),
    CONFIG("set", -4, "2.0.0", "Set configuration parameters to the given values", run_set),
    CONFIG("resetstat", 2, "2.0.0", "Reset the stats returned by INFO", run_resetstat),
};

const struct rondo_command_family rondo_commands_config = {table, RONDO_COUNT_OF(table)};
