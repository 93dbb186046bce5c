/* SPDX-License-Identifier: MIT */
#include "actors/job.h"
#include "base/hash.h"
#include "policy.h"
#include "queue.h"
#include <stdlib.h>

enum { WINDOW_PERCENT = 1, PROTECTED_PERCENT = 80, ROWS = 4, COUNT_MAX = 15, SAMPLE = 10 };
enum { OUT, WINDOW, PROBATION, PROTECTED, PLACES };

/* Counters of up to 15, halved after ten times as many reads as there are
 * entries: how often was a key asked for lately, never too few. */
struct sketch {
    uint8_t *counts; /* [ROWS][size] */
    uint32_t size;   /* a power of two */
    uint64_t additions, limit;
};

struct tinylfu {
    uint32_t window_cap, main_cap, protected_cap;
    struct queue queues[PLACES];
    struct queue_link *links;
    uint8_t *place;
    struct sketch sketch;
};

static void sketch_open(struct sketch *s, uint32_t capacity) {
    s->size = 64;
    while (s->size < capacity) s->size *= 2;
    s->counts = bench_need(calloc((size_t)ROWS * s->size, 1));
    s->limit = (uint64_t)SAMPLE * capacity;
}

static uint8_t *counter(const struct sketch *s, uint32_t key, uint32_t row) {
    uint64_t state = (uint64_t)key * ROWS + row;
    return &s->counts[(size_t)row * s->size + (rondo_random_next(&state) & (s->size - 1))];
}

static unsigned sketch_count(const struct sketch *s, uint32_t key) {
    unsigned least = COUNT_MAX;
    for (uint32_t row = 0; row < ROWS; row++) {
        unsigned n = *counter(s, key, row);
        if (n < least) least = n;
    }
    return least;
}

static void sketch_add(struct sketch *s, uint32_t key) {
    for (uint32_t row = 0; row < ROWS; row++) {
        uint8_t *n = counter(s, key, row);
        if (*n < COUNT_MAX) ++*n;
    }
    if (++s->additions < s->limit) return;
    s->additions /= 2;
    for (size_t i = 0; i < (size_t)ROWS * s->size; i++) s->counts[i] /= 2;
}

static void *tinylfu_open(uint32_t capacity, uint32_t universe) {
    struct tinylfu *t = bench_need(calloc(1, sizeof *t));
    t->window_cap = capacity / 100 * WINDOW_PERCENT;
    if (t->window_cap == 0) t->window_cap = 1;
    t->main_cap = capacity - t->window_cap;
    t->protected_cap = (uint32_t)((uint64_t)t->main_cap * PROTECTED_PERCENT / 100);
    for (int i = 0; i < PLACES; i++) t->queues[i] = queue_empty();
    t->links = bench_need(calloc(universe, sizeof *t->links));
    t->place = bench_need(calloc(universe, sizeof *t->place));
    sketch_open(&t->sketch, capacity);
    return t;
}

static void tinylfu_close(void *self) {
    struct tinylfu *t = self;
    free(t->links);
    free(t->place);
    free(t->sketch.counts);
    free(t);
}

static void move(struct tinylfu *t, uint32_t key, uint8_t to) {
    uint8_t from = t->place[key];
    if (from != OUT) queue_remove(&t->queues[from], t->links, key);
    if (to != OUT) queue_push(&t->queues[to], t->links, key);
    t->place[key] = to;
}

static void touch(struct tinylfu *t, uint32_t key) {
    move(t, key, t->place[key] == WINDOW ? WINDOW : PROTECTED);
    if (t->queues[PROTECTED].count > t->protected_cap)
        move(t, t->queues[PROTECTED].oldest, PROBATION);
}

/* What leaves the window takes a free place, or that of probation's oldest if it
 * is asked for more often. */
static void admit(struct tinylfu *t) {
    uint32_t candidate = t->queues[WINDOW].oldest;
    bool is_full = t->queues[PROBATION].count + t->queues[PROTECTED].count >= t->main_cap;
    uint32_t victim =
        t->queues[PROBATION].count ? t->queues[PROBATION].oldest : t->queues[PROTECTED].oldest;
    if (!is_full) {
        move(t, candidate, PROBATION);
    } else if (victim != QUEUE_NONE &&
               sketch_count(&t->sketch, candidate) > sketch_count(&t->sketch, victim)) {
        move(t, victim, OUT);
        move(t, candidate, PROBATION);
    } else {
        move(t, candidate, OUT);
    }
}

static bool tinylfu_access(void *self, uint32_t key) {
    struct tinylfu *t = self;
    sketch_add(&t->sketch, key);
    if (t->place[key] != OUT) {
        touch(t, key);
        return true;
    }
    move(t, key, WINDOW);
    if (t->queues[WINDOW].count > t->window_cap) admit(t);
    return false;
}

const struct policy policy_tinylfu = {"tinylfu", tinylfu_open, tinylfu_close, tinylfu_access};
