/* SPDX-License-Identifier: MIT */
/*
 * plain.h - the plain C loops: what a job costs when nothing is left of an actor
 * runtime but the mailbox.  The yardstick of the other programs.
 */
#ifndef BENCH_PLAIN_H
#define BENCH_PLAIN_H

#include "job.h"

const char *plain_ring(const struct bench_run *run, struct bench_result *out);
const char *plain_cross(const struct bench_run *run, struct bench_result *out);
const char *plain_fan_in(const struct bench_run *run, struct bench_result *out);
const char *plain_spawn(const struct bench_run *run, struct bench_result *out);
const char *plain_latency(const struct bench_run *run, struct bench_result *out);

#endif
