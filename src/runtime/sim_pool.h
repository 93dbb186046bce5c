/* SPDX-License-Identifier: MIT */
/*
 * sim_pool.h - a pool without threads, for simulations.
 *
 * A job takes two steps, run and done, that the simulation chooses among all
 * else that can happen; between them it occupies one of the pool's threads, for
 * as long in fake time as it slept.  One thread.
 */
#ifndef RONDO_RUNTIME_SIM_POOL_H
#define RONDO_RUNTIME_SIM_POOL_H

#include "base/list.h"
#include "runtime/pool.h"

struct rondo_sim_pools {
    struct rondo_list pools;
    const struct rondo_clock *clock;
};

void rondo_sim_pools_init(struct rondo_sim_pools *ps, const struct rondo_clock *clock);

/* Errors: NOMEM, INVALID. */
RONDO_NODISCARD enum rondo_err rondo_sim_pool_new(struct rondo_sim_pools *ps,
                                                  const struct rondo_pool_options *o,
                                                  rondo_pool **out);

/* How many steps could be taken now, over all pools; takes the kth. */
unsigned rondo_sim_pools_choices(const struct rondo_sim_pools *ps);
void rondo_sim_pools_step(struct rondo_sim_pools *ps, unsigned k);

/* When the next running job may end, UINT64_MAX if none is running. */
uint64_t rondo_sim_pools_next_ns(const struct rondo_sim_pools *ps);

#endif
