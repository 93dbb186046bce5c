/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/mem.h"
#include "proto/resp.h"
#include "proto/resp_scan.h"
#include <langinfo.h>
#include <math.h>

enum {
    NODES_FIRST = 8,
    NODES_KEEP = 256, /* a longer array is not kept for the next reply */
    HEADER_MIN = 32,
    DOUBLE_MAX = 400 /* bytes; the longest exact one in plain digits has some 330 */
};

void rondo_resp_reply_init(struct rondo_resp_reply *p, const struct rondo_resp_limits *limits) {
    memset(p, 0, sizeof *p);
    p->limits = *limits;
}

void rondo_resp_reply_fini(struct rondo_resp_reply *p) {
    rondo_free(p->nodes);
    p->nodes = NULL;
    p->n_nodes = p->cap_nodes = 0;
}

static enum rondo_resp_status fail(struct rondo_resp_reply *p, const char *text) {
    p->error = text;
    return RONDO_RESP_BAD;
}

static enum rondo_resp_status more(struct rondo_resp_reply *p, size_t need) {
    p->need = need;
    return RONDO_RESP_MORE;
}

static bool reserve_node(struct rondo_resp_reply *p) {
    size_t bytes, cap = p->cap_nodes ? p->cap_nodes : NODES_FIRST / 2;
    if (RONDO_LIKELY(p->n_nodes < p->cap_nodes)) return true;
    if (!rondo_size_mul(cap, 2, &cap) || !rondo_size_mul(cap, sizeof *p->nodes, &bytes))
        return false;
    struct rondo_resp_node *nodes = rondo_realloc(p->nodes, bytes);
    if (!nodes) return false;
    p->nodes = nodes;
    p->cap_nodes = cap;
    return true;
}

/* Room was reserved before anything was parsed. */
static struct rondo_resp_node *add_node(struct rondo_resp_reply *p, enum rondo_resp_type type) {
    struct rondo_resp_node *node = &p->nodes[p->n_nodes++];
    memset(node, 0, sizeof *node);
    node->type = (uint8_t)type;
    node->n_nodes = 1;
    return node;
}

/* ---- scalars: `s`, `n` is the line without its mark ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *s, size_t n, size_t i) {
    while (i < n && is_digit(s[i])) i++;
    return i;
}

static size_t skip_sign(const char *s, size_t n, size_t i) {
    return i < n && (s[i] == '-' || s[i] == '+') ? i + 1 : i;
}

static bool parse_int(const char *s, size_t n, int64_t *out) {
    size_t i = skip_sign(s, n, 0);
    bool is_negative = i > 0 && s[0] == '-';
    int64_t v = 0;
    if (i == n || skip_digits(s, n, i) != n) return false;
    for (; i < n; i++) {
        int64_t digit = is_negative ? '0' - s[i] : s[i] - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v)) return false;
    }
    *out = v;
    return true;
}

static bool is_big_number(const char *s, size_t n) {
    size_t i = skip_sign(s, n, 0);
    return i < n && skip_digits(s, n, i) == n;
}

/* [+-] digits [. digits] [e [+-] digits], as the protocol has it; a point needs
 * a digit on one side at least. */
static bool is_decimal(const char *s, size_t n) {
    size_t first = skip_sign(s, n, 0), i = skip_digits(s, n, first), n_digits = i - first;
    if (i < n && s[i] == '.') {
        size_t end = skip_digits(s, n, i + 1);
        n_digits += end - i - 1;
        i = end;
    }
    if (n_digits == 0) return false;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        size_t exponent = skip_sign(s, n, i + 1);
        i = skip_digits(s, n, exponent);
        if (i == exponent) return false;
    }
    return i == n;
}

/* strtod reads the decimal point of the process's locale, which our host may
 * have set. */
static double read_decimal(const char *s, size_t n) {
    char text[DOUBLE_MAX + 16];
    const char *point = memchr(s, '.', n);
    size_t before = point ? (size_t)(point - s) : n;
    int len = snprintf(text, sizeof text, "%.*s%s%.*s", (int)before, s,
                       point ? nl_langinfo(RADIXCHAR) : "", point ? (int)(n - before - 1) : 0,
                       point ? point + 1 : "");
    RONDO_DEBUG_CHECK(len > 0 && (size_t)len < sizeof text);
    (void)len;
    return strtod(text, NULL);
}

static bool parse_double(const char *s, size_t n, double *out) {
    struct rondo_slice text = rondo_slice_of(s, n);
    if (rondo_slice_is(text, "inf") || rondo_slice_is(text, "+inf"))
        *out = HUGE_VAL;
    else if (rondo_slice_is(text, "-inf"))
        *out = -HUGE_VAL;
    else if (rondo_slice_is(text, "nan") || rondo_slice_is(text, "-nan"))
        *out = (double)NAN;
    else if (n <= DOUBLE_MAX && is_decimal(s, n))
        *out = read_decimal(s, n);
    else
        return false;
    return true;
}

static enum rondo_resp_status add_int(struct rondo_resp_reply *p, const char *s, size_t n) {
    int64_t v;
    if (!parse_int(s, n, &v)) return fail(p, "Protocol error: invalid integer");
    add_node(p, RONDO_RESP_INT)->integer = v;
    return RONDO_RESP_READY;
}

static enum rondo_resp_status add_double(struct rondo_resp_reply *p, struct rondo_slice span,
                                         const char *s) {
    double v;
    if (!parse_double(s, span.len, &v)) return fail(p, "Protocol error: invalid double");
    struct rondo_resp_node *node = add_node(p, RONDO_RESP_DOUBLE);
    node->text = span;
    node->real = v;
    return RONDO_RESP_READY;
}

static enum rondo_resp_status add_bool(struct rondo_resp_reply *p, const char *s, size_t n) {
    if (n != 1 || (s[0] != 't' && s[0] != 'f')) return fail(p, "Protocol error: invalid boolean");
    add_node(p, RONDO_RESP_BOOL)->integer = s[0] == 't';
    return RONDO_RESP_READY;
}

static enum rondo_resp_status add_null(struct rondo_resp_reply *p, size_t n) {
    if (n != 0) return fail(p, "Protocol error: invalid null");
    add_node(p, RONDO_RESP_NULL);
    return RONDO_RESP_READY;
}

/* ---- strings and aggregates: the line is a length ---- */

/* The node comes once the bytes are there; see finish_bulk. */
static enum rondo_resp_status begin_bulk(struct rondo_resp_reply *p, char mark, const char *s,
                                         size_t n) {
    int64_t len;
    if (!rondo_resp_scan_length(s, n, &len) || len < (mark == '$' ? -1 : 0) ||
        (len > 0 && (uint64_t)len > p->limits.max_bulk_bytes))
        return fail(p, "Protocol error: invalid bulk length");
    if (len < 0) return add_null(p, 0);
    p->is_in_bulk = true;
    p->bulk_mark = mark;
    p->bulk_len = (size_t)len;
    return RONDO_RESP_READY;
}

static enum rondo_resp_type bulk_type(char mark) {
    return mark == '$' ? RONDO_RESP_BULK : mark == '!' ? RONDO_RESP_ERROR : RONDO_RESP_VERBATIM;
}

static enum rondo_resp_status finish_bulk(struct rondo_resp_reply *p, const char *data,
                                          size_t len) {
    size_t have = len - p->pos, n = p->bulk_len;
    if (have < n + 2) return more(p, n + 2 - have);
    const char *s = data + p->pos;
    if (s[n] != '\r' || s[n + 1] != '\n')
        return fail(p, "Protocol error: a string does not end where it should");
    bool is_verbatim = p->bulk_mark == '=';
    if (is_verbatim && (n < 4 || s[3] != ':'))
        return fail(p, "Protocol error: invalid verbatim string");
    size_t skip = is_verbatim ? 4 : 0;
    struct rondo_resp_node *node = add_node(p, bulk_type(p->bulk_mark));
    node->text = rondo_resp_scan_span(p->pos + skip, n - skip);
    if (is_verbatim) memcpy(node->format, s, sizeof node->format);
    p->pos += n + 2;
    p->is_in_bulk = false;
    return RONDO_RESP_READY;
}

static enum rondo_resp_status add_aggregate(struct rondo_resp_reply *p, char mark, const char *s,
                                            size_t n) {
    static const char invalid[] = "Protocol error: invalid multibulk length";
    int64_t count;
    if (!rondo_resp_scan_length(s, n, &count) || count < (mark == '*' ? -1 : 0) ||
        (count > 0 && (uint64_t)count > p->limits.max_args) || count > INT32_MAX / 2)
        return fail(p, invalid);
    if (count < 0) return add_null(p, 0);
    if (p->depth == RONDO_RESP_MAX_DEPTH) return fail(p, "Protocol error: nested too deep");
    enum rondo_resp_type type = mark == '*'   ? RONDO_RESP_ARRAY
                                : mark == '~' ? RONDO_RESP_SET
                                : mark == '>' ? RONDO_RESP_PUSH
                                : mark == '%' ? RONDO_RESP_MAP
                                              : RONDO_RESP_ATTRIBUTE;
    uint32_t children = (uint32_t)count;
    if (type == RONDO_RESP_MAP) children *= 2;
    if (type == RONDO_RESP_ATTRIBUTE) children = children * 2 + 1;
    add_node(p, type)->n_children = children;
    return RONDO_RESP_READY;
}

/* ---- one node after the other ---- */

static enum rondo_resp_status parse_body(struct rondo_resp_reply *p, const char *data,
                                         size_t line_at, size_t n) {
    char mark = data[line_at];
    const char *s = data + line_at + 1;
    struct rondo_slice span = rondo_resp_scan_span(line_at + 1, n);
    switch (mark) {
    case '+':
        add_node(p, RONDO_RESP_SIMPLE)->text = span;
        return RONDO_RESP_READY;
    case '-':
        add_node(p, RONDO_RESP_ERROR)->text = span;
        return RONDO_RESP_READY;
    case '(':
        if (!is_big_number(s, n)) return fail(p, "Protocol error: invalid big number");
        add_node(p, RONDO_RESP_BIG_NUMBER)->text = span;
        return RONDO_RESP_READY;
    case ',':
        return add_double(p, span, s);
    case ':':
        return add_int(p, s, n);
    case '#':
        return add_bool(p, s, n);
    case '_':
        return add_null(p, n);
    case '$':
    case '!':
    case '=':
        return begin_bulk(p, mark, s, n);
    default:
        return add_aggregate(p, mark, s, n);
    }
}

static enum rondo_resp_status parse_line(struct rondo_resp_reply *p, const char *data, size_t len) {
    size_t n, max = p->limits.max_line_bytes, at = p->pos;
    if (at == len) return more(p, 1);
    if (data[at] == '\0' || !strchr("+-:$*_,#!=(%~>|", data[at]))
        return fail(p, "Protocol error: unknown type of reply");
    enum rondo_resp_status st = rondo_resp_scan_line(data, len, at, &p->searched, '\r', true,
                                                     max < HEADER_MIN ? HEADER_MIN : max, &n);
    if (st == RONDO_RESP_BAD) return fail(p, "Protocol error: too long a line");
    if (st == RONDO_RESP_MORE) return more(p, 1);
    if (data[at + n + 1] != '\n') return fail(p, "Protocol error: CR without LF");
    st = parse_body(p, data, at, n - 1);
    if (st != RONDO_RESP_READY) return st;
    p->pos = at + n + 2;
    p->searched = 0;
    return RONDO_RESP_READY;
}

/* The last node is whole, or open if it has children to come; so may be the ones
 * around it.  True if the reply is. */
static bool close_nodes(struct rondo_resp_reply *p) {
    size_t last = p->n_nodes - 1;
    if (p->nodes[last].n_children > 0) {
        p->open[p->depth].node = last;
        p->open[p->depth].children_left = p->nodes[last].n_children;
        p->depth++;
        return false;
    }
    while (p->depth > 0 && --p->open[p->depth - 1].children_left == 0) {
        p->depth--;
        size_t node = p->open[p->depth].node;
        p->nodes[node].n_nodes = p->n_nodes - node;
    }
    return p->depth == 0;
}

static void begin_reply(struct rondo_resp_reply *p) {
    p->n_nodes = 0;
    if (RONDO_UNLIKELY(p->cap_nodes > NODES_KEEP)) rondo_resp_reply_fini(p);
}

static void finish_reply(struct rondo_resp_reply *p, const char *data) {
    for (size_t i = 0; i < p->n_nodes; i++)
        if (p->nodes[i].type <= RONDO_RESP_DOUBLE) rondo_resp_scan_resolve(&p->nodes[i].text, data);
    p->pos = 0;
}

enum rondo_resp_status rondo_resp_reply_parse(struct rondo_resp_reply *p, const char *data,
                                              size_t len, size_t *used) {
    *used = 0;
    if (p->error) return RONDO_RESP_BAD;
    if (len == 0) return more(p, 1);
    RONDO_DEBUG_CHECK(p->pos + p->searched <= len);
    if (p->pos == 0) begin_reply(p);
    do {
        if (!reserve_node(p)) return RONDO_RESP_NOMEM;
        enum rondo_resp_status st = RONDO_RESP_READY;
        if (!p->is_in_bulk) st = parse_line(p, data, len);
        if (st == RONDO_RESP_READY && p->is_in_bulk) st = finish_bulk(p, data, len);
        if (st != RONDO_RESP_READY) return st;
    } while (!close_nodes(p));
    *used = p->pos;
    finish_reply(p, data);
    return RONDO_RESP_READY;
}

/* ---- walking ---- */

const struct rondo_resp_node *rondo_resp_node_plain(const struct rondo_resp_node *node) {
    while (node->type == RONDO_RESP_ATTRIBUTE) {
        size_t skipped = node->n_children - 1;
        for (node++; skipped > 0; skipped--) node = rondo_resp_node_next(node);
    }
    return node;
}

static bool is_text(const struct rondo_resp_node *node, const char *s) {
    return (node->type == RONDO_RESP_BULK || node->type == RONDO_RESP_SIMPLE) &&
           rondo_slice_is(node->text, s);
}

const struct rondo_resp_node *rondo_resp_node_lookup(const struct rondo_resp_node *node,
                                                     const char *key) {
    node = rondo_resp_node_plain(node);
    if (node->type != RONDO_RESP_MAP && node->type != RONDO_RESP_ARRAY) return NULL;
    const struct rondo_resp_node *at = rondo_resp_node_first(node);
    for (uint32_t i = 0; i + 1 < node->n_children; i += 2) {
        const struct rondo_resp_node *value = rondo_resp_node_next(at);
        if (is_text(rondo_resp_node_plain(at), key)) return rondo_resp_node_plain(value);
        at = rondo_resp_node_next(value);
    }
    return NULL;
}
