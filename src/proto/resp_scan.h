/* SPDX-License-Identifier: MIT */
/* resp_scan.h - what the two parsers of resp.h share; for them alone. */
#ifndef RONDO_PROTO_RESP_SCAN_H
#define RONDO_PROTO_RESP_SCAN_H

#include "proto/resp.h"

/*
 * Looks for `end` behind data[pos], where the first *searched bytes are known
 * not to hold it.  READY: *line_len bytes lie before it, and one byte behind it
 * if `extra`.  MORE: *searched has grown.  BAD: the line is longer than `max`.
 */
static inline enum rondo_resp_status rondo_resp_scan_line(const char *data, size_t len, size_t pos,
                                                          size_t *searched, char end, bool extra,
                                                          size_t max, size_t *line_len) {
    const char *line = data + pos;
    size_t have = len - pos;
    const char *hit = memchr(line + *searched, end, have - *searched);
    size_t n = hit ? (size_t)(hit - line) : have;
    *searched = n;
    if (n > max) return RONDO_RESP_BAD;
    if (!hit || (extra && n + 1 == have)) return RONDO_RESP_MORE;
    *line_len = n;
    return RONDO_RESP_READY;
}

/* A length as Redis reads it: digits without leading zeros, or a negative one.
 * False, with *out untouched, for anything else or when it does not fit. */
static inline bool rondo_resp_scan_length(const char *s, size_t n, int64_t *out) {
    bool is_negative = n > 0 && s[0] == '-';
    size_t i = is_negative ? 1 : 0;
    int64_t v = 0;
    if (i == n || (s[i] == '0' && n > 1)) return false;
    for (; i < n; i++) {
        unsigned digit = (unsigned char)s[i] - (unsigned)'0';
        if (digit > 9) return false;
        if (__builtin_mul_overflow(v, 10, &v)) return false;
        if (__builtin_add_overflow(v, is_negative ? -(int64_t)digit : (int64_t)digit, &v))
            return false;
    }
    *out = v;
    return true;
}

/*
 * Slices hold offsets until their command or reply is whole, since the buffer
 * may move in between.
 */
static inline struct rondo_slice rondo_resp_scan_span(size_t offset, size_t len) {
    return rondo_slice_of((const void *)(uintptr_t)offset, len);
}
static inline void rondo_resp_scan_resolve(struct rondo_slice *s, const char *data) {
    s->data = data + (uintptr_t)s->data;
}

#endif
