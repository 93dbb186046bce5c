/* SPDX-License-Identifier: MIT */
/*
 * trial.h - what the C programs of this benchmark have in common: jobs, keys and
 * values, the trace, the threads, and the line of JSON.
 *
 * A program is called `PROGRAM JOB THREADS SCALE [TRACE KEYS [forget]]` and ends
 * with 0 (right), 1 (wrong) or 2 (no such job here).  With `forget` the job hit
 * goes wrong on purpose: one key is not stored.
 *
 *   hit     all KEYS are stored; each thread makes SCALE reads along the trace
 *   ratio   room for a tenth of the KEYS; SCALE reads along the trace, those that
 *           miss store the key; the second half is counted
 *   memory  SCALE entries are stored; by how much the process has grown
 *
 * A trace is a file of key numbers, 4 bytes each (bench_cache_trace writes it).
 * A read copies the value out and adds its words to a sum, which is checked.
 */
#ifndef BENCH_CACHE_TRIAL_H
#define BENCH_CACHE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TRIAL_KEY = 16, TRIAL_VALUE = 32, TRIAL_WORDS = TRIAL_VALUE / 8 };

/* Reads along a trace; begins at `first` and goes on at its front. */
struct trial_walk {
    const uint32_t *trace;
    size_t length, first, n;
    const char *keys; /* [number][TRIAL_KEY] */
    bool stores;      /* what is not there is stored */
};

struct trial_tally {
    uint64_t hits, sum;
};

/* The thing under test.  Functions that may be NULL say so. */
struct trial_peer {
    const char *name;
    /* Room for about `n` entries, or without limit (is_bounded false).  NULL: failed. */
    void *(*open)(uint64_t n, bool is_bounded);
    void (*close)(void *self);
    bool (*put)(void *self, const char *key, const char *value);
    /* The loop below; on a thread between `enter` and `leave` (NULL: not needed). */
    void (*walk)(void *self, const struct trial_walk *w, struct trial_tally *out);
    void (*enter)(void *self);
    void (*leave)(void *self);
    uint64_t (*entries)(void *self); /* NULL: cannot be bounded, no job `ratio` */
};

int trial_main(int argc, char **argv, const struct trial_peer *peer);

/* "user:00000000042"; no NUL behind it. */
void trial_key(uint32_t number, char key[TRIAL_KEY]);
void trial_value(uint32_t number, char value[TRIAL_VALUE]);

static inline uint64_t trial_sum(const char value[TRIAL_VALUE]) {
    uint64_t words[TRIAL_WORDS], sum = 0;
    memcpy(words, value, sizeof words);
    for (int i = 0; i < TRIAL_WORDS; i++) sum += words[i];
    return sum;
}

/*
 * The loop of all peers, compiled with each so that nothing is called through a
 * pointer: `get` copies the value of a key, or says that there is none.
 */
typedef bool (*trial_get_fn)(void *self, const char *key, char *out);

static inline __attribute__((always_inline)) void
trial_walk(void *self, const struct trial_walk *w, struct trial_tally *out, trial_get_fn get,
           bool (*put)(void *self, const char *key, const char *value)) {
    uint64_t hits = 0, sum = 0;
    size_t at = w->first;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t number = w->trace[at];
        const char *key = w->keys + (size_t)number * TRIAL_KEY;
        char value[TRIAL_VALUE];
        if (++at == w->length) at = 0;
        if (get(self, key, value)) {
            hits++;
            sum += trial_sum(value);
        } else if (w->stores) {
            trial_value(number, value);
            if (put(self, key, value)) sum += trial_sum(value);
        }
    }
    *out = (struct trial_tally){hits, sum};
}

#endif
