/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include "base/hash.h"
#include <string.h>

enum { ROUNDS = 8, HOT_PERCENT = 5, READS_A_SHIFT = 20 };
static const uint32_t loop_percent[] = {2, 12, 30};
enum { LOOPS = sizeof loop_percent / sizeof loop_percent[0] };

static uint32_t next_zipf(struct trace *t) {
    return bench_zipf_next(&t->zipf);
}

static uint32_t next_scan(struct trace *t) {
    if (rondo_random_below(&t->random, 5) != 0) return bench_zipf_next(&t->zipf);
    return t->n_keys + t->scan++ % t->n_keys;
}

/* Each loop has keys of its own, so that one pushes the other out. */
static uint32_t next_loop(struct trace *t) {
    uint32_t length = t->n_keys / 100 * loop_percent[t->loop];
    uint32_t base = t->n_keys / LOOPS * t->loop;
    uint32_t key = base + t->scan % length;
    if (++t->scan == length * ROUNDS) {
        t->scan = 0;
        t->loop = (t->loop + 1) % LOOPS;
    }
    return key;
}

static uint32_t next_shift(struct trace *t) {
    uint32_t hot = t->n_keys / 100 * HOT_PERCENT;
    if (t->reads % READS_A_SHIFT == 0) t->first++;
    if (rondo_random_below(&t->random, 10) == 0)
        return (uint32_t)rondo_random_below(&t->random, t->n_keys);
    return (uint32_t)((t->first + rondo_random_below(&t->random, hot)) % t->n_keys);
}

bool trace_init(struct trace *t, const char *name, uint32_t n_keys, uint64_t seed) {
    static const struct {
        const char *name;
        uint32_t (*next)(struct trace *t);
        double theta;
    } all[] = {{"zipf70", next_zipf, 0.7},
               {"zipf99", next_zipf, 0.99},
               {"scan", next_scan, 0.99},
               {"loop", next_loop, 0.99},
               {"shift", next_shift, 0.99}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, name) != 0) continue;
        *t = (struct trace){.n_keys = n_keys, .next = all[i].next, .random = seed};
        bench_zipf_init(&t->zipf, n_keys, all[i].theta, seed);
        return true;
    }
    return false;
}

void trace_fini(struct trace *t) {
    bench_zipf_fini(&t->zipf);
}
