/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "runtime/bound.h"
#include "runtime/delay.h"
#include "runtime/executor.h"
#include "runtime/monitor.h"
#include "runtime/sim.h"
#include "runtime/turn.h"
#include "runtime/worker.h"
#include <sched.h>

static const uint64_t SLOW_TURN_NS = 10 * RONDO_MS;

static struct rondo_runtime *runtime_of(struct rondo_registry *r) {
    return RONDO_CONTAINER_OF(r, struct rondo_runtime, registry);
}

static void announce(struct rondo_runtime *rt) {
    rondo_mutex_lock(&rt->mu);
    rondo_cond_broadcast(&rt->changed);
    rondo_mutex_unlock(&rt->mu);
    if (!rt->has_threads) rondo_worker_notify(rt->workers[0]);
}

static void on_empty(struct rondo_registry *r) {
    announce(runtime_of(r));
}

/* The last block that needed the runtime is gone. */
static void release(struct rondo_registry *r) {
    struct rondo_runtime *rt = runtime_of(r);
    for (unsigned i = 0; i < rt->n_workers; i++) rondo_worker_free(rt->workers[i]);
    rondo_free(rt->workers);
    if (rt->scheduler) rt->scheduler->free(rt->scheduler);
    rondo_mutex_fini(&rt->shared_mu);
    rondo_mutex_fini(&rt->pause_mu);
    rondo_mutex_fini(&rt->mu);
    rondo_cond_fini(&rt->changed);
    rondo_cond_fini(&rt->monitor);
    rondo_registry_fini(&rt->registry);
    rondo_free(rt);
}

static void worker_main(void *arg) {
    struct rondo_worker *w = arg;
    rondo_worker_become(w);
    rondo_store_relaxed(&w->thread_number, rondo_thread_number()); /* for the monitor; a hint */
    rondo_worker_run(w);
    rondo_worker_become(NULL);
}

static enum rondo_err count_workers(const struct rondo_runtime_options *o, unsigned *n) {
    *n = 1;
    if (o->simulate) return RONDO_OK;
    switch (o->threads.kind) {
    case RONDO_THREADS_AUTO:
        *n = rondo_cpu_count();
        break;
    case RONDO_THREADS_FIXED:
        *n = o->threads.max;
        break;
    case RONDO_THREADS_NONE:
        break;
    case RONDO_THREADS_RANGE:
    default:
        return RONDO_ERR_INVALID;
    }
    if (*n > RONDO_MAX_WORKERS && o->threads.kind == RONDO_THREADS_AUTO) *n = RONDO_MAX_WORKERS;
    return *n >= 1 && *n <= RONDO_MAX_WORKERS ? RONDO_OK : RONDO_ERR_INVALID;
}

/* A runtime without workers. */
static enum rondo_err runtime_init(struct rondo_runtime *rt, const struct rondo_runtime_options *o,
                                   unsigned n_workers) {
    enum rondo_err err = rondo_registry_init(&rt->registry, n_workers + 1);
    if (err) return err;
    rt->registry.on_empty = on_empty;
    rt->registry.release = release;
    rt->registry.on_drop = o->on_drop;
    rt->registry.drop_arg = o->drop_arg;
    rt->workers = rondo_zalloc(n_workers * sizeof rt->workers[0]);
    if (!rt->workers) {
        rondo_registry_fini(&rt->registry);
        return RONDO_ERR_NOMEM;
    }
    rt->has_threads = !o->simulate && o->threads.kind != RONDO_THREADS_NONE;
    rt->clock = &rondo_clock_real;
    rt->slow_turn_ns = o->slow_turn_ns ? o->slow_turn_ns : SLOW_TURN_NS;
    rt->slow_limit.burst = 5;
    rondo_mutex_init(&rt->shared_mu);
    rondo_mutex_init(&rt->pause_mu);
    rondo_mutex_init(&rt->mu);
    rondo_cond_init(&rt->changed);
    rondo_cond_init(&rt->monitor);
    rondo_msg_depot_init(&rt->depot);
    return RONDO_OK;
}

static enum rondo_err make_workers(struct rondo_runtime *rt, const struct rondo_runtime_options *o,
                                   unsigned n) {
    enum rondo_err err = RONDO_OK;
    for (unsigned i = 0; i < n && !err; i++) {
        err = rondo_worker_new(rt, i, &rt->workers[i]);
        if (!err) rt->n_workers++;
    }
    if (err || !o->simulate) return err;
    err = rondo_sim_new(rt, o->seed, &rt->scheduler);
    if (!err) rt->clock = rondo_sim_clock(rt->scheduler);
    return err;
}

static void end_threads(struct rondo_runtime *rt, unsigned n_started) {
    rondo_store_seq_cst(&rt->is_closing, true); /* pairs with should_return and the monitor */
    for (unsigned i = 0; i < n_started; i++) rondo_worker_notify(rt->workers[i]);
    for (unsigned i = 0; i < n_started; i++) rondo_thread_join(&rt->workers[i]->thread);
    rondo_monitor_join(rt);
}

static enum rondo_err start_threads(struct rondo_runtime *rt) {
    enum rondo_err err = RONDO_OK;
    unsigned n = 0;
    for (; n < rt->n_workers && !err; n++) {
        char name[24];
        snprintf(name, sizeof name, "rondo-%u", n);
        err = rondo_thread_start(&rt->workers[n]->thread, name, worker_main, rt->workers[n]);
        if (err) break;
    }
    if (!err) err = rondo_monitor_start(rt);
    if (err) end_threads(rt, n);
    return err;
}

/* Gives back what workers hold beyond their memory. */
static void close_workers(struct rondo_runtime *rt) {
    for (unsigned i = 0; i < rt->n_workers; i++) rondo_worker_close(rt->workers[i]);
    rondo_msg_depot_fini(&rt->depot);
}

enum rondo_err rondo_runtime_new(const struct rondo_runtime_options *options, rondo_runtime **out) {
    struct rondo_runtime_options o = {.size = sizeof o};
    unsigned n;
    if (options) {
        if (options->size == 0) return RONDO_ERR_INVALID;
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    }
    enum rondo_err err = count_workers(&o, &n);
    if (err) return err;
    struct rondo_runtime *rt = rondo_alloc_aligned(RONDO_CACHE_LINE, sizeof *rt);
    if (!rt) return RONDO_ERR_NOMEM;
    memset(rt, 0, sizeof *rt);
    err = runtime_init(rt, &o, n);
    if (err) {
        rondo_free(rt);
        return err;
    }
    err = make_workers(rt, &o, n);
    if (!err && rt->has_threads) err = start_threads(rt);
    if (err) {
        close_workers(rt);
        rondo_registry_unref(&rt->registry);
        return err;
    }
    *out = rt;
    return RONDO_OK;
}

static void wait_for_end(struct rondo_runtime *rt) {
    rondo_mutex_lock(&rt->mu);
    /* pair with rondo_runtime_stop and rondo_registry_remove */
    while (!rondo_load_seq_cst(&rt->is_stop_requested) &&
           rondo_load_seq_cst(&rt->registry.n_live) != 0)
        rondo_cond_wait(&rt->changed, &rt->mu);
    rondo_mutex_unlock(&rt->mu);
}

static enum rondo_err run_here(struct rondo_runtime *rt) {
    enum rondo_err err = RONDO_OK;
    struct rondo_worker *before = rondo_worker_become(rt->workers[0]);
    if (rt->scheduler)
        err = rt->scheduler->run(rt->scheduler);
    else
        rondo_worker_run(rt->workers[0]);
    rondo_worker_become(before);
    return err;
}

enum rondo_err rondo_runtime_run(rondo_runtime *rt) {
    enum rondo_err err = RONDO_OK;
    if (rondo_self()) return RONDO_ERR_INVALID;
    rondo_mutex_lock(&rt->mu);
    if (rt->is_running) err = RONDO_ERR_INVALID;
    rt->is_running = true;
    rondo_mutex_unlock(&rt->mu);
    if (err) return err;
    if (rt->has_threads)
        wait_for_end(rt);
    else
        err = run_here(rt);
    rondo_mutex_lock(&rt->mu);
    rt->is_running = false;
    rondo_store_seq_cst(&rt->is_stop_requested, false);
    rondo_mutex_unlock(&rt->mu);
    return err;
}

void rondo_runtime_stop(rondo_runtime *rt) {
    rondo_store_seq_cst(&rt->is_stop_requested, true); /* pairs with wait_for_end, should_return */
    announce(rt);
}

static struct rondo_actor *take_any(struct rondo_runtime *rt) {
    struct rondo_actor *a = rt->scheduler ? rt->scheduler->take(rt->scheduler) : NULL;
    if (!a) a = rondo_shared_take(rt, rt->workers[0]);
    for (unsigned i = 0; i < rt->n_workers && !a; i++) a = rondo_worker_take_any(rt->workers[i]);
    return a;
}

/* Every live actor is stopped here, with all threads ended; others may still
 * send. */
static void kill_all(struct rondo_runtime *rt) {
    struct rondo_list *node;
    while ((node = rondo_registry_pop(&rt->registry))) {
        struct rondo_actor *a = RONDO_LIST_ENTRY(node, struct rondo_actor, node);
        rondo_actor_ref(a);
        rondo_actor_stop(a);
        while (!rondo_mailbox_is_dead(&a->mailbox)) {
            struct rondo_actor *runnable = take_any(rt);
            if (runnable)
                rondo_turn_kill(rt->workers[0], runnable);
            else
                sched_yield(); /* a sender is about to schedule it */
        }
        rondo_actor_release(a);
    }
}

void rondo_runtime_free(rondo_runtime *rt) {
    if (!rt) return;
    RONDO_CHECK(!rondo_self());
    rondo_registry_close(&rt->registry);
    end_threads(rt, rt->has_threads ? rt->n_workers : 0);
    struct rondo_worker *before = rondo_worker_become(rt->workers[0]);
    for (unsigned i = 0; i < rt->n_workers; i++) rondo_delay_close(&rt->workers[i]->timers);
    kill_all(rt);
    rondo_worker_become(before);
    close_workers(rt);
    rondo_store_release(&rt->registry.is_quiet, true); /* pairs with drop_one */
    rondo_registry_unref(&rt->registry);
}

uint64_t rondo_runtime_now_ns(const rondo_runtime *rt) {
    return rondo_clock_now(rt->clock);
}

unsigned rondo_runtime_workers(const rondo_runtime *rt) {
    return rt->n_workers;
}

void rondo_runtime_stats(const rondo_runtime *rt, struct rondo_runtime_stats *out) {
    /* Counters without partners: exact once the runtime is at rest. */
    struct rondo_runtime_stats s = {
        .actors = rondo_load_relaxed(&rt->registry.n_live),
        .spawned = rondo_load_relaxed(&rt->registry.spawned),
        .dropped = rondo_load_relaxed(&rt->registry.dropped),
        .wakeups = rondo_load_relaxed(&rt->wakeups),
    };
    for (unsigned i = 0; i < rt->n_workers; i++) {
        const struct rondo_worker *w = rt->workers[i];
        s.handled += rondo_load_relaxed(&w->turns) + rondo_load_relaxed(&w->more_handled);
        s.turns += rondo_load_relaxed(&w->turns);
        s.steals += rondo_load_relaxed(&w->steals);
        s.slow_turns += rondo_load_relaxed(&w->slow_turns);
    }
    *out = s;
}

static enum rondo_err add(struct rondo_runtime *rt, struct rondo_actor *a) {
    struct rondo_worker *w = rondo_this_worker;
    if (rt->scheduler) {
        size_t n = rondo_load_relaxed(&rt->registry.n_live); /* one thread */
        enum rondo_err err = rt->scheduler->reserve(rt->scheduler, n + 1);
        if (err) return err;
    }
    a->home = (uint16_t)(w && w->rt == rt ? w->index : rt->n_workers);
    return rondo_registry_add(&rt->registry, a->home, &a->node) ? RONDO_OK : RONDO_ERR_CLOSED;
}

enum rondo_err rondo_spawn(rondo_runtime *rt, const struct rondo_actor_options *options,
                           rondo_actor **out) {
    struct rondo_actor_options o = {.size = sizeof o};
    if (options->size == 0) return RONDO_ERR_INVALID;
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (!o.receive || o.pin > rt->n_workers || o.when_full > RONDO_FULL_PAUSE)
        return RONDO_ERR_INVALID;
    struct rondo_actor *a = rondo_actor_new(rt, &rt->registry, &o);
    if (!a) return RONDO_ERR_NOMEM;
    enum rondo_err err = RONDO_OK;
    if (o.bound) {
        a->bound = rondo_bound_new(o.bound, o.when_full);
        if (!a->bound) err = RONDO_ERR_NOMEM;
    }
    if (!err) err = add(rt, a);
    if (err) {
        rondo_actor_release(a);
        rondo_actor_release(a);
        return err;
    }
    *out = a;
    return RONDO_OK;
}
