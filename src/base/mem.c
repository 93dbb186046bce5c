/* SPDX-License-Identifier: MIT */
/*
 * Counting costs a load and a store: each thread has a counter that no other
 * thread writes, and who wants the count adds them up.  A counter alone may be
 * "negative", for memory is often freed on another thread; the sum wraps back.
 *
 * The threads of sync.h return their counter when they end.  A thread of the
 * host's keeps it, since a hook at its end would be a call into a library that
 * may have been unloaded by then; when the counters are used up, further threads
 * share the first one and pay for an atomic addition.
 */
#include "base/mem.h"
#include "base/atomic.h"
#include "base/check.h"

enum { COUNTERS = 64, SHARED = 0 };

static struct counter {
    _Alignas(RONDO_CACHE_LINE) uint64_t live; /* atomic; all but SHARED: one writer */
    bool is_taken;                            /* atomic */
} counters[COUNTERS];

static _Thread_local __attribute__((tls_model("initial-exec"))) struct counter *mine;

static __attribute__((noinline, cold)) struct counter *take_counter(void) {
    mine = &counters[SHARED];
    for (unsigned i = SHARED + 1; i < COUNTERS; i++) {
        bool is_taken = false;
        /* partner: the release in rondo_mem_thread_end, after the last store to
         * `live` by the thread that had this counter */
        if (!rondo_cas_acq_rel(&counters[i].is_taken, &is_taken, true)) continue;
        mine = &counters[i];
        break;
    }
    return mine;
}

static inline void count(uint64_t by) {
    struct counter *c = RONDO_LIKELY(mine != NULL) ? mine : take_counter();
    /* partner: rondo_mem_live */
    if (RONDO_UNLIKELY(c == &counters[SHARED]))
        rondo_add_relaxed(&c->live, by);
    else
        rondo_count_up(&c->live, by);
}

static inline void *counted(void *p) {
    if (RONDO_LIKELY(p != NULL)) count(1);
    return p;
}

void rondo_mem_thread_end(void) {
    struct counter *c = mine;
    mine = NULL;
    /* partner: take_counter */
    if (c && c != &counters[SHARED]) rondo_store_release(&c->is_taken, false);
}

uint64_t rondo_mem_live(void) {
    uint64_t n = 0;
    for (unsigned i = 0; i < COUNTERS; i++)
        n += rondo_load_relaxed(&counters[i].live); /* partner: count */
    return n;
}

/* How many allocations until one fails; 0: off.  All orders are relaxed: the
 * switch orders nothing, and a test sets it before it starts what it tests. */
static uint64_t fail_in;
static bool has_failed;

/* Rarely run, hence out of line: the hot path is one load and a branch. */
static __attribute__((noinline, cold)) bool count_towards_failure(void) {
    uint64_t left = rondo_load_relaxed(&fail_in); /* partner: the same CAS elsewhere */
    do {
        if (left == 0) return false;
    } while (!rondo_cas_relaxed(&fail_in, &left, left - 1));
    if (left != 1) return false;
    rondo_store_relaxed(&has_failed, true); /* partner: rondo_mem_failed */
    return true;
}

static inline bool must_fail(void) {
    /* partner: rondo_mem_fail_nth */
    return RONDO_UNLIKELY(rondo_load_relaxed(&fail_in) != 0) && count_towards_failure();
}

void *rondo_alloc(size_t n) {
    return must_fail() ? NULL : counted(malloc(n ? n : 1));
}

void *rondo_zalloc(size_t n) {
    return must_fail() ? NULL : counted(calloc(1, n ? n : 1));
}

void *rondo_realloc(void *p, size_t n) {
    /* realloc(p, 0) frees and returns NULL, which a caller takes for failure. */
    void *moved = must_fail() ? NULL : realloc(p, n ? n : 1);
    return p ? moved : counted(moved);
}

void *rondo_alloc_aligned(size_t align, size_t n) {
    RONDO_CHECK(align != 0 && (align & (align - 1)) == 0);
    if (must_fail()) return NULL;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, n ? n : 1)) return NULL;
    return counted(p);
}

void rondo_free(void *p) {
    if (!p) return;
    count(UINT64_MAX); /* minus one */
    free(p);
}

char *rondo_strdup(const char *s) {
    return rondo_strndup(s, strlen(s));
}

char *rondo_strndup(const void *s, size_t n) {
    size_t size;
    if (!rondo_size_add(n, 1, &size)) return NULL;
    char *copy = rondo_alloc(size);
    if (!copy) return NULL;
    if (n) memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

void rondo_mem_fail_nth(uint64_t n) {
    rondo_store_relaxed(&has_failed, false);
    rondo_store_relaxed(&fail_in, n); /* partner: must_fail */
}

bool rondo_mem_failed(void) {
    return rondo_load_relaxed(&has_failed); /* partner: count_towards_failure */
}
