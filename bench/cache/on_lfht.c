/* SPDX-License-Identifier: MIT */
/* liburcu's lock-free hash table, read under RCU (the membarrier flavour, whose
 * readers need neither a fence nor a call now and then). */
#define URCU_INLINE_SMALL_FUNCTIONS
#include "base/hash.h"
#include "trial.h"
#include <stdlib.h>
#include <urcu/urcu-memb.h>

#include <urcu/rculfhash.h>

struct entry {
    struct cds_lfht_node node;
    char key[TRIAL_KEY], value[TRIAL_VALUE];
};

static int is_key(struct cds_lfht_node *node, const void *key) {
    const struct entry *e = (const struct entry *)(const void *)node;
    return memcmp(e->key, key, TRIAL_KEY) == 0;
}

static bool get(void *self, const char *key, char *out) {
    struct cds_lfht_iter iter;
    urcu_memb_read_lock();
    cds_lfht_lookup(self, rondo_hash(key, TRIAL_KEY, 0), is_key, key, &iter);
    struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
    if (node) memcpy(out, ((const struct entry *)(const void *)node)->value, TRIAL_VALUE);
    urcu_memb_read_unlock();
    return node != NULL;
}

/* Keys come once, so that nothing is ever replaced. */
static bool put(void *self, const char *key, const char *value) {
    struct entry *e = malloc(sizeof *e);
    if (!e) return false;
    cds_lfht_node_init(&e->node);
    memcpy(e->key, key, TRIAL_KEY);
    memcpy(e->value, value, TRIAL_VALUE);
    urcu_memb_read_lock();
    struct cds_lfht_node *there =
        cds_lfht_add_unique(self, rondo_hash(key, TRIAL_KEY, 0), is_key, e->key, &e->node);
    urcu_memb_read_unlock();
    return there == &e->node;
}

static void *open_lfht(uint64_t n, bool is_bounded) {
    unsigned long size = 1;
    if (is_bounded) return NULL;
    while (size < n) size *= 2;
    return cds_lfht_new_flavor(size, size, 0, CDS_LFHT_ACCOUNTING, &urcu_memb_flavor, NULL);
}

static void close_lfht(void *self) {
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;
    urcu_memb_register_thread();
    urcu_memb_read_lock();
    cds_lfht_first(self, &iter);
    while ((node = cds_lfht_iter_get_node(&iter)) != NULL) {
        cds_lfht_next(self, &iter);
        (void)cds_lfht_del(self, node);
        free(node); /* nobody else is left who could read it */
    }
    urcu_memb_read_unlock();
    urcu_memb_unregister_thread();
    (void)cds_lfht_destroy(self, NULL);
}

static void enter(void *self) {
    (void)self;
    urcu_memb_register_thread();
}

static void leave(void *self) {
    (void)self;
    urcu_memb_unregister_thread();
}

static void walk(void *self, const struct trial_walk *w, struct trial_tally *out) {
    trial_walk(self, w, out, get, put);
}

int main(int argc, char **argv) {
    static const struct trial_peer peer = {.name = "lfht",
                                           .open = open_lfht,
                                           .close = close_lfht,
                                           .put = put,
                                           .walk = walk,
                                           .enter = enter,
                                           .leave = leave};
    return trial_main(argc, argv, &peer);
}
