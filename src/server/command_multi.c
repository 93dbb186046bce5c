/* SPDX-License-Identifier: MIT */
/* MULTI, EXEC, DISCARD, WATCH, UNWATCH. */
#include "server/exec.h"

static bool is_open(const struct rondo_session *s) {
    return s->block && s->block->is_open;
}

/* False after an error reply. */
static bool need_block(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    if (!s->block) s->block = rondo_block_new();
    if (!s->block) (void)rondo_cmd_error(call, "OOM out of memory");
    return s->block != NULL;
}

static enum rondo_run run_multi(struct rondo_cmd *call) {
    if (is_open(call->session)) return rondo_cmd_error(call, "ERR MULTI calls can not be nested");
    if (!need_block(call)) return RONDO_RUN_DONE;
    call->session->block->is_open = true;
    return rondo_cmd_ok(call);
}

static enum rondo_run run_discard(struct rondo_cmd *call) {
    if (!is_open(call->session)) return rondo_cmd_error(call, "ERR DISCARD without MULTI");
    rondo_session_discard(call->session);
    return rondo_cmd_ok(call);
}

static enum rondo_run run_exec(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    if (!is_open(s)) return rondo_cmd_error(call, "ERR EXEC without MULTI");
    if (s->block->is_dirty) {
        rondo_session_discard(s);
        return rondo_cmd_error(call, "EXECABORT Transaction discarded because of previous errors.");
    }
    struct rondo_block *block = s->block;
    s->block = NULL;
    struct rondo_exec *exec = rondo_exec_new(s, block);
    if (!exec) return rondo_cmd_error(call, "OOM out of memory");
    return rondo_exec_start(call, exec);
}

/* ---- WATCH -------------------------------------------------------------------------- */

/* What is watched is loaded first: the reads that follow do not change it. */
static void finish_watch(struct rondo_op *op, struct rondo_resp_writer *w) {
    struct rondo_session *s = op->session;
    const struct rondo_answer *failed = NULL;
    for (uint32_t i = 0; i < op->n && !failed; i++)
        if (op->answers[i].outcome == RONDO_FAILED) failed = &op->answers[i];
    s->is_exclusive = false;
    if (failed) {
        rondo_block_unwatch_unset(s->block);
        rondo_write_failed(w, failed);
        return;
    }
    for (struct rondo_watch *watch = s->block->watches; watch && !watch->is_set;
         watch = watch->next) {
        watch->version = rondo_keyspace_version(s->service->ks, &watch->key);
        watch->is_set = true;
    }
    rondo_resp_write_simple(w, "OK");
}

static bool watch_all(struct rondo_cmd *call) {
    struct rondo_block *block = call->session->block;
    for (size_t i = 1; i < call->argc; i++) {
        struct rondo_key key = rondo_cmd_key(call, i);
        bool is_claimed = rondo_cmd_route(call, &key) != NULL;
        if (is_claimed && rondo_block_watch(block, &key) == RONDO_OK) continue;
        if (is_claimed) (void)rondo_cmd_error(call, "OOM out of memory");
        rondo_block_unwatch_unset(block);
        return false;
    }
    return true;
}

static enum rondo_run run_watch(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    size_t n = call->argc - 1, waiting = 0;
    if (is_open(s)) return rondo_cmd_error(call, "ERR WATCH inside MULTI is not allowed");
    if (!need_block(call) || !rondo_cmd_reserve(call, n) || !watch_all(call)) return RONDO_RUN_DONE;
    for (size_t i = 0; i < n; i++) {
        struct rondo_key key = rondo_cmd_key(call, 1 + i);
        struct rondo_answer *answer = &call->op->answers[i];
        struct rondo_read read = rondo_cmd_read(call, i);
        rondo_cache *cache = rondo_cmd_route(call, &key);
        if (rondo_view_has(NULL, cache, &key, call->now_ns)) continue;
        answer->outcome = rondo_cache_get(cache, &key, &read, answer);
        waiting += answer->outcome == RONDO_PENDING;
    }
    call->op->session = s;
    s->is_exclusive = waiting > 0;
    return rondo_cmd_answers(call, finish_watch, waiting);
}

static enum rondo_run run_unwatch(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    if (s->block && !s->block->is_open) rondo_session_discard(s);
    return rondo_cmd_ok(call);
}

#define MULTI(name, arity, flags, last, since, summary, run)                                       \
    {                                                                                              \
        name, arity, (flags) | RONDO_COMMAND_FAST, {last ? 1 : 0, last, last ? 1 : 0},             \
            "transactions", since, summary, run, NULL                                              \
    }

enum {
    WHOLE = RONDO_COMMAND_WHOLE,
    AT_ONCE = RONDO_COMMAND_AT_ONCE,
    LOOK = RONDO_COMMAND_READ | RONDO_COMMAND_LOOK
};

static const struct rondo_command table[] = {
    MULTI("multi", 1, AT_ONCE, 0, "1.2.0", "Mark the start of a transaction block", run_multi),
    MULTI("exec", 1, WHOLE | RONDO_COMMAND_ASKS | AT_ONCE, 0, "1.2.0",
          "Execute all commands issued after MULTI", run_exec),
    MULTI("discard", 1, AT_ONCE, 0, "2.0.0", "Discard all commands issued after MULTI",
          run_discard),
    MULTI("watch", -2, LOOK | AT_ONCE, -1, "2.2.0",
          "Watch the given keys to determine execution of the MULTI/EXEC block", run_watch),
    MULTI("unwatch", 1, 0, 0, "2.2.0", "Forget about all watched keys", run_unwatch),
};

const struct rondo_command_family rondo_commands_multi = {table, RONDO_COUNT_OF(table)};
