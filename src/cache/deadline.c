/* SPDX-License-Identifier: MIT */
/*
 * A deadline lies at the level of the highest 4-bit digit in which it differs
 * from the wheel's clock, in the slot of that digit.  So everything on a level
 * is due before anything on the next, and the lowest used slot of the lowest
 * used level comes first.  When the clock reaches a slot, its deadlines move
 * down or are due.
 */
#include "cache/deadline.h"

enum { DIGIT = 4 };

void rondo_wheel_init(struct rondo_wheel *w, uint64_t now_ms) {
    *w = (struct rondo_wheel){.now_ms = now_ms};
    for (unsigned l = 0; l < RONDO_WHEEL_LEVELS; l++)
        for (unsigned s = 0; s < RONDO_WHEEL_SLOTS; s++) rondo_list_init(&w->slots[l][s]);
}

void rondo_deadline_init(struct rondo_deadline *d) {
    *d = (struct rondo_deadline){0};
    rondo_list_init(&d->link);
}

void rondo_deadline_set(struct rondo_wheel *w, struct rondo_deadline *d, uint64_t at_ms) {
    const uint64_t far = UINT64_C(1) << (DIGIT * RONDO_WHEEL_LEVELS - 1);
    if (at_ms <= w->now_ms) at_ms = w->now_ms + 1;
    if (at_ms >= far) at_ms = far - 1;
    unsigned level = (63u - (unsigned)__builtin_clzll(at_ms ^ w->now_ms)) / DIGIT;
    unsigned slot = (unsigned)(at_ms >> (DIGIT * level)) & (RONDO_WHEEL_SLOTS - 1);
    d->at_ms = at_ms;
    rondo_list_push_back(&w->slots[level][slot], &d->link);
    w->used[level] |= (uint16_t)(1u << slot);
}

void rondo_deadline_clear(struct rondo_deadline *d) {
    rondo_list_remove(&d->link);
}

static bool first_slot(struct rondo_wheel *w, unsigned *level, unsigned *slot) {
    for (unsigned l = 0; l < RONDO_WHEEL_LEVELS; l++) {
        while (w->used[l]) {
            unsigned s = (unsigned)__builtin_ctz(w->used[l]);
            if (!rondo_list_is_empty(&w->slots[l][s])) {
                *level = l;
                *slot = s;
                return true;
            }
            w->used[l] = (uint16_t)(w->used[l] & (w->used[l] - 1u));
        }
    }
    return false;
}

static uint64_t slot_begin(const struct rondo_wheel *w, unsigned level, unsigned slot) {
    unsigned shift = DIGIT * level;
    uint64_t above = w->now_ms >> (shift + DIGIT) << (shift + DIGIT);
    return above | (uint64_t)slot << shift;
}

uint64_t rondo_wheel_next_ms(struct rondo_wheel *w) {
    unsigned level, slot;
    return first_slot(w, &level, &slot) ? slot_begin(w, level, slot) : UINT64_MAX;
}

void rondo_wheel_advance(struct rondo_wheel *w, uint64_t now_ms, struct rondo_list *due) {
    unsigned level, slot;
    while (first_slot(w, &level, &slot)) {
        uint64_t begin = slot_begin(w, level, slot);
        if (begin > now_ms) break;
        w->now_ms = begin;
        struct rondo_list moving;
        rondo_list_init(&moving);
        rondo_list_splice_back(&moving, &w->slots[level][slot]);
        struct rondo_list *node;
        while ((node = rondo_list_pop_front(&moving)) != NULL) {
            struct rondo_deadline *d = RONDO_LIST_ENTRY(node, struct rondo_deadline, link);
            if (d->at_ms <= begin)
                rondo_list_push_back(due, node);
            else
                rondo_deadline_set(w, d, d->at_ms);
        }
    }
    if (now_ms > w->now_ms) w->now_ms = now_ms;
}
