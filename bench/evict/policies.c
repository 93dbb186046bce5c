/* SPDX-License-Identifier: MIT */
#include "actors/job.h"
#include "policy.h"
#include "queue.h"
#include <stdlib.h>

/* --------------------------------------------------------------------- LRU --- */

struct lru {
    uint32_t capacity;
    struct queue queue;
    struct queue_link *links;
    bool *is_there;
};

static void *lru_open(uint32_t capacity, uint32_t universe) {
    struct lru *l = bench_need(calloc(1, sizeof *l));
    l->capacity = capacity;
    l->queue = queue_empty();
    l->links = bench_need(calloc(universe, sizeof *l->links));
    l->is_there = bench_need(calloc(universe, sizeof *l->is_there));
    return l;
}

static void lru_close(void *self) {
    struct lru *l = self;
    free(l->links);
    free(l->is_there);
    free(l);
}

static bool lru_access(void *self, uint32_t key) {
    struct lru *l = self;
    bool hit = l->is_there[key];
    if (hit) queue_remove(&l->queue, l->links, key);
    if (!hit && l->queue.count == l->capacity) {
        uint32_t out = l->queue.oldest;
        queue_remove(&l->queue, l->links, out);
        l->is_there[out] = false;
    }
    queue_push(&l->queue, l->links, key);
    l->is_there[key] = true;
    return hit;
}

const struct policy policy_lru = {"lru", lru_open, lru_close, lru_access};

/* ------------------------------------------------------------------- SIEVE --- */

enum { SIEVE_OUT, SIEVE_IN, SIEVE_VISITED };

struct sieve {
    uint32_t capacity, hand;
    struct queue queue;
    struct queue_link *links;
    uint8_t *state;
};

static void *sieve_open(uint32_t capacity, uint32_t universe) {
    struct sieve *s = bench_need(calloc(1, sizeof *s));
    s->capacity = capacity;
    s->hand = QUEUE_NONE;
    s->queue = queue_empty();
    s->links = bench_need(calloc(universe, sizeof *s->links));
    s->state = bench_need(calloc(universe, sizeof *s->state));
    return s;
}

static void sieve_close(void *self) {
    struct sieve *s = self;
    free(s->links);
    free(s->state);
    free(s);
}

static void sieve_evict(struct sieve *s) {
    uint32_t at = s->hand != QUEUE_NONE ? s->hand : s->queue.oldest;
    while (s->state[at] == SIEVE_VISITED) {
        s->state[at] = SIEVE_IN;
        at = s->links[at].newer;
        if (at == QUEUE_NONE) at = s->queue.oldest;
    }
    s->hand = s->links[at].newer;
    s->state[at] = SIEVE_OUT;
    queue_remove(&s->queue, s->links, at);
}

static bool sieve_access(void *self, uint32_t key) {
    struct sieve *s = self;
    if (s->state[key] != SIEVE_OUT) {
        s->state[key] = SIEVE_VISITED;
        return true;
    }
    if (s->queue.count == s->capacity) sieve_evict(s);
    queue_push(&s->queue, s->links, key);
    s->state[key] = SIEVE_IN;
    return false;
}

const struct policy policy_sieve = {"sieve", sieve_open, sieve_close, sieve_access};
