/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/mem.h"
#include "proto/resp.h"
#include "proto/resp_scan.h"

enum {
    ARGS_FIRST = 8,   /* slices of the first array */
    ARGS_KEEP = 1024, /* a longer array is not kept for the next command */
    HEADER_MIN = 32,  /* no limit makes a valid header too long */
    UNAUTHENTICATED_ARGS = 10,
    UNAUTHENTICATED_BYTES = 16384
};

void rondo_resp_request_init(struct rondo_resp_request *p, const struct rondo_resp_limits *limits) {
    memset(p, 0, sizeof *p);
    p->limits = *limits;
}

void rondo_resp_request_fini(struct rondo_resp_request *p) {
    rondo_free(p->args);
    p->args = NULL;
    p->n_args = p->cap_args = 0;
}

void rondo_resp_request_shrink(struct rondo_resp_request *p) {
    if (!rondo_resp_request_is_partial(p)) rondo_resp_request_fini(p);
}

static enum rondo_resp_status fail(struct rondo_resp_request *p, const char *text) {
    p->error = text;
    return RONDO_RESP_BAD;
}

static enum rondo_resp_status more(struct rondo_resp_request *p, size_t need) {
    p->need = need;
    return RONDO_RESP_MORE;
}

static bool reserve_args(struct rondo_resp_request *p, size_t extra) {
    size_t want, bytes, cap = p->cap_args ? p->cap_args : ARGS_FIRST;
    if (RONDO_LIKELY(p->cap_args - p->n_args >= extra)) return true;
    if (!rondo_size_add(p->n_args, extra, &want)) return false;
    while (cap < want)
        if (!rondo_size_mul(cap, 2, &cap)) return false;
    if (!rondo_size_mul(cap, sizeof *p->args, &bytes)) return false;
    struct rondo_slice *args = rondo_realloc(p->args, bytes);
    if (!args) return false;
    p->args = args;
    p->cap_args = cap;
    return true;
}

/* ---- inline commands ---- */

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Only these end a bare word; a vertical tab or a form feed is part of it. */
static bool ends_word(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static char escaped(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return c;
    }
}

/* Decodes what stands behind a backslash at `in` to *out; returns what follows. */
static const char *decode_escape(const char *in, const char *end, char *out) {
    if (end - in >= 4 && in[1] == 'x' && hex_digit(in[2]) >= 0 && hex_digit(in[3]) >= 0) {
        *out = (char)(hex_digit(in[2]) * 16 + hex_digit(in[3]));
        return in + 4;
    }
    *out = escaped(in[1]);
    return in + 2;
}

/* Decodes a quoted part, from behind its opening quote, to *out, which moves on.
 * Returns what follows the closing quote, or NULL if that is missing or has
 * something other than a blank behind it. */
static const char *decode_quoted(const char *in, const char *end, char quote, char **out) {
    while (in < end && *in != quote) {
        bool is_escape = *in == '\\' && end - in >= 2;
        if (is_escape && quote == '"') {
            in = decode_escape(in, end, (*out)++);
        } else {
            if (is_escape && in[1] == quote) in++;
            *(*out)++ = *in++;
        }
    }
    if (in == end) return NULL;
    in++;
    return in == end || is_blank(*in) ? in : NULL;
}

/* Decodes one argument to *out, in place: what is read is always ahead of what
 * is written.  NULL: unbalanced quotes. */
static const char *decode_arg(const char *in, const char *end, char **out) {
    while (in < end && !ends_word(*in)) {
        if (*in == '"' || *in == '\'') return decode_quoted(in + 1, end, *in, out);
        *(*out)++ = *in++;
    }
    return in;
}

static enum rondo_resp_status split_line(struct rondo_resp_request *p, char *data, size_t len) {
    const char *in = data, *end = data + len;
    for (;;) {
        while (in < end && is_blank(*in)) in++;
        if (in == end) return RONDO_RESP_READY;
        if (p->n_args == p->limits.max_args)
            return fail(p, "Protocol error: too big inline request");
        char *first = data + (in - data), *out = first;
        in = decode_arg(in, end, &out);
        if (!in) return fail(p, "Protocol error: unbalanced quotes in request");
        RONDO_DEBUG_CHECK(p->n_args < p->cap_args);
        p->args[p->n_args++] = rondo_resp_scan_span((size_t)(first - data), (size_t)(out - first));
    }
}

static enum rondo_resp_status parse_inline(struct rondo_resp_request *p, char *data, size_t len) {
    size_t n;
    enum rondo_resp_status st =
        rondo_resp_scan_line(data, len, 0, &p->searched, '\n', false, p->limits.max_line_bytes, &n);
    if (st == RONDO_RESP_BAD) return fail(p, "Protocol error: too big inline request");
    if (st == RONDO_RESP_MORE) return more(p, 1);
    size_t line = n > 0 && data[n - 1] == '\r' ? n - 1 : n;
    /* Room for all before the first is decoded: that cannot be done twice. */
    if (!reserve_args(p, line / 2 + 1)) return RONDO_RESP_NOMEM;
    st = split_line(p, data, line);
    p->pos = n + 1;
    return st;
}

/* ---- arrays of bulks ---- */

/* Most lengths: up to nine digits with CR LF in the buffer.  Returns the digits,
 * 0 when the long way has to decide. */
static inline size_t short_length(const char *s, size_t have, int64_t *out) {
    unsigned v = 0;
    size_t n = 0;
    for (; n < 9 && n + 1 < have; n++) {
        unsigned digit = (unsigned char)s[n] - (unsigned)'0';
        if (digit > 9) break;
        v = v * 10 + digit;
    }
    if (n == 0 || n + 1 >= have || s[n] != '\r' || (s[0] == '0' && n > 1)) return 0;
    *out = (int64_t)v;
    return n;
}

/* The number of the header at pos, which moves behind it. */
static enum rondo_resp_status parse_header(struct rondo_resp_request *p, const char *data,
                                           size_t len, const char *too_big, const char *invalid,
                                           int64_t *out) {
    size_t n = short_length(data + p->pos + 1, len - p->pos - 1, out) + 1;
    if (RONDO_UNLIKELY(n == 1)) {
        size_t max = p->limits.max_line_bytes;
        enum rondo_resp_status st = rondo_resp_scan_line(
            data, len, p->pos, &p->searched, '\r', true, max < HEADER_MIN ? HEADER_MIN : max, &n);
        if (st == RONDO_RESP_BAD) return fail(p, too_big);
        if (st == RONDO_RESP_MORE) return more(p, 1);
        if (!rondo_resp_scan_length(data + p->pos + 1, n - 1, out)) return fail(p, invalid);
    }
    p->pos += n + 2;
    p->searched = 0;
    return RONDO_RESP_READY;
}

static enum rondo_resp_status parse_count(struct rondo_resp_request *p, const char *data,
                                          size_t len) {
    static const char invalid[] = "Protocol error: invalid multibulk length";
    int64_t n;
    enum rondo_resp_status st =
        parse_header(p, data, len, "Protocol error: too big mbulk count string", invalid, &n);
    if (st != RONDO_RESP_READY) return st;
    if (n > 0 && (uint64_t)n > p->limits.max_args) return fail(p, invalid);
    if (n > UNAUTHENTICATED_ARGS && p->limits.is_unauthenticated)
        return fail(p, "Protocol error: unauthenticated multibulk length");
    p->args_left = n > 0 ? (size_t)n : 0;
    return RONDO_RESP_READY;
}

static enum rondo_resp_status parse_bulk_length(struct rondo_resp_request *p, const char *data,
                                                size_t len) {
    static const char invalid[] = "Protocol error: invalid bulk length";
    if (p->pos == len) return more(p, 1);
    if (data[p->pos] != '$') {
        snprintf(p->error_text, sizeof p->error_text, "Protocol error: expected '$', got '%c'",
                 data[p->pos]);
        return fail(p, p->error_text);
    }
    int64_t n;
    enum rondo_resp_status st =
        parse_header(p, data, len, "Protocol error: too big bulk count string", invalid, &n);
    if (st != RONDO_RESP_READY) return st;
    if (n < 0 || (uint64_t)n > p->limits.max_bulk_bytes) return fail(p, invalid);
    if (n > UNAUTHENTICATED_BYTES && p->limits.is_unauthenticated)
        return fail(p, "Protocol error: unauthenticated bulk length");
    p->bulk_len = (size_t)n;
    p->is_in_bulk = true;
    return RONDO_RESP_READY;
}

static enum rondo_resp_status parse_multibulk(struct rondo_resp_request *p, const char *data,
                                              size_t len) {
    enum rondo_resp_status st;
    if (p->pos == 0 && (st = parse_count(p, data, len)) != RONDO_RESP_READY) return st;
    while (p->args_left > 0) {
        if (!p->is_in_bulk && (st = parse_bulk_length(p, data, len)) != RONDO_RESP_READY) return st;
        if (len - p->pos < p->bulk_len + 2) return more(p, p->bulk_len + 2 - (len - p->pos));
        if (!reserve_args(p, 1)) return RONDO_RESP_NOMEM;
        p->args[p->n_args++] = rondo_resp_scan_span(p->pos, p->bulk_len);
        p->pos += p->bulk_len + 2;
        p->args_left--;
        p->is_in_bulk = false;
    }
    return RONDO_RESP_READY;
}

/* ---- both ---- */

static void begin_command(struct rondo_resp_request *p) {
    p->n_args = 0;
    if (RONDO_UNLIKELY(p->cap_args > ARGS_KEEP)) rondo_resp_request_fini(p);
}

/* One command, empty ones included; READY leaves its size in *size. */
static enum rondo_resp_status parse_one(struct rondo_resp_request *p, char *data, size_t len,
                                        size_t *size) {
    if (len == 0) return more(p, 1);
    RONDO_DEBUG_CHECK(p->pos + p->searched <= len);
    if (p->pos == 0) begin_command(p);
    enum rondo_resp_status st =
        data[0] == '*' ? parse_multibulk(p, data, len) : parse_inline(p, data, len);
    if (st != RONDO_RESP_READY) return st;
    for (size_t i = 0; i < p->n_args; i++) rondo_resp_scan_resolve(&p->args[i], data);
    *size = p->pos;
    p->pos = p->searched = 0;
    return RONDO_RESP_READY;
}

enum rondo_resp_status rondo_resp_request_parse(struct rondo_resp_request *p, char *data,
                                                size_t len, size_t *used) {
    *used = 0;
    if (p->error) return RONDO_RESP_BAD;
    enum rondo_resp_status st;
    do {
        size_t size = 0;
        st = parse_one(p, *used ? data + *used : data, len - *used, &size);
        *used += size;
    } while (st == RONDO_RESP_READY && p->n_args == 0);
    return st;
}
