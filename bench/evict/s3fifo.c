/* SPDX-License-Identifier: MIT */
#include "actors/job.h"
#include "base/hash.h"
#include "cache/evict.h"
#include "policy.h"
#include <stdlib.h>

struct s3fifo {
    struct rondo_evict evict;
    struct rondo_entry **entries; /* [key] */
    uint32_t capacity, universe;
};

static void *s3fifo_open(uint32_t capacity, uint32_t universe) {
    struct s3fifo *s = bench_need(calloc(1, sizeof *s));
    s->capacity = capacity;
    s->universe = universe;
    s->entries = bench_need(calloc(universe, sizeof(struct rondo_entry *)));
    return s;
}

static void s3fifo_close(void *self) {
    struct s3fifo *s = self;
    for (uint32_t i = 0; i < s->universe; i++) rondo_entry_free(s->entries[i]);
    free(s->entries);
    rondo_evict_fini(&s->evict);
    free(s);
}

static void evict_one(struct s3fifo *s) {
    uint32_t key;
    struct rondo_entry *out = rondo_evict_pick(&s->evict);
    memcpy(&key, rondo_entry_key(out), sizeof key);
    s->entries[key] = NULL;
    rondo_entry_free(out);
}

static bool s3fifo_access(void *self, uint32_t key) {
    struct s3fifo *s = self;
    if (s->entries[key]) {
        rondo_entry_touch(s->entries[key]);
        return true;
    }
    uint64_t random = key;
    struct rondo_entry_init init = {.hash = rondo_random_next(&random),
                                    .key = rondo_slice_of(&key, sizeof key)};
    struct rondo_entry *e = s->entries[key] = bench_need(rondo_entry_new(&init));
    /* As in the cache: it comes in, then somebody goes. */
    if (rondo_evict_add(&s->evict, e)) exit(2);
    if (rondo_evict_count(&s->evict) > s->capacity) evict_one(s);
    return false;
}

const struct policy policy_s3fifo = {"s3fifo", s3fifo_open, s3fifo_close, s3fifo_access};
