/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/mem.h"
#include "proto/locale_fixture.h"
#include "proto/resp.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Takes what was written since the last call and compares it. */
static void check_written(struct rondo_resp_writer *w, const char *out, size_t len) {
    assert_int_equal(w->err, RONDO_OK);
    assert_int_equal(w->buf->len, len);
    assert_memory_equal(w->buf->data, out, len);
    w->buf->len = 0;
}
#define CHECK_WRITTEN(w, out) check_written(w, out, sizeof(out) - 1)

static void values_that_both_protocols_share(void **state) {
    (void)state;
    for (unsigned proto = 2; proto <= 3; proto++) {
        struct rondo_buf buf = {0};
        struct rondo_resp_writer w = rondo_resp_writer_of(&buf, proto);
        rondo_resp_write_simple(&w, "OK");
        CHECK_WRITTEN(&w, "+OK\r\n");
        rondo_resp_write_simple(&w, "a\r\nb");
        CHECK_WRITTEN(&w, "+a  b\r\n");
        rondo_resp_write_error(&w, "ERR no\r\n+OK\n");
        CHECK_WRITTEN(&w, "-ERR no  +OK \r\n");
        rondo_resp_write_errorf(&w, "ERR unknown command '%s' (%d)", "a\nb", 7);
        CHECK_WRITTEN(&w, "-ERR unknown command 'a b' (7)\r\n");
        rondo_resp_write_int(&w, 0);
        rondo_resp_write_int(&w, 10);
        rondo_resp_write_int(&w, -7);
        rondo_resp_write_int(&w, INT64_MAX);
        rondo_resp_write_int(&w, INT64_MIN);
        CHECK_WRITTEN(&w, ":0\r\n:10\r\n:-7\r\n:9223372036854775807\r\n"
                          ":-9223372036854775808\r\n");
        rondo_resp_write_bulk(&w, "a\0\r\n", 4);
        rondo_resp_write_bulk(&w, NULL, 0);
        rondo_resp_write_bulk_str(&w, "0123456789");
        CHECK_WRITTEN(&w, "$4\r\na\0\r\n\r\n$0\r\n\r\n$10\r\n0123456789\r\n");
        char *space = rondo_resp_write_bulk_space(&w, 3);
        assert_non_null(space);
        memcpy(space, "abc", 3);
        CHECK_WRITTEN(&w, "$3\r\nabc\r\n");
        rondo_resp_write_bulk_header(&w, 1000);
        rondo_resp_write_raw(&w, "x\r\n", 3);
        CHECK_WRITTEN(&w, "$1000\r\nx\r\n");
        rondo_resp_write_array(&w, 0);
        rondo_resp_write_array(&w, 99);
        CHECK_WRITTEN(&w, "*0\r\n*99\r\n");
        rondo_buf_fini(&buf);
    }
}

static void values_in_resp2(void **state) {
    (void)state;
    struct rondo_buf buf = {0};
    struct rondo_resp_writer w = rondo_resp_writer_of(&buf, 2);
    rondo_resp_write_null(&w);
    rondo_resp_write_null_array(&w);
    CHECK_WRITTEN(&w, "$-1\r\n*-1\r\n");
    rondo_resp_write_map(&w, 3);
    rondo_resp_write_set(&w, 2);
    rondo_resp_write_push(&w, 3);
    CHECK_WRITTEN(&w, "*6\r\n*2\r\n*3\r\n");
    rondo_resp_write_double(&w, 0.5);
    rondo_resp_write_double(&w, -HUGE_VAL);
    CHECK_WRITTEN(&w, "$3\r\n0.5\r\n$4\r\n-inf\r\n");
    rondo_resp_write_bool(&w, true);
    rondo_resp_write_bool(&w, false);
    CHECK_WRITTEN(&w, ":1\r\n:0\r\n");
    rondo_resp_write_big_number(&w, "-123");
    rondo_resp_write_verbatim(&w, "txt", "hi", 2);
    CHECK_WRITTEN(&w, "$4\r\n-123\r\n$2\r\nhi\r\n");
    rondo_buf_fini(&buf);
}

static void values_in_resp3(void **state) {
    (void)state;
    struct rondo_buf buf = {0};
    struct rondo_resp_writer w = rondo_resp_writer_of(&buf, 3);
    rondo_resp_write_null(&w);
    rondo_resp_write_null_array(&w);
    CHECK_WRITTEN(&w, "_\r\n_\r\n");
    rondo_resp_write_map(&w, 3);
    rondo_resp_write_set(&w, 2);
    rondo_resp_write_push(&w, 3);
    CHECK_WRITTEN(&w, "%3\r\n~2\r\n>3\r\n");
    rondo_resp_write_double(&w, 0.5);
    rondo_resp_write_double(&w, 1e300);
    rondo_resp_write_double(&w, 3);
    rondo_resp_write_double(&w, HUGE_VAL);
    rondo_resp_write_double(&w, -HUGE_VAL);
    rondo_resp_write_double(&w, (double)NAN);
    CHECK_WRITTEN(&w, ",0.5\r\n,1.0000000000000001e+300\r\n,3\r\n,inf\r\n,-inf\r\n,nan\r\n");
    rondo_resp_write_bool(&w, true);
    rondo_resp_write_bool(&w, false);
    CHECK_WRITTEN(&w, "#t\r\n#f\r\n");
    rondo_resp_write_big_number(&w, "-123");
    rondo_resp_write_verbatim(&w, "txt", "hi", 2);
    CHECK_WRITTEN(&w, "(-123\r\n=6\r\ntxt:hi\r\n");
    rondo_buf_fini(&buf);
}

static void commands(void **state) {
    (void)state;
    struct rondo_buf buf = {0};
    struct rondo_slice args[] = {rondo_slice_str("SET"), rondo_slice_of("\0\r\n", 3),
                                 rondo_slice_of(NULL, 0)};
    assert_int_equal(rondo_resp_write_command(&buf, args, 3), RONDO_OK);
    static const char out[] = "*3\r\n$3\r\nSET\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n";
    assert_int_equal(buf.len, sizeof out - 1);
    assert_memory_equal(buf.data, out, sizeof out - 1);
    struct rondo_slice huge[] = {rondo_slice_of("", SIZE_MAX), rondo_slice_of("", 1)};
    assert_int_equal(rondo_resp_write_command(&buf, huge, 2), RONDO_ERR_NOMEM);
    assert_int_equal(buf.len, sizeof out - 1);
    rondo_buf_fini(&buf);
}

static void sizes_that_overflow(void **state) {
    (void)state;
    struct rondo_buf buf = {0};
    struct rondo_resp_writer w = rondo_resp_writer_of(&buf, 3);
    rondo_resp_write_bulk(&w, "", SIZE_MAX - 3);
    assert_int_equal(w.err, RONDO_ERR_NOMEM);
    w.err = RONDO_OK;
    assert_null(rondo_resp_write_bulk_space(&w, SIZE_MAX - 3));
    assert_int_equal(w.err, RONDO_ERR_NOMEM);
    w.err = RONDO_OK;
    rondo_resp_write_verbatim(&w, "txt", "", SIZE_MAX - 3);
    assert_int_equal(w.err, RONDO_ERR_NOMEM);
    assert_int_equal(buf.len, 0);
    rondo_buf_fini(&buf);
}

/* The nth allocation fails: what was written is whole, and the rest is silent. */
static void out_of_memory_is_kept(void **state) {
    (void)state;
    char big[100];
    memset(big, 'x', sizeof big);
    uint64_t nth = 0;
    bool has_failed;
    do {
        struct rondo_buf buf = {0};
        struct rondo_resp_writer w = rondo_resp_writer_of(&buf, 3);
        rondo_mem_fail_nth(++nth);
        rondo_resp_write_int(&w, 1);
        rondo_resp_write_errorf(&w, "ERR %.*s", (int)sizeof big, big);
        rondo_resp_write_bulk(&w, big, sizeof big);
        char *space = rondo_resp_write_bulk_space(&w, sizeof big);
        if (space) memset(space, 'y', sizeof big);
        rondo_resp_write_verbatim(&w, "txt", big, sizeof big);
        rondo_resp_write_simple(&w, "end");
        has_failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(w.err, has_failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (buf.len) assert_memory_equal(buf.data + buf.len - 2, "\r\n", 2);
        if (!has_failed) assert_memory_equal(buf.data + buf.len - 6, "+end\r\n", 6);
        rondo_buf_fini(&buf);
    } while (has_failed);
    assert_true(nth > 3);
}

/* Skipped where no locale with a comma is installed. */
static void a_locale_of_the_host_changes_nothing(void **state) {
    (void)state;
    if (!rondo_set_comma_locale()) skip();
    struct rondo_buf buf = {0};
    struct rondo_resp_writer w = rondo_resp_writer_of(&buf, 3);
    rondo_resp_write_double(&w, -1.25e-7);
    rondo_resp_write_double(&w, 12345.5);
    setlocale(LC_ALL, "C");
    CHECK_WRITTEN(&w, ",-1.2499999999999999e-07\r\n,12345.5\r\n");
    rondo_buf_fini(&buf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_both_protocols_share),
        cmocka_unit_test(values_in_resp2),
        cmocka_unit_test(values_in_resp3),
        cmocka_unit_test(commands),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(out_of_memory_is_kept),
        cmocka_unit_test(a_locale_of_the_host_changes_nothing),
    };
    return cmocka_run_group_tests_name("resp_write", tests, NULL, NULL);
}
