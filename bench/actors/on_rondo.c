/* SPDX-License-Identifier: MIT */
#include "on_rondo.h"

#include "base/atomic.h"
#include <stdio.h>
#include <stdlib.h>

static void need(enum rondo_err err) {
    if (err == RONDO_OK) return;
    fprintf(stderr, "rondo: %s\n", rondo_err_text(err));
    exit(2);
}

rondo_runtime *on_rondo_start(unsigned workers) {
    rondo_runtime *rt = NULL;
    struct rondo_runtime_options o = {.size = sizeof o,
                                      .threads = {.kind = RONDO_THREADS_FIXED, .max = workers}};
    need(rondo_runtime_new(&o, &rt));
    return rt;
}

rondo_actor *on_rondo_spawn_one(rondo_runtime *rt, rondo_receive_fn receive, void *state,
                                unsigned pin, uint32_t bound) {
    rondo_actor *a = NULL;
    struct rondo_actor_options o = {
        .size = sizeof o, .receive = receive, .state = state, .pin = pin, .bound = bound};
    need(rondo_spawn(rt, &o, &a));
    return a;
}

void on_rondo_done(struct on_rondo_end *end) {
    if (rondo_sub_acq_rel(&end->left, (uint64_t)1) > 1) return; /* pairs with itself */
    end->stop_ns = bench_now_ns();
    rondo_runtime_stop(end->rt);
}

uint64_t on_rondo_wait(struct on_rondo_end *end) {
    need(rondo_runtime_run(end->rt));
    return end->stop_ns;
}

/* ----------------------------------------------------------------- ring --- */

struct token {
    struct rondo_msg head;
    uint64_t hops_left;
};

struct ring {
    struct on_rondo_end end;
    uint64_t steps;
};

struct node {
    rondo_actor *next, *self;
    struct ring *ring;
    uint64_t count, work;
};

static void on_token(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct node *node = state;
    struct token *t = (struct token *)m;
    (void)self;
    node->count++;
    if (node->ring->steps) node->work = bench_work(node->work + 1, node->ring->steps);
    if (--t->hops_left > 0) {
        rondo_send(node->next, t);
        return;
    }
    rondo_msg_free(t);
    on_rondo_done(&node->ring->end);
}

static struct node *make_ring(struct ring *ring, const struct bench_run *run) {
    uint32_t n = run->job->nodes;
    struct node *nodes = bench_need(calloc(n, sizeof *nodes));
    for (uint32_t i = 0; i < n; i++) {
        unsigned pin = run->job->is_spread ? 1 + i % run->workers : 0;
        nodes[i].ring = ring;
        nodes[i].self = on_rondo_spawn_one(ring->end.rt, on_token, &nodes[i], pin, 0);
    }
    for (uint32_t i = 0; i < n; i++) nodes[i].next = nodes[(i + 1) % n].self;
    return nodes;
}

static const char *check_ring(struct node *nodes, const struct bench_run *run) {
    const char *wrong = NULL;
    for (uint32_t i = 0; i < run->job->nodes; i++) {
        if (nodes[i].count != bench_rounds(run) * run->job->tokens) wrong = "a node counted wrong";
        rondo_actor_unref(nodes[i].self);
    }
    free(nodes);
    return wrong;
}

const char *on_rondo_ring(const struct bench_run *run, struct bench_result *out) {
    const struct bench_job *job = run->job;
    struct ring ring = {.steps = bench_work_steps(job->work_ns)};
    ring.end.rt = on_rondo_start(run->workers);
    ring.end.left = job->tokens;
    struct node *nodes = make_ring(&ring, run);
    uint64_t hops = bench_rounds(run) * job->nodes;

    uint64_t start_ns = bench_now_ns();
    for (uint32_t k = 0; k < job->tokens; k++) {
        struct token *t = bench_need(rondo_msg_new(1, sizeof *t));
        t->hops_left = hops;
        rondo_send(nodes[k * job->nodes / job->tokens].self, t);
    }
    out->elapsed_ns = on_rondo_wait(&ring.end) - start_ns;
    out->messages = hops * job->tokens;

    struct rondo_runtime_stats stats;
    rondo_runtime_stats(ring.end.rt, &stats);
    rondo_runtime_free(ring.end.rt);
    if (job->tokens > 1 && stats.turns)
        out->messages_per_turn = (double)stats.handled / (double)stats.turns;
    const char *wrong = check_ring(nodes, run);
    return stats.dropped ? "a message was dropped" : wrong;
}

/* ----------------------------------------------------------------- main --- */

static bool can(const struct bench_job *job, unsigned workers) {
    return !job->is_spread || workers > 1;
}

static const char *run_job(const struct bench_run *run, struct bench_result *out) {
    switch (run->job->kind) {
    case BENCH_RING:
        return on_rondo_ring(run, out);
    case BENCH_FAN_IN:
        return on_rondo_fan_in(run, out);
    case BENCH_SPAWN:
        return on_rondo_spawn(run, out);
    case BENCH_LATENCY:
        return on_rondo_latency(run, out);
    }
    return "no such kind of job";
}

int main(int argc, char **argv) {
    return bench_main(argc, argv, "rondo", can, run_job);
}
