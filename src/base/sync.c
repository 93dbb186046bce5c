/* SPDX-License-Identifier: MIT */
#include "base/sync.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

/* The definitions that take or drop a lock are outside clang's analysis: what
 * they promise in the header is what pthreads does. */

void rondo_mutex_init(struct rondo_mutex *mu) {
    RONDO_CHECK(pthread_mutex_init(&mu->os, NULL) == 0);
}

void rondo_mutex_fini(struct rondo_mutex *mu) {
    RONDO_CHECK(pthread_mutex_destroy(&mu->os) == 0);
}

RONDO_NO_TSA void rondo_mutex_lock(struct rondo_mutex *mu) {
    RONDO_CHECK(pthread_mutex_lock(&mu->os) == 0);
}

RONDO_NO_TSA void rondo_mutex_unlock(struct rondo_mutex *mu) {
    RONDO_CHECK(pthread_mutex_unlock(&mu->os) == 0);
}

void rondo_cond_init(struct rondo_cond *cond) {
    pthread_condattr_t attr;
    RONDO_CHECK(pthread_condattr_init(&attr) == 0);
    RONDO_CHECK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    RONDO_CHECK(pthread_cond_init(&cond->os, &attr) == 0);
    RONDO_CHECK(pthread_condattr_destroy(&attr) == 0);
}

void rondo_cond_fini(struct rondo_cond *cond) {
    RONDO_CHECK(pthread_cond_destroy(&cond->os) == 0);
}

void rondo_cond_wait(struct rondo_cond *cond, struct rondo_mutex *mu) {
    RONDO_CHECK(pthread_cond_wait(&cond->os, &mu->os) == 0);
}

bool rondo_cond_wait_until(struct rondo_cond *cond, struct rondo_mutex *mu, uint64_t deadline_ns) {
    struct timespec ts = {
        .tv_sec = (time_t)(deadline_ns / RONDO_SEC),
        .tv_nsec = (long)(deadline_ns % RONDO_SEC),
    };
    int rc = pthread_cond_timedwait(&cond->os, &mu->os, &ts);
    RONDO_CHECK(rc == 0 || rc == ETIMEDOUT);
    return rc == 0;
}

void rondo_cond_signal(struct rondo_cond *cond) {
    RONDO_CHECK(pthread_cond_signal(&cond->os) == 0);
}

void rondo_cond_broadcast(struct rondo_cond *cond) {
    RONDO_CHECK(pthread_cond_broadcast(&cond->os) == 0);
}

struct start {
    void (*fn)(void *arg);
    void *arg;
    char name[16];
};

static void *thread_main(void *given) {
    struct start start = *(struct start *)given;
    rondo_free(given);
    /* A thread without its name still works. */
    (void)pthread_setname_np(pthread_self(), start.name);
    start.fn(start.arg);
    rondo_mem_thread_end();
    return NULL;
}

/* The new thread inherits the mask, so that it never sees a signal, not even
 * before its first instruction. */
static int create_with_signals_blocked(pthread_t *os, struct start *start) {
    sigset_t all, before;
    sigfillset(&all);
    RONDO_CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int rc = pthread_create(os, NULL, thread_main, start);
    RONDO_CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return rc;
}

enum rondo_err rondo_thread_start(struct rondo_thread *t, const char *name, void (*fn)(void *arg),
                                  void *arg) {
    struct start *start = rondo_zalloc(sizeof *start);
    if (!start) return RONDO_ERR_NOMEM;
    start->fn = fn;
    start->arg = arg;
    memcpy(start->name, name, strnlen(name, sizeof start->name - 1));
    pthread_t os;
    if (create_with_signals_blocked(&os, start) != 0) {
        rondo_free(start);
        return RONDO_ERR_SYSTEM;
    }
    t->os = os;
    return RONDO_OK;
}

void rondo_thread_join(struct rondo_thread *t) {
    RONDO_CHECK(pthread_join(t->os, NULL) == 0);
}

void rondo_thread_detach(struct rondo_thread *t) {
    RONDO_CHECK(pthread_detach(t->os) == 0);
}

void rondo_latch_init(struct rondo_latch *latch, uint64_t count) {
    rondo_mutex_init(&latch->mu);
    rondo_cond_init(&latch->cond);
    latch->count = count;
}

void rondo_latch_fini(struct rondo_latch *latch) {
    rondo_cond_fini(&latch->cond);
    rondo_mutex_fini(&latch->mu);
}

void rondo_latch_count_down(struct rondo_latch *latch) {
    rondo_mutex_lock(&latch->mu);
    RONDO_CHECK(latch->count > 0);
    /* Under the lock: a waiter may free the latch as soon as it is let go. */
    if (--latch->count == 0) rondo_cond_broadcast(&latch->cond);
    rondo_mutex_unlock(&latch->mu);
}

void rondo_latch_wait(struct rondo_latch *latch) {
    rondo_mutex_lock(&latch->mu);
    while (latch->count > 0) rondo_cond_wait(&latch->cond, &latch->mu);
    rondo_mutex_unlock(&latch->mu);
}

uint64_t rondo_latch_wait_until(struct rondo_latch *latch, uint64_t deadline_ns) {
    rondo_mutex_lock(&latch->mu);
    while (latch->count > 0 && rondo_cond_wait_until(&latch->cond, &latch->mu, deadline_ns))
        continue;
    uint64_t left = latch->count;
    rondo_mutex_unlock(&latch->mu);
    return left;
}
