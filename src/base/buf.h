/* SPDX-License-Identifier: MIT */
/*
 * buf.h - growable bytes, and slices of them.
 *
 * A zeroed buf is empty and valid.  Appending fails with NOMEM and leaves the
 * contents as they were.  Not synchronised.
 */
#ifndef RONDO_BASE_BUF_H
#define RONDO_BASE_BUF_H

#include "base/check.h"
#include "rondo/rondo.h"
#include <stdarg.h>
#include <string.h>

struct rondo_buf {
    char *data;
    size_t len, cap;
};

void rondo_buf_fini(struct rondo_buf *b);
/* Makes room for `extra` bytes more than `len`. */
RONDO_NODISCARD enum rondo_err rondo_buf_reserve(struct rondo_buf *b, size_t extra);
RONDO_NODISCARD enum rondo_err rondo_buf_append(struct rondo_buf *b, const void *data, size_t len);
RONDO_NODISCARD enum rondo_err rondo_buf_append_str(struct rondo_buf *b, const char *s);
RONDO_NODISCARD enum rondo_err rondo_buf_printf(struct rondo_buf *b, const char *fmt, ...)
    RONDO_PRINTF(2, 3);
RONDO_NODISCARD enum rondo_err rondo_buf_vprintf(struct rondo_buf *b, const char *fmt, va_list args)
    RONDO_PRINTF(2, 0);
/* Drops the first `n` bytes (n <= len). */
void rondo_buf_consume(struct rondo_buf *b, size_t n);
/* Gives memory back when the buffer is empty and larger than `keep`. */
void rondo_buf_shrink(struct rondo_buf *b, size_t keep);
/* The contents as a NUL-terminated string that belongs to the buffer; NULL when
 * out of memory. */
const char *rondo_buf_cstr(struct rondo_buf *b);

/* memcpy of few bytes, how many of which the compiler must not know: where gcc can
 * tell that they are few it copies by `rep movs`, whose start costs more than a whole
 * look-up. */
static inline void rondo_copy_few(void *to, const void *from, size_t n) {
    __asm__("" : "+r"(n));
    if (n) memcpy(to, from, n);
}

static inline struct rondo_slice rondo_slice_of(const void *data, size_t len) {
    struct rondo_slice s = {data, len};
    return s;
}
static inline struct rondo_slice rondo_slice_str(const char *s) {
    return rondo_slice_of(s, strlen(s));
}
static inline bool rondo_slice_eq(struct rondo_slice a, struct rondo_slice b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
static inline bool rondo_slice_is(struct rondo_slice a, const char *s) {
    return rondo_slice_eq(a, rondo_slice_str(s));
}

#endif
