/* SPDX-License-Identifier: MIT */
/*
 * The herd in a program that uses the library: callers are actors.
 *
 *   bench_herd_library mix CALLERS MS MISS_PERCENT DELAY_US
 *   bench_herd_library saturated CALLERS MS PAIRS
 *   bench_herd_library crowd CALLERS DELAY_MS
 *
 * A hit is answered within the call: its latency is that of the call.
 */
#include "actors/job.h"
#include "base/atomic.h"
#include "base/hash.h"
#include "base/sync.h"
#include "record.h"
#include "rondo/cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MSG_GO = 1, MSG_ANSWER, MAX_CALLERS = 1000000, MAX_PAIRS = 64 };
/* Of a phase in which the source hangs: who asks, for how many keys, how long they
 * wait before they ask again. */
enum { BLOCKERS = 64, BLOCKED_KEYS = 1000, BLOCK_MS = 50 };
#define MS UINT64_C(1000000)

static void need(enum rondo_err err, const char *what) {
    if (!err) return;
    fprintf(stderr, "%s: %s\n", what, rondo_err_text(err));
    exit(2);
}

/* ------------------------------------------------------------------- the source --- */

struct source {
    uint64_t delay_ns;
    uint64_t loads;  /* atomic */
    uint64_t end_ns; /* atomic: when the last load was over */
};

static void load(void *connection, const struct rondo_load *l) {
    struct source *s = connection;
    (void)rondo_job_sleep(s->delay_ns);
    rondo_add_relaxed(&s->loads, l->n);              /* read when all is over */
    rondo_store_relaxed(&s->end_ns, bench_now_ns()); /* read when all is over */
    for (size_t i = 0; i < l->n; i++)
        rondo_load_value(l, i, l->keys[i].key.data, l->keys[i].key.len, 0);
}

static const struct rondo_source_ops source_ops = {
    .abi = RONDO_SOURCE_ABI, .type = "slow", .help = "answers the key, slowly", .load = load};

/* ------------------------------------------------------------------ the callers --- */

struct herd;

struct caller {
    rondo_actor *actor;
    struct herd *herd;
    struct rondo_msg *go; /* while it waits */
    uint64_t random, start_ns;
    struct herd_key key;
    bool is_blocker; /* asks for keys whose load hangs, if the phase wants that */
};

/* One a worker, so that nobody shares. */
struct tally {
    struct herd_result r;
    struct herd_times phases[2][MAX_PAIRS];
    uint64_t blocked;
};

struct herd {
    rondo_runtime *rt;
    rondo_cache *caches[2]; /* of a phase without misses and one with: see `phase` */
    struct source sources[2];
    struct herd_mix mix;
    unsigned n_callers, n_actors, n_workers;
    bool is_pairs;
    struct caller *callers;
    struct tally *tallies;
    uint32_t phase;    /* atomic: 2 * pair + (1: the source hangs) */
    bool is_over;      /* atomic */
    uint32_t n_parked; /* atomic: callers that have stopped or wait */
};

static struct tally *tally_of(struct herd *h) {
    return &h->tallies[rondo_worker_index()];
}

static void next_key(struct caller *c) {
    struct herd *h = c->herd;
    if (c->is_blocker)
        herd_key_make(&c->key, true, rondo_random_below(&c->random, BLOCKED_KEYS));
    else
        herd_mix_next(&h->mix, &c->random, &c->key);
}

static void check(struct caller *c, struct rondo_answer *answer, struct tally *t) {
    if (answer->outcome == RONDO_FAILED) {
        t->r.errors++;
        if (c->is_blocker && answer->err == RONDO_ERR_TIMEOUT) t->blocked++;
    } else if (answer->outcome != RONDO_VALUE || answer->value.len != c->key.len ||
               memcmp(answer->value.data, c->key.text, c->key.len) != 0) {
        t->r.wrong = "an answer is not that of its key";
    }
    rondo_answer_release(answer);
}

static void note_hit(struct caller *c, struct tally *t, uint32_t phase, uint64_t ns) {
    herd_add(&t->r.hits, ns);
    if (c->herd->is_pairs) herd_add(&t->phases[phase & 1][phase / 2 % MAX_PAIRS], ns);
}

static void ask(struct caller *c, struct rondo_msg *go) {
    struct herd *h = c->herd;
    uint32_t phase = rondo_load_relaxed(&h->phase); /* partner: set_phase */
    char scratch[HERD_KEY];
    struct rondo_answer answer;
    if (rondo_load_acquire(&h->is_over)) { /* partner: stop_all */
        rondo_msg_free(go);
        rondo_add_seq_cst(&h->n_parked, 1u); /* partner: stop_all */
        rondo_actor_stop(c->actor);
        return;
    }
    if (c->is_blocker && !(phase & 1)) {
        need(rondo_send_after(c->actor, go, (1 + rondo_random_below(&c->random, BLOCK_MS)) * MS,
                              NULL),
             "cannot set a timer");
        return;
    }
    next_key(c);
    struct rondo_key key = {c->key.text, c->key.len, 0};
    struct rondo_read read = {.done = {.to = c->actor, .type = MSG_ANSWER},
                              .scratch = scratch,
                              .scratch_size = sizeof scratch};
    rondo_store_relaxed(&c->go, go); /* partner: stop_all */
    c->start_ns = bench_now_ns();
    if (rondo_cache_get(h->caches[phase & 1], &key, &read, &answer) == RONDO_PENDING) {
        rondo_add_seq_cst(&h->n_parked, 1u); /* partner: stop_all */
        return;
    }
    uint64_t ns = bench_now_ns() - c->start_ns;
    struct tally *t = tally_of(h);
    if (!c->key.is_cold) note_hit(c, t, phase, ns);
    check(c, &answer, t);
    rondo_store_relaxed(&c->go, NULL); /* partner: stop_all */
    rondo_send(c->actor, go);
}

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)self;
    struct caller *c = state;
    if (m->type == MSG_ANSWER) {
        struct rondo_reply *reply = (struct rondo_reply *)(void *)m;
        struct tally *t = tally_of(c->herd);
        rondo_sub_seq_cst(&c->herd->n_parked, 1u); /* partner: stop_all */
        if (!rondo_load_acquire(&c->herd->is_over)) {
            herd_add(&t->r.waits, bench_now_ns() - c->start_ns);
            check(c, &reply->answer, t);
        }
        rondo_msg_free(m);
        m = c->go;
        rondo_store_relaxed(&c->go, NULL); /* partner: stop_all */
    }
    ask(c, m);
}

/* ---------------------------------------------------------------- opening, closing --- */

static void open_cache(struct herd *h, int i, uint64_t wait_ns) {
    struct rondo_cache_options o = {.size = sizeof o,
                                    .name = i ? "with" : "without",
                                    .source = {&source_ops, &h->sources[i]},
                                    .memory_bytes = UINT64_C(1) << 30,
                                    .waiters = 2 * MAX_CALLERS,
                                    .queue = MAX_CALLERS,
                                    .load_timeout_ns = 600000 * MS,
                                    .wait_ns = wait_ns};
    need(rondo_cache_open(h->rt, &o, &h->caches[i]), "cannot open the cache");
    for (uint64_t k = 0; k < HERD_HOT; k++) {
        struct herd_key key;
        struct rondo_answer answer;
        herd_key_make(&key, false, k);
        struct rondo_key name = {key.text, key.len, 0};
        struct rondo_slice value = {key.text, key.len};
        (void)rondo_cache_put(h->caches[i], &name, value, NULL, &answer);
        rondo_answer_release(&answer);
    }
}

static void spawn_all(struct herd *h, rondo_receive_fn fn) {
    h->callers = bench_need(calloc(h->n_actors, sizeof *h->callers));
    h->tallies = bench_need(calloc(h->n_workers, sizeof *h->tallies));
    for (unsigned i = 0; i < h->n_actors; i++) {
        struct caller *c = &h->callers[i];
        *c = (struct caller){.herd = h, .random = i + 1, .is_blocker = i >= h->n_callers};
        struct rondo_actor_options o = {.size = sizeof o, .receive = fn, .state = c};
        need(rondo_spawn(h->rt, &o, &c->actor), "cannot start an actor");
    }
    for (unsigned i = 0; i < h->n_actors; i++)
        rondo_send(h->callers[i].actor,
                   bench_need(rondo_msg_new(MSG_GO, sizeof(struct rondo_msg))));
}

static void sleep_ns(uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

static void open_herd(struct herd *h) {
    need(rondo_runtime_new(NULL, &h->rt), "cannot start the runtime");
    h->n_workers = rondo_runtime_workers(h->rt);
}

/* The counters once they agree twice: a load that lands changes several. */
static struct rondo_cache_stats at_rest(rondo_cache *cache) {
    enum { TRIES = 1000 };
    struct rondo_cache_stats now, before;
    rondo_cache_stats(cache, &now);
    for (int i = 0; i < TRIES; i++) {
        before = now;
        rondo_cache_stats(cache, &now);
        if (now.loads == before.loads && now.flights == before.flights) break;
    }
    return now;
}

/* Lets every caller finish the call that it is in, and ends those that wait. */
static void stop_all(struct herd *h, struct herd_result *out) {
    rondo_store_release(&h->is_over, true); /* pairs with the loads in ask and receive */
    /* Pairs with the counting in ask and receive. */
    while (rondo_load_seq_cst(&h->n_parked) < h->n_actors) sleep_ns(MS);
    /* An answer may still come: partner of the stores in ask and receive. */
    for (unsigned i = 0; i < h->n_actors; i++)
        out->waiting += rondo_load_relaxed(&h->callers[i].go) != NULL;
    struct rondo_cache_stats stats = at_rest(h->caches[0]);
    out->misses = stats.misses;
    out->flights_now = stats.flights;
    out->loads = stats.loads;
    out->keys = h->mix.sharers ? herd_mix_keys(&h->mix) : 0;
    for (int i = 0; i < 2; i++) rondo_cache_close(h->caches[i]);
    for (unsigned i = 0; i < h->n_actors; i++) rondo_actor_unref(h->callers[i].actor);
    rondo_runtime_free(h->rt);
}

static void close_herd(struct herd *h) {
    for (unsigned i = 0; i < h->n_actors; i++) rondo_msg_free(h->callers[i].go);
    free(h->callers);
    free(h->tallies);
}

/* -------------------------------------------------------------------------- modes --- */

static int run_mix(unsigned callers, uint64_t ms, unsigned miss_percent, uint64_t delay_us) {
    static struct herd h;
    static struct herd_result r;
    open_herd(&h);
    h.n_callers = h.n_actors = callers;
    h.sources[0].delay_ns = delay_us * 1000;
    h.mix.miss_percent = miss_percent;
    h.mix.sharers = callers < HERD_SHARERS ? callers : HERD_SHARERS;
    open_cache(&h, 0, 600000 * MS);
    uint64_t start_ns = bench_now_ns();
    spawn_all(&h, receive);
    sleep_ns(ms * MS);
    r.elapsed_ns = bench_now_ns() - start_ns;
    stop_all(&h, &r);
    for (unsigned i = 0; i < h.n_workers; i++) {
        const struct herd_result *one = &h.tallies[i].r;
        herd_merge(&r.hits, &one->hits);
        herd_merge(&r.waits, &one->waits);
        r.errors += one->errors;
        if (one->wrong) r.wrong = one->wrong;
    }
    if (r.errors) r.wrong = "a read failed";
    close_herd(&h);
    return herd_print("mix", callers, &r);
}

/* Phases without and with a source that hangs take turns; each has a cache. */
static int run_saturated(unsigned callers, uint64_t ms, unsigned pairs) {
    static struct herd h;
    static struct herd_result r;
    struct herd_times *sums[2];
    uint64_t blocked = 0;
    open_herd(&h);
    h.is_pairs = true;
    h.n_callers = callers;
    h.n_actors = callers + BLOCKERS;
    h.mix.sharers = 1;
    for (int i = 0; i < 2; i++) {
        h.sources[i].delay_ns = 600000 * MS;
        open_cache(&h, i, BLOCK_MS * MS);
        sums[i] = bench_need(calloc(pairs, sizeof *sums[i]));
    }
    spawn_all(&h, receive);
    for (uint32_t phase = 0; phase < 2 * pairs; phase++) {
        rondo_store_relaxed(&h.phase, phase); /* partner: ask */
        sleep_ns(ms * MS);
    }
    stop_all(&h, &r);
    for (unsigned i = 0; i < h.n_workers; i++) {
        const struct tally *t = &h.tallies[i];
        blocked += t->blocked;
        if (t->r.wrong) r.wrong = t->r.wrong;
        for (unsigned p = 0; p < pairs; p++)
            for (int k = 0; k < 2; k++) herd_merge(&sums[k][p], &t->phases[k][p]);
    }
    if (!blocked) r.wrong = "nobody was kept waiting: the pool was not saturated";
    close_herd(&h);
    int code = herd_print_pairs(callers, sums[0], sums[1], pairs, blocked, r.wrong);
    for (int i = 0; i < 2; i++) free(sums[i]);
    return code;
}

/* ------------------------------------------------------------------------- a crowd --- */

static struct rondo_latch crowd_over;
static uint64_t crowd_last_ns; /* atomic: a maximum */
static uint32_t crowd_bad;     /* atomic */

static void crowd_answered(struct caller *c, struct rondo_answer *answer) {
    uint64_t now_ns = bench_now_ns(), seen = rondo_load_relaxed(&crowd_last_ns);
    while (seen < now_ns && !rondo_cas_relaxed(&crowd_last_ns, &seen, now_ns)) {
    }
    if (answer->outcome != RONDO_VALUE || answer->was_hit || answer->value.len != c->key.len ||
        memcmp(answer->value.data, c->key.text, c->key.len) != 0)
        rondo_add_relaxed(&crowd_bad, 1u); /* read after the latch */
    rondo_answer_release(answer);
    rondo_latch_count_down(&crowd_over);
}

static void crowd_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)self;
    struct caller *c = state;
    if (m->type == MSG_ANSWER) {
        crowd_answered(c, &((struct rondo_reply *)(void *)m)->answer);
    } else {
        herd_key_make(&c->key, true, 0);
        struct rondo_key key = {c->key.text, c->key.len, 0};
        struct rondo_read read = {.done = {.to = c->actor, .type = MSG_ANSWER}};
        struct rondo_answer answer;
        if (rondo_cache_get(c->herd->caches[0], &key, &read, &answer) != RONDO_PENDING)
            crowd_answered(c, &answer);
    }
    rondo_msg_free(m);
}

static int run_crowd(unsigned callers, uint64_t delay_ms) {
    static struct herd h;
    open_herd(&h);
    h.n_callers = h.n_actors = callers;
    h.sources[0].delay_ns = delay_ms * MS;
    open_cache(&h, 0, 600000 * MS);
    rondo_latch_init(&crowd_over, callers);
    spawn_all(&h, crowd_receive);
    rondo_latch_wait(&crowd_over);
    rondo_latch_fini(&crowd_over);
    uint64_t loads = rondo_load_relaxed(&h.sources[0].loads);                     /* all is over */
    uint64_t after_ns = crowd_last_ns - rondo_load_relaxed(&h.sources[0].end_ns); /* all is over */
    rondo_cache_close(h.caches[0]);
    for (unsigned i = 0; i < callers; i++) rondo_actor_unref(h.callers[i].actor);
    rondo_runtime_free(h.rt);
    close_herd(&h);
    const char *wrong = NULL;
    if (crowd_bad) wrong = "a caller did not wait for the load, or got another answer";
    if (loads != 1) wrong = "more than one load";
    return herd_print_crowd(callers, loads, after_ns, wrong);
}

int main(int argc, char **argv) {
    uint64_t n[5] = {0};
    bool is_right = argc > 3 && argc < 7;
    for (int i = 2; is_right && i < argc; i++)
        is_right = herd_number(argv[i], UINT32_MAX, &n[i - 2]);
    is_right = is_right && n[0] > 0 && n[0] <= MAX_CALLERS && n[1] > 0;
    if (is_right && argc == 6 && strcmp(argv[1], "mix") == 0 && n[2] <= 100)
        return run_mix((unsigned)n[0], n[1], (unsigned)n[2], n[3]);
    if (is_right && argc == 5 && strcmp(argv[1], "saturated") == 0 && n[2] > 0 && n[2] <= MAX_PAIRS)
        return run_saturated((unsigned)n[0], n[1], (unsigned)n[2]);
    if (is_right && argc == 4 && strcmp(argv[1], "crowd") == 0)
        return run_crowd((unsigned)n[0], n[1]);
    fprintf(stderr,
            "usage: %s mix CALLERS MS MISS_PERCENT DELAY_US | saturated CALLERS MS PAIRS |"
            " crowd CALLERS DELAY_MS\n",
            argv[0]);
    return 2;
}
