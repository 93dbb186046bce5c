/* SPDX-License-Identifier: MIT */
#include "runtime/sim.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtime/delay.h"
#include "runtime/sim_pool.h"
#include "runtime/turn.h"
#include "runtime/worker.h"

struct sim {
    struct rondo_scheduler base;
    struct rondo_runtime *rt;
    struct rondo_fake_clock clock;
    struct rondo_sim_pools pools;
    struct rondo_actor **ready; /* room for every live actor */
    size_t n_ready, cap;
    uint64_t seed, random, steps, trace;
};

static struct sim *sim_of(struct rondo_scheduler *s) {
    return RONDO_CONTAINER_OF(s, struct sim, base);
}

static const struct sim *sim_of_runtime(const rondo_runtime *rt) {
    RONDO_CHECK(rt->scheduler);
    return sim_of(rt->scheduler);
}

static enum rondo_err reserve(struct rondo_scheduler *base, size_t n_actors) {
    struct sim *s = sim_of(base);
    if (n_actors <= s->cap) return RONDO_OK;
    size_t cap = n_actors * 2, bytes;
    if (!rondo_size_mul(cap, sizeof *s->ready, &bytes)) return RONDO_ERR_NOMEM;
    struct rondo_actor **ready = rondo_realloc(s->ready, bytes);
    if (!ready) return RONDO_ERR_NOMEM;
    s->ready = ready;
    s->cap = cap;
    return RONDO_OK;
}

static void schedule(struct rondo_scheduler *base, struct rondo_actor *a) {
    struct sim *s = sim_of(base);
    RONDO_CHECK(s->n_ready < s->cap);
    s->ready[s->n_ready++] = a;
}

/* Keeps the order of the others: the choice is the seed's alone. */
static struct rondo_actor *take_ready(struct sim *s, size_t i) {
    struct rondo_actor *a = s->ready[i];
    s->n_ready--;
    memmove(&s->ready[i], &s->ready[i + 1], (s->n_ready - i) * sizeof s->ready[0]);
    return a;
}

static struct rondo_actor *take(struct rondo_scheduler *base) {
    struct sim *s = sim_of(base);
    return s->n_ready ? take_ready(s, 0) : NULL;
}

static uint64_t draw(struct sim *s, uint64_t n) {
    uint64_t k = rondo_random_below(&s->random, n);
    s->trace = (s->trace ^ (k * 2 + n)) * UINT64_C(0x9e3779b97f4a7c15);
    s->trace ^= s->trace >> 29;
    return k;
}

static void pass_time(struct sim *s, uint64_t ns) {
    rondo_fake_clock_advance(&s->clock, ns);
    s->trace = (s->trace ^ ns) * UINT64_C(0xbf58476d1ce4e5b9);
}

static unsigned random_batch(struct sim *s) {
    return draw(s, 8) == 0 ? RONDO_TURN_BATCH : 1 + (unsigned)draw(s, 4);
}

/* One of everything that is possible now.  False: nothing is. */
static bool happen(struct sim *s) {
    struct rondo_worker *w = s->rt->workers[0];
    uint64_t now_ns = rondo_clock_now(&s->clock.clock);
    bool is_due = rondo_timers_earliest(&w->timers) <= now_ns;
    unsigned n_jobs = rondo_sim_pools_choices(&s->pools);
    uint64_t n = s->n_ready + is_due + n_jobs;
    if (n == 0) return false;
    uint64_t k = draw(s, n);
    if (k < s->n_ready) {
        struct rondo_actor *a = take_ready(s, k);
        rondo_turn_run(w, a, random_batch(s));
    } else if (k - s->n_ready < n_jobs) {
        rondo_sim_pools_step(&s->pools, (unsigned)(k - s->n_ready));
    } else {
        rondo_delay_fire_one(&w->timers, now_ns);
    }
    return true;
}

static uint64_t next_deadline(struct sim *s) {
    uint64_t timer_ns = rondo_timers_earliest(&s->rt->workers[0]->timers);
    uint64_t job_ns = rondo_sim_pools_next_ns(&s->pools);
    return timer_ns < job_ns ? timer_ns : job_ns;
}

static bool step(struct sim *s) {
    enum { DAWDLE = 16 };
    s->steps++;
    if (draw(s, DAWDLE) == 0) {
        /* Time passes, but not beyond what is to happen. */
        uint64_t now_ns = rondo_clock_now(&s->clock.clock), next_ns = next_deadline(s);
        uint64_t ns = draw(s, RONDO_MS);
        if (next_ns > now_ns) pass_time(s, ns < next_ns - now_ns ? ns : next_ns - now_ns);
    }
    if (happen(s)) return true;
    uint64_t now_ns = rondo_clock_now(&s->clock.clock), next_ns = next_deadline(s);
    if (next_ns == UINT64_MAX) return false;
    pass_time(s, next_ns - now_ns);
    return true;
}

static bool is_over(const struct rondo_runtime *rt) {
    return rondo_load_relaxed(&rt->is_stop_requested) ||
           rondo_load_relaxed(&rt->registry.n_live) == 0; /* one thread: no partners */
}

static enum rondo_err run(struct rondo_scheduler *base) {
    struct sim *s = sim_of(base);
    while (!is_over(s->rt)) {
        if (!step(s)) return RONDO_ERR_STALLED;
    }
    return RONDO_OK;
}

static enum rondo_err pool_new(struct rondo_scheduler *base, const struct rondo_pool_options *o,
                               struct rondo_pool **out) {
    return rondo_sim_pool_new(&sim_of(base)->pools, o, out);
}

static void sim_free(struct rondo_scheduler *base) {
    struct sim *s = sim_of(base);
    rondo_free(s->ready);
    rondo_free(s);
}

enum rondo_err rondo_sim_new(struct rondo_runtime *rt, uint64_t seed,
                             struct rondo_scheduler **out) {
    struct sim *s = rondo_zalloc(sizeof *s);
    if (!s) return RONDO_ERR_NOMEM;
    s->base = (struct rondo_scheduler){
        .schedule = schedule,
        .reserve = reserve,
        .pool_new = pool_new,
        .run = run,
        .take = take,
        .free = sim_free,
    };
    s->rt = rt;
    rt->workers[0]->local_rt = NULL; /* its turns schedule with us */
    s->seed = s->random = seed;
    rondo_fake_clock_init(&s->clock, UINT64_C(1700000000) * RONDO_SEC);
    rondo_fake_clock_advance(&s->clock, RONDO_SEC); /* a time of 0 often means never */
    rondo_sim_pools_init(&s->pools, &s->clock.clock);
    *out = &s->base;
    return RONDO_OK;
}

const struct rondo_clock *rondo_sim_clock(struct rondo_scheduler *s) {
    return &sim_of(s)->clock.clock;
}

bool rondo_sim_step(rondo_runtime *rt) {
    RONDO_CHECK(rt->scheduler && !rondo_self());
    if (rondo_load_relaxed(&rt->registry.n_live) == 0) return false;
    struct rondo_worker *before = rondo_worker_become(rt->workers[0]);
    bool happened = step(sim_of(rt->scheduler));
    rondo_worker_become(before);
    return happened;
}

void rondo_sim_advance(rondo_runtime *rt, uint64_t ns) {
    RONDO_CHECK(rt->scheduler);
    pass_time(sim_of(rt->scheduler), ns);
}

uint64_t rondo_sim_seed(const rondo_runtime *rt) {
    return sim_of_runtime(rt)->seed;
}

uint64_t rondo_sim_steps(const rondo_runtime *rt) {
    return sim_of_runtime(rt)->steps;
}

uint64_t rondo_sim_trace(const rondo_runtime *rt) {
    return sim_of_runtime(rt)->trace;
}
