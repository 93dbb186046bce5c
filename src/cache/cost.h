/* SPDX-License-Identifier: MIT */
/* cost.h - what an allocation really takes: the allocator keeps 8 bytes of its
 * own and hands out multiples of 16, at least 32. */
#ifndef RONDO_CACHE_COST_H
#define RONDO_CACHE_COST_H

#include <stddef.h>

static inline size_t rondo_cost_of(size_t size) {
    size_t cost = (size + 8 + 15) & ~(size_t)15;
    return cost < 32 ? 32 : cost;
}

#endif
