/* SPDX-License-Identifier: MIT */
/*
 * `rondo ring --compare`: the article's five rows beside ours.  A thread per node
 * would run for a quarter of an hour, so it runs as many rounds as fit a budget
 * and the rest is extrapolated, which the row says.
 */
#include "cli/ring.h"

#include "base/check.h"
#include "base/clock.h"
#include <jansson.h>

enum { CALIBRATION_ROUNDS = 50 };

enum program { PROGRAM_NONE, PROGRAM_PLAIN, PROGRAM_ACTORS };

static const struct row {
    const char *name;
    unsigned construct_ms, elapsed_ms; /* the article's, 100 nodes and 1,000,000 rounds */
    enum program program;
    unsigned threads;
} rows[] = {
    {"Scala Actors", 15, 270104, PROGRAM_NONE, 0},
    {"a thread per node", 11, 493073, PROGRAM_PLAIN, 0},
    {"4 threads", 6, 84727, PROGRAM_ACTORS, 4},
    {"5 threads", 5, 62593, PROGRAM_ACTORS, 5},
    {"1 thread", 5, 60660, PROGRAM_ACTORS, 1},
};

/* As many rounds as fit the budget, by the time that a few take. */
static enum rondo_err run_within(const struct rondo_ring_options *o, uint64_t budget_ns,
                                 struct rondo_ring_result *r, uint64_t *rounds) {
    struct rondo_ring_options some = *o;
    if (budget_ns && o->rounds > CALIBRATION_ROUNDS) {
        some.rounds = CALIBRATION_ROUNDS;
        enum rondo_err err = rondo_ring_run_plain(&some, r);
        if (err) return err;
        double fit = (double)budget_ns / (r->elapsed_ms * 1e6) * CALIBRATION_ROUNDS;
        some.rounds = fit >= (double)o->rounds ? o->rounds : (uint64_t)fit + 1;
    }
    *rounds = some.rounds;
    return rondo_ring_run_plain(&some, r);
}

static void print_head(const struct rondo_ring_options *o) {
    printf("%-18s  %26s   here: %llu nodes, %llu rounds\n", "", "the article: 100, 1000000",
           (unsigned long long)o->nodes, (unsigned long long)o->rounds);
    printf("%-18s  %12s  %12s   %12s  %12s  %10s\n", "", "construct ms", "elapsed ms",
           "construct ms", "elapsed ms", "ns/message");
}

static void print_row(const struct row *row, const struct rondo_ring_result *r, uint64_t rounds,
                      const struct rondo_ring_options *o) {
    printf("%-18s  %12u  %12u", row->name, row->construct_ms, row->elapsed_ms);
    if (r == NULL) {
        printf("   %12s  %12s  %10s\n", "-", "-", "-");
        return;
    }
    double scale = (double)o->rounds / (double)rounds;
    printf("   %12.1f  %12.0f  %10.1f", r->construct_ms, r->elapsed_ms * scale, r->ns_per_message);
    if (rounds < o->rounds) printf("   extrapolated from %llu rounds", (unsigned long long)rounds);
    putchar('\n');
    fflush(stdout);
}

static json_t *row_json(const struct row *row, const struct rondo_ring_result *r, uint64_t rounds,
                        const struct rondo_ring_options *o) {
    json_t *j = json_pack("{s:s, s:i, s:i}", "name", row->name, "article_construct_ms",
                          (int)row->construct_ms, "article_elapsed_ms", (int)row->elapsed_ms);
    RONDO_CHECK(j != NULL);
    if (r == NULL) return j;
    double scale = (double)o->rounds / (double)rounds;
    json_object_set_new(j, "construct_ms", json_real(r->construct_ms));
    json_object_set_new(j, "elapsed_ms", json_real(r->elapsed_ms * scale));
    json_object_set_new(j, "ns_per_message", json_real(r->ns_per_message));
    json_object_set_new(j, "rounds", json_integer((json_int_t)rounds));
    json_object_set_new(j, "extrapolated", json_boolean(rounds < o->rounds));
    return j;
}

static enum rondo_err run_row(const struct row *row, const struct rondo_ring_options *options,
                              uint64_t budget_ns, struct rondo_ring_result *r, uint64_t *rounds) {
    struct rondo_ring_options o = *options;
    o.threads = (struct rondo_threads){
        .kind = RONDO_THREADS_FIXED, .min = row->threads, .max = row->threads};
    *rounds = o.rounds;
    if (row->program == PROGRAM_PLAIN) return run_within(&o, budget_ns, r, rounds);
    return rondo_ring_run(&o, r);
}

enum rondo_err rondo_ring_compare(const struct rondo_ring_options *options, uint64_t budget_ns,
                                  bool json) {
    json_t *all = json_array();
    RONDO_CHECK(all != NULL);
    if (!json) print_head(options);
    enum rondo_err err = RONDO_OK;
    for (size_t i = 0; i < RONDO_COUNT_OF(rows) && !err; i++) {
        struct rondo_ring_result r, *mine = NULL;
        uint64_t rounds = 0;
        if (rows[i].program != PROGRAM_NONE) {
            err = run_row(&rows[i], options, budget_ns, &r, &rounds);
            mine = &r;
        }
        if (err) break;
        if (json)
            json_array_append_new(all, row_json(&rows[i], mine, rounds, options));
        else
            print_row(&rows[i], mine, rounds, options);
    }
    if (json && !err) {
        json_dumpf(all, stdout, JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(all);
    return err;
}
