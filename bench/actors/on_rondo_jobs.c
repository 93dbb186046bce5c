/* SPDX-License-Identifier: MIT */
/*
 * Fan-in, spawn and latency.  Whoever has a lot to send does so in turns of a
 * bounded length, and asks itself for the next one.
 */
#include "on_rondo.h"

#include <stdlib.h>

enum { MSG_GO = 1, MSG_ITEM };

/* ---------------------------------------------------------------- fan-in --- */

struct item {
    struct rondo_msg head;
    uint32_t producer;
    bool is_last;
    uint64_t number;
};

struct fan_in {
    struct on_rondo_end end;
    rondo_actor *consumer;
    uint64_t share;
    enum bench_fault fault;
    bool is_bounded;
    uint64_t taken[BENCH_PRODUCERS], n_taken; /* the consumer's */
    bool is_out_of_order;
};

struct producer {
    struct fan_in *fan_in;
    uint32_t index;
    uint64_t sent;
    struct item *refused; /* waits for the next turn */
};

static struct item *make_item(struct producer *p) {
    struct fan_in *f = p->fan_in;
    bool is_victim = p->index == 3 && p->sent == f->share / 2;
    struct item *m = bench_need(rondo_msg_new(MSG_ITEM, sizeof *m));
    m->producer = p->index;
    m->number = p->sent++;
    m->is_last = p->sent == f->share;
    if (is_victim && f->fault == BENCH_DOUBLE) m->number--;
    if (is_victim && f->fault == BENCH_LOSE) {
        rondo_msg_free(m);
        m = NULL;
    }
    return m;
}

/* False: the consumer's mailbox is full. */
static bool send_next(struct producer *p) {
    struct fan_in *f = p->fan_in;
    struct item *m = p->refused ? p->refused : make_item(p);
    p->refused = NULL;
    if (m && !f->is_bounded) rondo_send(f->consumer, m);
    if (m && f->is_bounded && rondo_try_send(f->consumer, m) != RONDO_OK) p->refused = m;
    return !p->refused;
}

static void on_go(rondo_actor *self, void *state, struct rondo_msg *go) {
    struct producer *p = state;
    uint64_t share = p->fan_in->share;
    bool is_full = false;
    for (int i = 0; i < BENCH_CHUNK && (p->refused || p->sent < share) && !is_full; i++)
        is_full = !send_next(p);
    if (p->refused || p->sent < share)
        rondo_send(self, go);
    else
        rondo_msg_free(go);
}

static void on_item(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct fan_in *f = state;
    struct item *item = (struct item *)m;
    (void)self;
    if (item->number != f->taken[item->producer]++) f->is_out_of_order = true;
    f->n_taken++;
    bool is_last = item->is_last;
    rondo_msg_free(m);
    if (is_last) on_rondo_done(&f->end);
}

const char *on_rondo_fan_in(const struct bench_run *run, struct bench_result *out) {
    struct fan_in f = {
        .fault = run->fault, .share = bench_share(run), .is_bounded = run->job->is_bounded};
    struct producer producers[BENCH_PRODUCERS] = {0};
    rondo_actor *actors[BENCH_PRODUCERS];
    unsigned others = run->workers > 1 ? run->workers - 1 : 1;
    f.end.rt = on_rondo_start(run->workers);
    f.end.left = BENCH_PRODUCERS;
    f.consumer = on_rondo_spawn_one(f.end.rt, on_item, &f, 1, f.is_bounded ? BENCH_BOUND : 0);
    for (uint32_t i = 0; i < BENCH_PRODUCERS; i++) {
        producers[i] = (struct producer){.fan_in = &f, .index = i};
        /* On the workers that are not the consumer's, if there are any. */
        unsigned pin = (run->workers > 1 ? 2 : 1) + i % others;
        actors[i] = on_rondo_spawn_one(f.end.rt, on_go, &producers[i], pin, 0);
    }

    uint64_t start_ns = bench_now_ns();
    for (int i = 0; i < BENCH_PRODUCERS; i++)
        rondo_send(actors[i], bench_need(rondo_msg_new(MSG_GO, sizeof(struct rondo_msg))));
    out->elapsed_ns = on_rondo_wait(&f.end) - start_ns;
    out->messages = f.share * BENCH_PRODUCERS;

    rondo_runtime_free(f.end.rt);
    for (int i = 0; i < BENCH_PRODUCERS; i++) rondo_actor_unref(actors[i]);
    rondo_actor_unref(f.consumer);
    if (f.is_out_of_order) return "a message is missing, doubled or out of order";
    return f.n_taken == out->messages ? NULL : "the consumer counted wrong";
}

/* ---------------------------------------------------------------- spawn --- */

struct spawner;

/* State of a spawned actor; made beforehand and not counted as its memory. */
struct slot {
    struct spawner *spawner;
    uint64_t count;
};

struct spawner {
    struct on_rondo_end end;
    struct slot *slots;
    uint64_t n, spawned;
};

static void on_first(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct slot *slot = state;
    (void)self;
    slot->count++;
    rondo_msg_free(m);
    on_rondo_done(&slot->spawner->end);
}

static void on_spawn(rondo_actor *self, void *state, struct rondo_msg *go) {
    struct spawner *s = state;
    for (int i = 0; i < BENCH_CHUNK && s->spawned < s->n; i++) {
        rondo_actor *a = on_rondo_spawn_one(s->end.rt, on_first, &s->slots[s->spawned++], 0, 0);
        rondo_send(a, bench_need(rondo_msg_new(MSG_ITEM, sizeof(struct rondo_msg))));
        rondo_actor_unref(a);
    }
    if (s->spawned < s->n)
        rondo_send(self, go);
    else
        rondo_msg_free(go);
}

const char *on_rondo_spawn(const struct bench_run *run, struct bench_result *out) {
    struct spawner s = {.n = run->scale};
    s.slots = bench_need(calloc(s.n, sizeof *s.slots));
    for (uint64_t i = 0; i < s.n; i++) s.slots[i].spawner = &s;
    s.end.rt = on_rondo_start(run->workers);
    s.end.left = s.n;
    rondo_actor *root = on_rondo_spawn_one(s.end.rt, on_spawn, &s, 0, 0);

    uint64_t before = bench_resident_bytes(), start_ns = bench_now_ns();
    rondo_send(root, bench_need(rondo_msg_new(MSG_GO, sizeof(struct rondo_msg))));
    out->elapsed_ns = on_rondo_wait(&s.end) - start_ns;
    out->messages = s.n;
    out->bytes_per_actor = (double)(bench_resident_bytes() - before) / (double)s.n;

    rondo_runtime_free(s.end.rt);
    rondo_actor_unref(root);
    const char *wrong = NULL;
    for (uint64_t i = 0; i < s.n; i++)
        if (s.slots[i].count != 1) wrong = "an actor counted wrong";
    free(s.slots);
    return wrong;
}

/* -------------------------------------------------------------- latency --- */

struct timed {
    struct rondo_msg head;
    uint64_t index, due_ns;
};

struct latency {
    struct on_rondo_end end;
    rondo_actor *actors[BENCH_RECEIVERS];
    uint64_t *latency_ns;
    uint64_t steps;
};

struct receiver {
    struct latency *latency;
    uint64_t work;
};

static void on_timed(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct receiver *r = state;
    struct latency *l = r->latency;
    struct timed *t = (struct timed *)m;
    (void)self;
    r->work = bench_work(r->work + 1, l->steps);
    l->latency_ns[t->index] += bench_now_ns() - t->due_ns;
    rondo_msg_free(m);
    on_rondo_done(&l->end);
}

static void send_timed(void *arg, uint64_t i, uint64_t due_ns) {
    struct latency *l = arg;
    struct timed *t = bench_need(rondo_msg_new(MSG_ITEM, sizeof *t));
    t->index = i;
    t->due_ns = due_ns;
    rondo_send(l->actors[i % BENCH_RECEIVERS], t);
}

const char *on_rondo_latency(const struct bench_run *run, struct bench_result *out) {
    uint64_t n = run->scale;
    struct latency l = {.steps = bench_work_steps(run->job->work_ns)};
    struct receiver receivers[BENCH_RECEIVERS] = {0};
    l.latency_ns = bench_need(calloc(n, sizeof *l.latency_ns));
    l.end.rt = on_rondo_start(run->workers);
    l.end.left = n;
    for (int i = 0; i < BENCH_RECEIVERS; i++) {
        receivers[i].latency = &l;
        l.actors[i] = on_rondo_spawn_one(l.end.rt, on_timed, &receivers[i], 0, 0);
    }
    uint64_t start_ns = bench_now_ns();
    bench_generate(n, run->job->work_ns, run->workers, send_timed, &l);
    out->elapsed_ns = on_rondo_wait(&l.end) - start_ns;
    out->messages = n;
    rondo_runtime_free(l.end.rt);
    for (int i = 0; i < BENCH_RECEIVERS; i++) rondo_actor_unref(l.actors[i]);
    const char *wrong = bench_percentiles(l.latency_ns, n, out);
    free(l.latency_ns);
    return wrong;
}
