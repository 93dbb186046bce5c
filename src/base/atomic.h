/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - atomics on plain objects, always with an explicit order.
 *
 * The builtins are used in place of <stdatomic.h> so that public structs stay
 * free of _Atomic and no operator can be sequentially consistent by accident.
 * Every use names its partner in a comment.  There are no fences here, on
 * purpose: ThreadSanitizer cannot see them.
 */
#ifndef RONDO_BASE_ATOMIC_H
#define RONDO_BASE_ATOMIC_H

#define rondo_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define rondo_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define rondo_load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)

#define rondo_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define rondo_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define rondo_store_seq_cst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

#define rondo_exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define rondo_exchange_seq_cst(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/* Strong compare-and-swap; on failure *expected (a pointer) gets what was there. */
#define rondo_cas_acq_rel(p, expected, v)                                                          \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define rondo_cas_seq_cst(p, expected, v)                                                          \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define rondo_cas_relaxed(p, expected, v)                                                          \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

#define rondo_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define rondo_add_seq_cst(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define rondo_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define rondo_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define rondo_sub_seq_cst(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_SEQ_CST)
#define rondo_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define rondo_or_seq_cst(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define rondo_or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define rondo_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)

/* A counter that one thread writes and any thread reads: no read-modify-write. */
#define rondo_count_up(p, v) rondo_store_relaxed((p), rondo_load_relaxed(p) + (v))

static inline void rondo_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

enum { RONDO_CACHE_LINE = 64 };

#endif
