/* SPDX-License-Identifier: MIT */
/*
 * on_rondo.h - the jobs on librondo, written as a user of runtime.h would.
 */
#ifndef BENCH_ON_RONDO_H
#define BENCH_ON_RONDO_H

#include "job.h"
#include "rondo/runtime.h"

const char *on_rondo_ring(const struct bench_run *run, struct bench_result *out);
const char *on_rondo_fan_in(const struct bench_run *run, struct bench_result *out);
const char *on_rondo_spawn(const struct bench_run *run, struct bench_result *out);
const char *on_rondo_latency(const struct bench_run *run, struct bench_result *out);

/* Both end the program if they cannot. */
rondo_runtime *on_rondo_start(unsigned workers);
rondo_actor *on_rondo_spawn_one(rondo_runtime *rt, rondo_receive_fn receive, void *state,
                                unsigned pin, uint32_t bound);

/* Where a job ends: the last of `left` parties stops the clock and the runtime. */
struct on_rondo_end {
    rondo_runtime *rt;
    uint64_t left; /* atomic */
    uint64_t stop_ns;
};
void on_rondo_done(struct on_rondo_end *end);

/* Waits until then; returns the moment. */
uint64_t on_rondo_wait(struct on_rondo_end *end);

#endif
