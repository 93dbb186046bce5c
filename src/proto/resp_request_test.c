/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/mem.h"
#include "proto/resp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A connection: what it has received and not consumed lies in a block of exactly
 * that size, at a new address after every read, for the sanitizers. */
struct feed {
    struct rondo_resp_request parser;
    char *data;
    size_t len;
    struct rondo_buf log; /* "<arg><arg>;" per command, then "!error" or "..." */
};

static void feed_init(struct feed *f, const struct rondo_resp_limits *limits) {
    memset(f, 0, sizeof *f);
    rondo_resp_request_init(&f->parser, limits);
}

static void feed_fini(struct feed *f) {
    rondo_resp_request_fini(&f->parser);
    rondo_buf_fini(&f->log);
    rondo_free(f->data);
}

static void feed_receive(struct feed *f, const void *data, size_t len) {
    char *moved = rondo_alloc(f->len + len + 1);
    assert_non_null(moved);
    if (f->len) memcpy(moved, f->data, f->len);
    if (len) memcpy(moved + f->len, data, len);
    rondo_free(f->data);
    f->len += len;
    f->data = rondo_alloc(f->len ? f->len : 1);
    assert_non_null(f->data);
    memcpy(f->data, moved, f->len);
    rondo_free(moved);
}

static void feed_log(struct feed *f) {
    for (size_t i = 0; i < f->parser.n_args; i++) {
        assert_int_equal(rondo_buf_append(&f->log, "<", 1), RONDO_OK);
        assert_int_equal(rondo_buf_append(&f->log, f->parser.args[i].data, f->parser.args[i].len),
                         RONDO_OK);
        assert_int_equal(rondo_buf_append(&f->log, ">", 1), RONDO_OK);
    }
    assert_int_equal(rondo_buf_append(&f->log, ";", 1), RONDO_OK);
}

static enum rondo_resp_status feed_run(struct feed *f) {
    enum rondo_resp_status st;
    size_t pos = 0;
    do {
        size_t used = SIZE_MAX;
        st = rondo_resp_request_parse(&f->parser, f->data + pos, f->len - pos, &used);
        assert_true(used <= f->len - pos);
        pos += used;
        if (st == RONDO_RESP_READY) {
            assert_true(f->parser.n_args > 0);
            feed_log(f);
        }
        if (st == RONDO_RESP_MORE) assert_true(f->parser.need > 0);
    } while (st == RONDO_RESP_READY);
    memmove(f->data, f->data + pos, f->len - pos);
    f->len -= pos;
    return st;
}

/* Two reads, cut at `cut`; checks the log. */
static void check_cut(const char *in, size_t len, size_t cut, const char *out, size_t out_len,
                      const struct rondo_resp_limits *limits) {
    struct feed f;
    feed_init(&f, limits);
    feed_receive(&f, in, cut);
    enum rondo_resp_status st = feed_run(&f);
    feed_receive(&f, in + cut, len - cut);
    st = feed_run(&f);
    if (st == RONDO_RESP_BAD) {
        size_t used;
        assert_int_equal(rondo_buf_printf(&f.log, "!%s", f.parser.error), RONDO_OK);
        assert_int_equal(rondo_resp_request_parse(&f.parser, f.data, f.len, &used), RONDO_RESP_BAD);
    } else {
        assert_int_equal(st, RONDO_RESP_MORE);
        assert_int_equal(rondo_resp_request_is_partial(&f.parser), f.len > 0);
        if (f.len > 0) assert_int_equal(rondo_buf_append_str(&f.log, "..."), RONDO_OK);
    }
    assert_int_equal(f.log.len, out_len);
    if (out_len) assert_memory_equal(f.log.data, out, out_len);
    feed_fini(&f);
}

static void check_bytes(const char *in, size_t len, const char *out, size_t out_len,
                        const struct rondo_resp_limits *limits) {
    for (size_t cut = 0; cut <= len; cut++) check_cut(in, len, cut, out, out_len, limits);
}

struct example {
    const char *in;
    size_t in_len;
    const char *out;
    size_t out_len;
};
#define EXAMPLE(in, out)                                                                           \
    { in, sizeof(in) - 1, out, sizeof(out) - 1 }

static void check_examples(const struct example *e, size_t n,
                           const struct rondo_resp_limits *limits) {
    for (; n > 0; n--, e++) check_bytes(e->in, e->in_len, e->out, e->out_len, limits);
}

static void arrays_of_bulks(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("", ""),
        EXAMPLE("*1\r\n$4\r\nPING\r\n", "<PING>;"),
        EXAMPLE("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "<GET><k>;"),
        EXAMPLE("*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "<GET><>;"),
        EXAMPLE("*3\r\n$3\r\nSET\r\n$4\r\n\0\r\n\xff\r\n$12\r\n*1\r\n$1\r\nx\r\n\n\r\n",
                "<SET><\0\r\n\xff><*1\r\n$1\r\nx\r\n\n>;"),
        EXAMPLE("*1\r\n$10\r\n0123456789\r\n", "<0123456789>;"),
        EXAMPLE("*0\r\n*1\r\n$1\r\na\r\n", "<a>;"),
        EXAMPLE("*-1\r\n*-9223372036854775808\r\n*1\r\n$1\r\na\r\n", "<a>;"),
        EXAMPLE("*0\r\n", ""),
        /* As Redis: what ends a bulk is not looked at. */
        EXAMPLE("*1\r\n$1\r\naxx*1\rx$1\ryb\r\n", "<a>;<b>;"),
        /* Cut off. */
        EXAMPLE("*", "..."),
        EXAMPLE("*1\r", "..."),
        EXAMPLE("*2\r\n$3\r\nGET\r\n", "..."),
        EXAMPLE("*2\r\n$3\r\nGET\r\n$1\r\nk\r", "..."),
        EXAMPLE("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", "<PING>;..."),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void inline_commands(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("PING\r\n", "<PING>;"),
        EXAMPLE("PING\n", "<PING>;"),
        EXAMPLE("PING", "..."),
        EXAMPLE("\r\n\n  \t \r\nPING\r\n\r\n", "<PING>;"),
        EXAMPLE("  SET\tk  v \r\n", "<SET><k><v>;"),
        EXAMPLE("a\rb\n", "<a><b>;"),
        EXAMPLE("a\vb \f c\r\n", "<a\vb><c>;"),
        EXAMPLE("a \vb\r\n", "<a><b>;"),
        EXAMPLE("SET k \"a b\"\r\n", "<SET><k><a b>;"),
        EXAMPLE("SET k \"\" ''\r\n", "<SET><k><><>;"),
        EXAMPLE("x \"\\x00\\xfF\\n\\r\\t\\b\\a\\\\\\\"\\q\\xg1\\x1\"\r\n",
                "<x><\0\xff\n\r\t\b\a\\\"qxg1x1>;"),
        EXAMPLE("x 'a\\'b\\n\"'\r\n", "<x><a'b\\n\">;"),
        EXAMPLE("ab\"c d\" e'f'\r\n", "<abc d><ef>;"),
        EXAMPLE("\"GET\" k\r\n", "<GET><k>;"),
        EXAMPLE("a b c d e f g h i\n", "<a><b><c><d><e><f><g><h><i>;"),
        EXAMPLE("nul\0byte x\n", "<nul\0byte><x>;"),
        EXAMPLE("$3\r\n", "<$3>;"),
        EXAMPLE("GET a\r\n*1\r\n$1\r\nb\r\nGET c\n", "<GET><a>;<b>;<GET><c>;"),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void mistakes(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("*x\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*01\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*-\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*-0\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*+1\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("* 1\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*1048577\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*9223372036854775808\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*-9223372036854775809\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*1048576\r\n", "..."),
        EXAMPLE("*1\r\n$x\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\n$\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\n$-1\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\n$00\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\n$629145600\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\n$536870913\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\n$536870912\r\n", "..."),
        EXAMPLE("*1\r\n$99999999999999999999\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*1\r\nPING\r\n", "!Protocol error: expected '$', got 'P'"),
        EXAMPLE("*1\r\n:1\r\n", "!Protocol error: expected '$', got ':'"),
        EXAMPLE("*1\r\n$1\r\na\r\n*1\r\n!", "<a>;!Protocol error: expected '$', got '!'"),
        EXAMPLE("SET k \"a\r\n", "!Protocol error: unbalanced quotes in request"),
        EXAMPLE("SET k 'a\r\n", "!Protocol error: unbalanced quotes in request"),
        EXAMPLE("SET \"a\"b\r\n", "!Protocol error: unbalanced quotes in request"),
        EXAMPLE("SET 'a'b\r\n", "!Protocol error: unbalanced quotes in request"),
        EXAMPLE("SET \"a\\\r\n", "!Protocol error: unbalanced quotes in request"),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void small_limits(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
                "!Protocol error: invalid multibulk length"),
        EXAMPLE("*2\r\n$1\r\na\r\n$5\r\nabcde\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("*2\r\n$1\r\na\r\n$4\r\nabcd\r\n", "<a><abcd>;"),
        EXAMPLE("a b c\r\n", "!Protocol error: too big inline request"),
        EXAMPLE("1234567\r\n", "<1234567>;"),
        EXAMPLE("12345678\r\n", "!Protocol error: too big inline request"),
        EXAMPLE("123456789", "!Protocol error: too big inline request"),
        EXAMPLE("*00000000000000000000000000000001\r\n",
                "!Protocol error: too big mbulk count string"),
        EXAMPLE("*00000000000000000000000000000001", "!Protocol error: too big mbulk count string"),
        EXAMPLE("*1\r\n$00000000000000000000000000000001\r\n",
                "!Protocol error: too big bulk count string"),
    };
    struct rondo_resp_limits limits = {2, 4, 8, false};
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void limits_before_authentication(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("*11\r\n", "!Protocol error: unauthenticated multibulk length"),
        EXAMPLE("*10\r\n", "..."),
        EXAMPLE("*1\r\n$16385\r\n", "!Protocol error: unauthenticated bulk length"),
        EXAMPLE("*1\r\n$16384\r\n", "..."),
        EXAMPLE("*1\r\n$536870913\r\n", "!Protocol error: invalid bulk length"),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    limits.is_unauthenticated = true;
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void limits_change_between_commands(void **state) {
    (void)state;
    struct rondo_resp_limits limits = {1, 1, 64, false};
    struct feed f;
    feed_init(&f, &limits);
    feed_receive(&f, "*1\r\n$1\r\na\r\n", 11);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    f.parser.limits.max_args = 2;
    f.parser.limits.max_bulk_bytes = 2;
    feed_receive(&f, "*2\r\n$2\r\naa\r\n$2\r\nbb\r\n", 20);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    assert_int_equal(f.log.len, 13);
    assert_memory_equal(f.log.data, "<a>;<aa><bb>;", 13);
    feed_fini(&f);
}

/* 64 KiB without an end of line, in each of the three places. */
static void long_lines(void **state) {
    (void)state;
    static const char *const starts[][2] = {
        {"", "Protocol error: too big inline request"},
        {"*", "Protocol error: too big mbulk count string"},
        {"*1\r\n$", "Protocol error: too big bulk count string"},
    };
    size_t len = 64 * 1024 + 8;
    char *line = rondo_alloc(len);
    assert_non_null(line);
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    for (size_t i = 0; i < RONDO_COUNT_OF(starts); i++) {
        struct feed f;
        feed_init(&f, &limits);
        memset(line, '1', len);
        memcpy(line, starts[i][0], strlen(starts[i][0]));
        feed_receive(&f, line, 64 * 1024);
        assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
        feed_receive(&f, line + 64 * 1024, 8);
        assert_int_equal(feed_run(&f), RONDO_RESP_BAD);
        assert_string_equal(f.parser.error, starts[i][1]);
        feed_fini(&f);
    }
    rondo_free(line);
}

static void need_says_what_is_missing(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct feed f;
    feed_init(&f, &limits);
    feed_receive(&f, "*2\r\n$3\r\nGE", 10);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    assert_int_equal(f.parser.need, 3);
    feed_receive(&f, "T\r\n", 3);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    assert_int_equal(f.parser.need, 1);
    feed_receive(&f, "$500000000\r\nab", 14);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    assert_int_equal(f.parser.need, 500000000);
    feed_fini(&f);
}

/* Looking at every byte again would make this some 10^11 steps. */
static void a_large_value_in_pieces(void **state) {
    (void)state;
    enum { SIZE = 32 * 1024 * 1024, PIECE = 64 };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_request p;
    struct rondo_buf buf = {0};
    rondo_resp_request_init(&p, &limits);
    assert_int_equal(rondo_buf_printf(&buf, "*2\r\n$1\r\nk\r\n$%d\r\n", (int)SIZE), RONDO_OK);
    size_t used;
    assert_int_equal(rondo_resp_request_parse(&p, buf.data, buf.len, &used), RONDO_RESP_MORE);
    assert_int_equal(p.need, SIZE + 2);
    assert_int_equal(rondo_buf_reserve(&buf, p.need), RONDO_OK);
    memset(buf.data + buf.len, '\r', SIZE + 2);
    size_t whole = buf.len + SIZE + 2;
    while (buf.len < whole) {
        assert_int_equal(rondo_resp_request_parse(&p, buf.data, buf.len, &used), RONDO_RESP_MORE);
        assert_int_equal(p.need, whole - buf.len);
        buf.len += whole - buf.len < PIECE ? whole - buf.len : PIECE;
    }
    assert_int_equal(rondo_resp_request_parse(&p, buf.data, buf.len, &used), RONDO_RESP_READY);
    assert_int_equal(used, whole);
    assert_int_equal(p.n_args, 2);
    assert_int_equal(p.args[1].len, SIZE);
    assert_ptr_equal((const char *)p.args[1].data + SIZE + 2, buf.data + whole);
    rondo_resp_request_fini(&p);
    rondo_buf_fini(&buf);
}

static void announced_arguments_cost_nothing(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct feed f;
    feed_init(&f, &limits);
    feed_receive(&f, "*1000000\r\n$1\r\na\r\n", 17);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    assert_true(f.parser.cap_args < 100);
    feed_fini(&f);
}

/* A long array is given back when the next command begins, a short one is kept. */
static void the_array_is_reused_within_bounds(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_request p;
    struct rondo_buf buf = {0};
    rondo_resp_request_init(&p, &limits);
    assert_int_equal(rondo_buf_append_str(&buf, "PING\r\n*5000\r\n"), RONDO_OK);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(rondo_buf_append_str(&buf, "$1\r\nx\r\n"), RONDO_OK);
    assert_int_equal(rondo_buf_append_str(&buf, "PING\r\n"), RONDO_OK);
    size_t used, pos = 0;
    assert_int_equal(rondo_resp_request_parse(&p, buf.data, buf.len, &used), RONDO_RESP_READY);
    struct rondo_slice *first = p.args;
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_resp_request_parse(&p, buf.data, 6, &used), RONDO_RESP_READY);
    rondo_mem_fail_nth(0);
    assert_ptr_equal(p.args, first);
    pos += used;
    assert_int_equal(rondo_resp_request_parse(&p, buf.data + pos, buf.len - pos, &used),
                     RONDO_RESP_READY);
    assert_int_equal(p.n_args, 5000);
    assert_true(p.cap_args >= 5000);
    pos += used;
    assert_int_equal(rondo_resp_request_parse(&p, buf.data + pos, buf.len - pos, &used),
                     RONDO_RESP_READY);
    assert_int_equal(p.n_args, 1);
    assert_true(p.cap_args < 100);
    rondo_resp_request_shrink(&p);
    assert_null(p.args);
    assert_int_equal(p.cap_args, 0);
    rondo_resp_request_fini(&p);
    rondo_buf_fini(&buf);
}

static void shrinking_keeps_a_partial_command(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct feed f;
    feed_init(&f, &limits);
    feed_receive(&f, "*2\r\n$1\r\na\r\n", 11);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    rondo_resp_request_shrink(&f.parser);
    feed_receive(&f, "$1\r\nb\r\n", 7);
    assert_int_equal(feed_run(&f), RONDO_RESP_MORE);
    assert_int_equal(f.log.len, 7);
    assert_memory_equal(f.log.data, "<a><b>;", 7);
    feed_fini(&f);
}

static void long_pipelines(void **state) {
    (void)state;
    enum { COMMANDS = 10000 };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_request p;
    struct rondo_buf buf = {0};
    rondo_resp_request_init(&p, &limits);
    for (int i = 0; i < COMMANDS; i++) {
        char key[16];
        snprintf(key, sizeof key, "key:%d", i);
        struct rondo_slice args[] = {rondo_slice_str("GET"), rondo_slice_str(key)};
        assert_int_equal(rondo_resp_write_command(&buf, args, 2), RONDO_OK);
    }
    size_t pos = 0;
    for (int i = 0; i < COMMANDS; i++) {
        char key[16];
        size_t used;
        snprintf(key, sizeof key, "key:%d", i);
        assert_int_equal(rondo_resp_request_parse(&p, buf.data + pos, buf.len - pos, &used),
                         RONDO_RESP_READY);
        assert_int_equal(p.n_args, 2);
        assert_true(rondo_slice_is(p.args[0], "GET"));
        assert_true(rondo_slice_is(p.args[1], key));
        pos += used;
    }
    assert_int_equal(pos, buf.len);
    rondo_resp_request_fini(&p);
    rondo_buf_fini(&buf);
}

/* Fails the nth allocation, then calls again: nothing may be lost. */
static void out_of_memory_is_no_loss(void **state) {
    (void)state;
    static const char in[] =
        "\r\n*20\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf"
        "\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n$1\r\nl\r\n"
        "$1\r\nm\r\n$1\r\nn\r\n$1\r\no\r\n$1\r\np\r\n$1\r\nq\r\n$1\r\nr\r\n"
        "$1\r\ns\r\n$1\r\nt\r\n\"\\x41\" b c d e f g h i j k l m n o p q r s t "
        "u v w x y z 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i\r\n";
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    uint64_t nth = 0, failures = 0;
    bool has_failed = true;
    while (has_failed) {
        struct feed f;
        feed_init(&f, &limits);
        feed_receive(&f, in, sizeof in - 1);
        size_t pos = 0, commands = 0;
        has_failed = false;
        rondo_mem_fail_nth(++nth);
        while (pos < f.len) {
            size_t used;
            enum rondo_resp_status st =
                rondo_resp_request_parse(&f.parser, f.data + pos, f.len - pos, &used);
            pos += used;
            if (st == RONDO_RESP_NOMEM) {
                assert_false(has_failed);
                has_failed = true;
                failures++;
                continue;
            }
            assert_int_equal(st, RONDO_RESP_READY);
            assert_int_equal(f.parser.n_args, commands == 0 ? 20 : 45);
            assert_true(rondo_slice_is(f.parser.args[0], commands == 0 ? "a" : "A"));
            assert_true(rondo_slice_is(f.parser.args[19], "t"));
            commands++;
        }
        rondo_mem_fail_nth(0);
        assert_int_equal(commands, 2);
        feed_fini(&f);
    }
    assert_true(failures >= 3);
}

static void fini_of_zeroed_memory(void **state) {
    (void)state;
    struct rondo_resp_request p = {0};
    rondo_resp_request_fini(&p);
    assert_null(p.args);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_bulks),
        cmocka_unit_test(inline_commands),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(small_limits),
        cmocka_unit_test(limits_before_authentication),
        cmocka_unit_test(limits_change_between_commands),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(need_says_what_is_missing),
        cmocka_unit_test(a_large_value_in_pieces),
        cmocka_unit_test(announced_arguments_cost_nothing),
        cmocka_unit_test(the_array_is_reused_within_bounds),
        cmocka_unit_test(shrinking_keeps_a_partial_command),
        cmocka_unit_test(long_pipelines),
        cmocka_unit_test(out_of_memory_is_no_loss),
        cmocka_unit_test(fini_of_zeroed_memory),
    };
    return cmocka_run_group_tests_name("resp_request", tests, NULL, NULL);
}
