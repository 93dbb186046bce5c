/* SPDX-License-Identifier: MIT */
#include "server/service.h"
#include "base/hash.h"
#include "base/mem.h"
#include "server/hub.h"

static void set_default(size_t *value, size_t usual) {
    if (*value == 0) *value = usual;
}

static void set_limits(struct rondo_service_limits *l) {
    set_default(&l->slots, 1024);
    set_default(&l->output_soft, (size_t)1 << 20);
    set_default(&l->output_hard, (size_t)1 << 30);
    set_default(&l->output_push, (size_t)32 << 20);
    set_default(&l->input, (size_t)1 << 30);
    set_default(&l->argument, (size_t)512 << 20);
}

static void draw_run_id(char id[41]) {
    static const char digits[] = "0123456789abcdef";
    uint64_t state = rondo_hash_seed();
    for (int i = 0; i < 40; i++) id[i] = digits[rondo_random_below(&state, 16)];
    id[40] = '\0';
}

enum rondo_err rondo_service_init(struct rondo_service *s, rondo_runtime *rt, rondo_keyspace *ks,
                                  const struct rondo_config *config,
                                  const struct rondo_service_limits *limits) {
    *s = (struct rondo_service){.rt = rt,
                                .ks = ks,
                                .config = config,
                                .clock = &rondo_clock_real,
                                .port = config->listen.port};
    if (limits) s->limits = *limits;
    set_limits(&s->limits);
    s->n_workers = rondo_runtime_workers(rt);
    s->start_ns = rondo_runtime_now_ns(rt);
    s->start_wall_ns = rondo_clock_wall(s->clock);
    draw_run_id(s->run_id);

    s->workers = rondo_zalloc(s->n_workers * sizeof *s->workers);
    if (!s->workers) return RONDO_ERR_NOMEM;
    enum rondo_err err = rondo_commands_init(&s->commands);
    if (err) goto err_workers;
    err = rondo_hub_start(rt, &s->hub);
    if (err) goto err_commands;
    rondo_clients_init(&s->clients, config->max_connections ? config->max_connections : 10000);
    rondo_mutex_init(&s->mu);
    return RONDO_OK;

err_commands:
    rondo_commands_fini(&s->commands);
err_workers:
    rondo_free(s->workers);
    s->workers = NULL;
    return err;
}

void rondo_service_fini(struct rondo_service *s) {
    if (!s->workers) return;
    rondo_mutex_fini(&s->mu);
    rondo_clients_fini(&s->clients);
    rondo_commands_fini(&s->commands);
    rondo_actor_unref(s->hub);
    for (unsigned i = 0; i < s->n_workers; i++) {
        rondo_buf_fini(&s->workers[i].spare_in);
        rondo_buf_fini(&s->workers[i].spare_out);
        rondo_free(s->workers[i].spare_room.ring);
        rondo_free(s->workers[i].spare_op); /* holds nothing between two commands */
    }
    rondo_free(s->workers);
    s->workers = NULL;
}

static void sum_all(struct rondo_service *s, struct rondo_service_counts *out) {
    *out = (struct rondo_service_counts){0};
    for (unsigned i = 0; i < s->n_workers; i++) {
        const struct rondo_service_counts *c = &s->workers[i].counts;
        /* partner: rondo_service_count on the worker */
#define ADD(name, text) out->name += rondo_load_relaxed(&c->name);
        RONDO_SERVICE_COUNTS(ADD)
#undef ADD
    }
}

void rondo_service_sum(struct rondo_service *s, struct rondo_service_counts *out) {
    sum_all(s, out);
    rondo_mutex_lock(&s->mu);
#define SUBTRACT(name, text) out->name -= s->base.name;
    RONDO_SERVICE_COUNTS(SUBTRACT)
#undef SUBTRACT
    rondo_mutex_unlock(&s->mu);
}

void rondo_service_reset_counts(struct rondo_service *s) {
    struct rondo_service_counts now;
    sum_all(s, &now);
    rondo_mutex_lock(&s->mu);
    s->base = now;
    rondo_mutex_unlock(&s->mu);
}

const struct rondo_config_cache *rondo_service_cache_config(const struct rondo_service *s,
                                                            const rondo_cache *cache) {
    return rondo_config_find(s->config, rondo_cache_name(cache));
}
