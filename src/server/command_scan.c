/* SPDX-License-Identifier: MIT */
/* SCAN, KEYS, RANDOMKEY and RONDO.INVALIDATE: walks over the keys in memory. */
#include "base/hash.h"
#include "server/glob.h"
#include "server/session.h"

enum { KEYS_STEP = 1000, SCAN_STEP = 10 };

/* Keys found, one after another: length, then bytes. */
struct found {
    struct rondo_buf bytes;
    size_t n;
    struct rondo_slice pattern; /* data NULL: all */
    enum rondo_err err;
};

/* Under the shard's lock: copies and nothing else. */
static void keep_key(void *arg, const struct rondo_key *key, rondo_cache *cache) {
    struct found *f = arg;
    struct rondo_slice name = {key->data, key->len};
    (void)cache;
    if (f->err || (f->pattern.data && !rondo_glob_match(f->pattern, name, false))) return;
    size_t start = f->bytes.len;
    f->err = rondo_buf_append(&f->bytes, &name.len, sizeof name.len);
    if (!f->err) f->err = rondo_buf_append(&f->bytes, name.data, name.len);
    if (f->err)
        f->bytes.len = start;
    else
        f->n++;
}

/* The key at *at, which moves to the next. */
static struct rondo_slice next_key(const struct found *f, size_t *at) {
    struct rondo_slice key;
    memcpy(&key.len, f->bytes.data + *at, sizeof key.len);
    key.data = f->bytes.data + *at + sizeof key.len;
    *at += sizeof key.len + key.len;
    return key;
}

static void write_keys(struct rondo_cmd *call, const struct found *f) {
    rondo_resp_write_array(&call->w, f->n);
    for (size_t i = 0, at = 0; i < f->n; i++) {
        struct rondo_slice key = next_key(f, &at);
        rondo_resp_write_bulk(&call->w, key.data, key.len);
    }
}

static void walk_all(struct rondo_cmd *call, struct found *f) {
    uint64_t cursor = 0;
    do {
        cursor = rondo_keyspace_scan(call->session->service->ks, call->session->db, cursor,
                                     KEYS_STEP, keep_key, f);
    } while (cursor != 0 && !f->err);
}

static enum rondo_run end(struct rondo_cmd *call, struct found *f) {
    if (f->err) (void)rondo_cmd_error(call, "OOM out of memory");
    rondo_buf_fini(&f->bytes);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_keys(struct rondo_cmd *call) {
    struct found f = {.pattern = call->argv[1]};
    walk_all(call, &f);
    if (!f.err) write_keys(call, &f);
    return end(call, &f);
}

static enum rondo_run run_randomkey(struct rondo_cmd *call) {
    struct found f = {{0}, 0, {NULL, 0}, RONDO_OK};
    uint64_t random = call->now_ns ^ call->session->client->id;
    walk_all(call, &f);
    if (f.err) return end(call, &f);
    if (f.n == 0) {
        rondo_resp_write_null(&call->w);
        return end(call, &f);
    }
    struct rondo_slice key = {NULL, 0};
    uint64_t pick = rondo_random_below(&random, f.n);
    for (size_t i = 0, at = 0; i <= pick; i++) key = next_key(&f, &at);
    rondo_resp_write_bulk(&call->w, key.data, key.len);
    return end(call, &f);
}

/* ---- SCAN --------------------------------------------------------------------------- */

struct scan {
    uint64_t cursor;
    int64_t count;
    bool is_other_type; /* TYPE list, say: nothing is one */
};

static bool read_cursor(struct rondo_slice text, uint64_t *out) {
    const char *p = text.data;
    uint64_t v = 0;
    if (text.len > 20) return false; /* none at all is 0, as in Redis */
    for (size_t i = 0; i < text.len; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(p[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

/* False after an error reply. */
static bool read_scan(struct rondo_cmd *call, struct scan *s, struct found *f) {
    if (!read_cursor(call->argv[1], &s->cursor)) {
        (void)rondo_cmd_error(call, "ERR invalid cursor");
        return false;
    }
    for (size_t i = 2; i < call->argc; i += 2) {
        bool has_value = i + 1 < call->argc;
        if (has_value && rondo_cmd_is(call, i, "MATCH")) {
            f->pattern = call->argv[i + 1];
        } else if (has_value && rondo_cmd_is(call, i, "TYPE")) {
            s->is_other_type = !rondo_cmd_is(call, i + 1, "string");
        } else if (has_value && rondo_cmd_is(call, i, "COUNT")) {
            if (!rondo_slice_to_int(call->argv[i + 1], &s->count)) {
                (void)rondo_cmd_error(call, "ERR value is not an integer or out of range");
                return false;
            }
            if (s->count >= 1) continue;
            (void)rondo_cmd_syntax_error(call);
            return false;
        } else {
            (void)rondo_cmd_syntax_error(call);
            return false;
        }
    }
    return true;
}

static enum rondo_run run_scan(struct rondo_cmd *call) {
    struct found f = {{0}, 0, {NULL, 0}, RONDO_OK};
    struct scan s = {.count = SCAN_STEP};
    if (!read_scan(call, &s, &f)) return RONDO_RUN_DONE;
    uint64_t next = rondo_keyspace_scan(call->session->service->ks, call->session->db, s.cursor,
                                        (size_t)s.count, keep_key, &f);
    if (f.err) return end(call, &f);
    if (s.is_other_type) f.n = 0;
    char cursor[24];
    (void)snprintf(cursor, sizeof cursor, "%llu", (unsigned long long)next);
    rondo_resp_write_array(&call->w, 2);
    rondo_resp_write_bulk_str(&call->w, cursor);
    write_keys(call, &f);
    return end(call, &f);
}

/* ---- RONDO.INVALIDATE --------------------------------------------------------------- */

static enum rondo_run run_invalidate(struct rondo_cmd *call) {
    struct found f = {.pattern = call->argv[1]};
    int64_t n = 0;
    if (rondo_glob_is_literal(f.pattern))
        keep_key(&f, &(struct rondo_key){f.pattern.data, f.pattern.len, 0}, NULL);
    else
        walk_all(call, &f);
    for (size_t i = 0, at = 0; i < f.n; i++) {
        struct rondo_slice name = next_key(&f, &at);
        struct rondo_key key = {name.data, name.len, call->session->db};
        rondo_cache *cache = rondo_keyspace_route(call->session->service->ks, name);
        n += cache && rondo_cache_invalidate(cache, &key);
    }
    if (!f.err) rondo_resp_write_int(&call->w, n);
    return end(call, &f);
}

#define WALK(name, arity, group, since, summary, run)                                              \
    { name, arity, RONDO_COMMAND_WHOLE, {0, 0, 0}, group, since, summary, run, NULL }

static const struct rondo_command table[] = {
    WALK("scan", -2, "generic", "2.8.0", "Incrementally iterate the keys space", run_scan),
    WALK("keys", 2, "generic", "1.0.0", "Find all keys matching the given pattern", run_keys),
    WALK("randomkey", 1, "generic", "1.0.0", "Return a random key from the keyspace",
         run_randomkey),
    WALK("rondo.invalidate", 2, "rondo", "0.1.0",
         "Forget the keys that match a pattern, in memory alone", run_invalidate),
};

const struct rondo_command_family rondo_commands_scan = {table, RONDO_COUNT_OF(table)};
