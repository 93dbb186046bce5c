/* SPDX-License-Identifier: MIT */
#include "job.h"

#include "base/atomic.h"
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const struct bench_job jobs[] = {
    {.name = "J1", .kind = BENCH_RING, .nodes = 100, .tokens = 1},
    {.name = "J2", .kind = BENCH_RING, .nodes = 503, .tokens = 1},
    {.name = "J3", .kind = BENCH_RING, .nodes = 1000, .tokens = 100},
    {.name = "J3b", .kind = BENCH_RING, .nodes = 1000, .tokens = 100, .work_ns = 200},
    {.name = "J4", .kind = BENCH_RING, .nodes = 2, .tokens = 1},
    {.name = "J5", .kind = BENCH_FAN_IN},
    {.name = "J5b", .kind = BENCH_FAN_IN, .is_bounded = true},
    {.name = "J6", .kind = BENCH_SPAWN},
    {.name = "J7", .kind = BENCH_RING, .nodes = 100, .tokens = 1, .is_spread = true},
    {.name = "J8a", .kind = BENCH_LATENCY, .work_ns = 1000},
    {.name = "J8b", .kind = BENCH_LATENCY, .work_ns = 100000},
};

/* Part of a job that is run first, so that memory and predictors are warm. */
enum { WARM_UP_PART = 10 };

static const struct bench_job *find_job(const char *name) {
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        if (strcmp(jobs[i].name, name) == 0) return &jobs[i];
    return NULL;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || v < 1 || v > max) return false;
    *out = v;
    return true;
}

static bool parse(int argc, char **argv, struct bench_run *run) {
    uint64_t workers;
    if (argc < 4 || argc > 5) return false;
    run->job = find_job(argv[1]);
    if (!run->job || !parse_number(argv[2], 64, &workers)) return false;
    run->workers = (unsigned)workers;
    if (!parse_number(argv[3], (uint64_t)1 << 40, &run->scale)) return false;
    if (argc == 5 && strcmp(argv[4], "lose") == 0) run->fault = BENCH_LOSE;
    if (argc == 5 && strcmp(argv[4], "double") == 0) run->fault = BENCH_DOUBLE;
    return argc == 4 || (run->fault && run->job->kind == BENCH_FAN_IN);
}

static void print_result(const char *peer, const struct bench_run *run,
                         const struct bench_result *r, const char *wrong) {
    printf("{\"peer\": \"%s\", \"job\": \"%s\", \"workers\": %u, \"messages\": %" PRIu64
           ", \"elapsed_ns\": %" PRIu64 ", \"ns_per_message\": %.3f",
           peer, run->job->name, run->workers, r->messages, r->elapsed_ns,
           r->messages ? (double)r->elapsed_ns / (double)r->messages : 0.0);
    if (r->bytes_per_actor > 0) printf(", \"bytes_per_actor\": %.1f", r->bytes_per_actor);
    if (r->messages_per_turn > 0) printf(", \"messages_per_turn\": %.2f", r->messages_per_turn);
    if (run->job->kind == BENCH_LATENCY)
        printf(", \"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64, r->p50_ns, r->p99_ns);
    if (wrong) printf(", \"wrong\": \"%s\"", wrong);
    printf(", \"ok\": %s}\n", wrong ? "false" : "true");
}

int bench_main(int argc, char **argv, const char *peer,
               bool (*can)(const struct bench_job *job, unsigned workers), bench_run_fn fn) {
    struct bench_run run = {0};
    struct bench_result result = {0};
    if (!parse(argc, argv, &run) || !can(run.job, run.workers)) {
        fprintf(stderr, "%s: no such job here: JOB WORKERS SCALE [lose|double]\n", argv[0]);
        return 2;
    }
    struct bench_run warm = run;
    warm.scale = (run.scale + WARM_UP_PART - 1) / WARM_UP_PART;
    const char *wrong = NULL;
    /* What a spawn costs in memory shows in a fresh process alone. */
    if (run.job->kind != BENCH_SPAWN && !run.fault) wrong = fn(&warm, &result);
    result = (struct bench_result){0};
    if (!wrong) wrong = fn(&run, &result);
    print_result(peer, &run, &result, wrong);
    return wrong ? 1 : 0;
}

uint64_t bench_rounds(const struct bench_run *run) {
    uint64_t per_round = (uint64_t)run->job->nodes * run->job->tokens;
    return (run->scale + per_round - 1) / per_round;
}

uint64_t bench_share(const struct bench_run *run) {
    return (run->scale + BENCH_PRODUCERS - 1) / BENCH_PRODUCERS;
}

uint64_t bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void *bench_need(void *p) {
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

uint64_t bench_resident_bytes(void) {
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool bench_pin(unsigned k) {
    cpu_set_t all, one;
    if (sched_getaffinity(getpid(), sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return false;
    unsigned nth = k % (unsigned)CPU_COUNT(&all), cpu = 0;
    for (;; cpu++)
        if (CPU_ISSET(cpu, &all) && nth-- == 0) break;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

void bench_back_off(unsigned *spins) {
    rondo_cpu_relax();
    if (++*spins % 1024 == 0) sched_yield();
}

uint64_t bench_work_steps(uint64_t work_ns) {
    if (work_ns == 0) return 0;
    enum { TRIAL = 200000, TRIALS = 7 };
    uint64_t best_ns = UINT64_MAX;
    volatile uint64_t x = 1;
    for (int i = 0; i < TRIALS; i++) {
        uint64_t start_ns = bench_now_ns();
        x = bench_work(x, TRIAL);
        uint64_t ns = bench_now_ns() - start_ns;
        if (ns < best_ns) best_ns = ns;
    }
    uint64_t steps = work_ns * TRIAL / (best_ns ? best_ns : 1);
    return steps ? steps : 1;
}

/* Sleeps while the moment is far and spins over the rest: no timer is as exact. */
static void wait_until(uint64_t due_ns) {
    enum { NEAR_NS = 80000 };
    uint64_t now_ns = bench_now_ns();
    if (now_ns + NEAR_NS < due_ns) {
        uint64_t ns = due_ns - now_ns - NEAR_NS;
        struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
        nanosleep(&t, NULL);
    }
    while (bench_now_ns() < due_ns) continue;
}

void bench_generate(uint64_t n, uint64_t work_ns, unsigned workers,
                    void (*send)(void *arg, uint64_t i, uint64_t due_ns), void *arg) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    uint64_t start_ns = bench_now_ns() + 1000;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t due_ns = start_ns + i * 2 * work_ns / workers;
        wait_until(due_ns);
        send(arg, i, due_ns);
    }
}

static int compare(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

const char *bench_percentiles(uint64_t *latency_ns, uint64_t n, struct bench_result *out) {
    qsort(latency_ns, n, sizeof *latency_ns, compare);
    if (latency_ns[0] == 0) return "a message was lost";
    out->p50_ns = latency_ns[n / 2];
    out->p99_ns = latency_ns[n * 99 / 100];
    return NULL;
}
