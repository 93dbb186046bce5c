/* SPDX-License-Identifier: MIT */
/*
 * The ritual as clients of a server: a connection and a thread per cultist, who
 * says his name by CLIENT SETNAME (which allows no spaces) and GETs at the same
 * moment as the others.  The keys are deleted first; what the server did is the
 * difference of RONDO.STATS.
 */
#include "cli/ritual.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sync.h"
#include "cli/client.h"
#include <time.h>

struct ritual;

struct cultist {
    struct ritual *ritual;
    struct rondo_client client;
    struct rondo_thread thread;
    char key[256];
    enum { GOT_NOTHING, GOT_ANSWER, GOT_ABSENT, GOT_ERROR } got;
    char failure[256];
};

struct ritual {
    const struct rondo_ritual_options *options;
    struct cultist *cultists;
    size_t n_cultists; /* connected */
    size_t n_started;
    uint64_t due_ns; /* monotonic */
    struct rondo_latch latch;
};

struct counters {
    int64_t hits, misses, joined, loads;
};

static void say(const char *what, const char *text) {
    fprintf(stderr, "rondo ritual: %s%s%s\n", what, text ? ": " : "", text ? text : "");
}

/* ---- one cultist's thread ---- */

static void sleep_until(uint64_t due_ns) {
    struct timespec t = {.tv_sec = (time_t)(due_ns / RONDO_SEC),
                         .tv_nsec = (long)(due_ns % RONDO_SEC)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) continue;
}

static void keep_failure(struct cultist *c, const char *text, size_t len) {
    c->got = GOT_ERROR;
    snprintf(c->failure, sizeof c->failure, "%.*s", (int)len, text);
}

static void ask(struct cultist *c) {
    const struct rondo_resp_node *reply;
    if (rondo_client_say(&c->client, &reply, "GET", c->key, (char *)NULL) != RONDO_OK)
        keep_failure(c, rondo_client_error(&c->client), strlen(rondo_client_error(&c->client)));
    else if (reply->type == RONDO_RESP_NULL)
        c->got = GOT_ABSENT;
    else if (reply->type == RONDO_RESP_ERROR)
        keep_failure(c, reply->text.data, reply->text.len);
    else
        c->got = GOT_ANSWER;
}

static void cultist_main(void *arg) {
    struct cultist *c = arg;
    sleep_until(c->ritual->due_ns);
    ask(c);
    rondo_latch_count_down(&c->ritual->latch);
}

/* ---- the server's side ---- */

static enum rondo_err call(struct rondo_client *client, const char *address,
                           const struct rondo_resp_node **reply, const char *a, const char *b,
                           const char *c) {
    enum rondo_err err = rondo_client_say(client, reply, a, b, c, (char *)NULL);
    if (err) {
        say(address, rondo_client_error(client));
        return err;
    }
    if ((*reply)->type != RONDO_RESP_ERROR) return RONDO_OK;
    char text[256];
    snprintf(text, sizeof text, "%s: %.*s", a, (int)(*reply)->text.len,
             (const char *)(*reply)->text.data);
    say(address, text);
    return RONDO_ERR_PROTOCOL;
}

static int64_t counter(const struct rondo_resp_node *stats, const char *name) {
    const struct rondo_resp_node *n = rondo_resp_node_lookup(stats, name);
    return n && n->type == RONDO_RESP_INT ? n->integer : 0;
}

static enum rondo_err read_counters(struct rondo_client *client, const char *address,
                                    struct counters *out) {
    const struct rondo_resp_node *stats;
    enum rondo_err err = call(client, address, &stats, "RONDO.STATS", RONDO_RITUAL_CACHE, NULL);
    if (err) return err;
    *out = (struct counters){.hits = counter(stats, "hits"),
                             .misses = counter(stats, "misses"),
                             .joined = counter(stats, "joined"),
                             .loads = counter(stats, "loads")};
    return RONDO_OK;
}

static enum rondo_err delete_keys(struct rondo_client *client,
                                  const struct rondo_ritual_options *o) {
    enum rondo_err err = RONDO_OK;
    for (size_t a = 0; a < o->n_ancient_ones && !err; a++) {
        char key[256];
        const struct rondo_resp_node *reply;
        snprintf(key, sizeof key, RONDO_RITUAL_CACHE ":%s", o->ancient_ones[a]);
        err = call(client, o->connect, &reply, "DEL", key, NULL);
    }
    return err;
}

/* ---- all cultists ---- */

static enum rondo_err connect_one(struct ritual *r, const char *ancient_one) {
    struct cultist *c = &r->cultists[r->n_cultists++];
    c->ritual = r;
    snprintf(c->key, sizeof c->key, RONDO_RITUAL_CACHE ":%s", ancient_one);
    enum rondo_err err = rondo_client_connect(&c->client, r->options->connect);
    if (err) {
        say("cannot connect", rondo_client_error(&c->client));
        return err;
    }
    char name[32];
    const struct rondo_resp_node *reply;
    snprintf(name, sizeof name, "Cultist-%zu", r->n_cultists);
    return call(&c->client, r->options->connect, &reply, "CLIENT", "SETNAME", name);
}

static enum rondo_err connect_all(struct ritual *r) {
    const struct rondo_ritual_options *o = r->options;
    r->cultists = rondo_zalloc(o->n_ancient_ones * o->cultists * sizeof *r->cultists);
    if (r->cultists == NULL) return RONDO_ERR_NOMEM;
    enum rondo_err err = RONDO_OK;
    for (size_t a = 0; a < o->n_ancient_ones && !err; a++)
        for (uint64_t i = 0; i < o->cultists && !err; i++) err = connect_one(r, o->ancient_ones[a]);
    return err;
}

static enum rondo_err summon_all(struct ritual *r) {
    enum rondo_err err = RONDO_OK;
    for (size_t i = 0; i < r->n_cultists && !err; i++) {
        struct cultist *c = &r->cultists[i];
        err = rondo_thread_start(&c->thread, "cultist", cultist_main, c);
        if (!err) r->n_started++;
    }
    for (size_t i = r->n_started; i < r->n_cultists; i++) rondo_latch_count_down(&r->latch);
    if (err) say("cannot start a thread per cultist", NULL);
    struct rondo_progress *p = r->options->progress;
    uint64_t left;
    while ((left = rondo_latch_wait_until(&r->latch,
                                          rondo_clock_now(&rondo_clock_real) + 100 * RONDO_MS)) > 0)
        if (p) rondo_progress_show(p, r->n_cultists - left, r->n_cultists);
    if (p) rondo_progress_wipe(p);
    return err;
}

static void collect(const struct ritual *r, struct rondo_ritual_result *out) {
    out->callers = r->n_cultists;
    for (size_t i = 0; i < r->n_cultists; i++) {
        const struct cultist *c = &r->cultists[i];
        if (c->got == GOT_ANSWER)
            out->answers++;
        else if (c->got == GOT_ABSENT)
            out->absent++;
        else if (out->failed++ == 0)
            snprintf(out->failure, sizeof out->failure, "%s", c->failure);
    }
}

static enum rondo_err run(struct ritual *r, struct rondo_client *control,
                          struct rondo_ritual_result *out) {
    const char *address = r->options->connect;
    struct counters before, after;
    enum rondo_err err = delete_keys(control, r->options);
    if (!err) err = read_counters(control, address, &before);
    if (!err) err = connect_all(r);
    if (err) return err;
    rondo_latch_init(&r->latch, r->n_cultists);
    uint64_t start_ns = rondo_clock_now(&rondo_clock_real);
    r->due_ns = start_ns + RONDO_RITUAL_START_MS * RONDO_MS;
    err = summon_all(r);
    out->elapsed_ns = rondo_clock_now(&rondo_clock_real) - start_ns;
    for (size_t i = 0; i < r->n_started; i++) rondo_thread_join(&r->cultists[i].thread);
    rondo_latch_fini(&r->latch);
    if (!err) err = read_counters(control, address, &after);
    if (err) return err;
    out->hits = (uint64_t)(after.hits - before.hits);
    out->misses = (uint64_t)(after.misses - before.misses);
    out->joined = (uint64_t)(after.joined - before.joined);
    out->loads = (uint64_t)(after.loads - before.loads);
    collect(r, out);
    return RONDO_OK;
}

enum rondo_err rondo_ritual_run_remote(const struct rondo_ritual_options *options,
                                       struct rondo_ritual_result *out) {
    struct ritual r = {.options = options};
    struct rondo_ritual_result result = {0};
    struct rondo_client control;
    enum rondo_err err = rondo_client_connect(&control, options->connect);
    if (err)
        say("cannot connect", rondo_client_error(&control));
    else
        err = run(&r, &control, &result);
    if (!err) *out = result;
    rondo_client_close(&control);
    for (size_t i = 0; i < r.n_cultists; i++) rondo_client_close(&r.cultists[i].client);
    rondo_free(r.cultists);
    return err;
}
