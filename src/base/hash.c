/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "base/check.h"
#include "base/clock.h"
#include <sys/random.h>

uint64_t rondo_hash_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
    /* Early in a boot the kernel may have no randomness yet, and a sandbox may
     * forbid the call.  Addresses and the time still differ from run to run. */
    uint64_t state = rondo_clock_wall(&rondo_clock_real) ^ (uint64_t)(uintptr_t)&seed;
    state ^= rondo_random_next(&state) + rondo_clock_now(&rondo_clock_real);
    return rondo_random_next(&state);
}
