/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include "actors/job.h"
#include "base/atomic.h"
#include "base/hash.h"
#include "base/sync.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_THREADS = 64, RATIO_SHARE = 10, WARM_UP_PART = 4 };

struct trial {
    const struct trial_peer *peer;
    const char *job;
    unsigned n_threads;
    uint64_t scale;
    uint32_t n_keys;
    uint32_t *trace;
    size_t trace_length;
    char *keys;
    bool forgets;
};

struct result {
    const char *wrong;
    double ns_per_hit, hit_percent, bytes_per_entry;
    uint64_t entries;
};

void trial_key(uint32_t number, char key[TRIAL_KEY]) {
    memcpy(key, "user:00000000000", TRIAL_KEY);
    for (char *digit = key + TRIAL_KEY; number; number /= 10) *--digit = (char)('0' + number % 10);
}

void trial_value(uint32_t number, char value[TRIAL_VALUE]) {
    uint64_t random = number, words[TRIAL_WORDS];
    for (int i = 0; i < TRIAL_WORDS; i++) words[i] = rondo_random_next(&random);
    memcpy(value, words, sizeof words);
}

/* ------------------------------------------------------------------- walking --- */

struct walker {
    struct rondo_thread thread;
    const struct trial *t;
    void *self;
    unsigned index, *at_start; /* at_start: atomic, how many are ready */
    struct trial_walk walk;
    struct trial_tally tally;
    uint64_t ns;
};

/* Between warming up and measuring everybody waits for the last one. */
static void wait_for_all(struct walker *w) {
    unsigned spins = 0;
    rondo_add_seq_cst(w->at_start, 1u); /* pairs with the load below */
    while (rondo_load_acquire(w->at_start) < w->t->n_threads) bench_back_off(&spins);
}

static void walk(void *arg) {
    struct walker *w = arg;
    const struct trial_peer *peer = w->t->peer;
    if (w->t->n_threads > 1) (void)bench_pin(w->index);
    if (peer->enter) peer->enter(w->self);
    struct trial_walk warm = w->walk;
    warm.n = warm.n / WARM_UP_PART + 1;
    peer->walk(w->self, &warm, &w->tally);
    wait_for_all(w);
    uint64_t start_ns = bench_now_ns();
    peer->walk(w->self, &w->walk, &w->tally);
    w->ns = bench_now_ns() - start_ns;
    if (peer->leave) peer->leave(w->self);
}

static uint64_t sum_of(const struct trial_walk *w) {
    uint64_t sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        char value[TRIAL_VALUE];
        trial_value(w->trace[(w->first + i) % w->length], value);
        sum += trial_sum(value);
    }
    return sum;
}

static bool store_all(const struct trial *t, void *self) {
    for (uint32_t i = 0; i < t->n_keys; i++) {
        char value[TRIAL_VALUE];
        if (t->forgets && i == t->trace[0]) continue;
        trial_value(i, value);
        if (!t->peer->put(self, t->keys + (size_t)i * TRIAL_KEY, value)) return false;
    }
    return true;
}

static struct trial_walk part_of(const struct trial *t, unsigned index) {
    return (struct trial_walk){.trace = t->trace,
                               .length = t->trace_length,
                               .first = t->trace_length / t->n_threads * index,
                               .n = t->scale,
                               .keys = t->keys};
}

/* -------------------------------------------------------------------- the jobs --- */

static const char *judge(const struct walker *w) {
    if (w->tally.hits != w->walk.n) return "a key that was stored is not there";
    return w->tally.sum == sum_of(&w->walk) ? NULL : "a value is not the one that was stored";
}

static void run_hit(const struct trial *t, void *self, struct result *out) {
    struct walker walkers[MAX_THREADS];
    unsigned at_start = 0, started = 0;
    if (!store_all(t, self)) out->wrong = "cannot store";
    for (; started < t->n_threads && !out->wrong; started++) {
        struct walker *w = &walkers[started];
        *w = (struct walker){.t = t,
                             .self = self,
                             .index = started,
                             .at_start = &at_start,
                             .walk = part_of(t, started)};
        if (rondo_thread_start(&w->thread, "walker", walk, w)) {
            fprintf(stderr, "cannot start a thread\n");
            exit(2);
        }
    }
    uint64_t ns = 0;
    for (unsigned i = 0; i < started; i++) {
        rondo_thread_join(&walkers[i].thread);
        ns += walkers[i].ns;
        if (!out->wrong) out->wrong = judge(&walkers[i]);
    }
    if (!started) return;
    out->ns_per_hit = (double)ns / (double)started / (double)t->scale;
}

static uint64_t walk_half(const struct trial *t, void *self, struct result *out) {
    struct trial_walk half = part_of(t, 0);
    struct trial_tally tally;
    half.stores = true;
    half.n = t->scale / 2;
    t->peer->walk(self, &half, &tally);
    half.first = half.n % half.length;
    t->peer->walk(self, &half, &tally);
    if (tally.sum != sum_of(&half)) out->wrong = "a value is not the one that was stored";
    out->hit_percent = 100.0 * (double)tally.hits / (double)half.n;
    return out->entries = t->peer->entries(self);
}

/* A budget in bytes holds as many entries as it happens to: it is changed until
 * that is the number wanted, or a little less; else the nearest below counts. */
static void run_ratio(const struct trial *t, struct result *out) {
    enum { TRIES = 10, NEAR = 500 };
    uint64_t want = t->n_keys / RATIO_SHARE;
    double room = (double)want;
    struct result best = {.wrong = "keeps too many entries, whatever its budget"};
    for (int i = 0; i < TRIES; i++) {
        struct result r = {0};
        void *self = bench_need(t->peer->open((uint64_t)room, true));
        uint64_t held = walk_half(t, self, &r);
        t->peer->close(self);
        if (r.wrong || (held <= want && held > best.entries)) best = r;
        if (r.wrong || (held <= want && want - held <= want / NEAR)) break;
        room *= (double)want / ((double)held + 1) * (1 - 0.5 / NEAR);
    }
    *out = best;
}

static void run_memory(const struct trial *t, struct result *out) {
    uint64_t before = bench_resident_bytes();
    void *self = bench_need(t->peer->open(t->scale, false));
    if (t->peer->enter) t->peer->enter(self);
    char key[TRIAL_KEY], value[TRIAL_VALUE];
    for (uint32_t i = 0; i < t->scale && !out->wrong; i++) {
        trial_key(i, key);
        trial_value(i, value);
        if (!t->peer->put(self, key, value)) out->wrong = "cannot store";
    }
    out->bytes_per_entry = (double)(bench_resident_bytes() - before) / (double)t->scale;
    out->entries = t->scale;
    if (t->peer->leave) t->peer->leave(self);
    t->peer->close(self);
}

/* ------------------------------------------------------------------ the command --- */

static bool parse_number(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || v < 1 || v > max) return false;
    *out = v;
    return true;
}

static bool load_trace(struct trial *t, const char *path) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f) return false;
    bool is_right = fstat(fileno(f), &st) == 0 && st.st_size >= 4;
    if (is_right) {
        t->trace_length = (size_t)st.st_size / sizeof *t->trace;
        t->trace = bench_need(malloc(t->trace_length * sizeof *t->trace));
        is_right = fread(t->trace, sizeof *t->trace, t->trace_length, f) == t->trace_length;
    }
    fclose(f);
    for (size_t i = 0; is_right && i < t->trace_length; i++) is_right = t->trace[i] < t->n_keys;
    return is_right;
}

static void make_keys(struct trial *t) {
    t->keys = bench_need(malloc((size_t)t->n_keys * TRIAL_KEY));
    for (uint32_t i = 0; i < t->n_keys; i++) trial_key(i, t->keys + (size_t)i * TRIAL_KEY);
}

static bool parse(int argc, char **argv, struct trial *t) {
    uint64_t threads, keys;
    if (argc < 4 || !parse_number(argv[2], MAX_THREADS, &threads)) return false;
    if (!parse_number(argv[3], UINT32_MAX, &t->scale)) return false;
    t->job = argv[1];
    t->n_threads = (unsigned)threads;
    if (strcmp(t->job, "memory") == 0) return argc == 4 && threads == 1;
    bool is_ratio = strcmp(t->job, "ratio") == 0 && threads == 1 && t->peer->entries;
    t->forgets = argc == 7 && strcmp(argv[6], "forget") == 0;
    if (argc != 6 + t->forgets || (!is_ratio && strcmp(t->job, "hit") != 0)) return false;
    if (!parse_number(argv[5], UINT32_MAX, &keys)) return false;
    t->n_keys = (uint32_t)keys;
    return load_trace(t, argv[4]);
}

static void run(struct trial *t, struct result *out) {
    if (strcmp(t->job, "memory") == 0) {
        run_memory(t, out);
        return;
    }
    make_keys(t);
    if (strcmp(t->job, "ratio") == 0) {
        run_ratio(t, out);
        return;
    }
    void *self = bench_need(t->peer->open(t->n_keys, false));
    if (t->peer->enter) t->peer->enter(self);
    run_hit(t, self, out);
    if (t->peer->leave) t->peer->leave(self);
    t->peer->close(self);
}

int trial_main(int argc, char **argv, const struct trial_peer *peer) {
    struct trial t = {.peer = peer};
    struct result r = {0};
    if (!parse(argc, argv, &t)) {
        fprintf(stderr, "%s: no such job here: JOB THREADS SCALE [TRACE KEYS [forget]]\n", argv[0]);
        free(t.trace);
        return 2;
    }
    run(&t, &r);
    free(t.trace);
    free(t.keys);
    printf("{\"peer\": \"%s\", \"job\": \"%s\", \"threads\": %u, \"scale\": %" PRIu64, peer->name,
           t.job, t.n_threads, t.scale);
    if (r.ns_per_hit > 0) printf(", \"ns_per_hit\": %.2f", r.ns_per_hit);
    if (r.hit_percent > 0) printf(", \"hit_percent\": %.4f", r.hit_percent);
    if (r.bytes_per_entry > 0) printf(", \"bytes_per_entry\": %.2f", r.bytes_per_entry);
    if (r.entries > 0) printf(", \"entries\": %" PRIu64, r.entries);
    if (r.wrong) printf(", \"wrong\": \"%s\"", r.wrong);
    printf(", \"ok\": %s}\n", r.wrong ? "false" : "true");
    return r.wrong ? 1 : 0;
}
