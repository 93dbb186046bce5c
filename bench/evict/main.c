/* SPDX-License-Identifier: MIT */
/* `bench_evict TRACE POLICY PERCENT KEYS READS`: how many of the reads hit in a
 * cache with room for so many percent of the keys.  The first quarter fills the
 * cache and is not counted.  No clock: the same arguments give the same answer. */
#include "policy.h"
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 42, LEAST_KEYS = 100 };

static const struct policy *find(const char *name) {
    static const struct policy *const all[] = {&policy_s3fifo, &policy_lru, &policy_sieve,
                                               &policy_tinylfu};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

static uint64_t count_hits(const struct policy *policy, void *cache, struct trace *t,
                           uint64_t reads) {
    uint64_t hits = 0;
    for (uint64_t i = 0; i < reads; i++) hits += policy->access(cache, trace_next(t));
    return hits;
}

int main(int argc, char **argv) {
    const struct policy *policy = argc == 6 ? find(argv[2]) : NULL;
    unsigned long percent = argc == 6 ? strtoul(argv[3], NULL, 10) : 0;
    unsigned long keys = argc == 6 ? strtoul(argv[4], NULL, 10) : 0;
    unsigned long reads = argc == 6 ? strtoul(argv[5], NULL, 10) : 0;
    struct trace trace;
    if (!policy || percent < 1 || percent > 100 || keys < LEAST_KEYS || keys > UINT32_MAX / 2 ||
        reads < 4 || !trace_init(&trace, argv[1], (uint32_t)keys, SEED)) {
        fprintf(stderr, "usage: %s TRACE POLICY PERCENT KEYS READS\n", argv[0]);
        return 2;
    }
    uint32_t capacity = (uint32_t)(keys * percent / 100);
    void *cache = policy->open(capacity, trace_universe(&trace));
    (void)count_hits(policy, cache, &trace, reads / 4);
    uint64_t counted = reads - reads / 4;
    uint64_t hits = count_hits(policy, cache, &trace, counted);
    policy->close(cache);
    trace_fini(&trace);
    printf("{\"trace\": \"%s\", \"policy\": \"%s\", \"percent\": %lu, \"hit_percent\": %.3f, "
           "\"ok\": true}\n",
           argv[1], policy->name, percent, 100.0 * (double)hits / (double)counted);
    return 0;
}
