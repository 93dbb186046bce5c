/* SPDX-License-Identifier: MIT */
/* MSET, MSETNX, RENAME, RENAMENX and COPY: several keys at once, with all their
 * shards locked; memory alone. */
#include "base/mem.h"
#include "server/session.h"

static enum rondo_run fail(struct rondo_cmd *call, enum rondo_err err) {
    return rondo_cmd_error(call, "%s %s", rondo_err_word(err), rondo_err_text(err));
}

/* Runs `fn` with all shards of the keys locked, and `call->view` their inside. */
static enum rondo_err as_one(struct rondo_cmd *call, const struct rondo_key *keys, size_t n,
                             void (*fn)(void *arg), void *arg) {
    struct rondo_view view = {.service = call->session->service};
    enum rondo_err err = RONDO_OK;
    size_t number;
    if (call->view) { /* the command is part of a block */
        fn(arg);
        return RONDO_OK;
    }
    for (size_t i = 0; i < n && !err; i++) err = rondo_view_add(&view, &keys[i], &number);
    call->view = &view;
    if (!err) err = rondo_view_run(&view, NULL, fn, arg);
    call->view = NULL;
    rondo_view_fini(&view);
    return err;
}

/* ---- MSET, MSETNX ------------------------------------------------------------------- */

struct set {
    struct rondo_cmd *call;
    const struct rondo_key *keys;
    size_t n;
    bool only_new, is_done;
    enum rondo_err err; /* the first */
};

static rondo_cache *cache_of(const struct rondo_cmd *call, const struct rondo_key *key) {
    return rondo_keyspace_route(call->session->service->ks, rondo_slice_of(key->data, key->len));
}

static void set_all(void *arg) {
    struct set *s = arg;
    struct rondo_cmd *call = s->call;
    struct rondo_write write = {.now_ns = call->now_ns};
    for (size_t i = 0; s->only_new && i < s->n; i++)
        if (rondo_view_has(call->view, cache_of(call, &s->keys[i]), &s->keys[i], call->now_ns))
            return;
    for (size_t i = 0; i < s->n; i++) {
        struct rondo_answer answer;
        (void)rondo_view_put(call->view, cache_of(call, &s->keys[i]), &s->keys[i],
                             call->argv[2 + 2 * i], &write, &answer);
        if (!s->err) s->err = answer.err;
    }
    s->is_done = true;
}

/* A transaction changes memory alone: where writes go through to a source it is no
 * way to write. */
static bool goes_through(const struct rondo_cmd *call, const rondo_cache *cache) {
    const struct rondo_config_cache *c = rondo_service_cache_config(call->session->service, cache);
    return c && c->options.writes == RONDO_WRITES_THROUGH;
}

static void finish_stored(struct rondo_op *op, struct rondo_resp_writer *w) {
    for (uint32_t i = 0; i < op->n; i++) {
        if (op->answers[i].outcome != RONDO_FAILED) continue;
        rondo_write_failed(w, &op->answers[i]);
        return;
    }
    rondo_resp_write_simple(w, "OK");
}

/* Key by key, each to its source first. */
static enum rondo_run set_through(struct rondo_cmd *call, const struct rondo_key *keys, size_t n) {
    size_t waiting = 0;
    if (!rondo_cmd_reserve(call, n)) return RONDO_RUN_DONE;
    for (size_t i = 0; i < n; i++) {
        struct rondo_write write = rondo_cmd_write(call, i);
        struct rondo_answer *answer = &call->op->answers[i];
        rondo_cache *cache = rondo_cmd_route(call, &keys[i]);
        answer->outcome = rondo_cache_put(cache, &keys[i], call->argv[2 + 2 * i], &write, answer);
        if (answer->outcome == RONDO_PENDING) waiting++;
    }
    return rondo_cmd_answers(call, finish_stored, waiting);
}

static enum rondo_run set_keys(struct rondo_cmd *call, struct set *s,
                               const struct rondo_key *keys) {
    bool is_through = false;
    for (size_t i = 0; i < s->n; i++) {
        rondo_cache *cache = rondo_cmd_route(call, &keys[i]);
        if (!cache) return RONDO_RUN_DONE;
        is_through = is_through || goes_through(call, cache);
    }
    if (is_through && s->only_new) return fail(call, RONDO_ERR_UNSUPPORTED);
    if (is_through && !call->view) return set_through(call, keys, s->n);
    s->call = call;
    s->keys = keys;
    enum rondo_err err = as_one(call, keys, s->n, set_all, s);
    if (err || s->err) return fail(call, err ? err : s->err);
    if (s->only_new)
        rondo_resp_write_int(&call->w, s->is_done);
    else
        rondo_resp_write_simple(&call->w, "OK");
    return RONDO_RUN_DONE;
}

static enum rondo_run set(struct rondo_cmd *call, struct set *s) {
    if (call->argc % 2 == 0) return rondo_cmd_arity_error(call);
    s->n = (call->argc - 1) / 2;
    struct rondo_key *keys = rondo_alloc(s->n * sizeof *keys);
    if (!keys) return fail(call, RONDO_ERR_NOMEM);
    for (size_t i = 0; i < s->n; i++) keys[i] = rondo_cmd_key(call, 1 + 2 * i);
    enum rondo_run run = set_keys(call, s, keys);
    rondo_free(keys);
    return run;
}

static enum rondo_run run_mset(struct rondo_cmd *call) {
    struct set s = {.only_new = false};
    return set(call, &s);
}

static enum rondo_run run_msetnx(struct rondo_cmd *call) {
    struct set s = {.only_new = true};
    return set(call, &s);
}

/* ---- RENAME, RENAMENX, COPY --------------------------------------------------------- */

struct move {
    struct rondo_cmd *call;
    const struct rondo_key *keys; /* from the first to the second */
    bool only_new, keeps_source;
    bool is_missing, is_done;
    struct rondo_answer answer; /* of the put */
    struct rondo_buf value;
};

/* The value is copied first: a put may free what it was lent.  Its life goes along. */
static void move(void *arg) {
    struct move *m = arg;
    struct rondo_cmd *call = m->call;
    rondo_cache *from = cache_of(call, &m->keys[0]), *to = cache_of(call, &m->keys[1]);
    struct rondo_read read = {.now_ns = call->now_ns};
    struct rondo_write write = {.now_ns = call->now_ns, .ttl_ns = RONDO_OFF};
    struct rondo_answer old;
    m->is_missing = rondo_view_get(call->view, from, &m->keys[0], &read, &old) != RONDO_VALUE;
    if (m->is_missing) return;
    if (m->only_new && rondo_view_has(call->view, to, &m->keys[1], call->now_ns)) return;
    if (rondo_buf_append(&m->value, old.value.data, old.value.len)) {
        m->answer = (struct rondo_answer){.outcome = RONDO_FAILED, .err = RONDO_ERR_NOMEM};
        return;
    }
    uint64_t expiry = rondo_view_expiry(call->view, from, &m->keys[0], call->now_ns);
    if (expiry != RONDO_OFF && expiry != 0)
        write.ttl_ns = expiry > call->now_ns ? expiry - call->now_ns : 1;
    struct rondo_slice value = {m->value.data ? m->value.data : "", m->value.len};
    m->is_done =
        rondo_view_put(call->view, to, &m->keys[1], value, &write, &m->answer) == RONDO_VALUE;
    if (m->is_done && !m->keeps_source)
        (void)rondo_view_delete(call->view, from, &m->keys[0], NULL, &old);
}

static bool run_move(struct rondo_cmd *call, struct move *m, const struct rondo_key keys[2]) {
    rondo_cache *from = rondo_cmd_route(call, &keys[0]);
    rondo_cache *to = from ? rondo_cmd_route(call, &keys[1]) : NULL;
    if (!to) return false;
    if (goes_through(call, from) || goes_through(call, to)) {
        (void)fail(call, RONDO_ERR_UNSUPPORTED);
        return false;
    }
    m->call = call;
    m->keys = keys;
    enum rondo_err err = as_one(call, keys, 2, move, m);
    if (!err) err = m->answer.err;
    rondo_buf_fini(&m->value);
    if (err) (void)fail(call, err);
    return err == RONDO_OK;
}

static enum rondo_run rename_key(struct rondo_cmd *call, bool only_new) {
    struct move m = {.only_new = only_new};
    const struct rondo_key keys[2] = {rondo_cmd_key(call, 1), rondo_cmd_key(call, 2)};
    /* Onto itself: nothing but the question whether it is there. */
    bool is_same = rondo_slice_eq(call->argv[1], call->argv[2]);
    m.keeps_source = is_same;
    m.only_new = only_new || is_same;
    if (!run_move(call, &m, keys)) return RONDO_RUN_DONE;
    if (m.is_missing) return rondo_cmd_error(call, "ERR no such key");
    if (!only_new) return rondo_cmd_ok(call);
    rondo_resp_write_int(&call->w, m.is_done);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_rename(struct rondo_cmd *call) {
    return rename_key(call, false);
}

static enum rondo_run run_renamenx(struct rondo_cmd *call) {
    return rename_key(call, true);
}

static enum rondo_run run_copy(struct rondo_cmd *call) {
    struct move m = {.only_new = true, .keeps_source = true};
    struct rondo_key keys[2] = {rondo_cmd_key(call, 1), rondo_cmd_key(call, 2)};
    for (size_t i = 3; i < call->argc; i++) {
        int64_t db;
        if (rondo_cmd_is(call, i, "REPLACE")) {
            m.only_new = false;
        } else if (rondo_cmd_is(call, i, "DB") && i + 1 < call->argc) {
            if (!rondo_slice_to_int(call->argv[++i], &db))
                return rondo_cmd_error(call, "ERR value is not an integer or out of range");
            if (db < INT32_MIN || db > INT32_MAX)
                return rondo_cmd_error(call, "ERR value is out of range, value must between "
                                             "-2147483648 and 2147483647");
            if (db < 0 || db >= RONDO_SESSION_DATABASES)
                return rondo_cmd_error(call, "ERR DB index is out of range");
            keys[1].space = (unsigned)db;
        } else {
            return rondo_cmd_syntax_error(call);
        }
    }
    if (keys[0].space == keys[1].space && rondo_slice_eq(call->argv[1], call->argv[2]))
        return rondo_cmd_error(call, "ERR source and destination objects are the same");
    if (!run_move(call, &m, keys)) return RONDO_RUN_DONE;
    rondo_resp_write_int(&call->w, m.is_done);
    return RONDO_RUN_DONE;
}

enum { WRITE = RONDO_COMMAND_WRITE, OOM = RONDO_COMMAND_DENY_OOM };

static const struct rondo_command table[] = {
    {"mset",
     -3,
     WRITE | OOM | RONDO_COMMAND_OVERWRITES,
     {1, -1, 2},
     "string",
     "1.0.1",
     "Set multiple keys to multiple values",
     run_mset,
     NULL},
    {"msetnx",
     -3,
     WRITE | OOM,
     {1, -1, 2},
     "string",
     "1.0.1",
     "Set multiple keys to multiple values, only if none of the keys exist",
     run_msetnx,
     NULL},
    {"rename", 3, WRITE, {1, 2, 1}, "generic", "1.0.0", "Rename a key", run_rename, NULL},
    {"renamenx",
     3,
     WRITE | RONDO_COMMAND_FAST,
     {1, 2, 1},
     "generic",
     "1.0.0",
     "Rename a key, only if the new key does not exist",
     run_renamenx,
     NULL},
    /* With DB it may write to a key of another database: it waits for all. */
    {"copy",
     -3,
     WRITE | OOM | RONDO_COMMAND_WHOLE,
     {1, 2, 1},
     "generic",
     "6.2.0",
     "Copy a key",
     run_copy,
     NULL},
};

const struct rondo_command_family rondo_commands_move = {table, RONDO_COUNT_OF(table)};
