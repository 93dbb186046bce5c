/* SPDX-License-Identifier: MIT */
/*
 * entry.h - a key and its value in one block.
 *
 *     24 bytes     0 or 8     key_len   value_len (inline values)
 *     ┌─────────┬───────────┬─────────┬───────────┐
 *     │ header  │ blob *    │ key     │ value     │
 *     └─────────┴───────────┴─────────┴───────────┘
 *
 * A value above RONDO_ENTRY_INLINE_MAX is a reference to a blob, so that a
 * reader can keep it when the entry is evicted.  Key and value bytes never
 * change; a new value is a new entry.  Expiry and bits are one word, read and
 * written whole, so a new expiry copies nothing.
 *
 * An entry may also remember that a key has no value (ABSENT) or that loading
 * it failed (ERROR; its value is one byte of error code, then the text).
 *
 * The lock of the table that holds an entry guards `pos`, `lead` and the writes
 * of `meta`.
 */
#ifndef RONDO_CACHE_ENTRY_H
#define RONDO_CACHE_ENTRY_H

#include "base/atomic.h"
#include "base/buf.h"
#include "cache/blob.h"

enum { RONDO_ENTRY_KEY_MAX = 65536, RONDO_ENTRY_INLINE_MAX = 1024, RONDO_ENTRY_HEADER = 24 };

/* Bits of `meta` below the expiry. */
enum {
    RONDO_ENTRY_FREQ = 3,     /* a counter, 0..3, of accesses since eviction looked */
    RONDO_ENTRY_MAIN = 4,     /* which of eviction's queues it is in */
    RONDO_ENTRY_ABSENT = 8,   /* remembers an absence */
    RONDO_ENTRY_ERROR = 16,   /* remembers an error */
    RONDO_ENTRY_WRITTEN = 32, /* a caller wrote it, no load did */
    RONDO_ENTRY_LOADING = 64, /* a load for its key is under way: eviction passes it over */
    RONDO_ENTRY_NEGATIVE = RONDO_ENTRY_ABSENT | RONDO_ENTRY_ERROR
};

/* Expiry in milliseconds of the runtime's clock, 48 bits; this one: never. */
#define RONDO_ENTRY_NEVER ((UINT64_C(1) << 48) - 1)

struct rondo_entry {
    uint64_t meta;  /* atomic, relaxed: expiry_ms << 16 | bits */
    uint32_t hash;  /* const: the low half of the key's hash */
    uint32_t pos;   /* in eviction's ring */
    uint32_t lens;  /* const: key 17 bits, value 11 (all ones: a blob), space 4 */
    uint16_t cache; /* const: number in the keyspace */
    uint16_t lead;  /* refresh this long before expiry, see rondo_entry_lead_ms */
    char bytes[];
};

_Static_assert(offsetof(struct rondo_entry, bytes) == RONDO_ENTRY_HEADER, "header size");

struct rondo_entry_init {
    uint64_t hash;
    unsigned space;
    struct rondo_slice key; /* at most RONDO_ENTRY_KEY_MAX */
    uint16_t cache;
    unsigned bits; /* ABSENT, ERROR, WRITTEN */
    uint64_t expiry_ms, lead_ms;
    struct rondo_slice value;
    rondo_blob *blob; /* shared; if set, `value` is its bytes and a large one is not copied */
};

/* A new entry, or NULL when out of memory.  Belongs to the caller. */
struct rondo_entry *rondo_entry_new(const struct rondo_entry_init *init);
void rondo_entry_free(struct rondo_entry *e);

/* The bytes that the entry takes in all, its place in eviction's ring included. */
size_t rondo_entry_cost(const struct rondo_entry *e);

/* The life left at which a refresh is due, 0 for never; stored rounded to 0.1 %. */
void rondo_entry_set_lead(struct rondo_entry *e, uint64_t lead_ms);
uint64_t rondo_entry_lead_ms(const struct rondo_entry *e);

static inline size_t rondo_entry_key_len(const struct rondo_entry *e) {
    return e->lens & 0x1ffff;
}
static inline unsigned rondo_entry_space(const struct rondo_entry *e) {
    return e->lens >> 28;
}
static inline bool rondo_entry_has_blob(const struct rondo_entry *e) {
    return ((e->lens >> 17) & 0x7ff) == 0x7ff;
}
static inline const char *rondo_entry_key(const struct rondo_entry *e) {
    return e->bytes + (rondo_entry_has_blob(e) ? sizeof(rondo_blob *) : 0);
}
static inline rondo_blob *rondo_entry_blob(const struct rondo_entry *e) {
    rondo_blob *b;
    memcpy(&b, e->bytes, sizeof b);
    return b;
}

static inline bool rondo_entry_is(const struct rondo_entry *e, uint64_t hash, unsigned space,
                                  struct rondo_slice key) {
    return e->hash == (uint32_t)hash && rondo_entry_key_len(e) == key.len &&
           rondo_entry_space(e) == space &&
           (key.len == 0 || memcmp(rondo_entry_key(e), key.data, key.len) == 0);
}

static inline struct rondo_slice rondo_entry_value(const struct rondo_entry *e) {
    if (RONDO_UNLIKELY(rondo_entry_has_blob(e))) {
        rondo_blob *b = rondo_entry_blob(e);
        return rondo_slice_of(b->data, b->len);
    }
    return rondo_slice_of(e->bytes + rondo_entry_key_len(e), (e->lens >> 17) & 0x7ff);
}

/* Relaxed: the value is guarded by the lock; the atomic access is for readers
 * that only look at the time. */
static inline uint64_t rondo_entry_expiry_ms(const struct rondo_entry *e) {
    return rondo_load_relaxed(&e->meta) >> 16;
}
static inline unsigned rondo_entry_bits(const struct rondo_entry *e) {
    return (unsigned)(rondo_load_relaxed(&e->meta) & 0xffff);
}
static inline bool rondo_entry_is_value(const struct rondo_entry *e) {
    return !(rondo_entry_bits(e) & RONDO_ENTRY_NEGATIVE);
}
static inline void rondo_entry_set_expiry_ms(struct rondo_entry *e, uint64_t ms) {
    rondo_store_relaxed(&e->meta, ms << 16 | rondo_entry_bits(e));
}
static inline void rondo_entry_set_bits(struct rondo_entry *e, unsigned clear, unsigned set) {
    uint64_t meta = rondo_load_relaxed(&e->meta);
    rondo_store_relaxed(&e->meta, (meta & ~(uint64_t)clear) | set);
}
/* Notes an access; writes only if that says something new. */
static inline void rondo_entry_touch(struct rondo_entry *e) {
    uint64_t meta = rondo_load_relaxed(&e->meta);
    if ((meta & RONDO_ENTRY_FREQ) < RONDO_ENTRY_FREQ) rondo_store_relaxed(&e->meta, meta + 1);
}

/* Entries taken out under a lock, to be freed after it; zeroed memory is empty. */
struct rondo_dead {
    struct rondo_entry *head;
};
void rondo_dead_add(struct rondo_dead *dead, struct rondo_entry *e);
void rondo_dead_free(struct rondo_dead *dead);

#endif
