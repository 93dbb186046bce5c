/* SPDX-License-Identifier: MIT */
/*
 * clock.h - time behind a pointer, so that tests and the simulation own it.
 *
 * Everything that asks for the time holds a `const struct rondo_clock *`.
 */
#ifndef RONDO_BASE_CLOCK_H
#define RONDO_BASE_CLOCK_H

#include <stdint.h>

struct rondo_clock {
    uint64_t (*now_ns)(void *arg);  /* monotonic; never goes back */
    uint64_t (*wall_ns)(void *arg); /* since the Unix epoch */
    void *arg;
};

/* The machine's clocks. Static. */
extern const struct rondo_clock rondo_clock_real;

static inline uint64_t rondo_clock_now(const struct rondo_clock *c) {
    return c->now_ns(c->arg);
}
static inline uint64_t rondo_clock_wall(const struct rondo_clock *c) {
    return c->wall_ns(c->arg);
}

/* A clock that moves when told; it starts at 0, the wall clock starts at `wall_start_ns`. */
struct rondo_fake_clock {
    struct rondo_clock clock;
    uint64_t now_ns; /* atomic: relaxed; written by one thread */
    uint64_t wall_start_ns;
};

void rondo_fake_clock_init(struct rondo_fake_clock *fake, uint64_t wall_start_ns);
void rondo_fake_clock_advance(struct rondo_fake_clock *fake, uint64_t ns);

#define RONDO_US UINT64_C(1000)
#define RONDO_MS UINT64_C(1000000)
#define RONDO_SEC UINT64_C(1000000000)

/* now + delay, or the largest time when that does not fit. */
static inline uint64_t rondo_deadline(uint64_t now_ns, uint64_t delay_ns) {
    uint64_t t;
    return __builtin_add_overflow(now_ns, delay_ns, &t) ? UINT64_MAX : t;
}

#endif
