/* SPDX-License-Identifier: MIT */
#include "runtime/sim_pool.h"
#include "base/clock.h"
#include "base/mem.h"

struct sim_thread {
    struct rondo_job_context context;
    struct rondo_job *job; /* ran, not done; NULL: idle */
    uint64_t slept_ns, done_at_ns;
    uint64_t late_at_ns; /* UINT64_MAX: never, or not any more */
    bool is_late, is_replaced;
    void *data;
    bool is_started;
};

struct sim_pool {
    struct rondo_pool base;
    struct rondo_list node;
    struct rondo_sim_pools *all;
    struct rondo_pool_limits limits;
    void *(*thread_start)(void *arg);
    void (*thread_stop)(void *arg, void *thread);
    void *arg;
    void (*free_arg)(void *arg);
    uint64_t close_wait_ns;
    struct rondo_job *first, *last;
    uint32_t n_queued;
    unsigned n_busy, n_late, n_replaced; /* busy: without the replaced */
    unsigned n_threads;                  /* limits.max + limits.max_stuck */
    uint64_t done, refused, late, replaced;
    bool is_closing;
    struct sim_thread threads[];
};

static struct sim_pool *pool_of(struct rondo_pool *p) {
    return RONDO_CONTAINER_OF(p, struct sim_pool, base);
}

static enum rondo_err submit(struct rondo_pool *base, struct rondo_job *job) {
    struct sim_pool *p = pool_of(base);
    if (p->is_closing) return RONDO_ERR_CLOSED;
    if (p->n_queued >= p->limits.queue) {
        p->refused++;
        return RONDO_ERR_FULL;
    }
    job->queued_ns_ = rondo_clock_now(p->all->clock);
    job->link_ = NULL;
    if (p->last)
        p->last->link_ = job;
    else
        p->first = job;
    p->last = job;
    p->n_queued++;
    return RONDO_OK;
}

static struct rondo_job *pop(struct sim_pool *p) {
    struct rondo_job *job = p->first;
    p->first = job->link_;
    if (!p->first) p->last = NULL;
    p->n_queued--;
    return job;
}

static void run_first(struct sim_pool *p) {
    struct sim_thread *t = p->threads;
    while (t->job) t++;
    if (!t->is_started && p->thread_start) t->data = p->thread_start(p->arg);
    t->is_started = true;
    t->slept_ns = 0;
    t->job = pop(p);
    p->n_busy++;
    struct rondo_job_context *before = rondo_job_context_use(&t->context);
    t->job->run(t->job, t->data);
    rondo_job_context_use(before);
    uint64_t now_ns = rondo_clock_now(p->all->clock);
    t->done_at_ns = rondo_deadline(now_ns, t->slept_ns);
    t->late_at_ns = UINT64_MAX;

    if (t->job->limit_ns && t->job->limit_ns < t->slept_ns)
        t->late_at_ns = rondo_deadline(now_ns, t->job->limit_ns);
}

static void replace(struct sim_pool *p) {
    for (unsigned i = 0; i < p->n_threads && p->n_replaced < p->limits.max_stuck; i++) {
        struct sim_thread *t = &p->threads[i];
        if (!t->is_late || t->is_replaced) continue;
        t->is_replaced = true;
        p->n_replaced++;
        p->replaced++;
        p->n_busy--;
    }
}

static void tell_late(struct sim_pool *p, struct sim_thread *t) {
    t->late_at_ns = UINT64_MAX;
    t->is_late = true;
    p->n_late++;
    p->late++;
    replace(p);
    if (t->job->late) t->job->late(t->job);
}

static void finish(struct sim_pool *p, struct sim_thread *t, enum rondo_err err) {
    struct rondo_job *job = t->job;
    t->job = NULL;
    p->n_late -= t->is_late;
    if (t->is_replaced)
        p->n_replaced--;
    else
        p->n_busy--;
    t->is_late = t->is_replaced = false;
    p->done++;
    replace(p);
    job->done(job, err);
}

static enum rondo_err job_sleep(struct rondo_job_context *c, uint64_t ns) {
    struct sim_thread *t = RONDO_CONTAINER_OF(c, struct sim_thread, context);
    t->slept_ns = rondo_deadline(t->slept_ns, ns);
    return RONDO_OK;
}

static void pool_free(struct rondo_pool *base) {
    struct sim_pool *p = pool_of(base);
    p->is_closing = true;
    while (p->first) {
        struct rondo_job *job = pop(p);
        job->done(job, RONDO_ERR_CANCELLED);
    }
    uint64_t until_ns = rondo_deadline(rondo_clock_now(p->all->clock), p->close_wait_ns);
    for (unsigned i = 0; i < p->n_threads; i++) {
        struct sim_thread *t = &p->threads[i];
        bool is_left = t->job && p->close_wait_ns && t->done_at_ns > until_ns;
        if (t->job) finish(p, t, is_left ? RONDO_ERR_CLOSED : RONDO_OK);
        if (!t->is_started || !p->thread_stop) continue;
        if (!is_left || p->free_arg) p->thread_stop(p->arg, t->data);
    }
    if (p->free_arg) p->free_arg(p->arg);
    rondo_list_remove(&p->node);
    rondo_free(p);
}

static void stats(const struct rondo_pool *base, struct rondo_pool_stats *out) {
    const struct sim_pool *p = RONDO_CONTAINER_OF((uintptr_t)base, struct sim_pool, base);
    *out = (struct rondo_pool_stats){
        .threads = p->limits.max,
        .busy = p->n_busy,
        .queued = p->n_queued,
        .done = p->done,
        .refused = p->refused,
        .stuck = p->n_late,
        .max_stuck = p->limits.max_stuck,
        .late = p->late,
        .replaced = p->replaced,
    };
}

static const struct rondo_pool_ops sim_pool_ops = {submit, pool_free, stats};

void rondo_sim_pools_init(struct rondo_sim_pools *ps, const struct rondo_clock *clock) {
    rondo_list_init(&ps->pools);
    ps->clock = clock;
}

enum rondo_err rondo_sim_pool_new(struct rondo_sim_pools *ps, const struct rondo_pool_options *o,
                                  rondo_pool **out) {
    struct rondo_pool_limits limits;
    enum rondo_err err = rondo_pool_limits(o, &limits);
    if (err) return err;
    unsigned n_threads = limits.max + limits.max_stuck;
    struct sim_pool *p = rondo_zalloc(sizeof *p + n_threads * sizeof p->threads[0]);
    if (!p) return RONDO_ERR_NOMEM;
    p->base.ops = &sim_pool_ops;
    p->all = ps;
    p->limits = limits;
    p->thread_start = o->thread_start;
    p->thread_stop = o->thread_stop;
    p->arg = o->arg;
    p->free_arg = o->free_arg;
    p->close_wait_ns = o->close_wait_ns;
    p->n_threads = n_threads;
    for (unsigned i = 0; i < n_threads; i++) p->threads[i].context.sleep = job_sleep;
    rondo_list_push_back(&ps->pools, &p->node);
    *out = &p->base;
    return RONDO_OK;
}

static bool can_run(const struct sim_pool *p) {
    return p->first && p->n_busy < p->limits.max;
}

static bool can_finish(const struct sim_pool *p, const struct sim_thread *t) {
    return t->job && t->done_at_ns <= rondo_clock_now(p->all->clock);
}

static bool can_be_late(const struct sim_pool *p, const struct sim_thread *t) {
    return t->job && t->late_at_ns <= rondo_clock_now(p->all->clock);
}

static bool is_at_rest(const struct sim_pool *p) {
    return p->n_busy + p->n_replaced == 0;
}

unsigned rondo_sim_pools_choices(const struct rondo_sim_pools *ps) {
    unsigned n = 0;
    RONDO_LIST_FOREACH(&ps->pools, node) {
        const struct sim_pool *p = RONDO_LIST_ENTRY(node, struct sim_pool, node);
        n += can_run(p);
        for (unsigned i = 0; !is_at_rest(p) && i < p->n_threads; i++) {
            const struct sim_thread *t = &p->threads[i];
            n += can_finish(p, t) + can_be_late(p, t);
        }
    }
    return n;
}

/* Takes a step of one pool if the kth is among them; counts *k down otherwise. */
static bool step_one(struct sim_pool *p, unsigned *k) {
    if (can_run(p) && (*k)-- == 0) {
        run_first(p);
        return true;
    }
    for (unsigned i = 0; i < p->n_threads; i++) {
        struct sim_thread *t = &p->threads[i];
        if (can_finish(p, t) && (*k)-- == 0) {
            finish(p, t, RONDO_OK);
            return true;
        }
        if (can_be_late(p, t) && (*k)-- == 0) {
            tell_late(p, t);
            return true;
        }
    }
    return false;
}

void rondo_sim_pools_step(struct rondo_sim_pools *ps, unsigned k) {
    RONDO_LIST_FOREACH(&ps->pools, node) {
        if (step_one(RONDO_LIST_ENTRY(node, struct sim_pool, node), &k)) return;
    }
    rondo_check_failed(__FILE__, __LINE__, "fewer steps than were counted");
}

uint64_t rondo_sim_pools_next_ns(const struct rondo_sim_pools *ps) {
    uint64_t next_ns = UINT64_MAX;
    RONDO_LIST_FOREACH(&ps->pools, node) {
        const struct sim_pool *p = RONDO_LIST_ENTRY(node, struct sim_pool, node);
        for (unsigned i = 0; !is_at_rest(p) && i < p->n_threads; i++) {
            const struct sim_thread *t = &p->threads[i];
            if (!t->job) continue;
            uint64_t ns = t->late_at_ns < t->done_at_ns ? t->late_at_ns : t->done_at_ns;
            if (ns < next_ns) next_ns = ns;
        }
    }
    return next_ns;
}
