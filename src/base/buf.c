/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/mem.h"

enum { MIN_CAP = 64 };

void rondo_buf_fini(struct rondo_buf *b) {
    rondo_free(b->data);
    *b = (struct rondo_buf){0};
}

enum rondo_err rondo_buf_reserve(struct rondo_buf *b, size_t extra) {
    size_t need, cap;
    if (extra <= b->cap - b->len) return RONDO_OK;
    if (!rondo_size_add(b->len, extra, &need)) return RONDO_ERR_NOMEM;
    /* Doubling, so that many small appends cost linear time. */
    if (!rondo_size_mul(b->cap, 2, &cap) || cap < need) cap = need;
    if (cap < MIN_CAP) cap = MIN_CAP;
    char *data = rondo_realloc(b->data, cap);
    if (!data) return RONDO_ERR_NOMEM;
    b->data = data;
    b->cap = cap;
    return RONDO_OK;
}

enum rondo_err rondo_buf_append(struct rondo_buf *b, const void *data, size_t len) {
    if (len == 0) return RONDO_OK;
    enum rondo_err err = rondo_buf_reserve(b, len);
    if (err) return err;
    memcpy(b->data + b->len, data, len);
    b->len += len;
    return RONDO_OK;
}

enum rondo_err rondo_buf_append_str(struct rondo_buf *b, const char *s) {
    return rondo_buf_append(b, s, strlen(s));
}

enum rondo_err rondo_buf_printf(struct rondo_buf *b, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    enum rondo_err err = rondo_buf_vprintf(b, fmt, args);
    va_end(args);
    return err;
}

enum rondo_err rondo_buf_vprintf(struct rondo_buf *b, const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    enum rondo_err err = n < 0 ? RONDO_ERR_INVALID : rondo_buf_reserve(b, (size_t)n + 1);
    if (!err) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return err;
}

void rondo_buf_consume(struct rondo_buf *b, size_t n) {
    RONDO_CHECK(n <= b->len);
    if (n == 0) return;
    b->len -= n;
    if (b->len) memmove(b->data, b->data + n, b->len);
}

void rondo_buf_shrink(struct rondo_buf *b, size_t keep) {
    if (b->len == 0 && b->cap > keep) rondo_buf_fini(b);
}

const char *rondo_buf_cstr(struct rondo_buf *b) {
    if (rondo_buf_reserve(b, 1)) return NULL;
    b->data[b->len] = '\0';
    return b->data;
}
