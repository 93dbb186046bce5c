/* SPDX-License-Identifier: MIT */
/*
 * job.h - what the C programs of this benchmark have in common: the jobs, the
 * command line, the clock, measured work, and the line of JSON.
 *
 * A program is called `PROGRAM JOB WORKERS SCALE [lose|double]`, runs one job
 * once after a shorter run that is not measured, checks its own answer, prints
 * one line of JSON and ends with 0 (right), 1 (wrong) or 2 (no such job here).
 * SCALE is the number of messages (in J6: of actors), rounded up to what the job
 * can share out evenly.  The fourth argument breaks J5 and J5b on purpose.
 */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_kind { BENCH_RING, BENCH_FAN_IN, BENCH_SPAWN, BENCH_LATENCY };
enum bench_fault { BENCH_NO_FAULT, BENCH_LOSE, BENCH_DOUBLE };

enum {
    BENCH_PRODUCERS = 8, /* of J5 */
    BENCH_BOUND = 4096,
    BENCH_CHUNK = 100,    /* messages or actors that a producer or spawner makes in one go */
    BENCH_RECEIVERS = 64, /* of J8 */
    BENCH_LINE = 64       /* bytes that two cores fight over */
};

struct bench_job {
    const char *name;
    enum bench_kind kind;
    uint32_t nodes, tokens; /* of a ring */
    uint64_t work_ns;       /* per message */
    bool is_spread;         /* every hop crosses to another worker */
    bool is_bounded;        /* the receiver's mailbox refuses when BENCH_BOUND wait */
};

struct bench_run {
    const struct bench_job *job;
    unsigned workers;
    uint64_t scale;
    enum bench_fault fault;
};

/* Zero means: does not apply. */
struct bench_result {
    uint64_t messages, elapsed_ns;
    double bytes_per_actor, messages_per_turn;
    uint64_t p50_ns, p99_ns;
};

/* Runs a job.  Returns NULL, or what was wrong with the answer. */
typedef const char *(*bench_run_fn)(const struct bench_run *run, struct bench_result *out);

/* main() of a program: `can` says whether it has a job with so many workers. */
int bench_main(int argc, char **argv, const char *peer,
               bool (*can)(const struct bench_job *job, unsigned workers), bench_run_fn run);

/* Rounds that each token of a ring makes. */
uint64_t bench_rounds(const struct bench_run *run);

/* Messages that each producer of J5 sends. */
uint64_t bench_share(const struct bench_run *run);

uint64_t bench_now_ns(void);

/* Ends the program with one line on stderr if `p` is NULL; else returns it. */
void *bench_need(void *p);

/* Resident memory of this process. */
uint64_t bench_resident_bytes(void);

/* Keeps the calling thread on the k-th processor that the process may use,
 * counted round.  False if there is only one. */
bool bench_pin(unsigned k);

/* For a loop that waits for another thread, which may need this very core. */
void bench_back_off(unsigned *spins);

/* How many steps of bench_work take so long here; measured when called. */
uint64_t bench_work_steps(uint64_t work_ns);

/* Arithmetic in which each step needs the last one's result. */
static inline uint64_t bench_work(uint64_t x, uint64_t steps) {
    while (steps-- > 0) x = (x * 16807 + 1) & 0x7fffffff;
    return x;
}

/*
 * Calls `send` n times, at fixed times that do not wait for the receivers: half
 * of what `workers` can do with `work_ns` per message.  `due_ns` is when the
 * call should have come.
 */
void bench_generate(uint64_t n, uint64_t work_ns, unsigned workers,
                    void (*send)(void *arg, uint64_t i, uint64_t due_ns), void *arg);

/* Sorts the latencies of J8 and fills p50 and p99.  NULL, or what was wrong: a
 * zero is a message that nobody handled. */
const char *bench_percentiles(uint64_t *latency_ns, uint64_t n, struct bench_result *out);

#endif
