/* SPDX-License-Identifier: MIT */
#include "cache/breaker.h"

#include "base/atomic.h"
#include "base/clock.h"

#define DELAY_MAX_NS (30 * RONDO_SEC)

void rondo_breaker_init(struct rondo_breaker *b, uint32_t limit, uint64_t first_ns) {
    *b = (struct rondo_breaker){.limit = limit, .first_ns = first_ns, .delay_ns = first_ns};
}

bool rondo_breaker_is_open(const struct rondo_breaker *b) {
    return rondo_load_relaxed(&b->until_ns) != 0; /* partner: note; a hint to those who ask */
}

bool rondo_breaker_admits(const struct rondo_breaker *b, uint64_t now_ns) {
    uint64_t until_ns = rondo_load_relaxed(&b->until_ns); /* partner: note; a hint */
    return until_ns == 0 || now_ns >= until_ns;
}

bool rondo_breaker_passes(struct rondo_breaker *b, uint64_t now_ns) {
    uint64_t until_ns = rondo_load_relaxed(&b->until_ns);
    if (until_ns == 0) return true;
    /* Partners: the other callers; whoever moves the moment on is the probe. */
    return now_ns >= until_ns &&
           rondo_cas_relaxed(&b->until_ns, &until_ns, rondo_deadline(now_ns, b->first_ns));
}

bool rondo_breaker_note(struct rondo_breaker *b, bool failed, uint64_t now_ns) {
    bool was_open = rondo_breaker_is_open(b);
    if (!failed) {
        b->failures = 0;
        b->delay_ns = b->first_ns;
        rondo_store_relaxed(&b->until_ns, 0); /* partner: admits, passes */
        return was_open;
    }
    if (b->failures < b->limit) b->failures++;
    if (b->failures < b->limit) return false;
    if (was_open) b->delay_ns = b->delay_ns * 2 < DELAY_MAX_NS ? b->delay_ns * 2 : DELAY_MAX_NS;
    rondo_store_relaxed(&b->until_ns, rondo_deadline(now_ns, b->delay_ns));
    return !was_open;
}

bool rondo_breaker_trip(struct rondo_breaker *b, uint64_t now_ns) {
    if (rondo_breaker_is_open(b)) return false;
    b->failures = b->limit;
    rondo_store_relaxed(&b->until_ns, rondo_deadline(now_ns, b->delay_ns)); /* as note */
    return true;
}
