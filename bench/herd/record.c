/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "base/atomic.h"
#include "base/hash.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- histograms --- */

static unsigned bucket_of(uint64_t ns) {
    if (ns < HERD_STEPS) return (unsigned)ns;
    unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - 6;
    return (shift + 1) * HERD_STEPS + (unsigned)(ns >> shift) - HERD_STEPS;
}

static uint64_t value_of(unsigned bucket) {
    if (bucket < HERD_STEPS) return bucket;
    unsigned shift = bucket / HERD_STEPS - 1;
    return (uint64_t)(bucket % HERD_STEPS + HERD_STEPS) << shift;
}

void herd_add(struct herd_times *h, uint64_t ns) {
    h->n++;
    h->counts[bucket_of(ns)]++;
}

void herd_merge(struct herd_times *into, const struct herd_times *from) {
    into->n += from->n;
    for (size_t i = 0; i < HERD_BUCKETS; i++) into->counts[i] += from->counts[i];
}

uint64_t herd_quantile(const struct herd_times *h, unsigned permille) {
    uint64_t need = h->n - h->n * (1000 - permille) / 1000, seen = 0;
    for (unsigned i = 0; i < HERD_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= need && seen > 0) return value_of(i);
    }
    return 0;
}

/* ------------------------------------------------------------------- what to ask --- */

void herd_key_make(struct herd_key *key, bool is_cold, uint64_t number) {
    int n = snprintf(key->text, sizeof key->text, "k:%c%" PRIu64, is_cold ? 'c' : 'h', number);
    key->len = (size_t)n;
    key->is_cold = is_cold;
}

void herd_mix_next(struct herd_mix *mix, uint64_t *random, struct herd_key *out) {
    if (rondo_random_below(random, 100) < mix->miss_percent) {
        uint64_t asked = rondo_add_relaxed(&mix->asked, (uint64_t)1); /* a number, no more */
        herd_key_make(out, true, asked / mix->sharers);
    } else {
        herd_key_make(out, false, rondo_random_below(random, HERD_HOT));
    }
}

uint64_t herd_mix_keys(const struct herd_mix *mix) {
    uint64_t asked = rondo_load_relaxed(&mix->asked); /* when all have stopped */
    return (asked + mix->sharers - 1) / mix->sharers;
}

/* ---------------------------------------------------------------------- printing --- */

static int end(const char *wrong) {
    if (wrong) printf(", \"wrong\": \"%s\"", wrong);
    printf(", \"ok\": %s}\n", wrong ? "false" : "true");
    return wrong ? 1 : 0;
}

static void print_times(const char *name, const struct herd_times *h) {
    if (h->n == 0) return;
    printf(", \"%s_p50_ns\": %" PRIu64 ", \"%s_p99_ns\": %" PRIu64 ", \"%s_p999_ns\": %" PRIu64,
           name, herd_quantile(h, 500), name, herd_quantile(h, 990), name, herd_quantile(h, 999));
}

int herd_print(const char *job, unsigned callers, const struct herd_result *r) {
    printf("{\"job\": \"%s\", \"callers\": %u, \"hits\": %" PRIu64 ", \"waits\": %" PRIu64
           ", \"waiting\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"keys\": %" PRIu64
           ", \"loads\": %" PRIu64 ", \"elapsed_ns\": %" PRIu64 ", \"hits_per_s\": %.1f",
           job, callers, r->hits.n, r->waits.n, r->waiting, r->errors, r->keys, r->loads,
           r->elapsed_ns, (double)r->hits.n * 1e9 / (double)r->elapsed_ns);
    uint64_t landed = r->keys > r->flights_now ? r->keys - r->flights_now : 0;
    if (landed) printf(", \"loads_per_key\": %.4f", (double)r->loads / (double)landed);
    uint64_t all = r->hits.n + r->waits.n + r->waiting;
    if (all) printf(", \"miss_percent\": %.2f", 100.0 * (double)r->misses / (double)all);
    print_times("hit", &r->hits);
    print_times("wait", &r->waits);
    return end(r->wrong);
}

static int compare(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int herd_print_pairs(unsigned callers, const struct herd_times *without,
                     const struct herd_times *with, size_t n_pairs, uint64_t blocked,
                     const char *wrong) {
    struct herd_times *all = calloc(2, sizeof *all);
    double *ratios = calloc(n_pairs, sizeof *ratios);
    size_t n_whole = 0;
    if (!all || !ratios) exit(2);
    for (size_t i = 0; i < n_pairs; i++) {
        uint64_t base = herd_quantile(&without[i], 990), loaded = herd_quantile(&with[i], 990);
        if (!base || !loaded) continue; /* the machine had no time for one of the phases */
        ratios[n_whole++] = (double)loaded / (double)base;
        herd_merge(&all[0], &without[i]);
        herd_merge(&all[1], &with[i]);
    }
    if (n_whole == 0) wrong = "no pair of phases with hits in both";
    qsort(ratios, n_whole, sizeof *ratios, compare);
    printf("{\"job\": \"saturated\", \"callers\": %u, \"pairs\": %zu, \"blocked\": %" PRIu64
           ", \"p99_ratio\": %.4f, \"p99_ratio_min\": %.4f, \"p99_ratio_max\": %.4f",
           callers, n_whole, blocked, ratios[n_whole / 2], ratios[0],
           ratios[n_whole ? n_whole - 1 : 0]);
    print_times("without", &all[0]);
    print_times("with", &all[1]);
    free(all);
    free(ratios);
    return end(wrong);
}

int herd_print_crowd(unsigned callers, uint64_t loads, uint64_t after_load_ns, const char *wrong) {
    printf("{\"job\": \"crowd\", \"callers\": %u, \"loads\": %" PRIu64
           ", \"after_load_ns\": %" PRIu64,
           callers, loads, after_load_ns);
    return end(wrong);
}

bool herd_number(const char *text, uint64_t max, uint64_t *out) {
    char *rest;
    errno = 0;
    unsigned long long v = strtoull(text, &rest, 10);
    if (errno || *rest || rest == text || *text == '-' || v > max) return false;
    *out = v;
    return true;
}
