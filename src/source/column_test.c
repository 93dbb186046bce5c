/* SPDX-License-Identifier: MIT */
#include "source/column.h"

#include "base/mem.h"
#include "base/test.h"

static struct rondo_column column(const char *name, enum rondo_column_kind kind, const char *text) {
    return (struct rondo_column){name, kind, !text, rondo_slice_str(text ? text : "")};
}

static void check(const struct rondo_column *columns, size_t n, const char *expected) {
    struct rondo_buf out = {0};
    struct rondo_source_error why = {""};
    bool is_null;
    assert_int_equal(rondo_column_value(columns, n, &out, &is_null, &why), RONDO_OK);
    assert_false(is_null);
    assert_string_equal(rondo_buf_cstr(&out), expected);
    rondo_buf_fini(&out);
}

static void check_error(const struct rondo_column *columns, size_t n, const char *expected) {
    struct rondo_buf out = {0};
    struct rondo_source_error why = {""};
    bool is_null;
    assert_int_equal(rondo_column_value(columns, n, &out, &is_null, &why), RONDO_ERR_LOAD);
    assert_string_equal(why.text, expected);
    rondo_buf_fini(&out);
}

static void test_one_column(void **state) {
    (void)state;
    struct rondo_column c = column("a", RONDO_COLUMN_TEXT, "\xff not UTF-8");
    check(&c, 1, "\xff not UTF-8");
    c = column("a", RONDO_COLUMN_NUMBER, "NaN");
    check(&c, 1, "NaN");
    c = column("a", RONDO_COLUMN_JSON, "{\"a\": 1}");
    check(&c, 1, "{\"a\": 1}");
    c = column("a", RONDO_COLUMN_TEXT, "");
    check(&c, 1, "");
}

static void test_null_alone(void **state) {
    (void)state;
    struct rondo_column c = column("a", RONDO_COLUMN_TEXT, NULL);
    struct rondo_buf out = {0};
    struct rondo_source_error why;
    bool is_null = false;
    assert_int_equal(rondo_column_value(&c, 1, &out, &is_null, &why), RONDO_OK);
    assert_true(is_null);
    assert_int_equal(out.len, 0);
}

static void test_object(void **state) {
    (void)state;
    const struct rondo_column columns[] = {
        column("t", RONDO_COLUMN_TEXT, "a\"\\\n\x01\xc3\xa9"),
        column("n", RONDO_COLUMN_NUMBER, "12345678901234567890.10"),
        column("z", RONDO_COLUMN_NUMBER, "00042"),
        column("b", RONDO_COLUMN_BOOL, "t"),
        column("c", RONDO_COLUMN_BOOL, "f"),
        column("j", RONDO_COLUMN_JSON, "{\"b\":1,\"a\":[1.10]}"),
        column("0", RONDO_COLUMN_NUMBER, NULL),
    };
    check(columns, 7,
          "{\"t\":\"a\\\"\\\\\\n\\u0001\xc3\xa9\",\"n\":12345678901234567890.10,\"z\":42,"
          "\"b\":true,\"c\":false,\"j\":{\"b\":1,\"a\":[1.10]},\"0\":null}");
}

static void test_what_has_no_place(void **state) {
    (void)state;
    struct rondo_column c[] = {column("a", RONDO_COLUMN_TEXT, "x"),
                               column("b", RONDO_COLUMN_TEXT, "\xff")};
    check_error(c, 2, "column \"b\" is not UTF-8: take hex() of it, or it alone");
    c[1] = column("b", RONDO_COLUMN_NUMBER, "Infinity");
    check_error(c, 2, "column \"b\" is not a finite number");
    c[1] = column("b", RONDO_COLUMN_JSON, "{\"a\":");
    check_error(c, 2, "column \"b\" is not JSON, which its type promises");
    c[1] = column("a", RONDO_COLUMN_TEXT, "y");
    check_error(c, 2, "column \"a\" occurs twice: name them apart with AS");
    c[1] = column("\xff", RONDO_COLUMN_TEXT, "y");
    check_error(c, 2, "column \"\xff\" has a name that is not UTF-8");
}

static void test_numbers(void **state) {
    (void)state;
    static const char *const good[] = {"0", "-1", "10", "0.5", "-0.50", "1e+20", "1.5E-7", "1e5"};
    static const char *const bad[] = {"",    "-",   "01",  "+1", "1.",  ".5",  "1e",
                                      "1e+", "NaN", "0x1", "1 ", "1,5", "--1", "-Infinity"};
    for (size_t i = 0; i < RONDO_COUNT_OF(good); i++)
        assert_true(rondo_column_is_number(rondo_slice_str(good[i])));
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++)
        assert_false(rondo_column_is_number(rondo_slice_str(bad[i])));
}

static void test_out_of_memory(void **state) {
    (void)state;
    struct rondo_column c[] = {column("a", RONDO_COLUMN_TEXT, "x"),
                               column("b", RONDO_COLUMN_NUMBER, "1")};
    uint64_t n = 1;
    for (;; n++) {
        struct rondo_buf out = {0};
        struct rondo_source_error why;
        bool is_null;
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_column_value(c, 2, &out, &is_null, &why);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        rondo_buf_fini(&out);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_true(n > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_column), cmocka_unit_test(test_null_alone),
        cmocka_unit_test(test_object),     cmocka_unit_test(test_what_has_no_place),
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
