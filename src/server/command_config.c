/* SPDX-License-Identifier: MIT */
/* CONFIG: what clients look up of Redis's settings, with this server's values. */
#include "server/glob.h"
#include "server/session.h"
#include <inttypes.h>
#include <strings.h>

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
    put_number(out, rondo_clients_max(&s->clients));
}
static void get_maxmemory(const struct rondo_service *s, char *out) {
    put_number(out, rondo_keyspace_limit(s->ks));
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
    put_number(out, rondo_service_idle_ns(s) / RONDO_SEC);
}

static void set_maxclients(struct rondo_service *s, uint64_t n) {
    rondo_clients_set_max(&s->clients, (uint32_t)n);
}
static void set_timeout(struct rondo_service *s, uint64_t n) {
    rondo_store_relaxed(&s->limits.idle_ns, n * RONDO_SEC); /* partner: rondo_service_idle_ns */
}

static const struct setting {
    const char *name;
    const char *value; /* NULL: get */
    value_fn get;
    void (*set)(struct rondo_service *s, uint64_t n); /* NULL: cannot change */
    int64_t least;
} settings[] = {
    {"appendonly", "no", NULL, NULL, 0},
    {"bind", NULL, get_bind, NULL, 0},
    {"client-query-buffer-limit", NULL, get_input, NULL, 0},
    {"cluster-enabled", "no", NULL, NULL, 0},
    {"databases", "16", NULL, NULL, 0},
    {"io-threads", NULL, get_io_threads, NULL, 0},
    {"maxclients", NULL, get_maxclients, set_maxclients, 1},
    {"maxmemory", NULL, get_maxmemory, NULL, 0},
    {"maxmemory-policy", "allkeys-lfu", NULL, NULL, 0},
    {"notify-keyspace-events", "", NULL, NULL, 0},
    {"port", NULL, get_port, NULL, 0},
    {"proto-max-bulk-len", NULL, get_argument, NULL, 0},
    {"replica-read-only", "yes", NULL, NULL, 0},
    {"save", "", NULL, NULL, 0},
    {"slave-read-only", "yes", NULL, NULL, 0},
    {"timeout", NULL, get_timeout, set_timeout, 0},
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

static const struct setting *setting_at(const struct rondo_cmd *call, size_t arg) {
    for (size_t i = 0; i < RONDO_COUNT_OF(settings); i++)
        if (rondo_cmd_is(call, arg, settings[i].name)) return &settings[i];
    return NULL;
}

enum { IN_ORDER = 0, UNKNOWN, IMMUTABLE, NO_NUMBER, TWICE, OUT_OF_RANGE };

static enum rondo_run refuse(struct rondo_cmd *call, size_t arg, int why) {
    static const char *const reasons[] = {[IMMUTABLE] = "can't set immutable config",
                                          [NO_NUMBER] =
                                              "argument couldn't be parsed into an integer",
                                          [TWICE] = "duplicate parameter"};
    const struct setting *setting = setting_at(call, arg);
    int len = call->argv[arg].len < 64 ? (int)call->argv[arg].len : 64;
    const char *name = call->argv[arg].data;
    if (!setting)
        return rondo_cmd_error(
            call, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'", len, name);
    if (why == NO_NUMBER || why == OUT_OF_RANGE) name = setting->name; /* as Redis has it */
    char range[80];
    (void)snprintf(range, sizeof range, "argument must be between %lld and %d inclusive",
                   (long long)setting->least, INT32_MAX);
    return rondo_cmd_error(call, "ERR CONFIG SET failed (possibly related to argument '%.*s') - %s",
                           len, name, why == OUT_OF_RANGE ? range : reasons[why]);
}

static bool is_twice(const struct rondo_cmd *call, size_t arg) {
    for (size_t i = 2; i < arg; i += 2)
        if (call->argv[i].len == call->argv[arg].len &&
            strncasecmp(call->argv[i].data, call->argv[arg].data, call->argv[arg].len) == 0)
            return true;
    return false;
}

/* A setting that cannot change may be set to what it is. */
static int check_name(const struct rondo_cmd *call, size_t arg) {
    const struct setting *setting = setting_at(call, arg);
    char value[VALUE_MAX];
    if (!setting) return UNKNOWN;
    if (is_twice(call, arg)) return TWICE;
    if (setting->set) return IN_ORDER;
    if (!setting->value) setting->get(call->session->service, value);
    bool is_same = rondo_slice_is(call->argv[arg + 1], setting->value ? setting->value : value);
    return is_same ? IN_ORDER : IMMUTABLE;
}

static int check_value(const struct rondo_cmd *call, size_t arg) {
    const struct setting *setting = setting_at(call, arg);
    int64_t n;
    if (!setting || !setting->set) return IN_ORDER;
    if (!rondo_slice_to_int(call->argv[arg + 1], &n)) return NO_NUMBER;
    return n < setting->least || n > INT32_MAX ? OUT_OF_RANGE : IN_ORDER;
}

/* All or nothing: all names are looked at, then all values. */
static enum rondo_run run_set(struct rondo_cmd *call) {
    int why;
    if (call->argc % 2 != 0) return rondo_cmd_syntax_error(call);
    for (size_t i = 2; i < call->argc; i += 2)
        if ((why = check_name(call, i))) return refuse(call, i, why);
    for (size_t i = 2; i < call->argc; i += 2)
        if ((why = check_value(call, i))) return refuse(call, i, why);
    for (size_t i = 2; i < call->argc; i += 2) {
        const struct setting *setting = setting_at(call, i);
        int64_t n = 0;
        if (!setting || !setting->set || !rondo_slice_to_int(call->argv[i + 1], &n)) continue;
        setting->set(call->session->service, (uint64_t)n);
    }
    return rondo_cmd_ok(call);
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
