/* SPDX-License-Identifier: MIT */
/*
 * sim.h - the seeded scheduler behind rondo_runtime_options.simulate.
 *
 * One thread, a fake clock, one worker that never parks.  Each step picks, by
 * the seed, one of all the things that could happen next: a turn of a runnable
 * actor (with a batch of random length), a timer that is due, a job's run or its
 * done.  Now and then a little time passes; when nothing can happen, time moves
 * to the next timer or end of a job.  A run is a function of the seed and the
 * program, so a failure is repeated by its seed.
 *
 * Tests above this layer use it as follows: make a runtime with `simulate` and a
 * seed, set things up, then rondo_runtime_run, or rondo_sim_step one by one with
 * checks of invariants in between; name rondo_sim_seed in a failure.
 */
#ifndef RONDO_RUNTIME_SIM_H
#define RONDO_RUNTIME_SIM_H

#include "runtime/executor.h"

/* Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_sim_new(struct rondo_runtime *rt, uint64_t seed,
                                             struct rondo_scheduler **out);
/* The clock of a simulation. */
const struct rondo_clock *rondo_sim_clock(struct rondo_scheduler *s);

/* Lets one thing happen.  False: nothing can (or no actor is alive).  Not in a
 * turn.  For all of these: `rt` is a simulation. */
bool rondo_sim_step(rondo_runtime *rt);
/* Moves the fake clock; timers that become due fire in later steps. */
void rondo_sim_advance(rondo_runtime *rt, uint64_t ns);
uint64_t rondo_sim_seed(const rondo_runtime *rt);
/* Steps so far, and a hash of every choice made: equal for equal runs. */
uint64_t rondo_sim_steps(const rondo_runtime *rt);
uint64_t rondo_sim_trace(const rondo_runtime *rt);

#endif
