/* SPDX-License-Identifier: MIT */
/*
 * The rings: one exchange on the next node's mailbox, which says whether it was
 * empty, and one compare-and-swap that takes the message off and leaves the
 * mailbox idle.  A node whose mailbox was empty goes to the end of a list.
 */
#include "plain.h"

#include "base/atomic.h"
#include "base/sync.h"
#include <stdlib.h>

struct token {
    struct token *link; /* atomic in a real mailbox; here one thread */
    uint64_t hops_left;
};

struct node {
    struct token *head; /* the newest token; NULL: idle */
    struct token *tail; /* the oldest */
    struct node *next, *runnable;
    uint64_t count, work;
};

struct ring {
    struct node *first, **last; /* runnable nodes */
    uint64_t steps, tokens_left;
};

static void push(struct ring *ring, struct node *node, struct token *t) {
    t->link = NULL;
    struct token *prev = rondo_exchange_acq_rel(&node->head, t); /* pairs with take */
    if (prev) {
        prev->link = t;
        return;
    }
    node->tail = t;
    node->runnable = NULL;
    *ring->last = node;
    ring->last = &node->runnable;
}

/* The oldest token; true in *is_last: the mailbox is idle now. */
static struct token *take(struct node *node, bool *is_last) {
    struct token *t = node->tail, *expected = t;
    *is_last = rondo_cas_acq_rel(&node->head, &expected, NULL); /* pairs with push */
    if (!*is_last) node->tail = t->link;
    return t;
}

static void run_node(struct ring *ring, struct node *node) {
    for (bool is_last = false; !is_last;) {
        struct token *t = take(node, &is_last);
        node->count++;
        if (ring->steps) node->work = bench_work(node->work + 1, ring->steps);
        if (--t->hops_left == 0)
            ring->tokens_left--;
        else
            push(ring, node->next, t);
    }
}

static void run_ring(struct ring *ring) {
    while (ring->first) {
        struct node *node = ring->first;
        ring->first = node->runnable;
        if (!ring->first) ring->last = &ring->first;
        run_node(ring, node);
    }
}

const char *plain_ring(const struct bench_run *run, struct bench_result *out) {
    const struct bench_job *job = run->job;
    struct node *nodes = bench_need(calloc(job->nodes, sizeof *nodes));
    struct token *tokens = bench_need(calloc(job->tokens, sizeof *tokens));
    struct ring ring = {.steps = bench_work_steps(job->work_ns), .tokens_left = job->tokens};
    ring.last = &ring.first;
    uint64_t rounds = bench_rounds(run);
    for (uint32_t i = 0; i < job->nodes; i++) nodes[i].next = &nodes[(i + 1) % job->nodes];

    uint64_t start_ns = bench_now_ns();
    for (uint32_t k = 0; k < job->tokens; k++) {
        tokens[k].hops_left = rounds * job->nodes;
        push(&ring, &nodes[k * job->nodes / job->tokens], &tokens[k]);
    }
    run_ring(&ring);
    out->elapsed_ns = bench_now_ns() - start_ns;

    out->messages = rounds * job->nodes * job->tokens;
    const char *wrong = ring.tokens_left ? "a token was lost" : NULL;
    for (uint32_t i = 0; i < job->nodes; i++)
        if (nodes[i].count != rounds * job->tokens) wrong = "a node counted wrong";
    free(nodes);
    free(tokens);
    return wrong;
}

/* ------------------------------------- two threads hand over a mailbox --- */

struct side {
    struct token *head; /* atomic: the other side stores, this side takes */
    char spare[BENCH_LINE - sizeof(struct token *)];
    struct side *other;
    unsigned index;
    bool is_through;
    uint64_t count;
    char spare_too[BENCH_LINE];
};

static struct token *await(struct side *side) {
    struct token *t;
    unsigned spins = 0;
    while ((t = rondo_load_acquire(&side->head)) == NULL) /* pairs with the exchange below */
        bench_back_off(&spins);
    struct token *expected = t;
    rondo_cas_acq_rel(&side->head, &expected, NULL); /* pairs with the exchange below */
    return t;
}

static void cross(void *arg) {
    struct side *side = arg;
    bench_pin(side->index);
    while (!side->is_through) {
        struct token *t = await(side);
        side->count++;
        /* The last two hops end one side each. */
        if (--t->hops_left <= 1) side->is_through = true;
        if (t->hops_left > 0) (void)rondo_exchange_acq_rel(&side->other->head, t); /* with await */
    }
}

const char *plain_cross(const struct bench_run *run, struct bench_result *out) {
    struct side sides[2] = {{.other = &sides[1], .index = 0}, {.other = &sides[0], .index = 1}};
    struct token t = {.hops_left = bench_rounds(run) * run->job->nodes};
    out->messages = t.hops_left;
    struct rondo_thread threads[2];
    for (int i = 0; i < 2; i++)
        if (rondo_thread_start(&threads[i], "cross", cross, &sides[i])) return "no thread";
    uint64_t start_ns = bench_now_ns();
    (void)rondo_exchange_acq_rel(&sides[0].head, &t); /* pairs with await */
    for (int i = 0; i < 2; i++) rondo_thread_join(&threads[i]);
    out->elapsed_ns = bench_now_ns() - start_ns;
    if (sides[0].count != sides[1].count) return "one side counted more than the other";
    return sides[0].count + sides[1].count == out->messages ? NULL : "a hop was lost";
}

/* ---------------------------------------------------------------- spawn --- */

/* As much as an actor needs: a mailbox, a function, a state, references, links
 * to others, a name. */
struct plain_actor {
    struct token *head, *tail;
    void (*receive)(struct plain_actor *self, struct token *t);
    void *state;
    uint64_t words[11];
};

static void count_one(struct plain_actor *self, struct token *t) {
    uint8_t *slot = self->state;
    ++*slot;
    t->hops_left--;
}

static struct plain_actor *spawn(uint8_t *slot) {
    struct plain_actor *a = bench_need(malloc(sizeof *a));
    *a = (struct plain_actor){.receive = count_one, .state = slot};
    return a;
}

static void deliver(struct plain_actor *a, struct token *t) {
    (void)rondo_exchange_acq_rel(&a->head, t); /* pairs with the swap below */
    a->receive(a, t);
    rondo_cas_acq_rel(&a->head, &t, NULL); /* pairs with the exchange above */
}

const char *plain_spawn(const struct bench_run *run, struct bench_result *out) {
    uint64_t n = run->scale;
    struct plain_actor **actors = bench_need(calloc(n, sizeof *actors));
    uint8_t *slots = bench_need(calloc(n, 1));
    for (uint64_t i = 0; i < n; i++) actors[i] = (void *)slots; /* touched before it counts */
    struct token t = {.hops_left = n};
    uint64_t before = bench_resident_bytes(), start_ns = bench_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        actors[i] = spawn(&slots[i]);
        deliver(actors[i], &t);
    }
    out->elapsed_ns = bench_now_ns() - start_ns;
    out->messages = n;
    out->bytes_per_actor = (double)(bench_resident_bytes() - before) / (double)n;
    const char *wrong = t.hops_left ? "a message was lost" : NULL;
    for (uint64_t i = 0; i < n; i++) {
        if (slots[i] != 1) wrong = "an actor counted wrong";
        free(actors[i]);
    }
    free(actors);
    free(slots);
    return wrong;
}

/* ----------------------------------------------------------------- main --- */

static bool can(const struct bench_job *job, unsigned workers) {
    if (job->kind == BENCH_RING) return workers == (job->is_spread ? 2u : 1u);
    return workers == 1 || (workers == 2 && job->kind != BENCH_SPAWN);
}

static const char *run_job(const struct bench_run *run, struct bench_result *out) {
    switch (run->job->kind) {
    case BENCH_RING:
        return run->job->is_spread ? plain_cross(run, out) : plain_ring(run, out);
    case BENCH_FAN_IN:
        return plain_fan_in(run, out);
    case BENCH_SPAWN:
        return plain_spawn(run, out);
    case BENCH_LATENCY:
        return plain_latency(run, out);
    }
    return "no such kind of job";
}

int main(int argc, char **argv) {
    return bench_main(argc, argv, "plain-c", can, run_job);
}
