/* SPDX-License-Identifier: MIT */
/*
 * What must hold for any bytes that a client sends:
 * - the commands, the error and what is left do not depend on how they were cut;
 * - no more is consumed than was given;
 * - a command that was parsed, written and parsed again is the same.
 */
#include "base/check.h"
#include "base/mem.h"
#include "fuzz.h"
#include "proto/resp.h"

enum { STEPPED_MAX = 96 }; /* inputs up to this size also arrive byte by byte */

struct outcome {
    struct rondo_buf commands; /* written again, one after the other */
    enum rondo_resp_status status;
    char error[48];
    size_t left;
};

static void fini_outcome(struct outcome *o) {
    rondo_buf_fini(&o->commands);
}

/* All commands in a block of exactly `len` bytes; returns what was consumed. */
static size_t parse_block(struct rondo_resp_request *p, const uint8_t *data, size_t len,
                          struct outcome *out) {
    char *block = rondo_alloc(len);
    RONDO_CHECK(block);
    if (len) memcpy(block, data, len);
    size_t pos = 0, used;
    while ((out->status = rondo_resp_request_parse(p, block + pos, len - pos, &used)) ==
           RONDO_RESP_READY) {
        RONDO_CHECK(used > 0 && used <= len - pos && p->n_args > 0);
        pos += used;
        RONDO_CHECK(rondo_resp_write_command(&out->commands, p->args, p->n_args) == RONDO_OK);
    }
    RONDO_CHECK(used <= len - pos);
    RONDO_CHECK(out->status != RONDO_RESP_MORE || p->need > 0);
    rondo_free(block);
    return pos + used;
}

/* The input arrives as `first` bytes and then `step` at a time. */
static void parse_pieces(const uint8_t *data, size_t size, size_t first, size_t step,
                         const struct rondo_resp_limits *limits, struct outcome *out) {
    struct rondo_resp_request p;
    rondo_resp_request_init(&p, limits);
    memset(out, 0, sizeof *out);
    size_t pos = 0, received = first;
    for (;;) {
        pos += parse_block(&p, data + pos, received - pos, out);
        if (out->status != RONDO_RESP_MORE || received == size) break;
        received += size - received < step ? size - received : step;
    }
    RONDO_CHECK(out->status != RONDO_RESP_NOMEM);
    if (out->status == RONDO_RESP_BAD)
        snprintf(out->error, sizeof out->error, "%s", p.error);
    else
        out->left = size - pos;
    rondo_resp_request_fini(&p);
}

static void check_equal(const struct outcome *a, const struct outcome *b) {
    RONDO_CHECK(a->status == b->status);
    RONDO_CHECK(a->left == b->left);
    RONDO_CHECK(strcmp(a->error, b->error) == 0);
    RONDO_CHECK(a->commands.len == b->commands.len);
    RONDO_CHECK(a->commands.len == 0 ||
                memcmp(a->commands.data, b->commands.data, a->commands.len) == 0);
}

static void check_pieces(const uint8_t *data, size_t size, size_t first, size_t step,
                         const struct rondo_resp_limits *limits, const struct outcome *whole) {
    struct outcome cut;
    parse_pieces(data, size, first, step, limits, &cut);
    check_equal(whole, &cut);
    fini_outcome(&cut);
}

static void check_written_again(const struct outcome *whole) {
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct outcome again;
    if (whole->commands.len == 0) return;
    parse_pieces((const uint8_t *)whole->commands.data, whole->commands.len, whole->commands.len, 1,
                 &limits, &again);
    RONDO_CHECK(again.status == RONDO_RESP_MORE && again.left == 0);
    RONDO_CHECK(again.commands.len == whole->commands.len);
    RONDO_CHECK(memcmp(again.commands.data, whole->commands.data, again.commands.len) == 0);
    fini_outcome(&again);
}

static void check_all(const uint8_t *data, size_t size, const struct rondo_resp_limits *limits) {
    struct outcome whole;
    parse_pieces(data, size, size, 1, limits, &whole);
    check_pieces(data, size, fuzz_cut(data, size), size + 1, limits, &whole);
    if (size <= STEPPED_MAX) check_pieces(data, size, 0, 1, limits, &whole);
    check_written_again(&whole);
    fini_outcome(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rondo_resp_limits usual = rondo_resp_limits_default();
    struct rondo_resp_limits tight = {3, 10, 40, true};
    check_all(data, size, &usual);
    check_all(data, size, &tight);
    return 0;
}
