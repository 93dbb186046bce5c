/* SPDX-License-Identifier: MIT */
/*
 * The ring as actors.  Nodes live in one array; a node's state is touched by
 * its own turns alone, except two counters that the timer reads to draw
 * progress and to notice that nothing moves any more.
 */
#include "cli/ring.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "rondo/runtime.h"

enum message { MSG_START = 1, MSG_STOP, MSG_CANCEL, MSG_TOKEN, MSG_DONE, MSG_TICK };

enum { TICK_MS = 200 };

struct token {
    struct rondo_msg head;
    uint64_t origin, value;
};

struct ring;

struct node {
    rondo_actor *next; /* const after connecting */
    struct ring *ring;
    uint64_t id;
    uint64_t tokens; /* atomic: the timer reads node 0's */
    uint64_t rounds; /* atomic: the timer reads node 0's; rounds that its own token has made */
    uint64_t control;
};

struct timer {
    rondo_timer *tick;
    uint64_t start_wall_ms, start_ns, stop_ns;
    uint64_t seen_tokens, still_ticks;
    uint64_t control;
};

struct ring {
    const struct rondo_ring_options *options;
    rondo_runtime *rt;
    struct node *nodes;
    rondo_actor **actors; /* a reference each */
    uint64_t n_spawned;
    rondo_actor *timer_actor;
    struct timer timer;
    uint64_t origins_done; /* node 0's turns only */
    int failure;           /* atomic: enum rondo_err, the first one found */
};

static void fail(struct ring *ring, enum rondo_err err, const char *what, uint64_t node) {
    int none = RONDO_OK;
    /* Partner: the load in check_result, after the runtime has stopped. */
    if (rondo_cas_acq_rel(&ring->failure, &none, (int)err))
        fprintf(stderr, "rondo ring: node %llu: %s\n", (unsigned long long)node, what);
    rondo_runtime_stop(ring->rt);
}

/* A message without a body.  Without memory for it the ring cannot go on. */
static void tell(struct ring *ring, rondo_actor *to, enum message type) {
    struct rondo_msg *m = rondo_msg_new(type, sizeof *m);
    if (m == NULL) {
        fail(ring, RONDO_ERR_NOMEM, "out of memory", 0);
        return;
    }
    rondo_send(to, m);
}

static uint64_t origin_node(const struct rondo_ring_options *o, uint64_t k) {
    return k * o->nodes / o->tokens; /* both at most 10^8 */
}

/* ---- nodes ---- */

static void start_token(struct node *node) {
    struct ring *ring = node->ring;
    struct token *t = rondo_msg_new(MSG_TOKEN, sizeof *t);
    if (t == NULL) {
        fail(ring, RONDO_ERR_NOMEM, "out of memory", node->id);
        return;
    }
    t->origin = node->id;
    rondo_send(node->next, t);
}

static void on_start(struct node *node) {
    struct ring *ring = node->ring;
    rondo_ring_log(ring->options->out, node->id, "Starting messages");
    if (node->id == 0) {
        tell(ring, ring->timer_actor, MSG_START);
        for (uint64_t k = 1; k < ring->options->tokens; k++)
            tell(ring, ring->actors[origin_node(ring->options, k)], MSG_START);
    }
    start_token(node);
}

/* Node 0: the last token has made its rounds. */
static void finish(struct node *node, rondo_actor *self) {
    struct ring *ring = node->ring;
    tell(ring, ring->timer_actor, MSG_STOP);
    tell(ring, ring->timer_actor, MSG_CANCEL);
    tell(ring, node->next, MSG_STOP);
    rondo_actor_stop(self);
}

static void on_done(struct node *node, rondo_actor *self) {
    if (++node->ring->origins_done == node->ring->options->tokens) finish(node, self);
}

static void on_round(struct node *node, rondo_actor *self, struct token *t) {
    struct ring *ring = node->ring;
    const struct rondo_ring_options *o = ring->options;
    if (t->value != node->rounds || node->rounds == o->rounds) {
        rondo_msg_free(t);
        fail(ring, RONDO_ERR_PROTOCOL, "the token came twice", node->id);
        return;
    }
    rondo_count_up(&node->rounds, 1); /* partner: the timer's relaxed load */
    t->value = node->rounds;
    if (node->rounds % RONDO_RING_LOG_EVERY == 0)
        rondo_ring_log(o->out, node->id, "Around ring %llu times", (unsigned long long)t->value);
    if (node->rounds < o->rounds) {
        rondo_send(node->next, t);
        return;
    }
    rondo_msg_free(t);
    if (node->id == 0)
        on_done(node, self);
    else
        tell(ring, ring->actors[0], MSG_DONE);
}

/* Tests: mistreats a token half-way through; true if it took it. */
static bool spoil(struct node *node, struct token *t) {
    const struct rondo_ring_options *o = node->ring->options;
    if (o->fault == RONDO_RING_NO_FAULT || node->id != o->nodes - 1 || t->value != o->rounds / 2)
        return false;
    if (o->fault == RONDO_RING_LOSE) {
        rondo_msg_free(t);
        return true;
    }
    struct token *twin = rondo_msg_new(MSG_TOKEN, sizeof *twin);
    if (twin == NULL) return false;
    twin->origin = t->origin;
    twin->value = t->value;
    rondo_send(node->next, twin);
    return false;
}

static void on_token(struct node *node, rondo_actor *self, struct token *t) {
    rondo_count_up(&node->tokens, 1); /* partner: the timer's relaxed load */
    if (RONDO_UNLIKELY(node->ring->options->fault != RONDO_RING_NO_FAULT) && spoil(node, t)) return;
    if (t->origin == node->id)
        on_round(node, self, t);
    else
        rondo_send(node->next, t);
}

static void on_control(struct node *node, rondo_actor *self, struct rondo_msg *m) {
    node->control++;
    switch ((enum message)m->type) {
    case MSG_START:
        on_start(node);
        break;
    case MSG_DONE:
        on_done(node, self);
        break;
    case MSG_STOP:
        rondo_ring_log(node->ring->options->out, node->id, "Stopping");
        rondo_send(node->next, m);
        rondo_actor_stop(self);
        return;
    case MSG_CANCEL:
    case MSG_TOKEN:
    case MSG_TICK:
    default:
        RONDO_CHECK(m->type == MSG_STOP);
    }
    rondo_msg_free(m);
}

static void node_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    if (RONDO_LIKELY(m->type == MSG_TOKEN))
        on_token(state, self, (struct token *)m);
    else
        on_control(state, self, m);
}

/* ---- the timer ---- */

static void on_tick(struct ring *ring) {
    struct timer *timer = &ring->timer;
    const struct rondo_ring_options *o = ring->options;
    if (o->progress)
        rondo_progress_show(o->progress, rondo_load_relaxed(&ring->nodes[0].rounds), o->rounds);
    uint64_t tokens = rondo_load_relaxed(&ring->nodes[0].tokens);
    timer->still_ticks = tokens == timer->seen_tokens ? timer->still_ticks + 1 : 0;
    timer->seen_tokens = tokens;
    if (timer->still_ticks * TICK_MS * RONDO_MS >= o->stall_ns)
        fail(ring, RONDO_ERR_STALLED, "a token is lost: none has come by for too long", 0);
}

static void on_timer_stop(struct ring *ring) {
    struct timer *timer = &ring->timer;
    timer->stop_ns = rondo_runtime_now_ns(ring->rt);
    if (ring->options->progress) rondo_progress_wipe(ring->options->progress);
    if (ring->options->out == NULL) return;
    uint64_t stop_ms = rondo_ring_wall_ms();
    fprintf(ring->options->out, "Start=%llu Stop=%llu Elapsed=%llu\n",
            (unsigned long long)timer->start_wall_ms, (unsigned long long)stop_ms,
            (unsigned long long)(stop_ms - timer->start_wall_ms));
}

static void on_timer_start(struct ring *ring, rondo_actor *self) {
    ring->timer.start_wall_ms = rondo_ring_wall_ms();
    ring->timer.start_ns = rondo_runtime_now_ns(ring->rt);
    if (rondo_send_every(self, MSG_TICK, TICK_MS * RONDO_MS, &ring->timer.tick) != RONDO_OK)
        fail(ring, RONDO_ERR_NOMEM, "no timer", 0);
}

static void on_timer_cancel(struct ring *ring, rondo_actor *self) {
    if (ring->timer.tick) rondo_timer_cancel(ring->timer.tick);
    ring->timer.tick = NULL;
    rondo_actor_stop(self);
}

static void timer_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct ring *ring = state;
    enum message type = (enum message)m->type;
    rondo_msg_free(m);
    if (type == MSG_TICK) {
        on_tick(ring);
        return;
    }
    ring->timer.control++;
    if (type == MSG_START)
        on_timer_start(ring, self);
    else if (type == MSG_STOP)
        on_timer_stop(ring);
    else
        on_timer_cancel(ring, self);
}

/* ---- from construction to result ---- */

static enum rondo_err spawn_timer(struct ring *ring) {
    struct rondo_actor_options a = {
        .size = sizeof a, .name = "timer", .receive = timer_receive, .state = ring};
    return rondo_spawn(ring->rt, &a, &ring->timer_actor);
}

/* rondo_actor_options.pin of node i. */
static unsigned pin_of(const struct ring *ring, uint64_t i) {
    if (!ring->options->is_spread) return 0;
    return (unsigned)(i % rondo_runtime_workers(ring->rt)) + 1;
}

static enum rondo_err spawn_nodes(struct ring *ring) {
    uint64_t n = ring->options->nodes;
    size_t bytes;
    if (!rondo_size_mul(n, sizeof *ring->nodes, &bytes)) return RONDO_ERR_NOMEM;
    ring->nodes = rondo_zalloc(bytes);
    ring->actors = rondo_zalloc(n * sizeof *ring->actors);
    if (ring->nodes == NULL || ring->actors == NULL) return RONDO_ERR_NOMEM;
    for (uint64_t i = 0; i < n; i++) {
        ring->nodes[i].id = i;
        ring->nodes[i].ring = ring;
        struct rondo_actor_options a = {.size = sizeof a,
                                        .name = "node",
                                        .receive = node_receive,
                                        .state = &ring->nodes[i],
                                        .pin = pin_of(ring, i)};
        enum rondo_err err = rondo_spawn(ring->rt, &a, &ring->actors[i]);
        if (err) return err;
        ring->n_spawned++;
    }
    return RONDO_OK;
}

static enum rondo_err construct(struct ring *ring, struct rondo_ring_result *result) {
    FILE *out = ring->options->out;
    if (out) fprintf(out, "constructing nodes\n");
    uint64_t start = rondo_clock_now(&rondo_clock_real);
    enum rondo_err err = spawn_timer(ring);
    if (!err) err = spawn_nodes(ring);
    if (err) return err;
    uint64_t took = rondo_clock_now(&rondo_clock_real) - start;
    result->construct_ms = (double)took / 1e6;
    uint64_t n = ring->options->nodes;
    if (out)
        fprintf(out, "Took %llums to construct %llu nodes\nconnecting nodes\n",
                (unsigned long long)(took / RONDO_MS), (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) ring->nodes[i].next = ring->actors[(i + 1) % n];
    return RONDO_OK;
}

static enum rondo_err check_result(struct ring *ring, struct rondo_ring_result *r) {
    const struct rondo_ring_options *o = ring->options;
    struct rondo_runtime_stats stats;
    rondo_runtime_stats(ring->rt, &stats);
    r->dropped = stats.dropped;
    r->control = ring->timer.control;
    for (uint64_t i = 0; i < o->nodes; i++) {
        r->messages += ring->nodes[i].tokens;
        r->control += ring->nodes[i].control;
    }
    enum rondo_err failure = (enum rondo_err)rondo_load_acquire(&ring->failure);
    if (failure) return failure;
    if (r->messages == o->nodes * o->rounds * o->tokens && r->dropped == 1) return RONDO_OK;
    fprintf(stderr, "rondo ring: %llu deliveries and %llu drops where %llu and 1 are right\n",
            (unsigned long long)r->messages, (unsigned long long)r->dropped,
            (unsigned long long)(o->nodes * o->rounds * o->tokens));
    return RONDO_ERR_PROTOCOL;
}

static enum rondo_err run(struct ring *ring, struct rondo_ring_result *result) {
    tell(ring, ring->actors[0], MSG_START);
    enum rondo_err err = rondo_runtime_run(ring->rt);
    if (ring->options->progress) rondo_progress_wipe(ring->options->progress);
    if (err) return err;
    result->threads = rondo_runtime_workers(ring->rt);
    result->elapsed_ms = (double)(ring->timer.stop_ns - ring->timer.start_ns) / 1e6;
    err = check_result(ring, result);
    if (!err) result->ns_per_message = result->elapsed_ms * 1e6 / (double)result->messages;
    return err;
}

enum rondo_err rondo_ring_run(const struct rondo_ring_options *options,
                              struct rondo_ring_result *out) {
    struct ring ring = {.options = options};
    struct rondo_ring_result result = {0};
    struct rondo_runtime_options r = {.size = sizeof r,
                                      .threads = options->threads,
                                      .simulate = options->simulate,
                                      .seed = options->seed};
    enum rondo_err err = rondo_runtime_new(&r, &ring.rt);
    if (err) return err;
    err = construct(&ring, &result);
    if (!err) err = run(&ring, &result);
    if (!err) *out = result;
    for (uint64_t i = 0; i < ring.n_spawned; i++) rondo_actor_unref(ring.actors[i]);
    if (ring.timer_actor) rondo_actor_unref(ring.timer_actor);
    rondo_runtime_free(ring.rt);
    if (ring.timer.tick) rondo_timer_free(ring.timer.tick);
    rondo_free(ring.actors);
    rondo_free(ring.nodes);
    return err;
}
