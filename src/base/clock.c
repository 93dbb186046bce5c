/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/atomic.h"
#include "base/check.h"
#include <time.h>

static uint64_t read_clock(clockid_t id) {
    struct timespec ts;
    RONDO_CHECK(clock_gettime(id, &ts) == 0);
    return (uint64_t)ts.tv_sec * RONDO_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t real_now(void *arg) {
    (void)arg;
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t real_wall(void *arg) {
    (void)arg;
    return read_clock(CLOCK_REALTIME);
}

const struct rondo_clock rondo_clock_real = {real_now, real_wall, NULL};

static uint64_t fake_now(void *arg) {
    struct rondo_fake_clock *fake = arg;
    return rondo_load_relaxed(&fake->now_ns); /* partner: rondo_fake_clock_advance */
}

static uint64_t fake_wall(void *arg) {
    struct rondo_fake_clock *fake = arg;
    return fake->wall_start_ns + fake_now(fake);
}

void rondo_fake_clock_init(struct rondo_fake_clock *fake, uint64_t wall_start_ns) {
    *fake = (struct rondo_fake_clock){
        .clock = {fake_now, fake_wall, fake},
        .wall_start_ns = wall_start_ns,
    };
}

void rondo_fake_clock_advance(struct rondo_fake_clock *fake, uint64_t ns) {
    /* partner: fake_now; one writer, so no read-modify-write */
    rondo_store_relaxed(&fake->now_ns, rondo_deadline(rondo_load_relaxed(&fake->now_ns), ns));
}
