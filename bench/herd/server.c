/* SPDX-License-Identifier: MIT */
/*
 * The herd in front of servers: callers are connections.
 *
 *   bench_herd_server mix PORT CALLERS MS MISS_PERCENT
 *   bench_herd_server saturated PORT PORT CALLERS MS PAIRS
 *   bench_herd_server crowd PORT CALLERS DELAY_MS
 *
 * Of `saturated` the second server's source hangs and its waiters give up soon.
 * In `crowd` the first to ask leads the load, which ends no earlier than
 * DELAY_MS after that; the time until all are answered is counted from there.
 */
#include "actors/job.h"
#include "base/hash.h"
#include "client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS = 512,
    MAX_CALLERS = 100000,
    MAX_PAIRS = 64,
    BLOCKERS = 64,
    BLOCKED_KEYS = 1000,
    BLOCK_MS = 50
};
#define MS UINT64_C(1000000)

struct load {
    int epoll;
    unsigned n; /* connections; the last n_blockers ask for keys whose load hangs */
    unsigned n_blockers;
    struct client_conn *conns;
    struct herd_mix mix;
    struct herd_result r;
    struct herd_times *hits; /* where they are counted */
    bool is_over;
    uint64_t blocked;
};

static void open_load(struct load *l, uint16_t port, unsigned n, unsigned n_blockers,
                      bool is_edge) {
    l->n = n + n_blockers;
    l->n_blockers = n_blockers;
    client_need_files(l->n);
    l->conns = bench_need(calloc(l->n, sizeof *l->conns));
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < l->n; i++) {
        l->conns[i].random = i + 1;
        client_connect(&l->conns[i], l->epoll, port, is_edge);
    }
    l->hits = &l->r.hits;
}

static void close_load(struct load *l) {
    for (unsigned i = 0; i < l->n; i++) client_close(&l->conns[i]);
    close(l->epoll);
    free(l->conns);
}

static bool is_blocker(const struct load *l, const struct client_conn *c) {
    return (size_t)(c - l->conns) >= l->n - l->n_blockers;
}

static void ask_next(struct load *l, struct client_conn *c) {
    if (is_blocker(l, c))
        herd_key_make(&c->key, true, rondo_random_below(&c->random, BLOCKED_KEYS));
    else
        herd_mix_next(&l->mix, &c->random, &c->key);
    if (!client_ask(c)) l->r.wrong = "a connection is lost";
}

static void note(struct load *l, struct client_conn *c, enum client_reply reply, uint64_t ns) {
    if (reply == CLIENT_LOST) l->r.wrong = "a connection is lost";
    if (reply == CLIENT_OTHER) l->r.wrong = "an answer is not that of its key";
    if (reply == CLIENT_ERROR && is_blocker(l, c))
        l->blocked++;
    else if (reply == CLIENT_ERROR)
        l->r.errors++;
    if (reply == CLIENT_VALUE) herd_add(c->key.is_cold ? &l->r.waits : l->hits, ns);
}

static void handle(struct load *l, struct client_conn *c) {
    enum client_reply reply = client_read(c, NULL);
    if (reply == CLIENT_PART) return;
    note(l, c, reply, bench_now_ns() - c->start_ns);
    if (!l->is_over && !l->r.wrong) ask_next(l, c);
}

static void serve_events(struct load *l, int timeout_ms) {
    struct epoll_event events[EVENTS];
    int n = epoll_wait(l->epoll, events, EVENTS, timeout_ms);
    for (int i = 0; i < n; i++) handle(l, events[i].data.ptr);
}

static bool hits_pending(const struct load *l) {
    for (unsigned i = 0; i < l->n; i++)
        if (l->conns[i].is_waiting && !l->conns[i].key.is_cold) return true;
    return false;
}

/* Those that wait until their time is up begin one after the other, so that they do
 * not all come back at once. */
static unsigned start_blockers(struct load *l, unsigned next, uint64_t since_ns) {
    unsigned first = l->n - l->n_blockers;
    for (; next < l->n && since_ns >= (next - first) * BLOCK_MS * MS / l->n_blockers; next++)
        if (!l->conns[next].is_waiting) ask_next(l, &l->conns[next]);
    return next;
}

/* All connections that wait for nothing ask, again and again, for so long; then
 * the hits that are under way are waited for. */
static void run_load(struct load *l, uint64_t ns) {
    uint64_t start_ns = bench_now_ns(), since_ns;
    unsigned next = l->n - l->n_blockers;
    l->is_over = false;
    for (unsigned i = 0; i < next; i++)
        if (!l->conns[i].is_waiting) ask_next(l, &l->conns[i]);
    while ((since_ns = bench_now_ns() - start_ns) < ns && !l->r.wrong) {
        next = start_blockers(l, next, since_ns);
        serve_events(l, 1);
    }
    l->r.elapsed_ns += bench_now_ns() - start_ns;
    l->is_over = true;
    for (uint64_t late_ns = bench_now_ns() + 1000 * MS; hits_pending(l) && !l->r.wrong;) {
        serve_events(l, 10);
        if (bench_now_ns() > late_ns) l->r.wrong = "a hit takes longer than a second";
    }
}

/* -------------------------------------------------------------------------- modes --- */

static int run_mix(uint16_t port, unsigned callers, uint64_t ms, unsigned miss_percent) {
    static struct load l;
    if (!client_store_hot(port)) l.r.wrong = "cannot store the hot keys";
    l.mix.miss_percent = miss_percent;
    l.mix.sharers = callers < HERD_SHARERS ? callers : HERD_SHARERS;
    open_load(&l, port, callers, 0, false);
    run_load(&l, ms * MS);
    for (unsigned i = 0; i < l.n; i++) l.r.waiting += l.conns[i].is_waiting;
    l.r.keys = herd_mix_keys(&l.mix);
    struct client_counters counters = client_counters(port);
    l.r.flights_now = counters.flights;
    l.r.loads = counters.loads;
    l.r.misses = counters.misses;
    if (l.r.errors) l.r.wrong = "a read failed";
    close_load(&l);
    return herd_print("mix", callers, &l.r);
}

static int run_saturated(const uint16_t ports[2], unsigned callers, uint64_t ms, unsigned pairs) {
    static struct load loads[2];
    struct herd_times *times[2];
    for (int k = 0; k < 2; k++) {
        loads[k].mix.sharers = 1;
        if (!client_store_hot(ports[k])) loads[k].r.wrong = "cannot store the hot keys";
        open_load(&loads[k], ports[k], callers, k ? BLOCKERS : 0, false);
        times[k] = bench_need(calloc(pairs, sizeof *times[k]));
    }
    for (unsigned phase = 0; phase < 2 * pairs; phase++) {
        loads[phase & 1].hits = &times[phase & 1][phase / 2];
        run_load(&loads[phase & 1], ms * MS);
    }
    const char *wrong = loads[0].r.wrong ? loads[0].r.wrong : loads[1].r.wrong;
    if (loads[0].r.errors + loads[1].r.errors) wrong = "a hit failed";
    if (!loads[1].blocked) wrong = "nobody was kept waiting: the pool was not saturated";
    int code = herd_print_pairs(callers, times[0], times[1], pairs, loads[1].blocked, wrong);
    for (int k = 0; k < 2; k++) {
        close_load(&loads[k]);
        free(times[k]);
    }
    return code;
}

/* Until a reply has arrived on every connection; they are read afterwards. */
static const char *await_crowd(struct load *l, uint64_t until_ns) {
    unsigned left = l->n;
    struct epoll_event events[EVENTS];
    while (left > 0) {
        int n = epoll_wait(l->epoll, events, EVENTS, 1000);
        if (n < 0 || bench_now_ns() > until_ns) return "not everybody was answered";
        left -= (unsigned)n < left ? (unsigned)n : left;
    }
    return NULL;
}

static const char *judge_crowd(struct load *l) {
    for (unsigned i = 0; i < l->n; i++)
        if (client_read(&l->conns[i], "1") != CLIENT_VALUE)
            return "an answer is not that of the first load";
    return NULL;
}

static int run_crowd(uint16_t port, unsigned callers, uint64_t delay_ms) {
    static struct load l;
    open_load(&l, port, callers, 0, true);
    for (unsigned i = 0; i < l.n; i++) {
        herd_key_make(&l.conns[i].key, true, 0);
        if (!client_ask(&l.conns[i])) l.r.wrong = "a connection is lost";
    }
    uint64_t end_ns = l.conns[0].start_ns + delay_ms * MS;
    if (bench_now_ns() > end_ns) l.r.wrong = "the load ended before all had asked";
    if (!l.r.wrong) l.r.wrong = await_crowd(&l, end_ns + 60000 * MS);
    uint64_t after_ns = bench_now_ns() - end_ns;
    if (!l.r.wrong) l.r.wrong = judge_crowd(&l);
    uint64_t loads = client_counters(port).loads;
    if (loads != 1 && !l.r.wrong) l.r.wrong = "more than one load";
    close_load(&l);
    return herd_print_crowd(callers, loads, after_ns, l.r.wrong);
}

int main(int argc, char **argv) {
    uint64_t n[6] = {0};
    bool is_right = argc > 4 && argc < 9;
    for (int i = 2; is_right && i < argc; i++)
        is_right = herd_number(argv[i], UINT32_MAX, &n[i - 2]);
    is_right = is_right && n[0] > 0 && n[0] <= UINT16_MAX;
    if (is_right && argc == 6 && strcmp(argv[1], "mix") == 0 && n[1] > 0 && n[1] <= MAX_CALLERS &&
        n[3] <= 100)
        return run_mix((uint16_t)n[0], (unsigned)n[1], n[2], (unsigned)n[3]);
    if (is_right && argc == 7 && strcmp(argv[1], "saturated") == 0 && n[1] <= UINT16_MAX &&
        n[2] > 0 && n[2] <= MAX_CALLERS && n[4] > 0 && n[4] <= MAX_PAIRS) {
        const uint16_t ports[2] = {(uint16_t)n[0], (uint16_t)n[1]};
        return run_saturated(ports, (unsigned)n[2], n[3], (unsigned)n[4]);
    }
    if (is_right && argc == 5 && strcmp(argv[1], "crowd") == 0 && n[1] > 0 && n[1] <= MAX_CALLERS)
        return run_crowd((uint16_t)n[0], (unsigned)n[1], n[2]);
    fprintf(stderr,
            "usage: %s mix PORT CALLERS MS MISS_PERCENT | saturated PORT PORT CALLERS MS PAIRS |"
            " crowd PORT CALLERS DELAY_MS\n",
            argv[0]);
    return 2;
}
