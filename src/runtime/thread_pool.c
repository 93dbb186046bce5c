/* SPDX-License-Identifier: MIT */
/*
 * Grows when a job is queued and no thread is idle, shrinks when a thread above
 * the minimum has had nothing to do for a while, or (sizer.h) when more threads get
 * no more done: those are set aside, with what they hold (a connection, say), for
 * when they are wanted again.  A thread that ends marks its
 * slot; whoever starts the slot's next thread, or frees the pool, joins it.
 *
 * A thread that stays in a job beyond the job's limit is stuck: one watcher, which
 * is started with the first job that has a limit, takes it out of n_threads and
 * lets another be started.  There are slots for both kinds.  It sleeps until the
 * earliest limit that it knew of, so a job wakes it only when it was at rest.
 *
 * Closing may leave threads behind that are stuck in `run`.  The last of them
 * destroys the pool's state then, and nothing of the pool's owner is touched.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "runtime/executor.h"
#include "runtime/pool.h"
#include "runtime/sizer.h"
#include <inttypes.h>

enum slot_state { SLOT_FREE, SLOT_RUNNING, SLOT_LEFT, SLOT_ENDED };

static const uint64_t IDLE_NS = 10 * RONDO_SEC;

struct thread_pool;

struct slot {
    struct rondo_job_context context;
    struct thread_pool *pool;
    struct rondo_thread thread;
    /* guarded by the pool's mu */
    enum slot_state state;
    bool is_starting;      /* `thread` is not yet known */
    bool is_to_join;       /* a thread that ended was there before */
    struct rondo_job *job; /* in its run; NULL: none */
    uint64_t late_at_ns;   /* of the job; UINT64_MAX: never, or not any more */
    bool is_late;          /* the job is beyond its limit */
    bool is_replaced;      /* and the thread is out of n_threads */
    bool is_telling;       /* the watcher is in job->late */
};

struct thread_pool {
    struct rondo_pool base;
    /* const after init */
    char *name;
    struct rondo_pool_limits limits;
    unsigned n_slots;
    uint64_t close_wait_ns;
    void *(*thread_start)(void *arg);
    void (*thread_stop)(void *arg, void *thread);
    void *arg;
    void (*free_arg)(void *arg);

    struct rondo_mutex mu;
    struct rondo_cond work;     /* a job, or closing */
    struct rondo_cond spare;    /* a thread that was set aside is wanted, or closing */
    struct rondo_cond sleepers; /* closing */
    struct rondo_cond changed;  /* a slot: thread started or ended, late told */
    struct rondo_cond watch;    /* for the watcher: an earlier limit, or its end */
    /* guarded by mu */
    struct rondo_job *first, *last;
    uint32_t n_queued;
    unsigned n_threads, n_idle, n_busy; /* without the replaced ones */
    unsigned n_spare;                   /* set aside: in no other count */
    unsigned n_late, n_replaced;        /* now */
    struct rondo_sizer sizer;
    uint64_t done, refused, late, replaced;
    bool is_closing;
    bool has_watcher, is_watch_over;
    uint64_t watch_ns; /* when the watcher will look; UINT64_MAX: not before it is told */
    unsigned n_left;   /* threads left behind that still run */
    bool is_freed;
    struct rondo_thread watcher;
    struct rondo_log_limit late_limit;
    struct slot slots[];
};

static struct thread_pool *pool_of(struct rondo_pool *p) {
    return RONDO_CONTAINER_OF(p, struct thread_pool, base);
}

static void destroy(struct thread_pool *p) {
    if (p->free_arg) p->free_arg(p->arg);
    rondo_cond_fini(&p->work);
    rondo_cond_fini(&p->spare);
    rondo_cond_fini(&p->sleepers);
    rondo_cond_fini(&p->changed);
    rondo_cond_fini(&p->watch);
    rondo_mutex_fini(&p->mu);
    rondo_free(p->name);
    rondo_free(p);
}

/* ---------------------------------------------------------------- queue --- */

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

static uint64_t idle_until(void) {
    return rondo_clock_now(&rondo_clock_real) + IDLE_NS;
}

/* One thread more than the jobs are worth waits apart.  False: for too long. */
static bool stand_aside_locked(struct thread_pool *p) RONDO_REQUIRES(p->mu) {
    uint64_t until_ns = idle_until();
    bool has_time = true;
    p->n_threads--;
    p->n_spare++;
    while (has_time && !p->is_closing && p->n_threads >= p->sizer.cap)
        has_time = rondo_cond_wait_until(&p->spare, &p->mu, until_ns);
    p->n_spare--;
    p->n_threads++;
    return has_time || p->n_threads <= p->sizer.cap;
}

/* Nothing to do.  False: for too long, and there are more than the least. */
static bool wait_for_work_locked(struct thread_pool *p) RONDO_REQUIRES(p->mu) {
    bool has_time = true;
    p->n_idle++;
    if (p->n_threads > p->limits.min)
        has_time = rondo_cond_wait_until(&p->work, &p->mu, idle_until());
    else
        rondo_cond_wait(&p->work, &p->mu);
    p->n_idle--;
    if (has_time || p->first || p->n_threads <= p->limits.min) return true;
    rondo_sizer_reset(&p->sizer);
    return false;
}

/* The next job; NULL when this thread is to end. */
static struct rondo_job *next_locked(struct thread_pool *p) RONDO_REQUIRES(p->mu) {
    /* Beyond the most when one that was replaced has come back. */
    while (!p->is_closing && p->n_threads <= p->limits.max) {
        if (p->n_threads > p->sizer.cap) {
            if (!stand_aside_locked(p)) return NULL;
            continue;
        }
        struct rondo_job *job = pop_locked(p);
        if (job) return job;
        if (!wait_for_work_locked(p)) return NULL;
    }
    return NULL;
}

/* -------------------------------------------------------------- threads --- */

static void thread_main(void *arg);

/* Takes a slot for one more thread; NULL: there are enough. */
static struct slot *reserve_locked(struct thread_pool *p) {
    if (p->is_closing || p->n_threads >= p->limits.max) return NULL;
    for (unsigned i = 0; i < p->n_slots; i++) {
        struct slot *s = &p->slots[i];
        if (s->state == SLOT_RUNNING || s->is_starting) continue;
        s->is_to_join = s->state == SLOT_ENDED;
        s->is_starting = true;
        s->state = SLOT_RUNNING;
        p->n_threads++;
        return s;
    }
    return NULL;
}

/* The same, if a job waits for one; those set aside come first. */
static struct slot *grow_locked(struct thread_pool *p) {
    if (p->n_idle >= p->n_queued || p->n_threads >= p->sizer.cap) return NULL;
    if (p->n_spare == 0) return reserve_locked(p);
    rondo_cond_signal(&p->spare);
    return NULL;
}

/* Starts a thread in a slot that was reserved (NULL: does nothing); not under the
 * lock, which submit must not hold for long. */
static enum rondo_err start(struct thread_pool *p, struct slot *s) {
    if (!s) return RONDO_OK;
    if (s->is_to_join) rondo_thread_join(&s->thread);
    enum rondo_err err = rondo_thread_start(&s->thread, p->name, thread_main, s);
    rondo_mutex_lock(&p->mu);
    s->is_starting = false;
    if (err) {
        s->state = SLOT_FREE;
        p->n_threads--;
    }
    rondo_cond_broadcast(&p->changed);
    rondo_mutex_unlock(&p->mu);
    return err;
}

/* Lets others take the places of late threads, as long as the limit allows. */
static void replace_locked(struct thread_pool *p) {
    for (unsigned i = 0; i < p->n_slots && p->n_replaced < p->limits.max_stuck; i++) {
        struct slot *s = &p->slots[i];
        if (!s->is_late || s->is_replaced) continue;
        s->is_replaced = true;
        p->n_replaced++;
        p->replaced++;
        p->n_threads--;
        p->n_busy--;
    }
}

/* -------------------------------------------------------------- watcher --- */

static void tell(struct thread_pool *p, struct slot *s) RONDO_REQUIRES(p->mu) {
    struct rondo_job *job = s->job;
    s->late_at_ns = UINT64_MAX;
    s->is_late = s->is_telling = true;
    p->n_late++;
    p->late++;
    replace_locked(p);
    bool is_replaced = s->is_replaced;
    struct slot *more = grow_locked(p);
    rondo_mutex_unlock(&p->mu);
    /* Without a new thread the jobs wait for one of the others. */
    (void)!start(p, more);
    rondo_log_limited(&p->late_limit, RONDO_LOG_WARN,
                      "pool '%s': a job runs for longer than its %" PRIu64 " ms%s", p->name,
                      job->limit_ns / RONDO_MS,
                      is_replaced ? "; its thread is replaced" : "; no more threads are replaced");
    if (job->late) job->late(job);
    rondo_mutex_lock(&p->mu);
    s->is_telling = false;
    rondo_cond_broadcast(&p->changed);
}

/* Tells one job that is late; NULL: none is, and *earliest_ns is when one may be. */
static struct slot *find_late_locked(struct thread_pool *p, uint64_t *earliest_ns) {
    uint64_t now_ns = rondo_clock_now(&rondo_clock_real);
    *earliest_ns = UINT64_MAX;
    for (unsigned i = 0; i < p->n_slots; i++) {
        struct slot *s = &p->slots[i];
        if (s->late_at_ns <= now_ns) return s;
        if (s->late_at_ns < *earliest_ns) *earliest_ns = s->late_at_ns;
    }
    return NULL;
}

static void watcher_main(void *arg) {
    struct thread_pool *p = arg;
    rondo_mutex_lock(&p->mu);
    while (!p->is_watch_over) {
        struct slot *s = find_late_locked(p, &p->watch_ns);
        if (s)
            tell(p, s);
        else if (p->watch_ns == UINT64_MAX)
            rondo_cond_wait(&p->watch, &p->mu);
        else
            (void)rondo_cond_wait_until(&p->watch, &p->mu, p->watch_ns);
    }
    rondo_mutex_unlock(&p->mu);
}

/* With the first job that has a limit.  The thread is in no job yet, so closing
 * waits for it. */
static void start_watcher(struct thread_pool *p) {
    rondo_mutex_lock(&p->mu);
    bool is_wanted = !p->has_watcher;
    p->has_watcher = true;
    rondo_mutex_unlock(&p->mu);
    if (!is_wanted) return;
    enum rondo_err err = rondo_thread_start(&p->watcher, "rondo-watcher", watcher_main, p);
    if (!err) return;
    rondo_log_limited(&p->late_limit, RONDO_LOG_WARN,
                      "pool '%s': no thread to watch the limits of its jobs", p->name);
    rondo_mutex_lock(&p->mu);
    p->has_watcher = false; /* the next job tries again */
    rondo_mutex_unlock(&p->mu);
}

/* ----------------------------------------------------------------- jobs --- */

static void begin(struct slot *s, struct rondo_job *job) {
    struct thread_pool *p = s->pool;
    if (job->limit_ns) start_watcher(p);
    rondo_mutex_lock(&p->mu);
    s->job = job;
    if (job->limit_ns) {
        s->late_at_ns = rondo_deadline(rondo_clock_now(&rondo_clock_real), job->limit_ns);
        if (s->late_at_ns < p->watch_ns) rondo_cond_signal(&p->watch);
    }
    rondo_mutex_unlock(&p->mu);
}

/* After the run; returns what `done` is to be told. */
static enum rondo_err end(struct slot *s) {
    struct thread_pool *p = s->pool;
    struct slot *more = NULL;
    rondo_mutex_lock(&p->mu);
    s->late_at_ns = UINT64_MAX;
    while (s->is_telling) rondo_cond_wait(&p->changed, &p->mu);
    s->job = NULL;
    if (s->is_late) {
        p->n_late--;
        s->is_late = false;
        if (s->is_replaced) {
            s->is_replaced = false;
            p->n_replaced--;
            p->n_threads++;
            p->n_busy++;
            replace_locked(p);
            more = grow_locked(p);
        }
    }
    enum rondo_err err = s->state == SLOT_LEFT ? RONDO_ERR_CLOSED : RONDO_OK;
    rondo_mutex_unlock(&p->mu);
    (void)!start(p, more);
    return err;
}

/* A job has ended; returns a slot if that shows that more threads are worth it. */
static struct slot *count_locked(struct thread_pool *p) {
    if (p->limits.min == p->limits.max) return NULL;
    uint64_t now_ns = rondo_clock_now(&rondo_clock_real);
    rondo_sizer_done(&p->sizer, now_ns, p->n_threads, p->n_queued > 0);
    return grow_locked(p);
}

static void run_jobs(struct slot *s, void *thread) {
    struct thread_pool *p = s->pool;
    struct slot *more = NULL;
    rondo_mutex_lock(&p->mu);
    for (struct rondo_job *job; (job = next_locked(p));) {
        p->n_busy++;
        rondo_mutex_unlock(&p->mu);
        begin(s, job);
        job->run(job, thread);
        job->done(job, end(s));
        rondo_mutex_lock(&p->mu);
        p->n_busy--;
        p->done++;
        more = count_locked(p);
        if (!more) continue;
        rondo_mutex_unlock(&p->mu);
        (void)!start(p, more);
        rondo_mutex_lock(&p->mu);
    }
    /* Out of the count first: a job that comes now starts a thread of its own. */
    p->n_threads--;
    rondo_mutex_unlock(&p->mu);
}

/* True: the thread has ended.  False: a job came that found no free slot. */
static bool end_thread_locked(struct slot *s) {
    struct thread_pool *p = s->pool;
    if (!p->is_closing && p->n_idle < p->n_queued && p->n_threads < p->limits.max) {
        p->n_threads++;
        return false;
    }
    s->state = SLOT_ENDED;
    rondo_cond_broadcast(&p->changed);
    return true;
}

/* Of a thread that the pool's owner left behind in a job. */
static void end_left(struct thread_pool *p, void *thread) {
    if (p->thread_stop && p->free_arg) p->thread_stop(p->arg, thread);
    rondo_mutex_lock(&p->mu);
    bool is_last = --p->n_left == 0 && p->is_freed;
    rondo_mutex_unlock(&p->mu);
    if (is_last) destroy(p);
}

static void thread_main(void *arg) {
    struct slot *s = arg;
    struct thread_pool *p = s->pool;
    rondo_job_context_use(&s->context);
    for (bool is_over = false; !is_over;) {
        void *thread = p->thread_start ? p->thread_start(p->arg) : NULL;
        run_jobs(s, thread);
        rondo_mutex_lock(&p->mu);
        bool is_left = s->state == SLOT_LEFT;
        rondo_mutex_unlock(&p->mu);
        if (is_left) {
            end_left(p, thread);
            return;
        }
        if (p->thread_stop) p->thread_stop(p->arg, thread);
        rondo_mutex_lock(&p->mu);
        is_over = end_thread_locked(s);
        rondo_mutex_unlock(&p->mu);
    }
}

static enum rondo_err submit(struct rondo_pool *base, struct rondo_job *job) {
    struct thread_pool *p = pool_of(base);
    struct slot *more = NULL;
    enum rondo_err err = RONDO_OK;
    job->queued_ns_ = rondo_clock_now(&rondo_clock_real);
    rondo_mutex_lock(&p->mu);
    if (p->is_closing) {
        err = RONDO_ERR_CLOSED;
    } else if (p->n_queued >= p->limits.queue) {
        err = RONDO_ERR_FULL;
        p->refused++;
    } else {
        push_locked(p, job);
        more = grow_locked(p);
        rondo_cond_signal(&p->work);
    }
    rondo_mutex_unlock(&p->mu);
    /* Without a new thread the job waits for one of the others. */
    (void)!start(p, more);
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

/* -------------------------------------------------------------- closing --- */

static void cancel_waiting(struct thread_pool *p) {
    for (;;) {
        rondo_mutex_lock(&p->mu);
        struct rondo_job *job = pop_locked(p);
        rondo_mutex_unlock(&p->mu);
        if (!job) return;
        job->done(job, RONDO_ERR_CANCELLED);
    }
}

/* Waits for a slot's thread, or leaves it behind once `until_ns` has passed. */
static void end_slot_locked(struct thread_pool *p, struct slot *s, uint64_t until_ns)
    RONDO_REQUIRES(p->mu) {
    bool has_time = true;
    while (s->state == SLOT_RUNNING || s->is_starting) {
        if (!has_time && s->job && !s->is_telling) {
            s->state = SLOT_LEFT;
            p->n_left++;
            rondo_thread_detach(&s->thread);
        } else if (has_time && until_ns != UINT64_MAX) {
            has_time = rondo_cond_wait_until(&p->changed, &p->mu, until_ns);
        } else {
            rondo_cond_wait(&p->changed, &p->mu);
        }
    }
}

static void end_threads(struct thread_pool *p) {
    uint64_t until_ns = UINT64_MAX;
    if (p->close_wait_ns)
        until_ns = rondo_deadline(rondo_clock_now(&rondo_clock_real), p->close_wait_ns);
    for (unsigned i = 0; i < p->n_slots; i++) {
        struct slot *s = &p->slots[i];
        rondo_mutex_lock(&p->mu);
        end_slot_locked(p, s, until_ns);
        bool is_to_join = s->state == SLOT_ENDED;
        if (is_to_join) s->state = SLOT_FREE;
        rondo_mutex_unlock(&p->mu);
        if (is_to_join) rondo_thread_join(&s->thread);
    }
}

static void end_watcher(struct thread_pool *p) {
    rondo_mutex_lock(&p->mu);
    bool has_watcher = p->has_watcher;
    p->is_watch_over = true;
    rondo_cond_broadcast(&p->watch);
    rondo_mutex_unlock(&p->mu);
    if (has_watcher) rondo_thread_join(&p->watcher);
}

static void pool_free(struct rondo_pool *base) {
    struct thread_pool *p = pool_of(base);
    RONDO_CHECK(!rondo_self());
    rondo_mutex_lock(&p->mu);
    p->is_closing = true;
    rondo_cond_broadcast(&p->work);
    rondo_cond_broadcast(&p->spare);
    rondo_cond_broadcast(&p->sleepers);
    rondo_mutex_unlock(&p->mu);
    cancel_waiting(p);
    end_threads(p);
    end_watcher(p);
    rondo_mutex_lock(&p->mu);
    p->is_freed = true;
    unsigned n_left = p->n_left;
    rondo_mutex_unlock(&p->mu);
    if (n_left == 0) destroy(p);
}

static void stats(const struct rondo_pool *base, struct rondo_pool_stats *out) RONDO_NO_TSA {
    /* The lock is part of the pool; taking it does not change what callers see. */
    struct thread_pool *p = RONDO_CONTAINER_OF((uintptr_t)base, struct thread_pool, base);
    rondo_mutex_lock(&p->mu);
    *out = (struct rondo_pool_stats){
        .threads = p->n_threads,
        .busy = p->n_busy,
        .queued = p->n_queued,
        .done = p->done,
        .refused = p->refused,
        .stuck = p->n_late,
        .max_stuck = p->limits.max_stuck,
        .late = p->late,
        .replaced = p->replaced,
    };
    rondo_mutex_unlock(&p->mu);
}

static const struct rondo_pool_ops thread_pool_ops = {submit, pool_free, stats};

static enum rondo_err start_first(struct thread_pool *p) {
    enum rondo_err err = RONDO_OK;
    for (unsigned i = 0; i < p->limits.min && !err; i++) {
        rondo_mutex_lock(&p->mu);
        struct slot *s = reserve_locked(p);
        rondo_mutex_unlock(&p->mu);
        err = start(p, s);
        if (err && i > 0) return RONDO_OK; /* fewer than wanted still work */
    }
    return err;
}

static void init(struct thread_pool *p, const struct rondo_pool_options *o) {
    p->base.ops = &thread_pool_ops;
    p->close_wait_ns = o->close_wait_ns;
    p->thread_start = o->thread_start;
    p->thread_stop = o->thread_stop;
    p->arg = o->arg;
    p->late_limit.burst = 1;
    for (unsigned i = 0; i < p->n_slots; i++) {
        p->slots[i].pool = p;
        p->slots[i].context.sleep = job_sleep;
        p->slots[i].late_at_ns = UINT64_MAX;
    }
    rondo_mutex_init(&p->mu);
    rondo_cond_init(&p->work);
    rondo_cond_init(&p->spare);
    rondo_sizer_init(&p->sizer, p->limits.min, p->limits.max);
    rondo_cond_init(&p->sleepers);
    rondo_cond_init(&p->changed);
    rondo_cond_init(&p->watch);
}

enum rondo_err rondo_thread_pool_new(rondo_runtime *rt, const struct rondo_pool_options *o,
                                     rondo_pool **out) {
    struct rondo_pool_limits limits;
    (void)rt;
    enum rondo_err err = rondo_pool_limits(o, &limits);
    if (err) return err;
    unsigned n_slots = limits.max + limits.max_stuck;
    struct thread_pool *p = rondo_zalloc(sizeof *p + n_slots * sizeof p->slots[0]);
    if (!p) return RONDO_ERR_NOMEM;
    p->limits = limits;
    p->n_slots = n_slots;
    p->name = rondo_strdup(o->name ? o->name : "rondo-pool");
    if (!p->name) {
        rondo_free(p);
        return RONDO_ERR_NOMEM;
    }
    init(p, o);
    err = start_first(p);
    if (err) {
        pool_free(&p->base);
        return err;
    }
    p->free_arg = o->free_arg; /* ours only now */
    *out = &p->base;
    return RONDO_OK;
}
