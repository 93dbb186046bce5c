/* SPDX-License-Identifier: MIT */
#include "cache/entry.h"

#include "base/mem.h"
#include "cache/cost.h"

enum { RING_SLOT = sizeof(struct rondo_entry *), BLOB_MARK = 0x7ff };

static size_t size_of(const struct rondo_entry *e) {
    size_t rest = rondo_entry_has_blob(e) ? sizeof(rondo_blob *) : (e->lens >> 17) & BLOB_MARK;
    return RONDO_ENTRY_HEADER + rondo_entry_key_len(e) + rest;
}

/* The blob that a large value lives in: the one given, or a copy. */
static rondo_blob *large_blob(const struct rondo_entry_init *init) {
    if (init->blob) return rondo_blob_ref(init->blob);
    return rondo_blob_copy(init->value.data, init->value.len);
}

struct rondo_entry *rondo_entry_new(const struct rondo_entry_init *init) {
    RONDO_CHECK(init->key.len <= RONDO_ENTRY_KEY_MAX && init->space < 16);
    bool is_large = init->value.len > RONDO_ENTRY_INLINE_MAX;
    rondo_blob *blob = is_large ? large_blob(init) : NULL;
    if (is_large && !blob) return NULL;
    size_t rest = is_large ? sizeof blob : init->value.len;
    struct rondo_entry *e = rondo_alloc(RONDO_ENTRY_HEADER + init->key.len + rest);
    if (!e) {
        rondo_blob_unref(blob);
        return NULL;
    }
    e->meta = init->expiry_ms << 16 | init->bits;
    e->hash = (uint32_t)init->hash;
    e->pos = 0;
    e->lens = (uint32_t)init->key.len |
              (is_large ? (uint32_t)BLOB_MARK : (uint32_t)init->value.len) << 17 |
              (uint32_t)init->space << 28;
    e->cache = init->cache;
    rondo_entry_set_lead(e, init->lead_ms);
    char *at = e->bytes;
    if (is_large) {
        memcpy(at, &blob, sizeof blob);
        at += sizeof blob;
    }
    if (init->key.len) memcpy(at, init->key.data, init->key.len);
    if (!is_large) rondo_copy_few(at + init->key.len, init->value.data, rest);
    return e;
}

void rondo_entry_free(struct rondo_entry *e) {
    if (!e) return;
    if (rondo_entry_has_blob(e)) rondo_blob_unref(rondo_entry_blob(e));
    rondo_free(e);
}

size_t rondo_entry_cost(const struct rondo_entry *e) {
    size_t cost = rondo_cost_of(size_of(e)) + RING_SLOT;
    return rondo_entry_has_blob(e) ? cost + rondo_blob_cost(rondo_entry_blob(e)->len) : cost;
}

/* 11 bits of mantissa, 5 of exponent. */
void rondo_entry_set_lead(struct rondo_entry *e, uint64_t lead_ms) {
    unsigned exp = 0;
    while (lead_ms >> exp > 0x7ff && exp < 31) exp++;
    uint64_t mantissa = lead_ms >> exp;
    e->lead = (uint16_t)(exp << 11 | (mantissa > 0x7ff ? 0x7ff : mantissa));
}

uint64_t rondo_entry_lead_ms(const struct rondo_entry *e) {
    return (uint64_t)(e->lead & 0x7ff) << (e->lead >> 11);
}

/* A dead entry has no expiry any more: the word links the list. */
void rondo_dead_add(struct rondo_dead *dead, struct rondo_entry *e) {
    e->meta = (uintptr_t)dead->head;
    dead->head = e;
}

void rondo_dead_free(struct rondo_dead *dead) {
    for (struct rondo_entry *e = dead->head, *next; e; e = next) {
        next = (struct rondo_entry *)(uintptr_t)e->meta;
        rondo_entry_free(e);
    }
    dead->head = NULL;
}
