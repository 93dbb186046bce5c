/* SPDX-License-Identifier: MIT */
/* GLib's hash table and one mutex around it: what a C program does first. */
#include "base/hash.h"
#include "trial.h"
#include <glib.h>
#include <stdlib.h>

struct on_glib {
    GMutex mu;
    GHashTable *table;
};

struct entry {
    char key[TRIAL_KEY], value[TRIAL_VALUE];
};

static guint hash(gconstpointer key) {
    return (guint)rondo_hash(key, TRIAL_KEY, 0);
}

static gboolean is_same(gconstpointer a, gconstpointer b) {
    return memcmp(a, b, TRIAL_KEY) == 0;
}

static bool get(void *self, const char *key, char *out) {
    struct on_glib *g = self;
    g_mutex_lock(&g->mu);
    const struct entry *e = g_hash_table_lookup(g->table, key);
    if (e) memcpy(out, e->value, TRIAL_VALUE);
    g_mutex_unlock(&g->mu);
    return e != NULL;
}

static bool put(void *self, const char *key, const char *value) {
    struct on_glib *g = self;
    struct entry *e = malloc(sizeof *e);
    if (!e) return false;
    memcpy(e->key, key, TRIAL_KEY);
    memcpy(e->value, value, TRIAL_VALUE);
    g_mutex_lock(&g->mu);
    (void)g_hash_table_insert(g->table, e->key, e);
    g_mutex_unlock(&g->mu);
    return true;
}

static void *open_glib(uint64_t n, bool is_bounded) {
    (void)n;
    if (is_bounded) return NULL;
    struct on_glib *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g_mutex_init(&g->mu);
    g->table = g_hash_table_new_full(hash, is_same, NULL, free);
    return g;
}

static void close_glib(void *self) {
    struct on_glib *g = self;
    g_hash_table_destroy(g->table);
    g_mutex_clear(&g->mu);
    free(g);
}

static void walk(void *self, const struct trial_walk *w, struct trial_tally *out) {
    trial_walk(self, w, out, get, put);
}

int main(int argc, char **argv) {
    static const struct trial_peer peer = {
        .name = "glib", .open = open_glib, .close = close_glib, .put = put, .walk = walk};
    return trial_main(argc, argv, &peer);
}
