/* SPDX-License-Identifier: MIT */
/* EXPIRE, TTL and their like: memory alone. */
#include "server/session.h"
#include "server/ttl.h"

static const struct rondo_ttl_unit seconds = {"EX", 1000, false}, milliseconds = {"PX", 1, false},
                                   at_seconds = {"EXAT", 1000, true},
                                   at_milliseconds = {"PXAT", 1, true};

/* ---- EXPIRE ------------------------------------------------------------------------- */

enum { IF_NONE = 1, IF_ANY = 2, IF_LATER = 4, IF_EARLIER = 8 };

/* False after an error reply. */
static bool read_conditions(struct rondo_cmd *call, unsigned *out) {
    for (size_t i = 3; i < call->argc; i++) {
        if (rondo_cmd_is(call, i, "NX")) {
            *out |= IF_NONE;
        } else if (rondo_cmd_is(call, i, "XX")) {
            *out |= IF_ANY;
        } else if (rondo_cmd_is(call, i, "GT")) {
            *out |= IF_LATER;
        } else if (rondo_cmd_is(call, i, "LT")) {
            *out |= IF_EARLIER;
        } else {
            (void)rondo_cmd_error(call, "ERR Unsupported option %.*s", (int)call->argv[i].len,
                                  (const char *)call->argv[i].data);
            return false;
        }
    }
    bool is_clash = (*out & IF_NONE) && *out != IF_NONE;
    if (is_clash)
        (void)rondo_cmd_error(
            call, "ERR NX and XX, GT or LT options at the same time are not compatible");
    else if ((*out & IF_LATER) && (*out & IF_EARLIER))
        (void)rondo_cmd_error(call, "ERR GT and LT options at the same time are not compatible");
    else
        return true;
    return false;
}

/* RONDO_OFF, a key without an end, is later than any moment. */
static bool is_met(unsigned conditions, uint64_t now_expiry, uint64_t expiry) {
    if ((conditions & IF_NONE) && now_expiry != RONDO_OFF) return false;
    if ((conditions & IF_ANY) && now_expiry == RONDO_OFF) return false;
    if ((conditions & IF_LATER) && (now_expiry == RONDO_OFF || expiry <= now_expiry)) return false;
    return !(conditions & IF_EARLIER) || now_expiry == RONDO_OFF || expiry < now_expiry;
}

static enum rondo_run expire(struct rondo_cmd *call, const struct rondo_ttl_unit *unit) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    unsigned conditions = 0;
    uint64_t expiry;
    if (!read_conditions(call, &conditions) || !rondo_ttl_read_moment(call, 2, unit, &expiry))
        return RONDO_RUN_DONE;
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;
    uint64_t old = rondo_view_expiry(call->view, cache, &key, call->now_ns);
    bool is_set = old != 0 && is_met(conditions, old, expiry) &&
                  rondo_view_expire(call->view, cache, &key, expiry, call->now_ns);
    rondo_resp_write_int(&call->w, is_set);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_expire(struct rondo_cmd *call) {
    return expire(call, &seconds);
}
static enum rondo_run run_pexpire(struct rondo_cmd *call) {
    return expire(call, &milliseconds);
}
static enum rondo_run run_expireat(struct rondo_cmd *call) {
    return expire(call, &at_seconds);
}
static enum rondo_run run_pexpireat(struct rondo_cmd *call) {
    return expire(call, &at_milliseconds);
}

static enum rondo_run run_persist(struct rondo_cmd *call) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;
    uint64_t old = rondo_view_expiry(call->view, cache, &key, call->now_ns);
    bool is_set = old != 0 && old != RONDO_OFF &&
                  rondo_view_expire(call->view, cache, &key, RONDO_OFF, call->now_ns);
    rondo_resp_write_int(&call->w, is_set);
    return RONDO_RUN_DONE;
}

/* ---- TTL ---------------------------------------------------------------------------- */

static enum rondo_run tell(struct rondo_cmd *call, const struct rondo_ttl_unit *unit) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;
    uint64_t expiry = rondo_view_expiry(call->view, cache, &key, call->now_ns);
    if (expiry == 0 || expiry == RONDO_OFF) {
        rondo_resp_write_int(&call->w, expiry == 0 ? -2 : -1);
        return RONDO_RUN_DONE;
    }
    uint64_t left_ns = expiry > call->now_ns ? expiry - call->now_ns : 0;
    if (unit->is_absolute) left_ns += rondo_ttl_wall_ns(call);
    int64_t ms = (int64_t)(left_ns / RONDO_MS);
    rondo_resp_write_int(&call->w, (ms + unit->unit_ms / 2) / unit->unit_ms);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_ttl(struct rondo_cmd *call) {
    return tell(call, &seconds);
}
static enum rondo_run run_pttl(struct rondo_cmd *call) {
    return tell(call, &milliseconds);
}
static enum rondo_run run_expiretime(struct rondo_cmd *call) {
    return tell(call, &at_seconds);
}
static enum rondo_run run_pexpiretime(struct rondo_cmd *call) {
    return tell(call, &at_milliseconds);
}

enum {
    LOOK = RONDO_COMMAND_READ | RONDO_COMMAND_LOOK | RONDO_COMMAND_FAST,
    CHANGE = RONDO_COMMAND_WRITE | RONDO_COMMAND_FAST
};

#define EXPIRE(name, arity, flags, since, summary, run)                                            \
    { name, arity, flags, {1, 1, 1}, "generic", since, summary, run, NULL }

static const struct rondo_command table[] = {
    EXPIRE("expire", -3, CHANGE, "1.0.0", "Set a key's time to live in seconds", run_expire),
    EXPIRE("pexpire", -3, CHANGE, "2.6.0", "Set a key's time to live in milliseconds", run_pexpire),
    EXPIRE("expireat", -3, CHANGE, "1.2.0", "Set the expiration for a key as a UNIX timestamp",
           run_expireat),
    EXPIRE("pexpireat", -3, CHANGE, "2.6.0",
           "Set the expiration for a key as a UNIX timestamp specified in milliseconds",
           run_pexpireat),
    EXPIRE("persist", 2, CHANGE, "2.2.0", "Remove the expiration from a key", run_persist),
    EXPIRE("ttl", 2, LOOK, "1.0.0", "Get the time to live for a key in seconds", run_ttl),
    EXPIRE("pttl", 2, LOOK, "2.6.0", "Get the time to live for a key in milliseconds", run_pttl),
    EXPIRE("expiretime", 2, LOOK, "7.0.0", "Get the expiration Unix timestamp for a key",
           run_expiretime),
    EXPIRE("pexpiretime", 2, LOOK, "7.0.0",
           "Get the expiration Unix timestamp for a key in milliseconds", run_pexpiretime),
};

const struct rondo_command_family rondo_commands_expire = {table, RONDO_COUNT_OF(table)};
