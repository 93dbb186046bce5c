/* SPDX-License-Identifier: MIT */
/*
 * Grows when a job is queued and no thread is idle, shrinks when a thread above
 * the minimum has had nothing to do for a while.  A thread that ends marks its
 * slot; whoever starts the slot's next thread, or frees the pool, joins it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "runtime/executor.h"
#include "runtime/pool.h"

enum slot_state { SLOT_FREE, SLOT_RUNNING, SLOT_ENDED };

static const uint64_t IDLE_NS = 10 * RONDO_SEC;

struct thread_pool;

struct slot {
    struct rondo_job_context context;
    struct thread_pool *pool;
    struct rondo_thread thread;
    enum slot_state state; /* guarded by the pool's mu */
};

struct thread_pool {
    struct rondo_pool base;
    /* const after init */
    rondo_runtime *rt;
    char *name;
    struct rondo_pool_limits limits;
    void *(*thread_start)(void *arg);
    void (*thread_stop)(void *arg, void *thread);
    void *arg;

    struct rondo_mutex mu;
    struct rondo_cond work;     /* a job, or closing */
    struct rondo_cond sleepers; /* closing */
    struct rondo_cond ended;    /* n_threads went down */
    /* guarded by mu */
    struct rondo_job *first, *last;
    uint32_t n_queued;
    unsigned n_threads, n_idle, n_busy;
    uint64_t n_done, n_refused;
    bool is_closing;
    struct slot slots[];
};

static struct thread_pool *pool_of(struct rondo_pool *p) {
    return RONDO_CONTAINER_OF(p, struct thread_pool, base);
}

static struct rondo_job *pop_locked(struct thread_pool *p) {
    struct rondo_job *job = p->first;
    if (!job) return NULL;
    p->first = job->link_;
    if (!p->first) p->last = NULL;
    p->n_queued--;
    return job;
}

static void push_locked(struct thread_pool *p, struct rondo_job *job) {
    job->link_ = NULL;
    if (p->last)
        p->last->link_ = job;
    else
        p->first = job;
    p->last = job;
    p->n_queued++;
}

/* The next job; NULL when this thread is to end. */
static struct rondo_job *next_locked(struct thread_pool *p) RONDO_REQUIRES(p->mu) {
    bool has_time = true;
    while (!p->is_closing) {
        struct rondo_job *job = pop_locked(p);
        if (job) return job;
        bool is_extra = p->n_threads > p->limits.min;
        if (is_extra && !has_time) return NULL;
        p->n_idle++;
        if (is_extra)
            has_time = rondo_cond_wait_until(&p->work, &p->mu,
                                             rondo_clock_now(&rondo_clock_real) + IDLE_NS);
        else
            rondo_cond_wait(&p->work, &p->mu);
        p->n_idle--;
    }
    return NULL;
}

static void thread_main(void *arg) {
    struct slot *s = arg;
    struct thread_pool *p = s->pool;
    void *thread = p->thread_start ? p->thread_start(p->arg) : NULL;
    rondo_job_context_use(&s->context);
    rondo_mutex_lock(&p->mu);
    for (struct rondo_job *job; (job = next_locked(p));) {
        p->n_busy++;
        rondo_mutex_unlock(&p->mu);
        job->run(job, thread);
        job->done(job, RONDO_OK);
        rondo_mutex_lock(&p->mu);
        p->n_busy--;
        p->n_done++;
    }
    /* Out of the count first: a job that comes now starts a thread of its own. */
    p->n_threads--;
    rondo_mutex_unlock(&p->mu);
    if (p->thread_stop) p->thread_stop(p->arg, thread);
    rondo_mutex_lock(&p->mu);
    s->state = SLOT_ENDED;
    rondo_cond_broadcast(&p->ended);
    rondo_mutex_unlock(&p->mu);
}

/* Takes a slot for one more thread; NULL: none free, or enough threads. */
static struct slot *reserve_locked(struct thread_pool *p, bool *was_used) {
    if (p->n_threads >= p->limits.max) return NULL;
    for (unsigned i = 0; i < p->limits.max; i++) {
        struct slot *s = &p->slots[i];
        if (s->state == SLOT_RUNNING) continue;
        *was_used = s->state == SLOT_ENDED;
        s->state = SLOT_RUNNING;
        p->n_threads++;
        return s;
    }
    return NULL;
}

/* Starts a thread in a slot that was reserved; not under the lock, which submit
 * must not hold for long. */
static enum rondo_err start(struct thread_pool *p, struct slot *s, bool was_used) {
    if (was_used) rondo_thread_join(&s->thread);
    enum rondo_err err = rondo_thread_start(&s->thread, p->name, thread_main, s);
    if (!err) return RONDO_OK;
    rondo_mutex_lock(&p->mu);
    s->state = SLOT_FREE;
    p->n_threads--;
    rondo_cond_broadcast(&p->ended);
    rondo_mutex_unlock(&p->mu);
    return err;
}

static enum rondo_err submit(struct rondo_pool *base, struct rondo_job *job) {
    struct thread_pool *p = pool_of(base);
    struct slot *more = NULL;
    bool was_used = false;
    enum rondo_err err = RONDO_OK;
    job->queued_ns_ = rondo_clock_now(&rondo_clock_real);
    rondo_mutex_lock(&p->mu);
    if (p->is_closing) {
        err = RONDO_ERR_CLOSED;
    } else if (p->n_queued >= p->limits.queue) {
        err = RONDO_ERR_FULL;
        p->n_refused++;
    } else {
        push_locked(p, job);
        if (p->n_idle < p->n_queued) more = reserve_locked(p, &was_used);
        rondo_cond_signal(&p->work);
    }
    rondo_mutex_unlock(&p->mu);
    /* Without a new thread the job waits for one of the others. */
    if (more) (void)!start(p, more, was_used);
    return err;
}

static enum rondo_err job_sleep(struct rondo_job_context *c, uint64_t ns) {
    struct thread_pool *p = RONDO_CONTAINER_OF(c, struct slot, context)->pool;
    uint64_t until_ns = rondo_deadline(rondo_clock_now(&rondo_clock_real), ns);
    bool has_time = true;
    rondo_mutex_lock(&p->mu);
    while (!p->is_closing && has_time)
        has_time = rondo_cond_wait_until(&p->sleepers, &p->mu, until_ns);
    enum rondo_err err = has_time ? RONDO_ERR_CANCELLED : RONDO_OK;
    rondo_mutex_unlock(&p->mu);
    return err;
}

static void cancel_waiting(struct thread_pool *p) {
    for (;;) {
        rondo_mutex_lock(&p->mu);
        struct rondo_job *job = pop_locked(p);
        rondo_mutex_unlock(&p->mu);
        if (!job) return;
        job->done(job, RONDO_ERR_CANCELLED);
    }
}

static void join_all(struct thread_pool *p) {
    for (unsigned i = 0; i < p->limits.max; i++) {
        struct slot *s = &p->slots[i];
        rondo_mutex_lock(&p->mu);
        while (s->state == SLOT_RUNNING) rondo_cond_wait(&p->ended, &p->mu);
        bool was_used = s->state == SLOT_ENDED;
        s->state = SLOT_FREE;
        rondo_mutex_unlock(&p->mu);
        if (was_used) rondo_thread_join(&s->thread);
    }
}

static void pool_free(struct rondo_pool *base) {
    struct thread_pool *p = pool_of(base);
    RONDO_CHECK(!rondo_self());
    rondo_mutex_lock(&p->mu);
    p->is_closing = true;
    rondo_cond_broadcast(&p->work);
    rondo_cond_broadcast(&p->sleepers);
    rondo_mutex_unlock(&p->mu);
    cancel_waiting(p);
    join_all(p);
    rondo_cond_fini(&p->work);
    rondo_cond_fini(&p->sleepers);
    rondo_cond_fini(&p->ended);
    rondo_mutex_fini(&p->mu);
    rondo_free(p->name);
    rondo_free(p);
}

static void stats(const struct rondo_pool *base, struct rondo_pool_stats *out) RONDO_NO_TSA {
    /* The lock is part of the pool; taking it does not change what callers see. */
    struct thread_pool *p = RONDO_CONTAINER_OF((uintptr_t)base, struct thread_pool, base);
    rondo_mutex_lock(&p->mu);
    *out = (struct rondo_pool_stats){
        .threads = p->n_threads,
        .busy = p->n_busy,
        .queued = p->n_queued,
        .done = p->n_done,
        .refused = p->n_refused,
    };
    rondo_mutex_unlock(&p->mu);
}

static const struct rondo_pool_ops thread_pool_ops = {submit, pool_free, stats};

static enum rondo_err start_first(struct thread_pool *p) {
    enum rondo_err err = RONDO_OK;
    for (unsigned i = 0; i < p->limits.min && !err; i++) {
        bool was_used = false;
        rondo_mutex_lock(&p->mu);
        struct slot *s = reserve_locked(p, &was_used);
        rondo_mutex_unlock(&p->mu);
        if (s) err = start(p, s, was_used);
        if (err && i > 0) return RONDO_OK; /* fewer than wanted still work */
    }
    return err;
}

enum rondo_err rondo_thread_pool_new(rondo_runtime *rt, const struct rondo_pool_options *o,
                                     rondo_pool **out) {
    struct rondo_pool_limits limits;
    enum rondo_err err = rondo_pool_limits(o, &limits);
    if (err) return err;
    struct thread_pool *p = rondo_zalloc(sizeof *p + limits.max * sizeof p->slots[0]);
    if (!p) return RONDO_ERR_NOMEM;
    p->base.ops = &thread_pool_ops;
    p->rt = rt;
    p->limits = limits;
    p->thread_start = o->thread_start;
    p->thread_stop = o->thread_stop;
    p->arg = o->arg;
    for (unsigned i = 0; i < limits.max; i++) {
        p->slots[i].pool = p;
        p->slots[i].context.sleep = job_sleep;
    }
    p->name = rondo_strdup(o->name ? o->name : "rondo-pool");
    if (!p->name) {
        rondo_free(p);
        return RONDO_ERR_NOMEM;
    }
    rondo_mutex_init(&p->mu);
    rondo_cond_init(&p->work);
    rondo_cond_init(&p->sleepers);
    rondo_cond_init(&p->ended);
    err = start_first(p);
    if (err) {
        pool_free(&p->base);
        return err;
    }
    *out = &p->base;
    return RONDO_OK;
}
