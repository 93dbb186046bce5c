/* SPDX-License-Identifier: MIT */
#include "cache/evict.h"

#include "base/mem.h"

enum { SMALL_SHARE = 10, FIRST_GHOSTS = 16 };

void rondo_evict_fini(struct rondo_evict *ev) {
    rondo_ring_fini(&ev->small);
    rondo_ring_fini(&ev->main);
    rondo_free(ev->ghosts);
    *ev = (struct rondo_evict){0};
}

static bool in_main(const struct rondo_entry *e) {
    return rondo_entry_bits(e) & RONDO_ENTRY_MAIN;
}

static struct rondo_ring *ring_of(struct rondo_evict *ev, const struct rondo_entry *e) {
    return in_main(e) ? &ev->main : &ev->small;
}

static uint64_t *bytes_of(struct rondo_evict *ev, const struct rondo_entry *e) {
    return in_main(e) ? &ev->main_bytes : &ev->small_bytes;
}

/* The table's index uses the hash's low bits, and all entries of a shard share
 * others, so both halves are mixed here. */
static uint32_t mix(uint32_t hash) {
    return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static uint64_t *ghost_word(const struct rondo_evict *ev, uint32_t mixed) {
    return &ev->ghosts[mixed & (ev->n_ghosts - 1)];
}

static uint16_t fingerprint(uint32_t mixed) {
    return (uint16_t)(mixed >> 16) | 1;
}

static bool is_ghost(const struct rondo_evict *ev, const struct rondo_entry *e) {
    if (!ev->ghosts) return false;
    uint32_t mixed = mix(e->hash);
    uint64_t word = *ghost_word(ev, mixed);
    for (; word; word >>= 16)
        if ((word & 0xffff) == fingerprint(mixed)) return true;
    return false;
}

/* Room for about as many ghosts as there are entries.  They are a hint: without
 * memory the old ones must do. */
static void fit_ghosts(struct rondo_evict *ev) {
    uint32_t want = FIRST_GHOSTS;
    while (want < rondo_evict_count(ev) / 4 && want < UINT32_C(1) << 28) want *= 2;
    if (ev->ghosts && want <= 2 * ev->n_ghosts) return;
    uint64_t *ghosts = rondo_zalloc(want * sizeof *ghosts);
    if (!ghosts) return;
    rondo_free(ev->ghosts);
    ev->ghosts = ghosts;
    ev->n_ghosts = want;
}

static void remember(struct rondo_evict *ev, const struct rondo_entry *e) {
    fit_ghosts(ev);
    if (!ev->ghosts) return;
    uint32_t mixed = mix(e->hash);
    uint64_t *word = ghost_word(ev, mixed);
    *word = *word << 16 | fingerprint(mixed);
}

enum rondo_err rondo_evict_add(struct rondo_evict *ev, struct rondo_entry *e) {
    bool to_main = is_ghost(ev, e);
    rondo_entry_set_bits(e, RONDO_ENTRY_MAIN | RONDO_ENTRY_FREQ, to_main ? RONDO_ENTRY_MAIN : 0);
    enum rondo_err err = rondo_ring_push(ring_of(ev, e), e);
    if (!err) *bytes_of(ev, e) += rondo_entry_cost(e);
    return err;
}

void rondo_evict_remove(struct rondo_evict *ev, struct rondo_entry *e) {
    *bytes_of(ev, e) -= rondo_entry_cost(e);
    rondo_ring_remove(ring_of(ev, e), e);
}

void rondo_evict_replace(struct rondo_evict *ev, struct rondo_entry *old, struct rondo_entry *e) {
    enum { HISTORY = RONDO_ENTRY_MAIN | RONDO_ENTRY_FREQ };
    rondo_entry_set_bits(e, HISTORY, rondo_entry_bits(old) & HISTORY);
    *bytes_of(ev, old) += rondo_entry_cost(e) - rondo_entry_cost(old);
    rondo_ring_replace(ring_of(ev, old), old, e);
}

/* The main queue's next to go; everybody's counter falls as it passes, and those
 * that are being loaded are passed over at most once each, so this ends. */
static struct rondo_entry *pick_main(struct rondo_evict *ev) {
    struct rondo_entry *e;
    uint64_t may_pass = ev->main.count;
    while ((e = rondo_ring_pop(&ev->main)) != NULL) {
        unsigned bits = rondo_entry_bits(e), freq = bits & RONDO_ENTRY_FREQ;
        if (freq == 0 && (!(bits & RONDO_ENTRY_LOADING) || may_pass == 0)) break;
        if (freq == 0) may_pass--;
        rondo_entry_set_bits(e, RONDO_ENTRY_FREQ, freq ? freq - 1 : 0);
        RONDO_CHECK(rondo_ring_push(&ev->main, e) == RONDO_OK);
    }
    if (e) ev->main_bytes -= rondo_entry_cost(e);
    return e;
}

/* The oldest of the small queue: true with *out if it is to go. */
static bool pick_small(struct rondo_evict *ev, struct rondo_entry **out) {
    struct rondo_entry *e = rondo_ring_pop(&ev->small);
    size_t cost = rondo_entry_cost(e);
    ev->small_bytes -= cost;
    *out = e;
    if ((rondo_entry_bits(e) & (RONDO_ENTRY_FREQ | RONDO_ENTRY_LOADING)) == 0) {
        remember(ev, e);
        return true;
    }
    rondo_entry_set_bits(e, RONDO_ENTRY_FREQ, RONDO_ENTRY_MAIN);
    if (rondo_ring_push(&ev->main, e)) return true;
    ev->main_bytes += cost;
    return false;
}

struct rondo_entry *rondo_evict_pick(struct rondo_evict *ev) {
    struct rondo_entry *e;
    for (;;) {
        uint64_t share = (ev->small_bytes + ev->main_bytes) / SMALL_SHARE;
        if (ev->small.count == 0 || (ev->small_bytes <= share && ev->main.count > 0))
            return pick_main(ev);
        if (pick_small(ev, &e)) return e;
    }
}

size_t rondo_evict_overhead(const struct rondo_evict *ev) {
    size_t slots = (size_t)ev->small.cap + ev->main.cap - (size_t)rondo_evict_count(ev);
    return slots * sizeof(void *) + ev->n_ghosts * sizeof *ev->ghosts;
}
