/* SPDX-License-Identifier: MIT */
/* DEL, EXISTS and what else is about keys rather than values. */
#include "base/mem.h"
#include "server/session.h"

static void finish_count(struct rondo_op *op, struct rondo_resp_writer *w) {
    int64_t n = 0;
    for (uint32_t i = 0; i < op->n; i++) {
        if (op->answers[i].outcome == RONDO_FAILED) {
            rondo_write_failed(w, &op->answers[i]);
            return;
        }
        n += op->answers[i].outcome == RONDO_VALUE;
    }
    rondo_resp_write_int(w, n);
}

static bool all_claimed(struct rondo_cmd *call) {
    for (size_t i = 1; i < call->argc; i++) {
        struct rondo_key key = rondo_cmd_key(call, i);
        if (!rondo_cmd_route(call, &key)) return false;
    }
    return true;
}

static enum rondo_run run_del(struct rondo_cmd *call) {
    size_t n = call->argc - 1, waiting = 0;
    if (!all_claimed(call) || !rondo_cmd_reserve(call, n)) return RONDO_RUN_DONE;
    for (size_t i = 0; i < n; i++) {
        struct rondo_key key = rondo_cmd_key(call, 1 + i);
        struct rondo_write write = rondo_cmd_write(call, i);
        struct rondo_answer *answer = &call->op->answers[i];
        rondo_cache *cache = rondo_cmd_route(call, &key);
        answer->outcome = rondo_view_delete(call->view, cache, &key, &write, answer);
        if (answer->outcome == RONDO_PENDING) waiting++;
    }
    return rondo_cmd_answers(call, finish_count, waiting);
}

/* Is the key in memory?  A source is not asked. */
static bool is_there(const struct rondo_cmd *call, rondo_cache *cache, size_t i) {
    struct rondo_key key = rondo_cmd_key(call, i);
    return rondo_view_has(call->view, cache, &key, call->now_ns);
}

static enum rondo_run run_exists(struct rondo_cmd *call) {
    if (!all_claimed(call)) return RONDO_RUN_DONE;
    int64_t n = 0;
    for (size_t i = 1; i < call->argc; i++) {
        struct rondo_key key = rondo_cmd_key(call, i);
        n += is_there(call, rondo_cmd_route(call, &key), i);
    }
    rondo_resp_write_int(&call->w, n);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_type(struct rondo_cmd *call) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;
    rondo_resp_write_simple(&call->w, is_there(call, cache, 1) ? "string" : "none");
    return RONDO_RUN_DONE;
}

enum {
    LOOK = RONDO_COMMAND_READ | RONDO_COMMAND_LOOK | RONDO_COMMAND_FAST,
    DELETE = RONDO_COMMAND_WRITE | RONDO_COMMAND_OVERWRITES
};

#define KEY(name, arity, flags, last, since, summary, run)                                         \
    { name, arity, flags, {1, last, 1}, "generic", since, summary, run, NULL }

static const struct rondo_command table[] = {
    KEY("del", -2, DELETE, -1, "1.0.0", "Delete a key", run_del),
    KEY("unlink", -2, DELETE | RONDO_COMMAND_FAST, -1, "4.0.0", "Delete a key", run_del),
    KEY("exists", -2, LOOK, -1, "1.0.0", "Determine if a key exists", run_exists),
    KEY("touch", -2, LOOK, -1, "3.2.1", "Count the keys that exist", run_exists),
    KEY("type", 2, LOOK, 1, "1.0.0", "Determine the type stored at key", run_type),
};

const struct rondo_command_family rondo_commands_key = {table, RONDO_COUNT_OF(table)};
