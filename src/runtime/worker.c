/* SPDX-License-Identifier: MIT */
#include "runtime/worker.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtime/delay.h"
#include "runtime/io.h"
#include "runtime/monitor.h"
#include "runtime/turn.h"

enum {
    POLL_TURNS = 256, /* between looks at sockets */
    SEARCH_ROUNDS = 4,
    SPINS = 50, /* a few microseconds: less than parking and being woken */
    MAX_SPIN_BACKOFF = 255
};

enum rondo_err rondo_worker_new(struct rondo_runtime *rt, unsigned index,
                                struct rondo_worker **out) {
    struct rondo_worker *w = rondo_alloc_aligned(RONDO_CACHE_LINE, sizeof *w);
    if (!w) return RONDO_ERR_NOMEM;
    memset(w, 0, sizeof *w);
    w->rt = w->local_rt = rt;
    w->index = index;
    w->random = index + 1;
    enum rondo_err err = rondo_poller_init(&w->poller);
    if (err) {
        rondo_free(w);
        return err;
    }
    rondo_timers_init(&w->timers);
    rondo_msg_cache_init(&w->msgs, &rt->depot);
    *out = w;
    return RONDO_OK;
}

void rondo_worker_close(struct rondo_worker *w) {
    rondo_msg_cache_fini(&w->msgs);
    rondo_poller_fini(&w->poller);
}

void rondo_worker_free(struct rondo_worker *w) {
    if (!w) return;
    rondo_timers_fini(&w->timers);
    rondo_free(w);
}

struct rondo_worker *rondo_worker_become(struct rondo_worker *w) {
    struct rondo_worker *before = rondo_this_worker;
    rondo_this_worker = w;
    rondo_msg_cache_use(w ? &w->msgs : NULL);
    return before;
}

static bool should_return(const struct rondo_runtime *rt) {
    if (rondo_load_seq_cst(&rt->is_closing)) return true; /* pairs with rondo_runtime_free */
    if (rt->has_threads) return false;
    /* pair with rondo_runtime_stop and rondo_registry_remove */
    return rondo_load_seq_cst(&rt->is_stop_requested) ||
           rondo_load_seq_cst(&rt->registry.n_live) == 0;
}

static void fire_timers(struct rondo_worker *w) {
    if (rondo_timers_earliest(&w->timers) == UINT64_MAX) return;
    uint64_t now_ns = rondo_clock_now(w->rt->clock);
    while (rondo_delay_fire_one(&w->timers, now_ns)) {
    }
}

static void poll(struct rondo_worker *w, uint64_t timeout_ns) {
    struct rondo_poller_event events[RONDO_POLLER_BATCH];
    unsigned n = rondo_poller_wait(&w->poller, timeout_ns, events);
    for (unsigned i = 0; i < n; i++) rondo_io_notify(events[i].data, events[i].events);
}

static void empty_inbox(struct rondo_worker *w) {
    if (rondo_load_relaxed(&w->inbox)) /* a hint; the exchange in take pairs with push */
        rondo_actor_inbox_take(&w->inbox, &w->pinned);
}

/* What a busy worker looks at now and then. */
static void service(struct rondo_worker *w) {
    empty_inbox(w);
    struct rondo_actor *a = rondo_shared_take(w->rt, w);
    if (a) rondo_worker_enqueue(w, a);
    fire_timers(w);
    w->service_at = w->turns + RONDO_SERVICE_TURNS;
    if (w->n_watches && w->turns >= w->poll_at) {
        w->poll_at = w->turns + POLL_TURNS;
        poll(w, 0);
    }
    /* The queues get their share, too; not always, since a fixed number of turns
     * can keep groups of messages that move round a ring from ever meeting. */
    if (rondo_random_next(&w->random) & 1) return;
    a = w->next;
    if (!a || (!w->pinned.first && rondo_runq_len(&w->runq) == 0)) return;
    w->next = NULL;
    rondo_worker_enqueue(w, a);
}

static struct rondo_actor *take_local(struct rondo_worker *w) {
    struct rondo_actor *a = w->next;
    if (a) {
        w->next = NULL;
        return a;
    }
    if (w->turns & 1 && w->pinned.first) return rondo_actor_queue_pop(&w->pinned);
    a = rondo_runq_pop(&w->runq);
    return a ? a : rondo_actor_queue_pop(&w->pinned);
}

static struct rondo_actor *steal(struct rondo_worker *w) {
    struct rondo_runtime *rt = w->rt;
    unsigned start = (unsigned)rondo_random_below(&w->random, rt->n_workers);
    for (unsigned i = 0; i < rt->n_workers; i++) {
        struct rondo_worker *victim = rt->workers[(start + i) % rt->n_workers];
        if (victim == w || rondo_runq_len(&victim->runq) == 0) continue;
        bool one = rondo_load_relaxed(&victim->is_stalled); /* set by the monitor */
        unsigned n = rondo_runq_steal(&victim->runq, &w->runq, one);
        if (n == 0) continue;
        rondo_count_up(&w->steals, n);
        return rondo_runq_pop(&w->runq);
    }
    return NULL;
}

static void stop_searching(struct rondo_worker *w) {
    w->is_searching = false;
    rondo_sub_seq_cst(&w->rt->n_searching, 1); /* pairs with rondo_wake_searcher */
}

/* A searcher that has found work must not keep others from being woken. */
static void found_work(struct rondo_worker *w) {
    stop_searching(w);
    if (rondo_runq_len(&w->runq) || rondo_load_relaxed(&w->rt->n_shared)) /* hints */
        rondo_wake_searcher(w->rt);
}

static struct rondo_actor *search(struct rondo_worker *w) {
    struct rondo_runtime *rt = w->rt;
    struct rondo_actor *a = NULL;
    if (!w->is_searching) {
        w->is_searching = true;
        rondo_add_seq_cst(&rt->n_searching, 1); /* pairs with rondo_wake_searcher */
    }
    for (unsigned i = 0; i < SEARCH_ROUNDS && !a; i++) {
        a = rondo_shared_take(rt, w);
        if (!a) a = steal(w);
    }
    if (!a) stop_searching(w);
    return a;
}

static uint64_t time_to_park(struct rondo_worker *w) {
    uint64_t earliest_ns = rondo_timers_earliest(&w->timers);
    if (earliest_ns == UINT64_MAX) return UINT64_MAX;
    uint64_t now_ns = rondo_clock_now(w->rt->clock);
    return earliest_ns > now_ns ? earliest_ns - now_ns : 0;
}

/* Where work goes back and forth between pinned actors, the next note is near.
 * Each time it was not, more parks go by without trying. */
static void spin(struct rondo_worker *w) {
    if (w->rt->n_workers == 1) return;
    if (w->spin_after > 0) {
        w->spin_after--;
        return;
    }
    for (unsigned i = 0; i < SPINS; i++) {
        /* hints: whoever parks looks again */
        if (rondo_load_relaxed(&w->state) || rondo_load_relaxed(&w->rt->n_shared)) {
            w->spin_backoff = 0;
            return;
        }
        rondo_cpu_relax();
    }
    w->spin_backoff = w->spin_backoff * 2 + 1;
    if (w->spin_backoff > MAX_SPIN_BACKOFF) w->spin_backoff = MAX_SPIN_BACKOFF;
    w->spin_after = w->spin_backoff;
}

/* Nothing to run: waits for a descriptor, a timer or a note. */
static void park(struct rondo_worker *w) {
    struct rondo_runtime *rt = w->rt;
    unsigned expected = 0;
    spin(w);
    rondo_add_seq_cst(&rt->n_parked, 1);
    /* pairs with rondo_worker_notify; if it fails, there is a note */
    if (rondo_cas_seq_cst(&w->state, &expected, RONDO_PARKED)) {
        /* pairs with shared_append: its store, then its look at our state */
        bool stay = rondo_load_seq_cst(&rt->n_shared) == 0 && !should_return(rt);
        poll(w, stay ? time_to_park(w) : 0);
    }
    unsigned old = rondo_exchange_seq_cst(&w->state, 0); /* pairs with notify and wake_one */
    rondo_sub_seq_cst(&rt->n_parked, 1);
    if (old & RONDO_SEARCH) w->is_searching = true;
    rondo_monitor_wake(rt);
    empty_inbox(w);
    fire_timers(w);
}

void rondo_worker_run(struct rondo_worker *w) {
    for (;;) {
        if (RONDO_UNLIKELY(w->turns >= w->service_at)) {
            service(w);
            if (should_return(w->rt)) break;
        }
        struct rondo_actor *a = take_local(w);
        if (RONDO_UNLIKELY(!a)) {
            if (should_return(w->rt)) break;
            empty_inbox(w);
            if (!w->pinned.first) a = search(w);
            if (!a && !w->pinned.first) park(w);
            if (!a) continue;
        }
        if (RONDO_UNLIKELY(w->is_searching)) found_work(w);
        rondo_turn_run_chain(w, a);
    }
    if (w->is_searching) stop_searching(w);
}

struct rondo_actor *rondo_worker_take_any(struct rondo_worker *w) {
    struct rondo_actor *a = w->next;
    w->next = NULL;
    empty_inbox(w);
    if (!a) a = rondo_runq_pop(&w->runq);
    return a ? a : rondo_actor_queue_pop(&w->pinned);
}
