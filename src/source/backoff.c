/* SPDX-License-Identifier: MIT */
#include "source/backoff.h"

#include "base/check.h"
#include "base/clock.h"

#define FIRST_DELAY (20 * RONDO_MS)
#define LONGEST_DELAY RONDO_SEC

void rondo_backoff_init(struct rondo_backoff *b) {
    *b = (struct rondo_backoff){.delay_ns = 0};
    rondo_mutex_init(&b->mu);
}

void rondo_backoff_fini(struct rondo_backoff *b) {
    rondo_mutex_fini(&b->mu);
}

bool rondo_backoff_may_try(struct rondo_backoff *b, uint64_t now_ns,
                           struct rondo_source_error *why) {
    rondo_mutex_lock(&b->mu);
    bool may = b->delay_ns == 0 || now_ns >= b->next_ns;
    if (may && b->delay_ns) {
        b->next_ns = rondo_deadline(now_ns, b->delay_ns);
        b->is_probing = true;
    }
    if (!may)
        snprintf(why->text, sizeof why->text, "waiting before the next try: %.200s", b->last.text);
    rondo_mutex_unlock(&b->mu);
    return may;
}

void rondo_backoff_failed(struct rondo_backoff *b, uint64_t now_ns,
                          const struct rondo_source_error *why) {
    rondo_mutex_lock(&b->mu);
    /* Those who were under way when the first of them failed tell nothing new. */
    if (b->delay_ns == 0 || b->is_probing) {
        uint64_t longer = b->delay_ns ? 2 * b->delay_ns : FIRST_DELAY;
        b->delay_ns = longer < LONGEST_DELAY ? longer : LONGEST_DELAY;
        b->next_ns = rondo_deadline(now_ns, b->delay_ns);
        b->is_probing = false;
    }
    b->last = *why;
    rondo_mutex_unlock(&b->mu);
}

void rondo_backoff_worked(struct rondo_backoff *b) {
    rondo_mutex_lock(&b->mu);
    b->delay_ns = 0;
    b->is_probing = false;
    rondo_mutex_unlock(&b->mu);
}
