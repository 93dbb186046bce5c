/* SPDX-License-Identifier: MIT */
#include "cache/loader.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sync.h"
#include "cache/breaker.h"
#include "cache/call.h"
#include "cache/times.h"

enum { AUTO_THREADS_MAX = 16 };

struct rondo_loader {
    /* const after init */
    rondo_runtime *rt;
    struct rondo_loader_options opt;
    struct rondo_call_options call_opt;
    rondo_pool *pool;
    size_t batch;
    unsigned max_jobs; /* not counting those that are stuck */
    unsigned max_stuck;

    uint32_t admitted;            /* atomic: places taken in the queue */
    bool is_closed;               /* atomic: set once */
    struct rondo_breaker breaker; /* noted under mu */

    struct rondo_mutex mu;
    /* guarded by mu */
    struct rondo_list queue;
    struct rondo_list background; /* loads that nobody waits for, behind the queue */
    struct rondo_list idle_calls;
    struct rondo_list inside_calls; /* with the source, which can be told to cancel */
    size_t n_queue;                 /* both */
    unsigned jobs;                  /* calls that the pool has */
    unsigned starting;              /* of them, those whose job has not begun */
    unsigned busy;
    unsigned stuck; /* calls beyond their time */
    uint64_t loads, calls, ignored;
    struct rondo_times times;
};

/* What a pool thread keeps: its connection. */
struct thread {
    void *connection;
    bool is_connected;
};

static void *thread_start(void *arg) {
    (void)arg;
    return rondo_zalloc(sizeof(struct thread));
}

static void disconnect(struct rondo_loader *l, struct thread *t) {
    const struct rondo_source_ops *ops = l->opt.source.ops;
    if (t->is_connected && ops->connect && ops->disconnect) ops->disconnect(t->connection);
    t->is_connected = false;
}

static void thread_stop(void *arg, void *thread) {
    if (thread) disconnect(arg, thread);
    rondo_free(thread);
}

static enum rondo_err connect(struct rondo_loader *l, struct thread *t,
                              struct rondo_source_error *why) {
    const struct rondo_source *source = &l->opt.source;
    if (t->is_connected) return RONDO_OK;
    t->connection = source->self;
    if (source->ops->connect) {
        enum rondo_err err = source->ops->connect(source->self, why, &t->connection);
        if (err) return err;
    }
    t->is_connected = true;
    return RONDO_OK;
}

/* ------------------------------------------------------------ one job --- */

/* The call that this thread is inside of: a source that calls back is known by it. */
static _Thread_local const struct rondo_call *inside;

static const char breaker_text[] = "the source failed too often; it is asked again soon";

/* The next flights of the queue; a write, and one that is asked again, goes alone. */
static size_t take(struct rondo_loader *l, struct rondo_call *call) {
    size_t n = 0;
    rondo_mutex_lock(&l->mu);
    l->starting--;
    l->busy++;
    while (n < l->batch && l->n_queue > 0) {
        struct rondo_list *list = rondo_list_is_empty(&l->queue) ? &l->background : &l->queue;
        struct rondo_flight *f = RONDO_LIST_ENTRY(list->next, struct rondo_flight, queue);
        bool is_alone = f->is_retry || f->kind != RONDO_FLIGHT_LOAD;
        if (is_alone && n > 0) break;
        rondo_list_remove(&f->queue);
        l->n_queue--;
        call->flights[n++] = f;
        if (is_alone) break;
    }
    rondo_mutex_unlock(&l->mu);
    if (n) rondo_sub_relaxed(&l->admitted, (uint32_t)n); /* partner: rondo_loader_admit */
    return n;
}

/* Drops those that the host takes back. */
static size_t start(struct rondo_loader *l, struct rondo_call *call, size_t n) {
    size_t kept = 0;
    uint64_t now_ns = rondo_runtime_now_ns(l->rt);
    for (size_t i = 0; i < n; i++)
        if (l->opt.host->start(l->opt.host_arg, call->flights[i], now_ns))
            call->flights[kept++] = call->flights[i];
    return kept;
}

/* Loaded, computed and stored in one call, so that nothing comes between: the
 * key's other writes and loads wait until it has landed. */
static void update(struct rondo_loader *l, struct rondo_call *call, void *connection) {
    const struct rondo_source_ops *ops = l->opt.source.ops;
    struct rondo_flight *f = call->flights[0];
    struct rondo_landing end = {.outcome = RONDO_FAILED};
    enum rondo_update_step next = l->opt.host->compute(l->opt.host_arg, f, NULL, &end);
    if (next == RONDO_UPDATE_LOAD) {
        ops->load(connection, &call->load);
        struct rondo_landing loaded = rondo_call_landing(call, 0);
        if (loaded.outcome == RONDO_FAILED) {
            rondo_call_answer(call, 0, &loaded);
            return;
        }
        next = l->opt.host->compute(l->opt.host_arg, f, &loaded, &end);
        RONDO_CHECK(next != RONDO_UPDATE_LOAD);
        rondo_landing_release(&loaded);
    }
    if (next == RONDO_UPDATE_WRITE)
        rondo_call_write(call, ops, connection);
    else
        rondo_call_answer(call, 0, &end);
}

/* While the call is listed as inside, its connection is there to be cancelled. */
static void ask(struct rondo_loader *l, struct rondo_call *call, void *connection) {
    const struct rondo_call *outer = inside;
    inside = call;
    rondo_mutex_lock(&l->mu);
    call->connection = connection;
    rondo_list_push_back(&l->inside_calls, &call->idle);
    rondo_mutex_unlock(&l->mu);
    if (call->flights[0]->kind == RONDO_FLIGHT_LOAD)
        l->opt.source.ops->load(connection, &call->load);
    else if (call->flights[0]->kind == RONDO_FLIGHT_UPDATE)
        update(l, call, connection);
    else
        rondo_call_write(call, l->opt.source.ops, connection);
    rondo_mutex_lock(&l->mu);
    rondo_list_remove(&call->idle);
    rondo_mutex_unlock(&l->mu);
    inside = outer;
}

void rondo_loader_cancel(struct rondo_loader *l, const struct rondo_flight *f) {
    if (!l->opt.source.ops->cancel) return;
    rondo_mutex_lock(&l->mu);
    RONDO_LIST_FOREACH(&l->inside_calls, node) {
        struct rondo_call *call = RONDO_LIST_ENTRY(node, struct rondo_call, idle);
        for (size_t i = 0; i < call->n; i++)
            /* One that has landed may have left its address to another. */
            if (call->flights[i] == f && rondo_load_relaxed(&f->is_late)) /* partner: move */
                l->opt.source.ops->cancel(call->connection);
    }
    rondo_mutex_unlock(&l->mu);
}

static void call_run(struct rondo_job *job, void *thread) {
    struct rondo_call *call = rondo_call_of_job(job);
    struct rondo_loader *l = call->arg;
    call->has_run = true;
    call->n = start(l, call, take(l, call));
    if (call->n == 0) return;
    rondo_call_prepare(call);
    call->begun_ns = rondo_runtime_now_ns(l->rt);
    call->was_made = rondo_breaker_passes(&l->breaker, call->begun_ns);
    if (!call->was_made) {
        rondo_call_fail(call, RONDO_ERR_CONNECT, breaker_text);
        return;
    }
    struct thread once = {0}; /* there was no memory for the thread's own */
    struct thread *t = thread ? thread : &once;
    struct rondo_source_error why = {""};
    enum rondo_err err = connect(l, t, &why);
    if (err) {
        rondo_call_fail(call, err, why.text[0] ? why.text : rondo_err_text(err));
        return;
    }
    ask(l, call, t->connection);
    if (call->is_broken || t == &once) disconnect(l, t);
}

/* A whole batch that failed for a reason of its own is asked again key by key:
 * one bad key must not take its neighbours along. */
static bool is_retried(const struct rondo_call *call) {
    return call->n > 1 && call->failed == RONDO_ERR_LOAD;
}

static void land_all(struct rondo_loader *l, struct rondo_call *call, struct rondo_list *again) {
    for (size_t i = 0; i < call->n; i++) {
        struct rondo_flight *f = call->flights[i];
        if (is_retried(call) && l->opt.host->retry(l->opt.host_arg, f)) {
            f->is_retry = true;
            rondo_list_push_back(again, &f->queue);
            continue;
        }
        struct rondo_landing landing = rondo_call_landing(call, i);
        l->opt.host->land(l->opt.host_arg, f, &landing);
    }
}

/* Counts a call that was made and tells the breaker how it ended. */
static void count_call(struct rondo_loader *l, const struct rondo_call *call) {
    bool failed = call->failed != RONDO_OK, has_turned = false;
    uint64_t now_ns = rondo_runtime_now_ns(l->rt);
    rondo_mutex_lock(&l->mu);
    l->ignored += call->ignored;
    if (call->was_made) {
        l->calls++;
        if (call->flights[0]->kind == RONDO_FLIGHT_LOAD) {
            l->loads += call->n;
            rondo_times_note(&l->times, call->begun_ns, now_ns);
        }
        has_turned = rondo_breaker_note(&l->breaker, failed, now_ns);
    }
    rondo_mutex_unlock(&l->mu);
    if (has_turned)
        rondo_log(RONDO_LOG_WARN, "cache %s: the breaker %s", l->opt.name,
                  failed ? "opens: the source failed too often" : "closes: the source answers");
}

static void enqueue(struct rondo_loader *l, struct rondo_list *flights);
static void start_calls(struct rondo_loader *l);

/* The pool lets another thread take the place of this one; when it has let all
 * that it may, a source that swallows threads is left alone for a while. */
static void call_late(struct rondo_job *job) {
    struct rondo_call *call = rondo_call_of_job(job);
    struct rondo_loader *l = call->arg;
    rondo_mutex_lock(&l->mu);
    call->is_stuck = true;
    unsigned stuck = ++l->stuck;
    bool is_over =
        stuck >= l->max_stuck && rondo_breaker_trip(&l->breaker, rondo_runtime_now_ns(l->rt));
    rondo_mutex_unlock(&l->mu);
    if (is_over)
        rondo_log(RONDO_LOG_WARN, "cache %s: the breaker opens: too many threads are stuck",
                  l->opt.name);
    start_calls(l);
}

static void call_done(struct rondo_job *job, enum rondo_err err) {
    (void)err; /* a job that never ran took no flight; those of a closed loader land in close */
    struct rondo_call *call = rondo_call_of_job(job);
    struct rondo_loader *l = call->arg;
    struct rondo_list again;
    rondo_list_init(&again);
    /* Before the answers go out: who has one and reads the counts finds its load. */
    count_call(l, call);
    land_all(l, call, &again);

    rondo_mutex_lock(&l->mu);
    if (call->has_run)
        l->busy--;
    else
        l->starting--;
    l->stuck -= call->is_stuck;
    rondo_call_reset(call);
    l->jobs--;
    rondo_list_push_back(&l->idle_calls, &call->idle);
    rondo_mutex_unlock(&l->mu);
    enqueue(l, &again);
}

/* ---------------------------------------------------------------- queue --- */

static unsigned jobs_max(const struct rondo_loader *l) {
    return l->max_jobs + (l->stuck < l->max_stuck ? l->stuck : l->max_stuck);
}

/* A call for the pool, if one is wanted: counted as starting.  One call has been
 * there since the beginning, so flights never wait for memory alone. */
static struct rondo_call *next_call(struct rondo_loader *l) {
    struct rondo_call *call = NULL;
    rondo_mutex_lock(&l->mu);
    /* A job that waits for a thread will take up to `batch` flights along. */
    bool is_wanted = l->jobs < jobs_max(l) && l->n_queue > (size_t)l->starting * l->batch;
    if (is_wanted) {
        struct rondo_list *node = rondo_list_pop_front(&l->idle_calls);
        call =
            node ? RONDO_LIST_ENTRY(node, struct rondo_call, idle) : rondo_call_new(&l->call_opt);
    }
    if (call) {
        l->jobs++;
        l->starting++;
    }
    rondo_mutex_unlock(&l->mu);
    return call;
}

bool rondo_loader_is_inside(const struct rondo_loader *l) {
    return inside && inside->arg == l;
}

bool rondo_loader_asks_for(const struct rondo_loader *l, uint64_t hash,
                           const struct rondo_key *key) {
    if (!rondo_loader_is_inside(l)) return false;
    for (size_t i = 0; i < inside->n; i++)
        if (rondo_flight_is_of(inside->flights[i], hash, key)) return true;
    return false;
}

bool rondo_loader_help(struct rondo_loader *l) {
    struct rondo_call *call = NULL;
    rondo_mutex_lock(&l->mu);
    if (l->n_queue > 0) {
        struct rondo_list *node = rondo_list_pop_front(&l->idle_calls);
        call =
            node ? RONDO_LIST_ENTRY(node, struct rondo_call, idle) : rondo_call_new(&l->call_opt);
    }
    if (call) {
        l->jobs++;
        l->starting++;
    }
    rondo_mutex_unlock(&l->mu);
    if (!call) return false;
    call_run(&call->job, NULL);
    call_done(&call->job, RONDO_OK);
    return true;
}

static void put_back(struct rondo_loader *l, struct rondo_call *call) {
    rondo_mutex_lock(&l->mu);
    l->jobs--;
    l->starting--;
    rondo_list_push_back(&l->idle_calls, &call->idle);
    rondo_mutex_unlock(&l->mu);
}

static void land_queue_closed(struct rondo_loader *l) {
    struct rondo_list rest;
    rondo_list_init(&rest);
    rondo_mutex_lock(&l->mu);
    rondo_list_splice_back(&rest, &l->queue);
    rondo_list_splice_back(&rest, &l->background);
    l->n_queue = 0;
    rondo_mutex_unlock(&l->mu);
    struct rondo_list *node;
    while ((node = rondo_list_pop_front(&rest)) != NULL) {
        struct rondo_flight *f = RONDO_LIST_ENTRY(node, struct rondo_flight, queue);
        rondo_sub_relaxed(&l->admitted, 1); /* partner: rondo_loader_admit */
        struct rondo_landing closed = rondo_loader_failure(l, RONDO_ERR_CLOSED, "is closed");
        l->opt.host->land(l->opt.host_arg, f, &closed);
    }
}

static void start_calls(struct rondo_loader *l) {
    struct rondo_call *call;
    while ((call = next_call(l)) != NULL) {
        if (rondo_pool_submit(l->pool, &call->job) == RONDO_OK) continue;
        put_back(l, call);
        break;
    }
    /* Partner: rondo_loader_close.  Either this sees the flag, or close sees the
     * flights: both look under mu after their own change. */
    if (rondo_load_acquire(&l->is_closed)) land_queue_closed(l);
}

/* Flights to be asked again come first: they have waited already. */
static void enqueue(struct rondo_loader *l, struct rondo_list *flights) {
    size_t n = 0;
    RONDO_LIST_FOREACH(flights, node) n++;
    rondo_add_relaxed(&l->admitted, (uint32_t)n); /* partner: take */
    rondo_mutex_lock(&l->mu);
    rondo_list_splice_back(flights, &l->queue);
    rondo_list_splice_back(&l->queue, flights);
    l->n_queue += n;
    rondo_mutex_unlock(&l->mu);
    start_calls(l);
}

void rondo_loader_submit(struct rondo_loader *l, struct rondo_list *flights) {
    struct rondo_list *node;
    rondo_mutex_lock(&l->mu);
    while ((node = rondo_list_pop_front(flights)) != NULL) {
        struct rondo_flight *f = RONDO_LIST_ENTRY(node, struct rondo_flight, queue);
        rondo_list_push_back(f->is_background ? &l->background : &l->queue, node);
        l->n_queue++;
    }
    rondo_mutex_unlock(&l->mu);
    start_calls(l);
}

void rondo_loader_promote(struct rondo_loader *l, const struct rondo_flight *f) {
    rondo_mutex_lock(&l->mu);
    RONDO_LIST_FOREACH(&l->background, node) {
        if (RONDO_LIST_ENTRY(node, struct rondo_flight, queue) != f) continue;
        rondo_list_remove(node);
        rondo_list_push_back(&l->queue, node);
        break;
    }
    rondo_mutex_unlock(&l->mu);
}

enum rondo_err rondo_loader_admit(struct rondo_loader *l, uint32_t n, uint64_t now_ns) {
    if (rondo_load_acquire(&l->is_closed)) return RONDO_ERR_CLOSED; /* partner: close */
    if (!rondo_breaker_admits(&l->breaker, now_ns)) return RONDO_ERR_CONNECT;
    /* Relaxed: a bound, not a hand-over; partners are take and the like. */
    uint32_t now = rondo_add_relaxed(&l->admitted, n) + n;
    if (now <= l->opt.queue) return RONDO_OK;
    rondo_sub_relaxed(&l->admitted, n);
    return RONDO_ERR_FULL;
}

void rondo_loader_admit_always(struct rondo_loader *l, uint32_t n) {
    rondo_add_relaxed(&l->admitted, n); /* partner: take */
}

void rondo_loader_give_back(struct rondo_loader *l, uint32_t n) {
    rondo_sub_relaxed(&l->admitted, n); /* partner: rondo_loader_admit */
}

struct rondo_landing rondo_loader_failure(const struct rondo_loader *l, enum rondo_err err,
                                          const char *text) {
    return rondo_landing_failure(l->opt.name, err, text);
}

/* --------------------------------------------------------- life --- */

static unsigned threads_max(const struct rondo_threads *threads) {
    switch (threads->kind) {
    case RONDO_THREADS_AUTO:
        return AUTO_THREADS_MAX;
    case RONDO_THREADS_FIXED:
    case RONDO_THREADS_RANGE:
        return threads->max;
    case RONDO_THREADS_NONE:
        break;
    }
    return 1;
}

static size_t batch_of(const struct rondo_loader_options *o) {
    size_t n = o->source.ops->batch ? o->source.ops->batch(o->source.self) : 1;
    if (n > o->batch) n = o->batch;
    return n ? n : 1;
}

static void free_calls(struct rondo_loader *l) {
    struct rondo_list *node;
    while ((node = rondo_list_pop_front(&l->idle_calls)) != NULL)
        rondo_call_free(RONDO_LIST_ENTRY(node, struct rondo_call, idle));
}

static void init(struct rondo_loader *l, rondo_runtime *rt, const struct rondo_loader_options *o) {
    l->rt = rt;
    l->opt = *o;
    l->batch = batch_of(o);
    l->max_jobs = threads_max(&o->threads);
    l->max_stuck = o->max_stuck ? o->max_stuck : l->max_jobs;
    l->call_opt = (struct rondo_call_options){.name = o->name,
                                              .pattern = o->pattern,
                                              .batch = l->batch,
                                              .timeout_ns = o->load_timeout_ns,
                                              .max_value_bytes = o->max_value_bytes,
                                              .run = call_run,
                                              .done = call_done,
                                              .late = call_late,
                                              .arg = l};
    rondo_breaker_init(&l->breaker, o->breaker_failures, o->breaker_probe_ns);
    rondo_mutex_init(&l->mu);
    rondo_list_init(&l->queue);
    rondo_list_init(&l->background);
    rondo_list_init(&l->idle_calls);
    rondo_list_init(&l->inside_calls);
}

enum rondo_err rondo_loader_new(rondo_runtime *rt, const struct rondo_loader_options *options,
                                struct rondo_loader **out) {
    struct rondo_loader *l = rondo_zalloc(sizeof *l);
    if (!l) return RONDO_ERR_NOMEM;
    init(l, rt, options);
    enum rondo_err err = RONDO_ERR_NOMEM;
    struct rondo_call *first = rondo_call_new(&l->call_opt);
    if (!first) goto err_loader;
    rondo_list_push_back(&l->idle_calls, &first->idle);

    struct rondo_pool_options pool = {.size = sizeof pool,
                                      .name = options->name,
                                      .threads = options->threads,
                                      .queue = l->max_jobs + l->max_stuck,
                                      .max_stuck = l->max_stuck,
                                      .thread_start = thread_start,
                                      .thread_stop = thread_stop,
                                      .arg = l};
    err = rondo_pool_new(rt, &pool, &l->pool);
    if (err) goto err_calls;
    *out = l;
    return RONDO_OK;

err_calls:
    free_calls(l);
err_loader:
    rondo_mutex_fini(&l->mu);
    rondo_free(l);
    return err;
}

void rondo_loader_close(struct rondo_loader *l) {
    rondo_store_release(&l->is_closed, true); /* partner: admit, start_calls */
    land_queue_closed(l);
    rondo_pool_free(l->pool);
    l->pool = NULL;
    land_queue_closed(l);
}

void rondo_loader_free(struct rondo_loader *l) {
    if (!l) return;
    RONDO_CHECK(!l->pool && l->jobs == 0 && l->n_queue == 0);
    free_calls(l);
    if (l->opt.source.ops->close) l->opt.source.ops->close(l->opt.source.self);
    rondo_mutex_fini(&l->mu);
    rondo_free(l);
}

void rondo_loader_times(struct rondo_loader *l, struct rondo_times *sum) {
    rondo_mutex_lock(&l->mu);
    rondo_times_merge(sum, &l->times);
    rondo_mutex_unlock(&l->mu);
}

void rondo_loader_stats(struct rondo_loader *l, struct rondo_loader_stats *out) {
    struct rondo_pool_stats pool = {0};
    if (l->pool) rondo_pool_stats(l->pool, &pool);
    rondo_mutex_lock(&l->mu);
    *out = (struct rondo_loader_stats){.loads = l->loads,
                                       .calls = l->calls,
                                       .answers_ignored = l->ignored,
                                       .queued = l->n_queue,
                                       .threads = pool.threads,
                                       .busy = l->busy,
                                       .stuck = l->stuck,
                                       .breaker_open = rondo_breaker_is_open(&l->breaker)};
    rondo_mutex_unlock(&l->mu);
}
