/* SPDX-License-Identifier: MIT */
#include "runtime/monitor.h"
#include "base/mem.h"

enum { IDLE_TICKS = 10 };

static const uint64_t LATE_TICK_NS = 4 * RONDO_MS;

struct sight {
    uint64_t turns, since_ns, looked_ns;
};

struct monitor {
    struct rondo_runtime *rt;
    struct sight *sights; /* one per worker */
};

uint64_t rondo_turn_own_ns(uint64_t took_ns, uint64_t before_ns, uint64_t after_ns) {
    if (before_ns == UINT64_MAX || after_ns == UINT64_MAX || after_ns < before_ns) return took_ns;
    uint64_t waited_ns = after_ns - before_ns;
    return waited_ns < took_ns ? took_ns - waited_ns : 0;
}

uint64_t rondo_worker_waited(const struct rondo_worker *w) {
    uint64_t ns;
    unsigned number = rondo_load_relaxed(&w->thread_number); /* set long before its first turn */
    return number && rondo_thread_waited(number, &ns) ? ns : UINT64_MAX;
}

static void suspect(struct rondo_worker *w, uint64_t since_ns) {
    rondo_store_relaxed(&w->slow_waited_ns, rondo_worker_waited(w));
    rondo_store_release(&w->slow_since_ns, since_ns ? since_ns : 1); /* pairs with report_slow */
}

static void look_at(struct rondo_runtime *rt, struct rondo_worker *w, struct sight *s,
                    uint64_t now_ns) {
    /* Hints, all of them: a turn seen too long costs a steal that was not needed. */
    uint64_t turns = rondo_load_relaxed(&w->turns);
    bool stands = turns == s->turns && rondo_load_relaxed(&w->current);
    unsigned queued = rondo_runq_len(&w->runq);
    rondo_store_relaxed(&w->wants_attention, true);
    if (!stands) {
        s->turns = turns;
        s->since_ns = now_ns;
    } else {
        /* If we were kept from looking, what was so before may be of a wait that is
         * over and that nobody can tell from work any more. */
        if (now_ns - s->looked_ns > LATE_TICK_NS) s->since_ns = now_ns;
        if (!rondo_load_relaxed(&w->slow_since_ns)) suspect(w, s->since_ns);
        rondo_store_relaxed(&w->is_stalled, true);
    }
    s->looked_ns = now_ns;
    if (queued > (stands ? 0 : 1) && rondo_load_relaxed(&rt->n_parked)) rondo_wake_searcher(rt);
}

/* True while a worker runs. */
static bool look(struct monitor *m) {
    struct rondo_runtime *rt = m->rt;
    uint64_t now_ns = rondo_clock_now(rt->clock);
    /* pairs with park and rondo_monitor_wake */
    if (rondo_load_seq_cst(&rt->n_parked) == rt->n_workers) return false;
    for (unsigned i = 0; i < rt->n_workers; i++) look_at(rt, rt->workers[i], &m->sights[i], now_ns);
    return true;
}

static void monitor_main(void *arg) {
    struct monitor *m = arg;
    struct rondo_runtime *rt = m->rt;
    unsigned idle = 0;
    rondo_mutex_lock(&rt->mu);
    while (!rondo_load_seq_cst(&rt->is_closing)) { /* pairs with rondo_runtime_free */
        if (idle >= IDLE_TICKS) {
            rondo_store_seq_cst(&rt->is_monitor_idle, true); /* pairs with rondo_monitor_wake */
            if (!look(m)) rondo_cond_wait(&rt->monitor, &rt->mu);
            rondo_store_seq_cst(&rt->is_monitor_idle, false);
            idle = 0;
        } else {
            uint64_t until_ns = rondo_clock_now(rt->clock) + RONDO_MS;
            rondo_cond_wait_until(&rt->monitor, &rt->mu, until_ns);
            idle = look(m) ? 0 : idle + 1;
        }
    }
    rondo_mutex_unlock(&rt->mu);
    rondo_free(m->sights);
    rondo_free(m);
}

enum rondo_err rondo_monitor_start(struct rondo_runtime *rt) {
    enum rondo_err err = RONDO_ERR_NOMEM;
    struct monitor *m = rondo_alloc(sizeof *m);
    if (!m) return err;
    m->rt = rt;
    m->sights = rondo_zalloc(rt->n_workers * sizeof *m->sights);
    if (!m->sights) goto err_monitor;
    err = rondo_thread_start(&rt->monitor_thread, "rondo-monitor", monitor_main, m);
    if (err) goto err_sights;
    rt->has_monitor = true;
    return RONDO_OK;

err_sights:
    rondo_free(m->sights);
err_monitor:
    rondo_free(m);
    return err;
}

void rondo_monitor_join(struct rondo_runtime *rt) {
    if (!rt->has_monitor) return;
    rondo_mutex_lock(&rt->mu);
    rondo_cond_broadcast(&rt->monitor);
    rondo_mutex_unlock(&rt->mu);
    rondo_thread_join(&rt->monitor_thread);
    rt->has_monitor = false;
}

void rondo_monitor_wake_slow(struct rondo_runtime *rt) {
    rondo_mutex_lock(&rt->mu);
    rondo_cond_signal(&rt->monitor);
    rondo_mutex_unlock(&rt->mu);
}
