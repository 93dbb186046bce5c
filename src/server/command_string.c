/* SPDX-License-Identifier: MIT */
/* GET, SET and what belongs to them. */
#include "base/mem.h"
#include "server/session.h"
#include "server/ttl.h"

enum { SCRATCH = 1024 };

/* ---- how answers become replies --------------------------------------------------- */

static void finish_value(struct rondo_op *op, struct rondo_resp_writer *w) {
    const struct rondo_answer *a = &op->answers[0];
    if (a->outcome == RONDO_VALUE)
        rondo_resp_write_bulk(w, a->value.data, a->value.len);
    else if (a->outcome == RONDO_ABSENT)
        rondo_resp_write_null(w);
    else
        rondo_write_failed(w, a);
}

static const struct rondo_answer *first_failed(const struct rondo_op *op) {
    for (uint32_t i = 0; i < op->n; i++)
        if (op->answers[i].outcome == RONDO_FAILED) return &op->answers[i];
    return NULL;
}

/* One key may be asked for a million times: what its values come to is known before
 * any of it is written.  op->a: the most. */
static bool is_too_much(const struct rondo_op *op) {
    size_t n = 0;
    for (uint32_t i = 0; i < op->n; i++)
        if (!rondo_size_add(n, op->answers[i].value.len, &n)) return true;
    return n > (uint64_t)op->a;
}

/* Redis has no clear error inside an array, so that one failed key fails all. */
static void finish_values(struct rondo_op *op, struct rondo_resp_writer *w) {
    const struct rondo_answer *failed = first_failed(op);
    if (failed) {
        rondo_write_failed(w, failed);
        return;
    }
    if (is_too_much(op)) {
        rondo_resp_write_error(w, "ERR the values are too large to be answered together");
        return;
    }
    rondo_resp_write_array(w, op->n);
    for (uint32_t i = 0; i < op->n; i++) {
        const struct rondo_answer *a = &op->answers[i];
        if (a->outcome == RONDO_VALUE)
            rondo_resp_write_bulk(w, a->value.data, a->value.len);
        else
            rondo_resp_write_null(w);
    }
}

static void finish_length(struct rondo_op *op, struct rondo_resp_writer *w) {
    const struct rondo_answer *a = &op->answers[0];
    if (a->outcome == RONDO_FAILED)
        rondo_write_failed(w, a);
    else
        rondo_resp_write_int(w, a->outcome == RONDO_VALUE ? (int64_t)a->value.len : 0);
}

static void finish_range(struct rondo_op *op, struct rondo_resp_writer *w) {
    const struct rondo_answer *a = &op->answers[0];
    if (a->outcome == RONDO_FAILED) {
        rondo_write_failed(w, a);
        return;
    }
    int64_t len = (int64_t)a->value.len, start = op->a, end = op->b;
    bool is_backward = start < 0 && end < 0 && start > end;
    if (start < 0) start = start + len < 0 ? 0 : start + len;
    if (end < 0) end = end + len < 0 ? 0 : end + len;
    if (end >= len) end = len - 1;
    if (is_backward || start > end || len == 0 || a->outcome != RONDO_VALUE)
        rondo_resp_write_bulk(w, "", 0);
    else
        rondo_resp_write_bulk(w, (const char *)a->value.data + start, (size_t)(end - start + 1));
}

static void finish_stored(struct rondo_op *op, struct rondo_resp_writer *w) {
    const struct rondo_answer *a = &op->answers[0];
    if (a->outcome == RONDO_VALUE)
        rondo_resp_write_simple(w, "OK");
    else if (a->outcome == RONDO_ABSENT)
        rondo_resp_write_null(w);
    else
        rondo_write_failed(w, a);
}

static void finish_set_if(struct rondo_op *op, struct rondo_resp_writer *w) {
    const struct rondo_answer *a = &op->answers[0];
    if (a->outcome == RONDO_FAILED)
        rondo_write_failed(w, a);
    else
        rondo_resp_write_int(w, a->outcome == RONDO_VALUE);
}

/* ---- reads ------------------------------------------------------------------------ */

static enum rondo_run read_one(struct rondo_cmd *call, rondo_finish_fn finish) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;

    char scratch[SCRATCH];
    struct rondo_read read = rondo_cmd_read(call, 0);
    read.scratch = scratch;
    read.scratch_size = sizeof scratch;
    struct rondo_answer answer = {0};
    answer.outcome = rondo_view_get(call->view, cache, &key, &read, &answer);
    return rondo_cmd_answer(call, finish, &answer);
}

static enum rondo_run run_get(struct rondo_cmd *call) {
    return read_one(call, finish_value);
}

static enum rondo_run run_strlen(struct rondo_cmd *call) {
    return read_one(call, finish_length);
}

static enum rondo_run run_getrange(struct rondo_cmd *call) {
    if (!rondo_slice_to_int(call->argv[2], &call->op->a) ||
        !rondo_slice_to_int(call->argv[3], &call->op->b))
        return rondo_cmd_error(call, "ERR value is not an integer or out of range");
    return read_one(call, finish_range);
}

/* ---- GETEX: a read, then a new end of life ------------------------------------------ */

enum { AS_IT_IS = 0, PERSIST = -1, LONG_PAST = 1 }; /* op->a; else the moment */

static void finish_getex(struct rondo_op *op, struct rondo_resp_writer *w) {
    struct rondo_key key = {op->text.data, op->text.len, (unsigned)op->b};
    uint64_t expiry = op->a == PERSIST ? RONDO_OFF : (uint64_t)op->a;
    finish_value(op, w);
    if (op->a != AS_IT_IS && op->answers[0].outcome == RONDO_VALUE)
        (void)rondo_view_expire(op->view, op->cache, &key, expiry, 0);
}

struct getex_options {
    const struct rondo_ttl_unit *unit; /* NULL: none was given */
    size_t arg;
    bool persists;
};

static bool read_getex_options(const struct rondo_cmd *call, struct getex_options *o) {
    for (size_t i = 2; i < call->argc; i++) {
        const struct rondo_ttl_unit *unit = rondo_ttl_unit_of(call, i);
        bool is_other_time = (o->unit && o->unit != unit) || o->persists;
        if (rondo_cmd_is(call, i, "PERSIST") && !o->unit) {
            o->persists = true;
        } else if (unit && !is_other_time && i + 1 < call->argc) {
            o->unit = unit;
            o->arg = ++i;
        } else {
            return false;
        }
    }
    return true;
}

static enum rondo_run run_getex(struct rondo_cmd *call) {
    struct getex_options o = {0};
    struct rondo_op *op = call->op;
    struct rondo_key key = rondo_cmd_key(call, 1);
    uint64_t ttl_ns;
    if (!read_getex_options(call, &o)) return rondo_cmd_syntax_error(call);
    if (o.unit && !rondo_ttl_read(call, o.arg, o.unit, &ttl_ns)) return RONDO_RUN_DONE;
    if (o.persists) op->a = PERSIST;
    if (o.unit && ttl_ns == RONDO_TTL_PAST)
        op->a = LONG_PAST;
    else if (o.unit)
        op->a = (int64_t)(rondo_deadline(call->now_ns, ttl_ns) & INT64_MAX);
    op->b = call->session->db;
    if (rondo_buf_append(&op->text, key.data, key.len))
        return rondo_cmd_error(call, "OOM out of memory");
    op->cache = rondo_cmd_route(call, &key);
    return op->cache ? read_one(call, finish_getex) : RONDO_RUN_DONE;
}

struct many {
    rondo_cache **caches; /* of each key; NULL once it was asked for */
    struct rondo_key *keys;
    struct rondo_answer *answers;
};

static void many_fini(struct many *m) {
    rondo_free(m->caches);
    rondo_free(m->keys);
    rondo_free(m->answers);
}

static bool many_init(struct rondo_cmd *call, struct many *m, size_t n) {
    *m = (struct many){.caches = rondo_alloc(n * sizeof(rondo_cache *)),
                       .keys = rondo_alloc(n * sizeof *m->keys),
                       .answers = rondo_zalloc(n * sizeof *m->answers)};
    call->op->places = rondo_alloc(n * sizeof *call->op->places);
    if (m->caches && m->keys && m->answers && call->op->places) return true;
    many_fini(m);
    (void)rondo_cmd_error(call, "OOM out of memory");
    return false;
}

static bool route_all(struct rondo_cmd *call, rondo_cache **caches, size_t step) {
    for (size_t i = 0, arg = 1; i < call->op->n; i++, arg += step) {
        struct rondo_key key = rondo_cmd_key(call, arg);
        caches[i] = rondo_cmd_route(call, &key);
        if (!caches[i]) return false;
    }
    return true;
}

/* Asks one cache for all of its keys; `done` keys were placed before them.  Returns
 * how many keys it has, and adds to *waiting. */
static size_t ask_cache(struct rondo_cmd *call, struct many *m, size_t from, size_t done,
                        size_t *waiting) {
    rondo_cache *cache = m->caches[from];
    uint32_t *places = call->op->places;
    size_t n = 0;
    for (size_t i = from; i < call->op->n; i++) {
        if (m->caches[i] != cache) continue;
        m->caches[i] = NULL;
        places[done + n] = (uint32_t)i;
        m->keys[n++] = rondo_cmd_key(call, 1 + i);
    }
    struct rondo_read read = rondo_cmd_read(call, done);
    memset(m->answers, 0, n * sizeof *m->answers);
    *waiting += rondo_view_get_many(call->view, cache, m->keys, n, &read, m->answers);
    for (size_t i = 0; i < n; i++) call->op->answers[places[done + i]] = m->answers[i];
    return n;
}

static enum rondo_run run_mget(struct rondo_cmd *call) {
    size_t n = call->argc - 1, waiting = 0;
    struct many m;
    call->op->a = (int64_t)call->session->service->limits.output_hard;
    if (!rondo_cmd_reserve(call, n) || !many_init(call, &m, n)) return RONDO_RUN_DONE;
    if (!route_all(call, m.caches, 1)) {
        many_fini(&m);
        return RONDO_RUN_DONE;
    }
    for (size_t i = 0, done = 0; i < n; i++)
        if (m.caches[i]) done += ask_cache(call, &m, i, done, &waiting);
    many_fini(&m);
    return rondo_cmd_answers(call, finish_values, waiting);
}

/* ---- writes ----------------------------------------------------------------------- */

static enum rondo_run put_one(struct rondo_cmd *call, size_t value_arg,
                              const struct rondo_write *write, rondo_finish_fn finish) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;
    struct rondo_answer answer = {0};
    answer.outcome = rondo_view_put(call->view, cache, &key, call->argv[value_arg], write, &answer);
    return rondo_cmd_answer(call, finish, &answer);
}

struct set_options {
    const struct rondo_ttl_unit *expiry; /* NULL: none was given */
    size_t expiry_arg;
    unsigned flags;
    bool wants_old;
};

/* As in Redis an option may be repeated, and of a repeated time the last counts; two
 * different times, a time with KEEPTTL, or NX with XX are a syntax error. */
static bool read_set_options(const struct rondo_cmd *call, struct set_options *o) {
    for (size_t i = 3; i < call->argc; i++) {
        const struct rondo_ttl_unit *expiry = rondo_ttl_unit_of(call, i);
        bool is_other_time =
            (o->expiry && o->expiry != expiry) || (o->flags & RONDO_WRITE_KEEP_TTL);
        if (rondo_cmd_is(call, i, "NX") && !(o->flags & RONDO_WRITE_IF_PRESENT)) {
            o->flags |= RONDO_WRITE_IF_ABSENT;
        } else if (rondo_cmd_is(call, i, "XX") && !(o->flags & RONDO_WRITE_IF_ABSENT)) {
            o->flags |= RONDO_WRITE_IF_PRESENT;
        } else if (rondo_cmd_is(call, i, "GET")) {
            o->wants_old = true;
        } else if (rondo_cmd_is(call, i, "KEEPTTL") && !o->expiry) {
            o->flags |= RONDO_WRITE_KEEP_TTL;
        } else if (expiry && !is_other_time && i + 1 < call->argc) {
            o->expiry = expiry;
            o->expiry_arg = ++i;
        } else {
            return false;
        }
    }
    return true;
}

static enum rondo_run run_set(struct rondo_cmd *call) {
    struct rondo_write write = rondo_cmd_write(call, 0);
    struct set_options o = {0};
    if (call->argc > 3) {
        if (!read_set_options(call, &o)) return rondo_cmd_syntax_error(call);
        if (o.expiry && !rondo_ttl_read(call, o.expiry_arg, o.expiry, &write.ttl_ns))
            return RONDO_RUN_DONE;
        write.flags = o.flags;
        if (o.wants_old) return rondo_command_set_get(call, &write);
    }
    return put_one(call, 2, &write, finish_stored);
}

static enum rondo_run run_setnx(struct rondo_cmd *call) {
    struct rondo_write write = rondo_cmd_write(call, 0);
    write.flags = RONDO_WRITE_IF_ABSENT;
    return put_one(call, 2, &write, finish_set_if);
}

static enum rondo_run set_with_ttl(struct rondo_cmd *call, const struct rondo_ttl_unit *unit) {
    struct rondo_write write = rondo_cmd_write(call, 0);
    if (!rondo_ttl_read(call, 2, unit, &write.ttl_ns)) return RONDO_RUN_DONE;
    return put_one(call, 3, &write, finish_stored);
}

static enum rondo_run run_setex(struct rondo_cmd *call) {
    static const struct rondo_ttl_unit seconds = {"EX", 1000, false};
    return set_with_ttl(call, &seconds);
}

static enum rondo_run run_psetex(struct rondo_cmd *call) {
    static const struct rondo_ttl_unit milliseconds = {"PX", 1, false};
    return set_with_ttl(call, &milliseconds);
}

/* ---- the table -------------------------------------------------------------------- */

enum {
    READ = RONDO_COMMAND_READ,
    WRITE = RONDO_COMMAND_WRITE,
    OVER = RONDO_COMMAND_OVERWRITES,
    FAST = RONDO_COMMAND_FAST,
    OOM = RONDO_COMMAND_DENY_OOM
};

#define STRING(name, arity, flags, last, step, since, summary, run)                                \
    { name, arity, flags, {1, last, step}, "string", since, summary, run, NULL }

static const struct rondo_command table[] = {
    STRING("get", 2, READ | FAST, 1, 1, "1.0.0", "Get the value of a key", run_get),
    STRING("set", -3, WRITE | OVER | OOM, 1, 1, "1.0.0", "Set the string value of a key", run_set),
    STRING("mget", -2, READ | FAST, -1, 1, "1.0.0", "Get the values of all the given keys",
           run_mget),
    STRING("getex", -2, WRITE | RONDO_COMMAND_LOADS | FAST, 1, 1, "6.2.0",
           "Get the value of a key and optionally set its expiration", run_getex),
    STRING("setnx", 3, WRITE | OOM | FAST, 1, 1, "1.0.0",
           "Set the value of a key, only if the key does not exist", run_setnx),
    STRING("setex", 4, WRITE | OVER | OOM, 1, 1, "2.0.0", "Set the value and expiration of a key",
           run_setex),
    STRING("psetex", 4, WRITE | OVER | OOM, 1, 1, "2.6.0",
           "Set the value and expiration in milliseconds of a key", run_psetex),
    STRING("strlen", 2, READ | FAST, 1, 1, "2.2.0", "Get the length of the value stored in a key",
           run_strlen),
    STRING("getrange", 4, READ, 1, 1, "2.4.0", "Get a substring of the string stored at a key",
           run_getrange),
    STRING("substr", 4, READ, 1, 1, "1.0.0", "Get a substring of the string stored at a key",
           run_getrange),
};

const struct rondo_command_family rondo_commands_string = {table, RONDO_COUNT_OF(table)};
