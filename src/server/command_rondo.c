/* SPDX-License-Identifier: MIT */
/* RONDO.*: what Redis has no command for. */
#include "server/session.h"

static void write_pair(struct rondo_resp_writer *w, const char *name, uint64_t value) {
    rondo_resp_write_bulk_str(w, name);
    rondo_resp_write_int(w, (int64_t)value);
}

enum {
#define ONE(name, text) +1
    N_STATS = RONDO_CACHE_STATS(ONE)
#undef ONE
};

static void write_stats(struct rondo_resp_writer *w, rondo_cache *cache) {
    struct rondo_cache_stats stats;
    rondo_cache_stats(cache, &stats);
    rondo_resp_write_map(w, N_STATS);
#define PAIR(name, text) write_pair(w, #name, stats.name);
    RONDO_CACHE_STATS(PAIR)
#undef PAIR
}

static size_t count_caches(rondo_keyspace *ks) {
    size_t n = 0;
    while (rondo_keyspace_cache(ks, n)) n++;
    return n;
}

static rondo_cache *find_cache(const struct rondo_cmd *call, struct rondo_slice name) {
    rondo_keyspace *ks = call->session->service->ks;
    rondo_cache *cache;
    for (size_t i = 0; (cache = rondo_keyspace_cache(ks, i)); i++)
        if (rondo_slice_is(name, rondo_cache_name(cache))) return cache;
    return NULL;
}

static enum rondo_run run_stats(struct rondo_cmd *call) {
    rondo_keyspace *ks = call->session->service->ks;
    rondo_cache *cache;
    if (call->argc > 2) return rondo_cmd_arity_error(call);
    if (call->argc == 2) {
        cache = find_cache(call, call->argv[1]);
        if (!cache) return rondo_cmd_error(call, "ERR no such cache");
        write_stats(&call->w, cache);
        return RONDO_RUN_DONE;
    }
    rondo_resp_write_map(&call->w, count_caches(ks));
    for (size_t i = 0; (cache = rondo_keyspace_cache(ks, i)); i++) {
        rondo_resp_write_bulk_str(&call->w, rondo_cache_name(cache));
        write_stats(&call->w, cache);
    }
    return RONDO_RUN_DONE;
}

static enum rondo_run run_refresh(struct rondo_cmd *call) {
    struct rondo_key key = rondo_cmd_key(call, 1);
    rondo_cache *cache = rondo_cmd_route(call, &key);
    if (!cache) return RONDO_RUN_DONE;
    enum rondo_err err = rondo_cache_refresh(cache, &key);
    if (err == RONDO_ERR_NOT_FOUND)
        return rondo_cmd_error(call, "ERR cache %s has no source", rondo_cache_name(cache));
    if (err)
        return rondo_cmd_error(call, "%s %s %s", rondo_err_word(err), rondo_cache_name(cache),
                               rondo_err_text(err));
    return rondo_cmd_ok(call);
}

static const char *writes_name(enum rondo_writes writes) {
    switch (writes) {
    case RONDO_WRITES_REFUSE:
        return "refuse";
    case RONDO_WRITES_THROUGH:
        return "through";
    case RONDO_WRITES_MEMORY:
    default:
        return "memory";
    }
}

static void write_text(struct rondo_resp_writer *w, const char *name, const char *value) {
    rondo_resp_write_bulk_str(w, name);
    rondo_resp_write_bulk_str(w, value);
}

/* Of the settings nothing but the type is told: an address may hold a password. */
static enum rondo_run run_sources(struct rondo_cmd *call) {
    const struct rondo_config *config = call->session->service->config;
    size_t n = 0;
    for (size_t i = 0; i < config->n_caches; i++) n += config->caches[i].source_type != NULL;
    rondo_resp_write_array(&call->w, n);
    for (size_t i = 0; i < config->n_caches; i++) {
        const struct rondo_config_cache *c = &config->caches[i];
        if (!c->source_type) continue;
        rondo_resp_write_map(&call->w, 4);
        write_text(&call->w, "cache", c->name);
        write_text(&call->w, "keys", c->pattern ? c->pattern : "");
        write_text(&call->w, "source", c->source_type);
        write_text(&call->w, "writes", writes_name(c->options.writes));
    }
    return RONDO_RUN_DONE;
}

enum { REFRESH = RONDO_COMMAND_READ | RONDO_COMMAND_LOOK | RONDO_COMMAND_NO_MULTI };

static const struct rondo_command table[] = {
    {"rondo.stats",
     -1,
     RONDO_COMMAND_WHOLE,
     {0, 0, 0},
     "rondo",
     "0.1.0",
     "Get the counters of one cache or of all",
     run_stats,
     NULL},
    {"rondo.refresh",
     2,
     REFRESH,
     {1, 1, 1},
     "rondo",
     "0.1.0",
     "Load a key anew in the background",
     run_refresh,
     NULL},
    {"rondo.sources",
     1,
     0,
     {0, 0, 0},
     "rondo",
     "0.1.0",
     "List the caches that have a source",
     run_sources,
     NULL},
};

const struct rondo_command_family rondo_commands_rondo = {table, RONDO_COUNT_OF(table)};
