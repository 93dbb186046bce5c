/* SPDX-License-Identifier: MIT */
#include "server/block.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"

struct rondo_block *rondo_block_new(void) {
    return rondo_zalloc(sizeof(struct rondo_block));
}

void rondo_block_free(struct rondo_block *b) {
    if (!b) return;
    rondo_block_unwatch(b);
    rondo_free(b->buckets);
    for (struct rondo_queued *q = b->first, *next; q; q = next) {
        next = q->next;
        rondo_free(q);
    }
    rondo_free(b);
}

static bool size_of(const struct rondo_slice *argv, size_t argc, size_t *out) {
    size_t size;
    if (!rondo_size_mul(argc, sizeof *argv, &size)) return false;
    if (!rondo_size_add(size, sizeof(struct rondo_queued), &size)) return false;
    for (size_t i = 0; i < argc; i++)
        if (!rondo_size_add(size, argv[i].len, &size)) return false;
    *out = size;
    return true;
}

enum rondo_err rondo_block_add(struct rondo_block *b, const struct rondo_command *command,
                               const struct rondo_slice *argv, size_t argc, size_t limit) {
    size_t size, all;
    if (!size_of(argv, argc, &size) || !rondo_size_add(size, b->bytes, &all) || all > limit)
        return RONDO_ERR_TOO_LARGE;
    struct rondo_queued *q = rondo_alloc(size);
    if (!q) return RONDO_ERR_NOMEM;
    *q = (struct rondo_queued){.command = command, .argc = argc};
    char *bytes = (char *)(q->argv + argc);
    for (size_t i = 0; i < argc; i++) {
        if (argv[i].len) memcpy(bytes, argv[i].data, argv[i].len);
        q->argv[i] = rondo_slice_of(bytes, argv[i].len);
        bytes += argv[i].len;
    }
    if (b->last)
        b->last->next = q;
    else
        b->first = q;
    b->last = q;
    b->n++;
    b->bytes = all;
    return RONDO_OK;
}

/* ---- watches: a transaction may have very many ------------------------------------- */

static struct rondo_watch **bucket(const struct rondo_block *b, uint64_t hash) {
    return &b->buckets[hash & (b->n_buckets - 1)];
}

static void chain(struct rondo_block *b, struct rondo_watch *w) {
    w->chain = *bucket(b, w->hash);
    *bucket(b, w->hash) = w;
}

static enum rondo_err reserve_bucket(struct rondo_block *b) {
    if (b->n_watches < b->n_buckets) return RONDO_OK;
    size_t n = b->n_buckets ? 2 * b->n_buckets : 8;
    struct rondo_watch **buckets = rondo_zalloc(n * sizeof *buckets);
    if (!buckets) return RONDO_ERR_NOMEM;
    rondo_free(b->buckets);
    b->buckets = buckets;
    b->n_buckets = n;
    for (struct rondo_watch *w = b->watches; w; w = w->next) chain(b, w);
    return RONDO_OK;
}

static bool is_watched(const struct rondo_block *b, const struct rondo_key *key, uint64_t hash) {
    struct rondo_slice bytes = {key->data, key->len};
    for (const struct rondo_watch *w = *bucket(b, hash); w; w = w->chain)
        if (w->hash == hash && w->key.space == key->space &&
            rondo_slice_eq(rondo_slice_of(w->key.data, w->key.len), bytes))
            return true;
    return false;
}

enum rondo_err rondo_block_watch(struct rondo_block *b, const struct rondo_key *key) {
    uint64_t hash = rondo_hash(key->data, key->len, key->space);
    if (reserve_bucket(b)) return RONDO_ERR_NOMEM;
    if (is_watched(b, key, hash)) return RONDO_OK;
    struct rondo_watch *w = rondo_alloc(sizeof *w + key->len);
    if (!w) return RONDO_ERR_NOMEM;
    if (key->len) memcpy(w + 1, key->data, key->len);
    *w = (struct rondo_watch){
        .next = b->watches, .hash = hash, .key = {w + 1, key->len, key->space}};
    b->watches = w;
    b->n_watches++;
    chain(b, w);
    return RONDO_OK;
}

void rondo_block_unwatch(struct rondo_block *b) {
    for (struct rondo_watch *w = b->watches; w; w = w->next) w->is_set = false;
    rondo_block_unwatch_unset(b);
}

void rondo_block_unwatch_unset(struct rondo_block *b) {
    struct rondo_watch **at = &b->watches;
    if (!b->buckets) return;
    memset(b->buckets, 0, b->n_buckets * sizeof(struct rondo_watch *));
    while (*at) {
        struct rondo_watch *w = *at;
        if (w->is_set) {
            chain(b, w);
            at = &w->next;
        } else {
            *at = w->next;
            b->n_watches--;
            rondo_free(w);
        }
    }
}
