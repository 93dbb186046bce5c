/* SPDX-License-Identifier: MIT */
/*
 * INCR, APPEND, GETSET and their like: a new value from the old one, atomically.
 *
 * The engine may have to load the key first and then calls the edit on a thread of
 * its own, when the connection may be gone.  So an edit lives apart from the
 * connection: it is the message that comes back, with all that the reply needs, and
 * belongs to the engine until it is sent.
 */
#include "base/mem.h"
#include "server/session.h"
#include "server/ttl.h"
#include <errno.h>
#include <math.h>

enum { NUMBER_MAX = 5 * 1024 };

struct edit {
    struct rondo_reply reply; /* first: it is sent as one */
    rondo_actor *to;          /* a reference */
    rondo_update_fn fn;
    struct rondo_slice arg; /* copied: its bytes are in `room` */
    struct rondo_buf room;
    int64_t by; /* INCRBY; the offset of SETRANGE */
    long double by_real;
    uint64_t ttl_ns;
    unsigned flags; /* of the write */
    /* what the edit comes to */
    const char *error; /* static */
    int64_t number;
    bool has_text;
    struct rondo_buf text, value;
};

static void edit_fini(struct rondo_msg *m) {
    struct edit *e = (struct edit *)(void *)m;
    rondo_answer_release(&e->reply.answer);
    if (e->to) rondo_actor_unref(e->to);
    rondo_buf_fini(&e->room);
    rondo_buf_fini(&e->text);
    rondo_buf_fini(&e->value);
}

static struct edit *edit_new(struct rondo_cmd *call, rondo_update_fn fn, struct rondo_slice arg) {
    struct edit *e = rondo_msg_new(RONDO_SESSION_REPLY, sizeof *e);
    if (e) {
        e->reply.head.fini = edit_fini;
        e->to = rondo_actor_ref(call->session->actor);
        e->fn = fn;
    }
    if (!e || rondo_buf_append(&e->room, arg.data, arg.len)) {
        rondo_msg_free(e);
        (void)rondo_cmd_error(call, "OOM out of memory");
        return NULL;
    }
    e->arg = rondo_slice_of(e->room.data, e->room.len);
    return e;
}

/* ---- edits: under the lock of the key's shard ---------------------------------------- */

static enum rondo_change fail(struct edit *e, const char *error) {
    e->error = error;
    return RONDO_CHANGE_NONE;
}

static enum rondo_change put(struct edit *e, struct rondo_slice value, struct rondo_value *out,
                             struct rondo_write *write) {
    *out = (struct rondo_value){.data = value.data, .len = value.len};
    write->flags = e->flags;
    write->ttl_ns = e->ttl_ns;
    return RONDO_CHANGE_PUT;
}

static bool keep_old(struct edit *e, struct rondo_slice old) {
    e->has_text = old.data != NULL;
    if (!rondo_buf_append(&e->text, old.data, old.len)) return true;
    e->error = "OOM out of memory";
    return false;
}

static enum rondo_change edit_incr(void *arg, struct rondo_slice old, struct rondo_value *out,
                                   struct rondo_write *write) {
    struct edit *e = arg;
    int64_t n = 0;
    if (old.data && !rondo_slice_to_int(old, &n))
        return fail(e, "ERR value is not an integer or out of range");
    if (__builtin_add_overflow(n, e->by, &n))
        return fail(e, "ERR increment or decrement would overflow");
    if (rondo_buf_printf(&e->value, "%lld", (long long)n)) return fail(e, "OOM out of memory");
    e->number = n;
    return put(e, rondo_slice_of(e->value.data, e->value.len), out, write);
}

enum { REAL_MAX = 5 * 1024 }; /* as much as Redis reads: more than any number prints */

static bool to_real(struct rondo_slice s, long double *out) {
    char text[REAL_MAX], *end;
    if (s.len == 0 || s.len >= sizeof text) return false;
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    if (text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r')) return false;
    errno = 0;
    *out = strtold(text, &end);
    return end == text + s.len && errno != ERANGE && !isnan(*out);
}

/* As Redis prints it: 17 digits after the point, without the zeros at the end. */
static enum rondo_err print_real(struct rondo_buf *buf, long double v) {
    enum rondo_err err = rondo_buf_printf(buf, "%.17Lf", v);
    while (!err && buf->data[buf->len - 1] == '0') buf->len--;
    if (!err && buf->data[buf->len - 1] == '.') buf->len--;
    if (!err && buf->len == 2 && memcmp(buf->data, "-0", 2) == 0) rondo_buf_consume(buf, 1);
    return err;
}

static enum rondo_change edit_incr_real(void *arg, struct rondo_slice old, struct rondo_value *out,
                                        struct rondo_write *write) {
    struct edit *e = arg;
    long double v = 0;
    if (old.data && !to_real(old, &v)) return fail(e, "ERR value is not a valid float");
    v += e->by_real;
    if (isnan(v) || isinf(v)) return fail(e, "ERR increment would produce NaN or Infinity");
    if (print_real(&e->value, v) || rondo_buf_append(&e->text, e->value.data, e->value.len))
        return fail(e, "OOM out of memory");
    e->has_text = true;
    return put(e, rondo_slice_of(e->value.data, e->value.len), out, write);
}

static enum rondo_change edit_append(void *arg, struct rondo_slice old, struct rondo_value *out,
                                     struct rondo_write *write) {
    struct edit *e = arg;
    if (rondo_buf_append(&e->value, old.data, old.len) ||
        rondo_buf_append(&e->value, e->arg.data, e->arg.len))
        return fail(e, "OOM out of memory");
    e->number = (int64_t)e->value.len;
    return put(e, rondo_slice_of(e->value.data, e->value.len), out, write);
}

static enum rondo_change edit_setrange(void *arg, struct rondo_slice old, struct rondo_value *out,
                                       struct rondo_write *write) {
    struct edit *e = arg;
    size_t start = (size_t)e->by, end = start + e->arg.len;
    e->number = (int64_t)old.len;
    if (e->arg.len == 0) return RONDO_CHANGE_NONE;
    size_t len = old.len > end ? old.len : end;
    if (rondo_buf_reserve(&e->value, len)) return fail(e, "OOM out of memory");
    memset(e->value.data, 0, len);
    if (old.len) memcpy(e->value.data, old.data, old.len);
    memcpy(e->value.data + start, e->arg.data, e->arg.len);
    e->number = (int64_t)len;
    return put(e, rondo_slice_of(e->value.data, len), out, write);
}

/* GETSET, and SET ... GET with its conditions. */
static enum rondo_change edit_getset(void *arg, struct rondo_slice old, struct rondo_value *out,
                                     struct rondo_write *write) {
    struct edit *e = arg;
    unsigned conditions = e->flags & (RONDO_WRITE_IF_ABSENT | RONDO_WRITE_IF_PRESENT);
    if (!keep_old(e, old)) return RONDO_CHANGE_NONE;
    if (conditions == RONDO_WRITE_IF_ABSENT && old.data) return RONDO_CHANGE_NONE;
    if (conditions == RONDO_WRITE_IF_PRESENT && !old.data) return RONDO_CHANGE_NONE;
    e->flags &= ~conditions;
    return put(e, e->arg, out, write);
}

static enum rondo_change edit_getdel(void *arg, struct rondo_slice old, struct rondo_value *out,
                                     struct rondo_write *write) {
    struct edit *e = arg;
    (void)out;
    (void)write;
    if (!keep_old(e, old) || !old.data) return RONDO_CHANGE_NONE;
    return RONDO_CHANGE_DELETE;
}

/* ---- from the edit to the reply ------------------------------------------------------- */

/* Any thread: the edit becomes the message that says how it went. */
static void edit_done(void *arg, uint64_t id, struct rondo_answer *answer) {
    struct edit *e = arg;
    e->reply.id = id;
    e->reply.answer = *answer;
    rondo_send(e->to, e);
}

static void take_edit(struct rondo_op *op, struct rondo_reply *reply) {
    struct edit *e = (struct edit *)(void *)reply;
    op->error = e->error;
    op->a = e->number;
    op->b = e->has_text;
    op->text = e->text;
    e->text = (struct rondo_buf){0};
}

static bool write_trouble(struct rondo_op *op, struct rondo_resp_writer *w) {
    if (op->answers[0].outcome == RONDO_FAILED)
        rondo_write_failed(w, &op->answers[0]);
    else if (op->error)
        rondo_resp_write_error(w, op->error);
    else
        return false;
    return true;
}

static void finish_number(struct rondo_op *op, struct rondo_resp_writer *w) {
    if (!write_trouble(op, w)) rondo_resp_write_int(w, op->a);
}

static void finish_text(struct rondo_op *op, struct rondo_resp_writer *w) {
    if (write_trouble(op, w)) return;
    if (op->b)
        rondo_resp_write_bulk(w, op->text.data, op->text.len);
    else
        rondo_resp_write_null(w);
}

/* `e` is given. */
static enum rondo_run run(struct rondo_cmd *call, struct edit *e, rondo_finish_fn finish) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) {
        rondo_msg_free(e);
        return RONDO_RUN_DONE;
    }
    struct rondo_read read = rondo_cmd_read(call, 0);
    read.done = (struct rondo_completion){.fn = edit_done, .arg = e, .id = read.done.id};
    struct rondo_answer answer = {0};
    call->op->take = take_edit;
    answer.outcome = rondo_view_update(call->view, cache, &key, e->fn, e, &read, &answer);
    if (answer.outcome != RONDO_PENDING) {
        take_edit(call->op, &e->reply);
        rondo_msg_free(e);
    }
    return rondo_cmd_answer(call, finish, &answer);
}

/* ---- commands ------------------------------------------------------------------------- */

static enum rondo_run incr_by(struct rondo_cmd *call, int64_t by) {
    struct edit *e = edit_new(call, edit_incr, (struct rondo_slice){NULL, 0});
    if (!e) return RONDO_RUN_DONE;
    e->by = by;
    e->flags = RONDO_WRITE_KEEP_TTL;
    return run(call, e, finish_number);
}

static enum rondo_run run_incr(struct rondo_cmd *call) {
    return incr_by(call, 1);
}

static enum rondo_run run_decr(struct rondo_cmd *call) {
    return incr_by(call, -1);
}

static enum rondo_run run_incrby(struct rondo_cmd *call) {
    int64_t by;
    if (!rondo_slice_to_int(call->argv[2], &by))
        return rondo_cmd_error(call, "ERR value is not an integer or out of range");
    return incr_by(call, by);
}

static enum rondo_run run_decrby(struct rondo_cmd *call) {
    int64_t by;
    if (!rondo_slice_to_int(call->argv[2], &by))
        return rondo_cmd_error(call, "ERR value is not an integer or out of range");
    if (by == INT64_MIN) return rondo_cmd_error(call, "ERR decrement would overflow");
    return incr_by(call, -by);
}

static enum rondo_run run_incrbyfloat(struct rondo_cmd *call) {
    long double by;
    if (!to_real(call->argv[2], &by))
        return rondo_cmd_error(call, "ERR value is not a valid float");
    struct edit *e = edit_new(call, edit_incr_real, (struct rondo_slice){NULL, 0});
    if (!e) return RONDO_RUN_DONE;
    e->by_real = by;
    e->flags = RONDO_WRITE_KEEP_TTL;
    return run(call, e, finish_text);
}

static enum rondo_run run_append(struct rondo_cmd *call) {
    struct edit *e = edit_new(call, edit_append, call->argv[2]);
    if (!e) return RONDO_RUN_DONE;
    e->flags = RONDO_WRITE_KEEP_TTL;
    return run(call, e, finish_number);
}

static enum rondo_run run_setrange(struct rondo_cmd *call) {
    int64_t offset;
    if (!rondo_slice_to_int(call->argv[2], &offset))
        return rondo_cmd_error(call, "ERR value is not an integer or out of range");
    if (offset < 0) return rondo_cmd_error(call, "ERR offset is out of range");
    size_t limit = call->session->service->limits.argument;
    if (call->argv[3].len > 0 &&
        ((uint64_t)offset > limit || (uint64_t)offset + call->argv[3].len > limit))
        return rondo_cmd_error(call,
                               "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    struct edit *e = edit_new(call, edit_setrange, call->argv[3]);
    if (!e) return RONDO_RUN_DONE;
    e->by = offset;
    e->flags = RONDO_WRITE_KEEP_TTL;
    return run(call, e, finish_number);
}

static enum rondo_run run_getset(struct rondo_cmd *call) {
    struct edit *e = edit_new(call, edit_getset, call->argv[2]);
    return e ? run(call, e, finish_text) : RONDO_RUN_DONE;
}

static enum rondo_run run_getdel(struct rondo_cmd *call) {
    struct edit *e = edit_new(call, edit_getdel, (struct rondo_slice){NULL, 0});
    return e ? run(call, e, finish_text) : RONDO_RUN_DONE;
}

enum rondo_run rondo_command_set_get(struct rondo_cmd *call, const struct rondo_write *write) {
    struct edit *e = edit_new(call, edit_getset, call->argv[2]);
    if (!e) return RONDO_RUN_DONE;
    e->flags = write->flags;
    e->ttl_ns = write->ttl_ns;
    return run(call, e, finish_text);
}

enum {
    UPDATES =
        RONDO_COMMAND_WRITE | RONDO_COMMAND_LOADS | RONDO_COMMAND_DENY_OOM | RONDO_COMMAND_FAST
};

#define UPDATE(name, arity, since, summary, run)                                                   \
    { name, arity, UPDATES, {1, 1, 1}, "string", since, summary, run, NULL }

static const struct rondo_command table[] = {
    UPDATE("incr", 2, "1.0.0", "Increment the integer value of a key by one", run_incr),
    UPDATE("decr", 2, "1.0.0", "Decrement the integer value of a key by one", run_decr),
    UPDATE("incrby", 3, "1.0.0", "Increment the integer value of a key by the given amount",
           run_incrby),
    UPDATE("decrby", 3, "1.0.0", "Decrement the integer value of a key by the given number",
           run_decrby),
    UPDATE("incrbyfloat", 3, "2.6.0", "Increment the float value of a key by the given amount",
           run_incrbyfloat),
    UPDATE("append", 3, "2.0.0", "Append a value to a key", run_append),
    UPDATE("setrange", 4, "2.2.0",
           "Overwrite part of a string at key starting at the specified offset", run_setrange),
    UPDATE("getset", 3, "1.0.0", "Set the string value of a key and return its old value",
           run_getset),
    UPDATE("getdel", 2, "6.2.0", "Get the value of a key and delete the key", run_getdel),
};

const struct rondo_command_family rondo_commands_update = {table, RONDO_COUNT_OF(table)};
