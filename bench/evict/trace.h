/* SPDX-License-Identifier: MIT */
/*
 * trace.h - made-up sequences of reads, the same for the same seed.
 *
 *   zipf70, zipf99  zipf with theta 0.7 and 0.99 over all keys
 *   scan            zipf 0.99, and a fifth of the reads walk through other keys,
 *                   as many again, in order
 *   loop            loops over 2 %, 12 % and 30 % of the keys, eight rounds each
 *   shift           nine reads of ten go to a hot set of 5 % of the keys, which
 *                   moves on by a key every 20 reads; the others to any key
 */
#ifndef BENCH_EVICT_TRACE_H
#define BENCH_EVICT_TRACE_H

#include "zipf.h"
#include <stdbool.h>

struct trace {
    uint32_t n_keys;
    uint32_t (*next)(struct trace *t);
    struct bench_zipf zipf;
    uint64_t random, reads;
    uint32_t scan, loop, first; /* where they are */
};

/* False: no trace of this name. */
bool trace_init(struct trace *t, const char *name, uint32_t n_keys, uint64_t seed);
void trace_fini(struct trace *t);

/* 0 .. trace_universe(t) - 1 */
static inline uint32_t trace_next(struct trace *t) {
    t->reads++;
    return t->next(t);
}
static inline uint32_t trace_universe(const struct trace *t) {
    return 2 * t->n_keys;
}

#endif
