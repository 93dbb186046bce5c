/* SPDX-License-Identifier: MIT */
/* ConcurrencyKit's hash set: one writer, readers without locks.  Nothing is
 * removed while anyone reads, so that its readers need no epochs here. */
#include "base/hash.h"
#include "trial.h"
#include <ck_hs.h>
#include <stdlib.h>

struct entry {
    char key[TRIAL_KEY], value[TRIAL_VALUE];
};

static void *take(size_t size) {
    return malloc(size);
}
static void give(void *p, size_t size, bool is_deferred) {
    (void)size;
    (void)is_deferred;
    free(p);
}
static struct ck_malloc allocator = {.malloc = take, .free = give};

static unsigned long hash(const void *key, unsigned long seed) {
    return (unsigned long)rondo_hash(key, TRIAL_KEY, seed);
}

/* Both are entries or keys: a key comes first in an entry. */
static bool is_same(const void *a, const void *b) {
    return memcmp(a, b, TRIAL_KEY) == 0;
}

static bool get(void *self, const char *key, char *out) {
    struct ck_hs *hs = self;
    const struct entry *e = ck_hs_get(hs, CK_HS_HASH(hs, hash, key), key);
    if (!e) return false;
    memcpy(out, e->value, TRIAL_VALUE);
    return true;
}

static bool put(void *self, const char *key, const char *value) {
    struct ck_hs *hs = self;
    struct entry *e = malloc(sizeof *e);
    if (!e) return false;
    memcpy(e->key, key, TRIAL_KEY);
    memcpy(e->value, value, TRIAL_VALUE);
    return ck_hs_put(hs, CK_HS_HASH(hs, hash, e), e);
}

static void *open_ck(uint64_t n, bool is_bounded) {
    if (is_bounded) return NULL;
    struct ck_hs *hs = malloc(sizeof *hs);
    if (hs && ck_hs_init(hs, CK_HS_MODE_SPMC | CK_HS_MODE_OBJECT, hash, is_same, &allocator,
                         2 * (unsigned long)n, 0x5eed))
        return hs;
    free(hs);
    return NULL;
}

static void close_ck(void *self) {
    struct ck_hs *hs = self;
    ck_hs_iterator_t iter = CK_HS_ITERATOR_INITIALIZER;
    void *e;
    while (ck_hs_next(hs, &iter, &e)) free(e);
    ck_hs_destroy(hs);
    free(hs);
}

static void walk(void *self, const struct trial_walk *w, struct trial_tally *out) {
    trial_walk(self, w, out, get, put);
}

int main(int argc, char **argv) {
    static const struct trial_peer peer = {
        .name = "ck_hs", .open = open_ck, .close = close_ck, .put = put, .walk = walk};
    return trial_main(argc, argv, &peer);
}
