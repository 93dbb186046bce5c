/* SPDX-License-Identifier: MIT */
/*
 * What must hold for any bytes that a server sends:
 * - the replies, the error and what is left do not depend on how they were cut;
 * - no more is consumed than was given, and the tree's sizes add up;
 * - a reply that was parsed, written in RESP3 and parsed again is the same, and
 *   written in RESP2 it is one reply.
 */
#include "base/check.h"
#include "base/mem.h"
#include "fuzz.h"
#include "proto/resp.h"
#include <math.h>

enum { STEPPED_MAX = 96 }; /* inputs up to this size also arrive byte by byte */

struct outcome {
    struct rondo_buf replies; /* written again in RESP3, one after the other */
    enum rondo_resp_status status;
    const char *error;
    size_t left;
};

/* Room for what grows when it is written again: a map as a RESP2 array, a bulk
 * error as a line. */
static struct rondo_resp_limits roomy_limits(void) {
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    limits.max_args *= 4;
    limits.max_line_bytes = limits.max_bulk_bytes;
    return limits;
}

static void check_shape(const struct rondo_resp_node *nodes, size_t n_nodes) {
    RONDO_CHECK(n_nodes > 0 && nodes[0].n_nodes == n_nodes);
    for (size_t i = 0; i < n_nodes; i++) {
        size_t sum = 1;
        for (uint32_t c = 0; c < nodes[i].n_children; c++) {
            RONDO_CHECK(i + sum < n_nodes);
            sum += nodes[i + sum].n_nodes;
        }
        RONDO_CHECK(nodes[i].n_nodes == sum);
    }
}

static bool is_same_real(double a, double b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static bool has_line_end(struct rondo_slice s) {
    return s.len > 0 && memchr(s.data, '\n', s.len);
}

static void check_same_node(const struct rondo_resp_node *a, const struct rondo_resp_node *b) {
    RONDO_CHECK(a->type == b->type);
    RONDO_CHECK(a->n_children == b->n_children && a->n_nodes == b->n_nodes);
    RONDO_CHECK(memcmp(a->format, b->format, sizeof a->format) == 0);
    if (a->type == RONDO_RESP_DOUBLE) {
        RONDO_CHECK(is_same_real(a->real, b->real));
        return;
    }
    RONDO_CHECK(a->integer == b->integer);
    /* A lone line feed in a simple string is written as a space. */
    if (a->type == RONDO_RESP_SIMPLE && has_line_end(a->text))
        RONDO_CHECK(a->text.len == b->text.len);
    else
        RONDO_CHECK(rondo_slice_eq(a->text, b->text));
}

/* Appends p's reply in `proto`, and parses that with `again`. */
static void write_and_parse(const struct rondo_resp_reply *p, unsigned proto, struct rondo_buf *buf,
                            struct rondo_resp_reply *again) {
    struct rondo_resp_limits limits = roomy_limits();
    size_t start = buf->len, used;
    struct rondo_resp_writer w = rondo_resp_writer_of(buf, proto);
    rondo_resp_write_node(&w, p->nodes);
    RONDO_CHECK(!w.err);
    rondo_resp_reply_init(again, &limits);
    RONDO_CHECK(rondo_resp_reply_parse(again, buf->data + start, buf->len - start, &used) ==
                RONDO_RESP_READY);
    RONDO_CHECK(used == buf->len - start);
    check_shape(again->nodes, again->n_nodes);
}

static void check_reply(const struct rondo_resp_reply *p, struct outcome *out) {
    struct rondo_resp_reply again;
    struct rondo_buf old = {0};
    check_shape(p->nodes, p->n_nodes);
    write_and_parse(p, 3, &out->replies, &again);
    RONDO_CHECK(again.n_nodes == p->n_nodes);
    for (size_t i = 0; i < p->n_nodes; i++) check_same_node(&p->nodes[i], &again.nodes[i]);
    rondo_resp_reply_fini(&again);
    write_and_parse(p, 2, &old, &again);
    rondo_resp_reply_fini(&again);
    rondo_buf_fini(&old);
}

/* All replies in a block of exactly `len` bytes; returns what was consumed. */
static size_t parse_block(struct rondo_resp_reply *p, const uint8_t *data, size_t len,
                          struct outcome *out) {
    char *block = rondo_alloc(len);
    RONDO_CHECK(block);
    if (len) memcpy(block, data, len);
    size_t pos = 0, used;
    while ((out->status = rondo_resp_reply_parse(p, block + pos, len - pos, &used)) ==
           RONDO_RESP_READY) {
        RONDO_CHECK(used > 0 && used <= len - pos);
        pos += used;
        check_reply(p, out);
    }
    RONDO_CHECK(used == 0);
    RONDO_CHECK(out->status != RONDO_RESP_MORE || p->need > 0);
    rondo_free(block);
    return pos;
}

/* The input arrives as `first` bytes and then `step` at a time. */
static void parse_pieces(const uint8_t *data, size_t size, size_t first, size_t step,
                         const struct rondo_resp_limits *limits, struct outcome *out) {
    struct rondo_resp_reply p;
    rondo_resp_reply_init(&p, limits);
    memset(out, 0, sizeof *out);
    size_t pos = 0, received = first;
    for (;;) {
        pos += parse_block(&p, data + pos, received - pos, out);
        if (out->status != RONDO_RESP_MORE || received == size) break;
        received += size - received < step ? size - received : step;
    }
    RONDO_CHECK(out->status != RONDO_RESP_NOMEM);
    out->error = out->status == RONDO_RESP_BAD ? p.error : "";
    out->left = size - pos;
    rondo_resp_reply_fini(&p);
}

static void check_pieces(const uint8_t *data, size_t size, size_t first, size_t step,
                         const struct rondo_resp_limits *limits, const struct outcome *whole) {
    struct outcome cut;
    parse_pieces(data, size, first, step, limits, &cut);
    RONDO_CHECK(cut.status == whole->status && cut.left == whole->left);
    RONDO_CHECK(strcmp(cut.error, whole->error) == 0);
    RONDO_CHECK(cut.replies.len == whole->replies.len);
    RONDO_CHECK(cut.replies.len == 0 ||
                memcmp(cut.replies.data, whole->replies.data, cut.replies.len) == 0);
    rondo_buf_fini(&cut.replies);
}

static void check_all(const uint8_t *data, size_t size, const struct rondo_resp_limits *limits) {
    struct outcome whole;
    parse_pieces(data, size, size, 1, limits, &whole);
    check_pieces(data, size, fuzz_cut(data, size), size + 1, limits, &whole);
    if (size <= STEPPED_MAX) check_pieces(data, size, 0, 1, limits, &whole);
    rondo_buf_fini(&whole.replies);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rondo_resp_limits usual = rondo_resp_limits_default();
    struct rondo_resp_limits tight = {3, 10, 40, false};
    check_all(data, size, &usual);
    check_all(data, size, &tight);
    return 0;
}
