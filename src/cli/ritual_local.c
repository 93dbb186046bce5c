/* SPDX-License-Identifier: MIT */
/* The ritual in this process: cultists are actors, timers call them all at once,
 * a cache of the configuration answers. */
#include "cli/ritual.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include "config/config.h"
#include "rondo/cache.h"
#include "rondo/runtime.h"

/* The second article's configuration; examples/fhtagn.yaml tells its story. */
static const char built_in[] =
    "caches:\n"
    "  fhtagn:\n"
    "    keys: \"fhtagn:{name}\"\n"
    "    load_timeout: 1h\n"
    "    wait: 10h\n"
    "    source:\n"
    "      type: scripted\n"
    "      delay: 5s\n"
    "      announce: \"TimeAndSpace: Processing summoning by {client} for {name}\"\n"
    "      answers:\n"
    "        Cthulhu: \"In his house at R'lyeh dead Cthulhu waits dreaming\"\n"
    "        Yog-Sothoth: \"The gate and the key\"\n";

enum message { MSG_SUMMON = 1, MSG_ANSWER };

struct ritual;

struct cultist {
    struct ritual *ritual;
    char name[32];
    char key[256];
    rondo_actor *actor;
    struct rondo_answer answer; /* written before the latch is counted down */
};

struct ritual {
    const struct rondo_ritual_options *options;
    struct rondo_config *config;
    struct rondo_config_cache *setup;
    rondo_runtime *rt;
    rondo_cache *cache;
    struct cultist *cultists;
    size_t n_cultists;
    struct rondo_latch latch;
};

static void report(void *arg, const char *line) {
    (void)arg;
    fprintf(stderr, "rondo ritual: %s\n", line);
}

/* ---- cultists ---- */

static void answered(rondo_actor *self, struct cultist *c, const struct rondo_answer *answer) {
    c->answer = *answer;
    rondo_actor_stop(self);
    rondo_latch_count_down(&c->ritual->latch);
}

static void summon(rondo_actor *self, struct cultist *c) {
    struct rondo_key key = {.data = c->key, .len = strlen(c->key)};
    struct rondo_read read = {.done = {.to = self, .type = MSG_ANSWER},
                              .client = rondo_slice_str(c->name)};
    struct rondo_answer answer;
    if (rondo_cache_get(c->ritual->cache, &key, &read, &answer) != RONDO_PENDING)
        answered(self, c, &answer);
}

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct cultist *c = state;
    if (m->type == MSG_SUMMON) {
        summon(self, c);
    } else {
        struct rondo_reply *reply = (struct rondo_reply *)m;
        struct rondo_answer answer = reply->answer;
        memset(&reply->answer, 0, sizeof reply->answer);
        answered(self, c, &answer);
    }
    rondo_msg_free(m);
}

static enum rondo_err schedule(struct cultist *c, uint64_t start_ns) {
    struct rondo_msg *m = rondo_msg_new(MSG_SUMMON, sizeof *m);
    if (m == NULL) return RONDO_ERR_NOMEM;
    uint64_t due = start_ns + RONDO_RITUAL_START_MS * RONDO_MS;
    uint64_t now = rondo_runtime_now_ns(c->ritual->rt);
    return rondo_send_after(c->actor, m, due > now ? due - now : 0, NULL);
}

static enum rondo_err gather(struct ritual *r, uint64_t start_ns) {
    const struct rondo_ritual_options *o = r->options;
    for (size_t a = 0; a < o->n_ancient_ones; a++) {
        for (uint64_t i = 0; i < o->cultists; i++) {
            struct cultist *c = &r->cultists[r->n_cultists];
            c->ritual = r;
            snprintf(c->name, sizeof c->name, "Cultist %zu", r->n_cultists + 1);
            snprintf(c->key, sizeof c->key, RONDO_RITUAL_CACHE ":%s", o->ancient_ones[a]);
            struct rondo_actor_options options = {
                .size = sizeof options, .name = c->name, .receive = receive, .state = c};
            enum rondo_err err = rondo_spawn(r->rt, &options, &c->actor);
            if (err) return err;
            r->n_cultists++;
            err = schedule(c, start_ns);
            if (err) return err;
        }
    }
    return RONDO_OK;
}

/* ---- set up, run, take down ---- */

static enum rondo_err configure(struct ritual *r) {
    const struct rondo_ritual_options *o = r->options;
    enum rondo_err err = o->config ? rondo_config_load(o->config, report, NULL, &r->config)
                                   : rondo_config_parse(built_in, sizeof built_in - 1, "(built in)",
                                                        NULL, report, NULL, &r->config);
    if (err) return err;
    r->setup = rondo_config_find(r->config, RONDO_RITUAL_CACHE);
    if (r->setup == NULL) {
        fprintf(stderr, "rondo ritual: %s has no cache called " RONDO_RITUAL_CACHE "\n", o->config);
        return RONDO_ERR_CONFIG;
    }
    if (o->has_threads) r->setup->options.threads = o->threads;
    if (o->has_single_flight) r->setup->options.no_single_flight = o->no_single_flight;
    if (o->delay_ns) {
        char delay[32];
        snprintf(delay, sizeof delay, "%lluns", (unsigned long long)o->delay_ns);
        err = rondo_config_set(r->config, r->setup, "delay", delay, report, NULL);
    }
    if (!err && o->is_silent)
        err = rondo_config_set(r->config, r->setup, "announce", NULL, report, NULL);
    return err;
}

static enum rondo_err set_up(struct ritual *r) {
    enum rondo_err err = configure(r);
    if (err) return err;
    r->cultists =
        rondo_zalloc(r->options->n_ancient_ones * r->options->cultists * sizeof *r->cultists);
    if (r->cultists == NULL) return RONDO_ERR_NOMEM;
    err = rondo_runtime_new(NULL, &r->rt);
    if (err) return err;
    err = rondo_cache_open(r->rt, &r->setup->options, &r->cache);
    if (!err) r->setup->options.source = (struct rondo_source){0};
    return err;
}

static void wait_for_all(struct ritual *r, uint64_t total) {
    struct rondo_progress *p = r->options->progress;
    uint64_t step_ns = 100 * RONDO_MS;
    uint64_t left;
    while ((left = rondo_latch_wait_until(&r->latch,
                                          rondo_clock_now(&rondo_clock_real) + step_ns)) > 0)
        if (p) rondo_progress_show(p, total - left, total);
    if (p) rondo_progress_wipe(p);
}

static void collect(struct ritual *r, struct rondo_ritual_result *out) {
    struct rondo_cache_stats s;
    rondo_cache_stats(r->cache, &s);
    out->threads = (unsigned)s.threads;
    out->is_service_thread = r->setup->options.threads.kind == RONDO_THREADS_NONE;
    if (out->is_service_thread) out->threads = 0;
    out->callers = r->n_cultists;
    out->hits = s.hits;
    out->misses = s.misses;
    out->joined = s.joined;
    out->loads = s.loads;
    for (size_t i = 0; i < r->n_cultists; i++) {
        const struct rondo_answer *a = &r->cultists[i].answer;
        if (a->outcome == RONDO_VALUE)
            out->answers++;
        else if (a->outcome == RONDO_ABSENT)
            out->absent++;
        else if (out->failed++ == 0)
            snprintf(out->failure, sizeof out->failure, "%.*s", (int)a->value.len,
                     a->value.data ? (const char *)a->value.data : "");
    }
}

static void take_down(struct ritual *r) {
    rondo_cache_close(r->cache);
    for (size_t i = 0; i < r->n_cultists; i++) rondo_actor_unref(r->cultists[i].actor);
    rondo_runtime_free(r->rt);
    for (size_t i = 0; i < r->n_cultists; i++) rondo_answer_release(&r->cultists[i].answer);
    rondo_free(r->cultists);
    rondo_config_free(r->config);
}

enum rondo_err rondo_ritual_run_local(const struct rondo_ritual_options *options,
                                      struct rondo_ritual_result *out) {
    struct ritual r = {.options = options};
    struct rondo_ritual_result result = {0};
    uint64_t total = options->n_ancient_ones * options->cultists;
    rondo_latch_init(&r.latch, total);
    enum rondo_err err = set_up(&r);
    if (!err) {
        uint64_t start_ns = rondo_runtime_now_ns(r.rt);
        err = gather(&r, start_ns);
        if (!err) {
            wait_for_all(&r, total);
            result.elapsed_ns = rondo_runtime_now_ns(r.rt) - start_ns;
            collect(&r, &result);
            *out = result;
        }
    }
    if (err && err != RONDO_ERR_CONFIG) fprintf(stderr, "rondo ritual: %s\n", rondo_err_text(err));
    take_down(&r);
    rondo_latch_fini(&r.latch);
    return err;
}
