/* SPDX-License-Identifier: MIT */
/*
 * sync.h - mutexes, condition variables, threads and a latch on pthreads.
 *
 * (C11 <threads.h> crashes under ThreadSanitizer.)  The functions carry clang's
 * thread-safety attributes; a failed pthread call here is a bug or a lack of
 * memory at start-up and fails a check, except rondo_thread_start, which
 * reports.  Waits use CLOCK_MONOTONIC.
 */
#ifndef RONDO_BASE_SYNC_H
#define RONDO_BASE_SYNC_H

#include "rondo/rondo.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__clang__)
#define RONDO_TSA(x) __attribute__((x))
#else
#define RONDO_TSA(x)
#endif
#define RONDO_CAPABILITY RONDO_TSA(capability("mutex"))
#define RONDO_ACQUIRE(...) RONDO_TSA(acquire_capability(__VA_ARGS__))
#define RONDO_RELEASE(...) RONDO_TSA(release_capability(__VA_ARGS__))
#define RONDO_REQUIRES(...) RONDO_TSA(requires_capability(__VA_ARGS__))
#define RONDO_EXCLUDES(...) RONDO_TSA(locks_excluded(__VA_ARGS__))
#define RONDO_NO_TSA RONDO_TSA(no_thread_safety_analysis)

struct RONDO_CAPABILITY rondo_mutex {
    pthread_mutex_t os;
};

struct rondo_cond {
    pthread_cond_t os;
};

/* For a mutex with static storage: needs neither init nor fini. */
#define RONDO_MUTEX_INIT                                                                           \
    { PTHREAD_MUTEX_INITIALIZER }

void rondo_mutex_init(struct rondo_mutex *mu);
void rondo_mutex_fini(struct rondo_mutex *mu);
void rondo_mutex_lock(struct rondo_mutex *mu) RONDO_ACQUIRE(*mu);
void rondo_mutex_unlock(struct rondo_mutex *mu) RONDO_RELEASE(*mu);

void rondo_cond_init(struct rondo_cond *cond);
void rondo_cond_fini(struct rondo_cond *cond);
void rondo_cond_wait(struct rondo_cond *cond, struct rondo_mutex *mu) RONDO_REQUIRES(*mu);
/* False when the monotonic clock has reached `deadline_ns`. */
bool rondo_cond_wait_until(struct rondo_cond *cond, struct rondo_mutex *mu, uint64_t deadline_ns)
    RONDO_REQUIRES(*mu);
void rondo_cond_signal(struct rondo_cond *cond);
void rondo_cond_broadcast(struct rondo_cond *cond);

struct rondo_thread {
    pthread_t os;
};

/* Starts a thread with all signals blocked.  `name` (15 bytes show) is copied.
 * Errors: NOMEM, SYSTEM. */
RONDO_NODISCARD enum rondo_err rondo_thread_start(struct rondo_thread *t, const char *name,
                                                  void (*fn)(void *arg), void *arg);
void rondo_thread_join(struct rondo_thread *t);
/* Leaves the thread to end by itself. */
void rondo_thread_detach(struct rondo_thread *t);

/* Processors that this process may use (affinity and cgroup quota), at least 1. */
unsigned rondo_cpu_count(void);
/* Processors that the text of a cgroup's `cpu.max` ("150000 100000") allows,
 * rounded up; 0: no limit, or not understood. */
unsigned rondo_cpu_quota(const char *cpu_max);

/* This thread's number for the system; never 0. */
unsigned rondo_thread_number(void);
/* For how long a thread of this process has waited for a processor in its life
 * (the wait it may be in not counted).  Opens a file.  False: not known. */
RONDO_NODISCARD bool rondo_thread_waited(unsigned number, uint64_t *out_ns);
/* What /proc says of it: "<ran> <waited> <times>".  False: not understood. */
RONDO_NODISCARD bool rondo_schedstat_waited(const char *schedstat, uint64_t *out_ns);

/* Opens once its count reaches zero. */
struct rondo_latch {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    uint64_t count; /* guarded by mu */
};

void rondo_latch_init(struct rondo_latch *latch, uint64_t count);
void rondo_latch_fini(struct rondo_latch *latch);
void rondo_latch_count_down(struct rondo_latch *latch);
void rondo_latch_wait(struct rondo_latch *latch);
/* Waits until the monotonic clock has reached `deadline_ns` at most; returns the
 * count that is left, 0 once the latch is open. */
uint64_t rondo_latch_wait_until(struct rondo_latch *latch, uint64_t deadline_ns);

#endif
