/* SPDX-License-Identifier: MIT */
/*
 * The ring in the plain design, for comparison: every node owns a thread and a
 * blocking queue, and so does the timer.  A hop wakes a thread.
 */
#include "cli/ring.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/sync.h"

enum message { MSG_START = 1, MSG_STOP, MSG_CANCEL, MSG_TOKEN, MSG_DONE };

struct letter {
    struct rondo_list link;
    enum message type;
    uint64_t origin, value;
};

struct queue {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    struct rondo_list letters; /* guarded by mu */
};

struct ring;

struct node {
    struct queue queue;
    struct node *next;
    struct ring *ring;
    uint64_t id, tokens, rounds, control;
    struct rondo_thread thread;
};

struct ring {
    const struct rondo_ring_options *options;
    struct node *nodes;
    uint64_t n_started;
    struct node timer; /* a node's queue and thread, another program */
    bool has_timer;
    uint64_t start_wall_ms, start_ns, stop_ns;
    uint64_t origins_done;    /* node 0's thread only */
    struct rondo_latch ended; /* opens when the timer is told CANCEL */
};

static void queue_init(struct queue *q) {
    rondo_mutex_init(&q->mu);
    rondo_cond_init(&q->cond);
    rondo_list_init(&q->letters);
}

static void queue_put(struct queue *q, struct letter *l) {
    rondo_mutex_lock(&q->mu);
    rondo_list_push_back(&q->letters, &l->link);
    rondo_cond_signal(&q->cond);
    rondo_mutex_unlock(&q->mu);
}

static struct letter *queue_take(struct queue *q) {
    rondo_mutex_lock(&q->mu);
    while (rondo_list_is_empty(&q->letters)) rondo_cond_wait(&q->cond, &q->mu);
    struct rondo_list *l = rondo_list_pop_front(&q->letters);
    rondo_mutex_unlock(&q->mu);
    return RONDO_LIST_ENTRY(l, struct letter, link);
}

static void queue_fini(struct queue *q) {
    struct rondo_list *l;
    while ((l = rondo_list_pop_front(&q->letters)) != NULL)
        rondo_free(RONDO_LIST_ENTRY(l, struct letter, link));
    rondo_cond_fini(&q->cond);
    rondo_mutex_fini(&q->mu);
}

static void tell(struct node *to, enum message type, uint64_t origin) {
    struct letter *l = rondo_zalloc(sizeof *l);
    RONDO_CHECK(l != NULL); /* a few dozen bytes, and threads that cannot report */
    l->type = type;
    l->origin = origin;
    queue_put(&to->queue, l);
}

static void start(struct node *node) {
    struct ring *ring = node->ring;
    const struct rondo_ring_options *o = ring->options;
    rondo_ring_log(o->out, node->id, "Starting messages");
    if (node->id == 0) {
        tell(&ring->timer, MSG_START, 0);
        for (uint64_t k = 1; k < o->tokens; k++)
            tell(&ring->nodes[k * o->nodes / o->tokens], MSG_START, 0);
    }
    tell(node->next, MSG_TOKEN, node->id);
}

/* True when this node is through. */
static bool token_done(struct node *node) {
    struct ring *ring = node->ring;
    if (node->id != 0) {
        tell(&ring->nodes[0], MSG_DONE, 0);
        return false;
    }
    if (++ring->origins_done < ring->options->tokens) return false;
    tell(&ring->timer, MSG_STOP, 0);
    tell(&ring->timer, MSG_CANCEL, 0);
    tell(node->next, MSG_STOP, 0);
    return true;
}

static bool on_token(struct node *node, struct letter *l) {
    const struct rondo_ring_options *o = node->ring->options;
    node->tokens++;
    if (l->origin == node->id) {
        rondo_count_up(&node->rounds, 1); /* partner: the relaxed load of show_progress */
        l->value = node->rounds;
        if (node->rounds % RONDO_RING_LOG_EVERY == 0)
            rondo_ring_log(o->out, node->id, "Around ring %llu times",
                           (unsigned long long)l->value);
        if (node->rounds == o->rounds) {
            rondo_free(l);
            return token_done(node);
        }
    }
    queue_put(&node->next->queue, l);
    return false;
}

/* True when this node is through. */
static bool on_letter(struct node *node, struct letter *l) {
    enum message type = l->type;
    if (type == MSG_TOKEN) return on_token(node, l);
    node->control++;
    if (type == MSG_STOP) {
        rondo_ring_log(node->ring->options->out, node->id, "Stopping");
        queue_put(&node->next->queue, l);
        return true;
    }
    rondo_free(l);
    if (type == MSG_START) start(node);
    return type == MSG_DONE && token_done(node);
}

static void node_main(void *arg) {
    struct node *node = arg;
    while (!on_letter(node, queue_take(&node->queue))) continue;
}

static void timer_main(void *arg) {
    struct ring *ring = arg;
    FILE *out = ring->options->out;
    for (enum message type = MSG_START; type != MSG_CANCEL;) {
        struct letter *l = queue_take(&ring->timer.queue);
        type = l->type;
        rondo_free(l);
        ring->timer.control++;
        if (type == MSG_START) {
            ring->start_wall_ms = rondo_ring_wall_ms();
            ring->start_ns = rondo_clock_now(&rondo_clock_real);
        } else if (type == MSG_STOP) {
            ring->stop_ns = rondo_clock_now(&rondo_clock_real);
            uint64_t stop_ms = rondo_ring_wall_ms();
            if (out)
                fprintf(out, "Start=%llu Stop=%llu Elapsed=%llu\n",
                        (unsigned long long)ring->start_wall_ms, (unsigned long long)stop_ms,
                        (unsigned long long)(stop_ms - ring->start_wall_ms));
        }
    }
    rondo_latch_count_down(&ring->ended);
}

static enum rondo_err start_threads(struct ring *ring) {
    enum rondo_err err = rondo_thread_start(&ring->timer.thread, "timer", timer_main, ring);
    if (err) return err;
    ring->has_timer = true;
    for (uint64_t i = 0; i < ring->options->nodes && !err; i++) {
        err = rondo_thread_start(&ring->nodes[i].thread, "node", node_main, &ring->nodes[i]);
        if (!err) ring->n_started++;
    }
    return err;
}

/* Not all threads could be had: ends the ones that run. */
static void call_off(struct ring *ring) {
    for (uint64_t i = 0; i < ring->n_started; i++) tell(&ring->nodes[i], MSG_STOP, 0);
    if (ring->has_timer) tell(&ring->timer, MSG_CANCEL, 0);
}

static void show_progress(struct ring *ring) {
    struct rondo_progress *p = ring->options->progress;
    if (p == NULL) return;
    while (rondo_latch_wait_until(&ring->ended,
                                  rondo_clock_now(&rondo_clock_real) + 100 * RONDO_MS) > 0)
        rondo_progress_show(p, rondo_load_relaxed(&ring->nodes[0].rounds), ring->options->rounds);
    rondo_progress_wipe(p);
}

static void join(struct ring *ring) {
    for (uint64_t i = 0; i < ring->n_started; i++) rondo_thread_join(&ring->nodes[i].thread);
    if (ring->has_timer) rondo_thread_join(&ring->timer.thread);
}

static enum rondo_err construct(struct ring *ring, struct rondo_ring_result *r) {
    const struct rondo_ring_options *o = ring->options;
    if (o->out) fprintf(o->out, "constructing nodes\n");
    uint64_t start_ns = rondo_clock_now(&rondo_clock_real);
    size_t bytes;
    if (!rondo_size_mul(o->nodes, sizeof *ring->nodes, &bytes)) return RONDO_ERR_NOMEM;
    ring->nodes = rondo_zalloc(bytes);
    if (ring->nodes == NULL) return RONDO_ERR_NOMEM;
    queue_init(&ring->timer.queue);
    for (uint64_t i = 0; i < o->nodes; i++) {
        ring->nodes[i].id = i;
        ring->nodes[i].ring = ring;
        ring->nodes[i].next = &ring->nodes[(i + 1) % o->nodes];
        queue_init(&ring->nodes[i].queue);
    }
    enum rondo_err err = start_threads(ring);
    uint64_t took = rondo_clock_now(&rondo_clock_real) - start_ns;
    r->construct_ms = (double)took / 1e6;
    if (!err && o->out)
        fprintf(o->out, "Took %llums to construct %llu nodes\nconnecting nodes\n",
                (unsigned long long)(took / RONDO_MS), (unsigned long long)o->nodes);
    return err;
}

static enum rondo_err collect(const struct ring *ring, struct rondo_ring_result *r) {
    const struct rondo_ring_options *o = ring->options;
    r->control = ring->timer.control;
    for (uint64_t i = 0; i < o->nodes; i++) {
        r->messages += ring->nodes[i].tokens;
        r->control += ring->nodes[i].control;
    }
    r->dropped = rondo_list_is_empty(&ring->nodes[0].queue.letters) ? 0 : 1;
    r->threads = (unsigned)o->nodes;
    r->elapsed_ms = (double)(ring->stop_ns - ring->start_ns) / 1e6;
    r->ns_per_message = r->elapsed_ms * 1e6 / (double)r->messages;
    return r->messages == o->nodes * o->rounds * o->tokens && r->dropped == 1 ? RONDO_OK
                                                                              : RONDO_ERR_PROTOCOL;
}

enum rondo_err rondo_ring_run_plain(const struct rondo_ring_options *options,
                                    struct rondo_ring_result *out) {
    struct ring ring = {.options = options};
    struct rondo_ring_result result = {0};
    rondo_latch_init(&ring.ended, 1);
    enum rondo_err err = construct(&ring, &result);
    if (ring.nodes == NULL) {
        rondo_latch_fini(&ring.ended);
        return err;
    }
    if (err)
        call_off(&ring);
    else
        tell(&ring.nodes[0], MSG_START, 0);
    if (!err) show_progress(&ring);
    join(&ring);
    if (!err) err = collect(&ring, &result);
    if (!err) *out = result;
    for (uint64_t i = 0; i < options->nodes; i++) queue_fini(&ring.nodes[i].queue);
    queue_fini(&ring.timer.queue);
    rondo_latch_fini(&ring.ended);
    rondo_free(ring.nodes);
    return err;
}
