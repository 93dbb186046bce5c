/* SPDX-License-Identifier: MIT */
/*
 * check.h - assertions that stay.
 *
 * RONDO_CHECK(x) is compiled into every build: a false one is a bug of ours; the
 * place is logged, the log's trace is dumped and the process aborts.
 * RONDO_DEBUG_CHECK(x) is for what costs too much on a hot path: debug builds
 * only, and its argument is compiled but not run elsewhere.
 */
#ifndef RONDO_BASE_CHECK_H
#define RONDO_BASE_CHECK_H

#include "base/banned.h"
#include <stddef.h>

_Noreturn void rondo_check_failed(const char *file, int line, const char *what);
/* The same with a text of the caller's ("check failed: ..."). */
_Noreturn void rondo_check_abort(const char *text);
/* Tells of a failed check, then the trace.  Declared here and implemented by
 * log.c, which itself makes checks. */
void rondo_check_report(const char *text);

enum { RONDO_CHECK_TEXT = 1024 }; /* bytes of a text, its NUL included */

#define RONDO_CHECK(x)                                                                             \
    (__builtin_expect(!(x), 0) ? rondo_check_failed(__FILE__, __LINE__, #x) : (void)0)

#ifdef NDEBUG
#define RONDO_DEBUG_CHECK(x) ((void)sizeof((x) ? 1 : 0))
#else
#define RONDO_DEBUG_CHECK(x) RONDO_CHECK(x)
#endif

#define RONDO_LIKELY(x) __builtin_expect(!!(x), 1)
#define RONDO_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The struct that holds `member` at `ptr`. */
#define RONDO_CONTAINER_OF(ptr, type, member)                                                      \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define RONDO_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
