/* SPDX-License-Identifier: MIT */
/*
 * record.h - what the two programs of this benchmark have in common: latencies
 * in a histogram (exact to 1/64), what is asked next, and the line of JSON.
 *
 * A caller asks one key at a time, the next one as soon as the last is answered.
 * Most keys are hot: there are HERD_HOT of them, all in memory.  A share of them
 * is cold: each cold key is asked for by up to HERD_SHARERS callers in a row, as
 * when an entry that many want has just expired.
 */
#ifndef BENCH_HERD_RECORD_H
#define BENCH_HERD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HERD_HOT = 10000, HERD_SHARERS = 8, HERD_KEY = 16 };

enum { HERD_STEPS = 64, HERD_BUCKETS = 59 * HERD_STEPS };

struct herd_times {
    uint64_t n, counts[HERD_BUCKETS];
};

void herd_add(struct herd_times *h, uint64_t ns);
void herd_merge(struct herd_times *into, const struct herd_times *from);
/* The time that `permille` of all stay within; 0 if there is none. */
uint64_t herd_quantile(const struct herd_times *h, unsigned permille);

/* A key: "k:h123" is hot, "k:c123" cold. */
struct herd_key {
    char text[HERD_KEY];
    size_t len;
    bool is_cold;
};
void herd_key_make(struct herd_key *key, bool is_cold, uint64_t number);

/* What callers ask: shared by all, `asked` atomic. */
struct herd_mix {
    unsigned miss_percent, sharers;
    uint64_t asked; /* atomic: cold keys asked for, counted once a caller */
};
void herd_mix_next(struct herd_mix *mix, uint64_t *random, struct herd_key *out);
/* Different cold keys asked for. */
uint64_t herd_mix_keys(const struct herd_mix *mix);

/* What came out of a run. */
struct herd_result {
    struct herd_times hits, waits;
    uint64_t elapsed_ns, errors, waiting;      /* waiting: not answered when the run ended */
    uint64_t keys, loads, misses, flights_now; /* the cache's counters */
    const char *wrong;
};

/* Prints the line; returns the exit code. */
int herd_print(const char *job, unsigned callers, const struct herd_result *r);

/* Prints how hits fared with a source that hangs (`with`) beside no misses at
 * all, phase by phase.  Returns the exit code. */
int herd_print_pairs(unsigned callers, const struct herd_times *without,
                     const struct herd_times *with, size_t n_pairs, uint64_t blocked,
                     const char *wrong);

/* One cold key and everybody wants it. */
int herd_print_crowd(unsigned callers, uint64_t loads, uint64_t after_load_ns, const char *wrong);

bool herd_number(const char *text, uint64_t max, uint64_t *out);

#endif
