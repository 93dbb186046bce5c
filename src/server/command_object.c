/* SPDX-License-Identifier: MIT */
/* OBJECT and MEMORY: what is known of a value besides its bytes. */
#include "server/info.h"
#include "server/session.h"

enum { SHORT_TEXT = 44, OVERHEAD = 48 };

/* The value of argv[2] in memory; false: none, and the reply is written. */
static bool look(struct rondo_cmd *call, struct rondo_slice *value, struct rondo_answer *answer) {
    struct rondo_key key = rondo_cmd_key(call, 2);
    struct rondo_read read = {.now_ns = call->now_ns};
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return false;
    if (rondo_view_peek(call->view, cache, &key, &read, answer) == RONDO_VALUE) {
        *value = rondo_slice_of(answer->value.data, answer->value.len);
        return true;
    }
    if (answer->outcome == RONDO_FAILED)
        rondo_write_failed(&call->w, answer);
    else
        rondo_resp_write_null(&call->w);
    rondo_answer_release(answer);
    return false;
}

static enum rondo_run run_encoding(struct rondo_cmd *call) {
    struct rondo_answer answer = {0};
    struct rondo_slice value;
    int64_t n;
    if (!look(call, &value, &answer)) return RONDO_RUN_DONE;
    const char *encoding = value.len <= SHORT_TEXT ? "embstr" : "raw";
    if (rondo_slice_to_int(value, &n)) encoding = "int";
    rondo_resp_write_bulk_str(&call->w, encoding);
    rondo_answer_release(&answer);
    return RONDO_RUN_DONE;
}

static enum rondo_run answer_number(struct rondo_cmd *call, int64_t n) {
    struct rondo_answer answer = {0};
    struct rondo_slice value;
    if (!look(call, &value, &answer)) return RONDO_RUN_DONE;
    rondo_resp_write_int(&call->w, n);
    rondo_answer_release(&answer);
    return RONDO_RUN_DONE;
}

/* Nobody keeps the time of the last access. */
static enum rondo_run run_idletime(struct rondo_cmd *call) {
    return answer_number(call, 0);
}

static enum rondo_run run_refcount(struct rondo_cmd *call) {
    return answer_number(call, 1);
}

static enum rondo_run run_freq(struct rondo_cmd *call) {
    struct rondo_answer answer = {0};
    struct rondo_slice value;
    if (!look(call, &value, &answer)) return RONDO_RUN_DONE;
    rondo_answer_release(&answer);
    return rondo_cmd_error(
        call, "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please "
              "note that when switching between policies at runtime LRU and LFU data will take "
              "some time to adjust.");
}

/* ---- MEMORY ------------------------------------------------------------------------- */

static enum rondo_run run_usage(struct rondo_cmd *call) {
    struct rondo_answer answer = {0};
    struct rondo_slice value;
    for (size_t i = 3; i < call->argc; i += 2) {
        int64_t n;
        if (!rondo_cmd_is(call, i, "SAMPLES") || i + 1 == call->argc)
            return rondo_cmd_syntax_error(call);
        if (!rondo_slice_to_int(call->argv[i + 1], &n))
            return rondo_cmd_error(call, "ERR value is not an integer or out of range");
        if (n < 0) return rondo_cmd_syntax_error(call);
    }
    if (!look(call, &value, &answer)) return RONDO_RUN_DONE;
    rondo_resp_write_int(&call->w, (int64_t)(call->argv[2].len + value.len + OVERHEAD));
    rondo_answer_release(&answer);
    return RONDO_RUN_DONE;
}

static void write_pair(struct rondo_resp_writer *w, const char *name, uint64_t n) {
    rondo_resp_write_bulk_str(w, name);
    rondo_resp_write_int(w, (int64_t)n);
}

static enum rondo_run run_memory_stats(struct rondo_cmd *call) {
    struct rondo_service *s = call->session->service;
    struct rondo_cache_stats sum;
    rondo_info_sum_caches(s->ks, &sum);
    rondo_resp_write_map(&call->w, 4);
    write_pair(&call->w, "total.allocated", sum.bytes);
    write_pair(&call->w, "keys.count", sum.entries);
    write_pair(&call->w, "keys.bytes-per-key", sum.entries ? sum.bytes / sum.entries : 0);
    write_pair(&call->w, "maxmemory", rondo_keyspace_limit(s->ks));
    return RONDO_RUN_DONE;
}

/* ---- HELP --------------------------------------------------------------------------- */

static enum rondo_run run_object_help(struct rondo_cmd *call) {
    static const char *const lines[] = {
        "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "ENCODING <key>",
        "    Return what the value looks like: int, embstr or raw.",
        "FREQ <key>",
        "    Not tracked.",
        "IDLETIME <key>",
        "    Not tracked: 0.",
        "REFCOUNT <key>",
        "    Return 1.",
        "HELP",
        "    Print this help.",
    };
    return rondo_cmd_help(call, lines, RONDO_COUNT_OF(lines));
}

static enum rondo_run run_memory_help(struct rondo_cmd *call) {
    static const char *const lines[] = {
        "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "STATS",
        "    Return what all keys take.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return about how many bytes a key and its value take.",
        "HELP",
        "    Print this help.",
    };
    return rondo_cmd_help(call, lines, RONDO_COUNT_OF(lines));
}

/* ---- the table ---------------------------------------------------------------------- */

enum { LOOK = RONDO_COMMAND_READ | RONDO_COMMAND_LOOK };

#define OBJECT(name, since, summary, run)                                                          \
    { "object|" name, 3, LOOK, {2, 2, 1}, "generic", since, summary, run, NULL }
#define HELP(name, since, run)                                                                     \
    {                                                                                              \
        name, 2, 0, {0, 0, 0}, "generic", since,                                                   \
            "Show helpful text about the different subcommands", run, NULL                         \
    }

static const struct rondo_command object_table[] = {
    OBJECT("encoding", "2.2.3", "Inspect the internal encoding of a value", run_encoding),
    OBJECT("freq", "4.0.0", "Access frequencies are not tracked", run_freq),
    OBJECT("idletime", "2.2.3", "Idle times are not tracked", run_idletime),
    OBJECT("refcount", "2.2.3", "Get the number of references to a value", run_refcount),
    HELP("object|help", "6.2.0", run_object_help),
};
static const struct rondo_command_family object_subs = {object_table, RONDO_COUNT_OF(object_table)};

static const struct rondo_command memory_table[] = {
    {"memory|usage",
     -3,
     LOOK,
     {2, 2, 1},
     "server",
     "4.0.0",
     "Estimate the memory usage of a key",
     run_usage,
     NULL},
    {"memory|stats",
     2,
     RONDO_COMMAND_WHOLE,
     {0, 0, 0},
     "server",
     "4.0.0",
     "Show memory usage details",
     run_memory_stats,
     NULL},
    HELP("memory|help", "4.0.0", run_memory_help),
};
static const struct rondo_command_family memory_subs = {memory_table, RONDO_COUNT_OF(memory_table)};

static const struct rondo_command table[] = {
    {"object",
     -2,
     0,
     {0, 0, 0},
     "generic",
     "2.2.3",
     "A container for object introspection commands",
     NULL,
     &object_subs},
    {"memory",
     -2,
     0,
     {0, 0, 0},
     "server",
     "4.0.0",
     "A container for memory diagnostics commands",
     NULL,
     &memory_subs},
};

const struct rondo_command_family rondo_commands_object = {table, RONDO_COUNT_OF(table)};
