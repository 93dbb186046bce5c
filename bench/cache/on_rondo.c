/* SPDX-License-Identifier: MIT */
/* rondo, through the public header: each thread reads the clock once in 64 reads,
 * as one that serves requests would once a batch. */
#include "rondo/cache.h"
#include "trial.h"
#include <stdlib.h>

enum { READS_A_CLOCK = 64 };

struct on_rondo {
    rondo_runtime *rt;
    rondo_cache *cache;
};

static void close_rondo(void *self) {
    struct on_rondo *r = self;
    rondo_cache_close(r->cache);
    rondo_runtime_free(r->rt);
    free(r);
}

static struct on_rondo *open_with(uint64_t memory_bytes) {
    struct on_rondo *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {RONDO_THREADS_NONE, 0, 0}};
    struct rondo_cache_options c = {.size = sizeof c, .memory_bytes = memory_bytes};
    if (rondo_runtime_new(&o, &r->rt) == RONDO_OK &&
        rondo_cache_open(r->rt, &c, &r->cache) == RONDO_OK)
        return r;
    close_rondo(r);
    return NULL;
}

static uint64_t entries(void *self) {
    struct on_rondo *r = self;
    struct rondo_cache_stats stats;
    rondo_cache_stats(r->cache, &stats);
    return stats.entries;
}

static bool put(void *self, const char *key, const char *value) {
    struct on_rondo *r = self;
    struct rondo_key k = {key, TRIAL_KEY, 0};
    struct rondo_slice v = {value, TRIAL_VALUE};
    struct rondo_answer answer;
    enum rondo_outcome outcome = rondo_cache_put(r->cache, &k, v, NULL, &answer);
    rondo_answer_release(&answer);
    return outcome == RONDO_VALUE;
}

static void *open_rondo(uint64_t n, bool is_bounded) {
    return open_with(is_bounded ? n * 100 : n * 400 + (64u << 20));
}

struct reader {
    rondo_cache *cache;
    rondo_runtime *rt;
    struct rondo_read read;
    unsigned left;
};

static inline bool get(void *self, const char *key, char *out) {
    struct reader *r = self;
    struct rondo_key k = {key, TRIAL_KEY, 0};
    struct rondo_answer answer;
    if (r->left-- == 0) {
        r->left = READS_A_CLOCK;
        r->read.now_ns = rondo_runtime_now_ns(r->rt);
    }
    r->read.scratch = out;
    r->read.scratch_size = TRIAL_VALUE;
    return rondo_cache_get(r->cache, &k, &r->read, &answer) == RONDO_VALUE;
}

static bool put_back(void *self, const char *key, const char *value) {
    struct reader *r = self;
    struct on_rondo whole = {.rt = r->rt, .cache = r->cache};
    return put(&whole, key, value);
}

static void walk(void *self, const struct trial_walk *w, struct trial_tally *out) {
    struct on_rondo *r = self;
    struct reader reader = {.cache = r->cache, .rt = r->rt};
    trial_walk(&reader, w, out, get, put_back);
}

int main(int argc, char **argv) {
    static const struct trial_peer peer = {.name = "rondo",
                                           .open = open_rondo,
                                           .close = close_rondo,
                                           .put = put,
                                           .walk = walk,
                                           .entries = entries};
    return trial_main(argc, argv, &peer);
}
