/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/atomic.h"
#include "base/check.h"

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
    return must_fail() ? NULL : malloc(n ? n : 1);
}

void *rondo_zalloc(size_t n) {
    return must_fail() ? NULL : calloc(1, n ? n : 1);
}

void *rondo_realloc(void *p, size_t n) {
    /* realloc(p, 0) frees and returns NULL, which a caller takes for failure. */
    return must_fail() ? NULL : realloc(p, n ? n : 1);
}

void *rondo_alloc_aligned(size_t align, size_t n) {
    RONDO_CHECK(align != 0 && (align & (align - 1)) == 0);
    if (must_fail()) return NULL;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, n ? n : 1)) return NULL;
    return p;
}

void rondo_free(void *p) {
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
