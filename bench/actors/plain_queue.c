/* SPDX-License-Identifier: MIT */
/*
 * The jobs with a queue of many producers and one consumer: fan-in and latency.
 * One exchange a message; the newest message taken stays in the queue as its
 * stub, so a message is the producer's again once a later one was taken.
 */
#include "plain.h"

#include "base/atomic.h"
#include "base/sync.h"
#include <stdlib.h>

struct item {
    struct item *link; /* atomic */
    uint32_t producer;
    bool is_last;
    uint64_t value; /* fan-in: number in its producer's sequence; latency: of the message */
    uint64_t due_ns;
};

struct queue {
    struct item *newest; /* atomic */
    char spare[BENCH_LINE - sizeof(struct item *)];
    struct item *stub; /* consumer only */
    struct item first_stub;
};

static void queue_init(struct queue *q) {
    q->first_stub.link = NULL;
    q->newest = q->stub = &q->first_stub;
}

static void queue_push(struct queue *q, struct item *m) {
    rondo_store_relaxed(&m->link, NULL);
    struct item *prev = rondo_exchange_acq_rel(&q->newest, m); /* pairs with other producers */
    rondo_store_release(&prev->link, m);                       /* pairs with queue_take */
}

static struct item *queue_take(struct queue *q) {
    struct item *m = rondo_load_acquire(&q->stub->link); /* pairs with queue_push */
    if (m) q->stub = m;
    return m;
}

/* --------------------------------------------------------------- fan-in --- */

struct producer {
    struct item items[BENCH_BOUND];
    uint64_t sent, may_send, share;
    uint64_t taken; /* atomic: the consumer's progress, published now and then */
    char spare[BENCH_LINE];
};

struct fan_in {
    struct queue queue;
    struct producer *producers;
    enum bench_fault fault;
    unsigned workers, lasts;
    uint64_t taken[BENCH_PRODUCERS], n_taken; /* consumer only */
    bool is_out_of_order;
};

/* Sends up to `max` messages of one producer; false: its window is full. */
static bool produce(struct fan_in *f, uint32_t index, uint64_t max) {
    struct producer *p = &f->producers[index];
    for (; max > 0 && p->sent < p->share; max--) {
        if (p->sent == p->may_send) {
            p->may_send = rondo_load_acquire(&p->taken) + BENCH_BOUND - 2; /* pairs with consume */
            if (p->sent >= p->may_send) return false;
        }
        struct item *m = &p->items[p->sent % BENCH_BOUND];
        m->producer = index;
        m->value = p->sent++;
        m->is_last = p->sent == p->share;
        bool is_victim = index == 3 && m->value == p->share / 2;
        if (is_victim && f->fault == BENCH_LOSE) continue;
        if (is_victim && f->fault == BENCH_DOUBLE) m->value--;
        queue_push(&f->queue, m);
    }
    return true;
}

/* Takes what is there; false: there was nothing. */
static bool consume(struct fan_in *f) {
    struct item *m = queue_take(&f->queue);
    if (!m) return false;
    for (; m; m = queue_take(&f->queue)) {
        uint64_t *taken = &f->taken[m->producer];
        if (m->value != *taken) f->is_out_of_order = true;
        f->n_taken++;
        f->lasts += m->is_last;
        if (++*taken % 64 == 0)
            rondo_store_release(&f->producers[m->producer].taken, *taken); /* with produce */
    }
    return true;
}

static bool is_sent(const struct fan_in *f) {
    for (int i = 0; i < BENCH_PRODUCERS; i++)
        if (f->producers[i].sent < f->producers[i].share) return false;
    return true;
}

static void produce_all(void *arg) {
    struct fan_in *f = arg;
    if (f->workers > 1) bench_pin(1);
    for (unsigned spins = 0; !is_sent(f);) {
        bool is_full = false;
        for (uint32_t i = 0; i < BENCH_PRODUCERS; i++)
            if (!produce(f, i, BENCH_CHUNK)) is_full = true;
        if (f->workers == 1)
            while (consume(f)) continue;
        else if (is_full)
            bench_back_off(&spins);
    }
}

static void consume_all(void *arg) {
    struct fan_in *f = arg;
    bench_pin(0);
    for (unsigned spins = 0; f->lasts < BENCH_PRODUCERS;)
        if (!consume(f)) bench_back_off(&spins);
}

static void run_threads(struct fan_in *f) {
    struct rondo_thread consumer, producer;
    if (rondo_thread_start(&consumer, "consumer", consume_all, f) ||
        rondo_thread_start(&producer, "producer", produce_all, f))
        exit(2);
    rondo_thread_join(&producer);
    rondo_thread_join(&consumer);
}

const char *plain_fan_in(const struct bench_run *run, struct bench_result *out) {
    /* Bounded in J5, too: a message that was taken is used again. */
    struct fan_in f = {.fault = run->fault, .workers = run->workers};
    queue_init(&f.queue);
    f.producers = bench_need(calloc(BENCH_PRODUCERS, sizeof *f.producers));
    uint64_t share = bench_share(run);
    for (int i = 0; i < BENCH_PRODUCERS; i++) f.producers[i].share = share;

    uint64_t start_ns = bench_now_ns();
    if (run->workers == 1)
        produce_all(&f);
    else
        run_threads(&f);
    out->elapsed_ns = bench_now_ns() - start_ns;

    out->messages = share * BENCH_PRODUCERS;
    free(f.producers);
    if (f.is_out_of_order) return "a message is missing, doubled or out of order";
    return f.n_taken == out->messages ? NULL : "the consumer counted wrong";
}

/* -------------------------------------------------------------- latency --- */

struct receiver {
    struct latency *latency;
    struct queue queue;
    struct rondo_thread thread;
    uint64_t work;
};

struct latency {
    struct receiver *receivers;
    struct item *items;
    uint64_t *latency_ns;
    uint64_t n, steps;
    unsigned workers;
};

static void receive_all(void *arg) {
    struct receiver *r = arg;
    struct latency *l = r->latency;
    for (unsigned spins = 0;;) {
        struct item *m = queue_take(&r->queue);
        if (!m) {
            bench_back_off(&spins);
            continue;
        }
        r->work = bench_work(r->work + 1, l->steps);
        l->latency_ns[m->value] += bench_now_ns() - m->due_ns;
        if (m->is_last) return;
    }
}

static void send_item(void *arg, uint64_t i, uint64_t due_ns) {
    struct latency *l = arg;
    l->items[i].value = i;
    l->items[i].due_ns = due_ns;
    l->items[i].is_last = i + l->workers >= l->n;
    queue_push(&l->receivers[i % l->workers].queue, &l->items[i]);
}

const char *plain_latency(const struct bench_run *run, struct bench_result *out) {
    struct latency l = {.workers = run->workers, .n = run->scale < 2 ? 2 : run->scale};
    l.steps = bench_work_steps(run->job->work_ns);
    l.items = bench_need(calloc(l.n, sizeof *l.items));
    l.latency_ns = bench_need(calloc(l.n, sizeof *l.latency_ns));
    l.receivers = bench_need(calloc(l.workers, sizeof *l.receivers));
    for (unsigned i = 0; i < l.workers; i++) {
        struct receiver *r = &l.receivers[i];
        r->latency = &l;
        queue_init(&r->queue);
        if (rondo_thread_start(&r->thread, "receiver", receive_all, r)) exit(2);
    }
    uint64_t start_ns = bench_now_ns();
    bench_generate(l.n, run->job->work_ns, l.workers, send_item, &l);
    for (unsigned i = 0; i < l.workers; i++) rondo_thread_join(&l.receivers[i].thread);
    out->elapsed_ns = bench_now_ns() - start_ns;
    out->messages = l.n;
    const char *wrong = bench_percentiles(l.latency_ns, l.n, out);
    free(l.receivers);
    free(l.latency_ns);
    free(l.items);
    return wrong;
}
