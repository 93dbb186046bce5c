/* SPDX-License-Identifier: MIT */
#include "server/view.h"
#include "base/hash.h"
#include "base/mem.h"

enum { KEYS_MAX = (1 << 20) - 1 };

void rondo_view_fini(struct rondo_view *v) {
    rondo_free(v->keys);
    rondo_free(v->marks);
    rondo_free(v->index);
    *v = (struct rondo_view){.service = v->service};
}

/* ---- the keys --------------------------------------------------------------------- */

static bool is_same(const struct rondo_key *a, const struct rondo_key *b) {
    return a->space == b->space && a->len == b->len &&
           (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Where the key is in the index, or would be. */
static size_t place_of(const struct rondo_view *v, const struct rondo_key *key) {
    size_t at = (size_t)rondo_hash(key->data, key->len, key->space) & (v->index_cap - 1);
    while (v->index[at] && !is_same(&v->keys[v->index[at] - 1], key))
        at = (at + 1) & (v->index_cap - 1);
    return at;
}

static enum rondo_err grow(struct rondo_view *v) {
    size_t cap = v->cap ? 2 * v->cap : 8;
    struct rondo_key *keys = rondo_realloc(v->keys, cap * sizeof *keys);
    if (keys) v->keys = keys;
    struct rondo_view_mark *marks = rondo_realloc(v->marks, cap * sizeof *marks);
    if (marks) v->marks = marks;
    uint32_t *index = rondo_zalloc(2 * cap * sizeof *index);
    if (!keys || !marks || !index) {
        rondo_free(index);
        return RONDO_ERR_NOMEM;
    }
    rondo_free(v->index);
    v->index = index;
    v->index_cap = 2 * cap;
    v->cap = cap;
    for (size_t i = 0; i < v->n; i++) v->index[place_of(v, &v->keys[i])] = (uint32_t)i + 1;
    return RONDO_OK;
}

enum rondo_err rondo_view_add(struct rondo_view *v, const struct rondo_key *key, size_t *number) {
    if (v->n == KEYS_MAX) return RONDO_ERR_FULL;
    if (v->n == v->cap) {
        enum rondo_err err = grow(v);
        if (err) return err;
    }
    size_t at = place_of(v, key);
    if (!v->index[at]) {
        v->keys[v->n] = *key;
        v->marks[v->n] = (struct rondo_view_mark){0};
        v->index[at] = (uint32_t)++v->n;
    }
    *number = v->index[at] - 1;
    return RONDO_OK;
}

size_t rondo_view_find(const struct rondo_view *v, const struct rondo_key *key) {
    RONDO_CHECK(v->index_cap > 0);
    size_t at = place_of(v, key);
    RONDO_CHECK(v->index[at] != 0); /* a command touches a key that its table entry hides */
    return v->index[at] - 1;
}

/* ---- running ---------------------------------------------------------------------- */

struct run {
    struct rondo_view *view;
    void (*fn)(void *arg);
    void *arg;
};

static void run_locked(void *arg, rondo_txn *txn) {
    struct run *r = arg;
    r->view->txn = txn;
    r->fn(r->arg);
    r->view->txn = NULL;
}

enum rondo_err rondo_view_run(struct rondo_view *v, const struct rondo_answer *loaded,
                              void (*fn)(void *arg), void *arg) {
    struct run r = {v, fn, arg};
    v->loaded = loaded;
    return rondo_keyspace_txn(v->service->ks, v->keys, v->n, loaded, run_locked, &r);
}

/* ---- reads ------------------------------------------------------------------------ */

enum rondo_outcome rondo_view_get(struct rondo_view *v, rondo_cache *cache,
                                  const struct rondo_key *key, const struct rondo_read *read,
                                  struct rondo_answer *answer) {
    if (!v) return rondo_cache_get(cache, key, read, answer);
    size_t i = rondo_view_find(v, key);
    struct rondo_slice value = {NULL, 0};
    *answer = (struct rondo_answer){.outcome = rondo_txn_get(v->txn, i, &value)};
    if (answer->outcome == RONDO_VALUE) {
        answer->value = (struct rondo_value){.data = value.data, .len = value.len};
    } else if (v->loaded && v->loaded[i].outcome == RONDO_FAILED && !v->marks[i].is_changed) {
        *answer = v->loaded[i];
        answer->value.blob = NULL; /* lent */
    }
    return answer->outcome;
}

size_t rondo_view_get_many(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *keys,
                           size_t n, const struct rondo_read *read, struct rondo_answer *answers) {
    if (!v) return rondo_cache_get_many(cache, keys, n, read, answers);
    for (size_t i = 0; i < n; i++) (void)rondo_view_get(v, cache, &keys[i], read, &answers[i]);
    return 0;
}

enum rondo_outcome rondo_view_peek(struct rondo_view *v, rondo_cache *cache,
                                   const struct rondo_key *key, const struct rondo_read *read,
                                   struct rondo_answer *answer) {
    if (!v) return answer->outcome = rondo_cache_peek(cache, key, read, answer);
    struct rondo_slice value = {NULL, 0};
    *answer =
        (struct rondo_answer){.outcome = rondo_txn_get(v->txn, rondo_view_find(v, key), &value)};
    answer->value = (struct rondo_value){.data = value.data, .len = value.len};
    return answer->outcome;
}

bool rondo_view_has(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *key,
                    uint64_t now_ns) {
    char scratch[1024];
    struct rondo_read read = {.now_ns = now_ns, .scratch = scratch, .scratch_size = sizeof scratch};
    struct rondo_answer answer = {0};
    bool yes = rondo_view_peek(v, cache, key, &read, &answer) == RONDO_VALUE;
    rondo_answer_release(&answer);
    return yes;
}

/* ---- writes ----------------------------------------------------------------------- */

static enum rondo_outcome end(struct rondo_answer *answer, enum rondo_err err) {
    *answer = (struct rondo_answer){.outcome = RONDO_VALUE};
    if (err == RONDO_ERR_NOT_FOUND)
        answer->outcome = RONDO_ABSENT;
    else if (err)
        *answer = (struct rondo_answer){.outcome = RONDO_FAILED, .err = err};
    return answer->outcome;
}

static enum rondo_err may_write(const struct rondo_view *v, const rondo_cache *cache) {
    const struct rondo_config_cache *c = rondo_service_cache_config(v->service, cache);
    if (!c || c->options.writes == RONDO_WRITES_MEMORY) return RONDO_OK;
    return c->options.writes == RONDO_WRITES_THROUGH ? RONDO_ERR_UNSUPPORTED : RONDO_ERR_REFUSED;
}

static enum rondo_err put(struct rondo_view *v, size_t i, rondo_cache *cache,
                          struct rondo_slice value, const struct rondo_write *write) {
    enum rondo_err err = may_write(v, cache);
    if (!err) err = rondo_txn_put(v->txn, i, value, write);
    if (!err) v->marks[i].is_changed = true;
    return err;
}

enum rondo_outcome rondo_view_put(struct rondo_view *v, rondo_cache *cache,
                                  const struct rondo_key *key, struct rondo_slice value,
                                  const struct rondo_write *write, struct rondo_answer *answer) {
    if (!v) return rondo_cache_put(cache, key, value, write, answer);
    return end(answer, put(v, rondo_view_find(v, key), cache, value, write));
}

enum rondo_outcome rondo_view_delete(struct rondo_view *v, rondo_cache *cache,
                                     const struct rondo_key *key, const struct rondo_write *write,
                                     struct rondo_answer *answer) {
    if (!v) return rondo_cache_delete(cache, key, write, answer);
    enum rondo_err err = may_write(v, cache);
    if (err) return end(answer, err);
    size_t i = rondo_view_find(v, key);
    v->marks[i].is_changed = true;
    return end(answer, rondo_txn_delete(v->txn, i) ? RONDO_OK : RONDO_ERR_NOT_FOUND);
}

static enum rondo_err change(struct rondo_view *v, size_t i, rondo_cache *cache,
                             struct rondo_slice old, rondo_update_fn fn, void *arg) {
    struct rondo_value value = {0};
    struct rondo_write write = {0};
    enum rondo_err err = RONDO_OK;
    enum rondo_change what = fn(arg, old, &value, &write);
    if (what == RONDO_CHANGE_PUT)
        err = put(v, i, cache, rondo_slice_of(value.data, value.len), &write);
    if (what == RONDO_CHANGE_DELETE) {
        v->marks[i].is_changed = true;
        (void)rondo_txn_delete(v->txn, i);
    }
    rondo_value_release(&value);
    return err;
}

enum rondo_outcome rondo_view_update(struct rondo_view *v, rondo_cache *cache,
                                     const struct rondo_key *key, rondo_update_fn fn, void *arg,
                                     const struct rondo_read *read, struct rondo_answer *answer) {
    if (!v) return rondo_cache_update(cache, key, true, fn, arg, read, answer);
    enum rondo_err err = may_write(v, cache);
    if (err) return end(answer, err);
    if (rondo_view_get(v, cache, key, read, answer) == RONDO_FAILED) return RONDO_FAILED;
    struct rondo_slice old = {NULL, 0};
    if (answer->outcome == RONDO_VALUE) old = rondo_slice_of(answer->value.data, answer->value.len);
    return end(answer, change(v, rondo_view_find(v, key), cache, old, fn, arg));
}

/* ---- time ------------------------------------------------------------------------- */

uint64_t rondo_view_expiry(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *key,
                           uint64_t now_ns) {
    if (!v) return rondo_cache_expiry(cache, key, now_ns);
    return rondo_txn_expiry(v->txn, rondo_view_find(v, key));
}

bool rondo_view_expire(struct rondo_view *v, rondo_cache *cache, const struct rondo_key *key,
                       uint64_t expiry_ns, uint64_t now_ns) {
    if (!v) return rondo_cache_expire(cache, key, expiry_ns, now_ns);
    size_t i = rondo_view_find(v, key);
    bool was_there = rondo_txn_expire(v->txn, i, expiry_ns);
    v->marks[i].is_changed = v->marks[i].is_changed || was_there;
    return was_there;
}
