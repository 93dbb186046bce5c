/* SPDX-License-Identifier: MIT */
/*
 * mem.h - the allocation seam.
 *
 * All memory of the project comes through here, so that it is counted and so
 * that a test can make the nth allocation fail.  malloc's contracts: NULL on
 * failure, freeing NULL does nothing, 16-byte alignment.  Any thread.
 */
#ifndef RONDO_BASE_MEM_H
#define RONDO_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *rondo_alloc(size_t n);
void *rondo_zalloc(size_t n);
void *rondo_realloc(void *p, size_t n);
/* `align`: a power of two.  Freed by rondo_free. */
void *rondo_alloc_aligned(size_t align, size_t n);
void rondo_free(void *p);
/* NUL-terminated copies; NULL when out of memory. */
char *rondo_strdup(const char *s);
char *rondo_strndup(const void *s, size_t n);

/* False, with *out untouched, when the result does not fit. */
static inline bool rondo_size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool rondo_size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

/* Allocations of this process that are not freed yet; exact while no other
 * thread allocates or frees. */
uint64_t rondo_mem_live(void);
/* For rondo_thread_start: the calling thread, which is about to end, gives its
 * counter back. */
void rondo_mem_thread_end(void);

/*
 * Tests: from now on the nth allocation (1 = the next) of this process fails,
 * once; 0 switches it off.  rondo_mem_failed says whether it has happened.
 * A fail-the-nth-call test loops n upward until an operation runs untouched.
 */
void rondo_mem_fail_nth(uint64_t n);
bool rondo_mem_failed(void);

#endif
