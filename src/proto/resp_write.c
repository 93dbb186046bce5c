/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/mem.h"
#include "proto/resp.h"
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>

enum { HEADER_MAX = 1 + 20 + 2 }; /* a mark, a 64-bit number, CR LF */

static bool reserve(struct rondo_resp_writer *w, size_t n) {
    if (RONDO_UNLIKELY(w->err)) return false;
    if (RONDO_LIKELY(w->buf->cap - w->buf->len >= n)) return true;
    w->err = rondo_buf_reserve(w->buf, n);
    return !w->err;
}

/* ---- into reserved room: each returns where it ended ---- */

static char *put_crlf(char *at) {
    at[0] = '\r';
    at[1] = '\n';
    return at + 2;
}

static char *put_bytes(char *at, const void *data, size_t len) {
    if (len > 0) memcpy(at, data, len);
    return at + len;
}

static unsigned count_digits(uint64_t v) {
    unsigned n = 1;
    for (; v >= 10; v /= 10) n++;
    return n;
}

static char *put_number(char *at, uint64_t v) {
    unsigned n = count_digits(v);
    for (unsigned i = n; i-- > 0; v /= 10) at[i] = (char)('0' + v % 10);
    return at + n;
}

static char *put_header(char *at, char mark, uint64_t n) {
    *at = mark;
    return put_crlf(put_number(at + 1, n));
}

static char *put_blob(char *at, char mark, const void *data, size_t len) {
    return put_crlf(put_bytes(put_header(at, mark, len), data, len));
}

/* ---- one value each ---- */

static char *tail(struct rondo_resp_writer *w) {
    return w->buf->data + w->buf->len;
}

static void advance(struct rondo_resp_writer *w, const char *to) {
    w->buf->len = (size_t)(to - w->buf->data);
}

static void write_header(struct rondo_resp_writer *w, char mark, size_t n) {
    if (reserve(w, HEADER_MAX)) advance(w, put_header(tail(w), mark, n));
}

static void write_blob(struct rondo_resp_writer *w, char mark, const void *data, size_t len) {
    size_t n;
    if (!rondo_size_add(len, HEADER_MAX + 2, &n)) {
        w->err = RONDO_ERR_NOMEM;
        return;
    }
    if (reserve(w, n)) advance(w, put_blob(tail(w), mark, data, len));
}

static void blank_line_ends(char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\r' || s[i] == '\n') s[i] = ' ';
}

static void write_line(struct rondo_resp_writer *w, char mark, const void *text, size_t len) {
    if (!reserve(w, len + 3)) return;
    char *at = tail(w);
    *at = mark;
    char *end = put_bytes(at + 1, text, len);
    blank_line_ends(at + 1, len);
    advance(w, put_crlf(end));
}

void rondo_resp_write_raw(struct rondo_resp_writer *w, const void *data, size_t len) {
    if (reserve(w, len) && len > 0) advance(w, put_bytes(tail(w), data, len));
}

void rondo_resp_write_simple(struct rondo_resp_writer *w, const char *text) {
    write_line(w, '+', text, strlen(text));
}

void rondo_resp_write_error(struct rondo_resp_writer *w, const char *text) {
    write_line(w, '-', text, strlen(text));
}

void rondo_resp_write_errorf(struct rondo_resp_writer *w, const char *fmt, ...) {
    if (!reserve(w, 3)) return;
    size_t start = w->buf->len;
    w->buf->data[w->buf->len++] = '-';
    va_list args;
    va_start(args, fmt);
    w->err = rondo_buf_vprintf(w->buf, fmt, args);
    va_end(args);
    if (reserve(w, 2)) {
        blank_line_ends(w->buf->data + start, w->buf->len - start);
        advance(w, put_crlf(tail(w)));
    } else {
        w->buf->len = start;
    }
}

void rondo_resp_write_int(struct rondo_resp_writer *w, int64_t v) {
    if (!reserve(w, HEADER_MAX + 1)) return;
    char *at = tail(w);
    *at++ = ':';
    if (v < 0) *at++ = '-';
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    advance(w, put_crlf(put_number(at, size)));
}

void rondo_resp_write_bulk(struct rondo_resp_writer *w, const void *data, size_t len) {
    write_blob(w, '$', data, len);
}

void rondo_resp_write_bulk_str(struct rondo_resp_writer *w, const char *s) {
    write_blob(w, '$', s, strlen(s));
}

char *rondo_resp_write_bulk_space(struct rondo_resp_writer *w, size_t len) {
    size_t n;
    if (!rondo_size_add(len, HEADER_MAX + 2, &n)) w->err = RONDO_ERR_NOMEM;
    if (w->err || !reserve(w, n)) return NULL;
    char *space = put_header(tail(w), '$', len);
    advance(w, put_crlf(space + len));
    return space;
}

void rondo_resp_write_bulk_header(struct rondo_resp_writer *w, size_t len) {
    write_header(w, '$', len);
}

void rondo_resp_write_null(struct rondo_resp_writer *w) {
    if (w->proto >= 3)
        rondo_resp_write_raw(w, "_\r\n", 3);
    else
        rondo_resp_write_raw(w, "$-1\r\n", 5);
}

void rondo_resp_write_null_array(struct rondo_resp_writer *w) {
    if (w->proto >= 3)
        rondo_resp_write_raw(w, "_\r\n", 3);
    else
        rondo_resp_write_raw(w, "*-1\r\n", 5);
}

void rondo_resp_write_array(struct rondo_resp_writer *w, size_t n) {
    write_header(w, '*', n);
}

void rondo_resp_write_map(struct rondo_resp_writer *w, size_t n_pairs) {
    RONDO_DEBUG_CHECK(n_pairs <= SIZE_MAX / 2);
    write_header(w, w->proto >= 3 ? '%' : '*', w->proto >= 3 ? n_pairs : n_pairs * 2);
}

void rondo_resp_write_set(struct rondo_resp_writer *w, size_t n) {
    write_header(w, w->proto >= 3 ? '~' : '*', n);
}

void rondo_resp_write_push(struct rondo_resp_writer *w, size_t n) {
    write_header(w, w->proto >= 3 ? '>' : '*', n);
}

/* printf writes the decimal point of the process's locale, which our host may
 * have set: nothing but digits, signs and an exponent is anything else. */
static size_t format_double(char *out, size_t cap, double v) {
    if (isnan(v)) return (size_t)snprintf(out, cap, "nan");
    if (isinf(v)) return (size_t)snprintf(out, cap, v < 0 ? "-inf" : "inf");
    size_t n = (size_t)snprintf(out, cap, "%.17g", v);
    const char *point = nl_langinfo(RADIXCHAR);
    size_t point_len = strlen(point);
    char *at = strstr(out, point);
    if (!at || point_len == 0) return n;
    *at = '.';
    memmove(at + 1, at + point_len, n - (size_t)(at - out) - point_len + 1);
    return n - point_len + 1;
}

void rondo_resp_write_double(struct rondo_resp_writer *w, double v) {
    char text[48];
    size_t n = format_double(text, sizeof text, v);
    if (w->proto >= 3)
        write_line(w, ',', text, n);
    else
        write_blob(w, '$', text, n);
}

void rondo_resp_write_bool(struct rondo_resp_writer *w, bool v) {
    if (w->proto >= 3)
        rondo_resp_write_raw(w, v ? "#t\r\n" : "#f\r\n", 4);
    else
        rondo_resp_write_int(w, v);
}

static void write_big_number(struct rondo_resp_writer *w, const void *digits, size_t n) {
    if (w->proto >= 3)
        write_line(w, '(', digits, n);
    else
        write_blob(w, '$', digits, n);
}

void rondo_resp_write_big_number(struct rondo_resp_writer *w, const char *digits) {
    write_big_number(w, digits, strlen(digits));
}

void rondo_resp_write_verbatim(struct rondo_resp_writer *w, const char *format, const void *data,
                               size_t len) {
    size_t n;
    if (w->proto < 3) {
        write_blob(w, '$', data, len);
        return;
    }
    if (!rondo_size_add(len, HEADER_MAX + 4 + 2, &n)) w->err = RONDO_ERR_NOMEM;
    if (w->err || !reserve(w, n)) return;
    char *at = put_bytes(put_header(tail(w), '=', len + 4), format, 3);
    *at = ':';
    advance(w, put_crlf(put_bytes(at + 1, data, len)));
}

/* ---- replies that were parsed ---- */

/* An error of several lines can only travel as RESP3's bulk error. */
static void write_error_text(struct rondo_resp_writer *w, struct rondo_slice text) {
    bool is_long =
        text.len > 0 && (memchr(text.data, '\r', text.len) || memchr(text.data, '\n', text.len));
    if (is_long && w->proto >= 3)
        write_blob(w, '!', text.data, text.len);
    else
        write_line(w, '-', text.data, text.len);
}

/* The node without what is below it. */
static void write_head(struct rondo_resp_writer *w, const struct rondo_resp_node *node) {
    switch ((enum rondo_resp_type)node->type) {
    case RONDO_RESP_SIMPLE:
        write_line(w, '+', node->text.data, node->text.len);
        break;
    case RONDO_RESP_ERROR:
        write_error_text(w, node->text);
        break;
    case RONDO_RESP_BULK:
        write_blob(w, '$', node->text.data, node->text.len);
        break;
    case RONDO_RESP_VERBATIM:
        rondo_resp_write_verbatim(w, node->format, node->text.data, node->text.len);
        break;
    case RONDO_RESP_BIG_NUMBER:
        write_big_number(w, node->text.data, node->text.len);
        break;
    case RONDO_RESP_DOUBLE:
        rondo_resp_write_double(w, node->real);
        break;
    case RONDO_RESP_INT:
        rondo_resp_write_int(w, node->integer);
        break;
    case RONDO_RESP_BOOL:
        rondo_resp_write_bool(w, node->integer != 0);
        break;
    case RONDO_RESP_NULL:
        rondo_resp_write_null(w);
        break;
    case RONDO_RESP_ARRAY:
        rondo_resp_write_array(w, node->n_children);
        break;
    case RONDO_RESP_SET:
        rondo_resp_write_set(w, node->n_children);
        break;
    case RONDO_RESP_PUSH:
        rondo_resp_write_push(w, node->n_children);
        break;
    case RONDO_RESP_MAP:
        rondo_resp_write_map(w, node->n_children / 2);
        break;
    case RONDO_RESP_ATTRIBUTE:
        write_header(w, '|', node->n_children / 2);
        break;
    }
}

void rondo_resp_write_node(struct rondo_resp_writer *w, const struct rondo_resp_node *node) {
    const struct rondo_resp_node *end = node + node->n_nodes;
    while (node < end) {
        if (node->type == RONDO_RESP_ATTRIBUTE && w->proto < 3) {
            size_t skipped = node->n_children - 1;
            for (node++; skipped > 0; skipped--) node = rondo_resp_node_next(node);
        } else {
            write_head(w, node++);
        }
    }
}

/* ---- commands ---- */

enum rondo_err rondo_resp_write_command(struct rondo_buf *buf, const struct rondo_slice *args,
                                        size_t n_args) {
    size_t n = HEADER_MAX;
    for (size_t i = 0; i < n_args; i++)
        if (!rondo_size_add(n, args[i].len, &n) || !rondo_size_add(n, HEADER_MAX + 2, &n))
            return RONDO_ERR_NOMEM;
    enum rondo_err err = rondo_buf_reserve(buf, n);
    if (err) return err;
    char *at = put_header(buf->data + buf->len, '*', n_args);
    for (size_t i = 0; i < n_args; i++) at = put_blob(at, '$', args[i].data, args[i].len);
    buf->len = (size_t)(at - buf->data);
    return RONDO_OK;
}
