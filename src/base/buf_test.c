/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/buf.h"
#include "base/mem.h"

static void bytes_come_out_as_they_went_in(void **state) {
    (void)state;
    struct rondo_buf b = {0};
    for (unsigned i = 0; i < 10000; i++) {
        unsigned char byte = (unsigned char)i;
        assert_int_equal(rondo_buf_append(&b, &byte, 1), RONDO_OK);
    }
    assert_int_equal(b.len, 10000);
    assert_true(b.cap >= b.len);
    for (unsigned i = 0; i < 10000; i++) assert_int_equal((unsigned char)b.data[i], i & 255);
    rondo_buf_fini(&b);
    assert_null(b.data);
    rondo_buf_fini(&b);
}

static void nothing_appended_is_nothing(void **state) {
    (void)state;
    struct rondo_buf b = {0};
    assert_int_equal(rondo_buf_append(&b, NULL, 0), RONDO_OK);
    assert_int_equal(rondo_buf_append_str(&b, ""), RONDO_OK);
    assert_int_equal(b.len, 0);
    assert_null(b.data);
    assert_string_equal(rondo_buf_cstr(&b), "");
    rondo_buf_fini(&b);
}

static void printf_grows_as_needed(void **state) {
    (void)state;
    struct rondo_buf b = {0};
    assert_int_equal(rondo_buf_append_str(&b, "a"), RONDO_OK);
    assert_int_equal(rondo_buf_printf(&b, "%d-%0500d", 42, 7), RONDO_OK);
    assert_int_equal(b.len, 1 + 3 + 500);
    assert_memory_equal(b.data, "a42-000", 7);
    assert_int_equal(rondo_buf_cstr(&b)[503], '7');
    rondo_buf_fini(&b);
}

static void consume_drops_the_front(void **state) {
    (void)state;
    struct rondo_buf b = {0};
    assert_int_equal(rondo_buf_append_str(&b, "hello world"), RONDO_OK);
    rondo_buf_consume(&b, 0);
    rondo_buf_consume(&b, 6);
    assert_string_equal(rondo_buf_cstr(&b), "world");
    rondo_buf_consume(&b, 5);
    assert_int_equal(b.len, 0);
    rondo_buf_fini(&b);
    rondo_buf_consume(&b, 0);
}

static void shrink_frees_only_what_is_empty_and_large(void **state) {
    (void)state;
    struct rondo_buf b = {0};
    assert_int_equal(rondo_buf_reserve(&b, 1000), RONDO_OK);
    rondo_buf_shrink(&b, 1000);
    assert_true(b.cap >= 1000);
    assert_int_equal(rondo_buf_append_str(&b, "x"), RONDO_OK);
    rondo_buf_shrink(&b, 10);
    assert_int_equal(b.len, 1);
    rondo_buf_consume(&b, 1);
    rondo_buf_shrink(&b, 10);
    assert_int_equal(b.cap, 0);
    assert_null(b.data);
}

static enum rondo_err fill(struct rondo_buf *b) {
    enum rondo_err err;
    if ((err = rondo_buf_append(b, "0123456789", 10))) return err;
    if ((err = rondo_buf_printf(b, "%0100d", 0))) return err;
    if ((err = rondo_buf_reserve(b, 5000))) return err;
    return rondo_buf_append_str(b, "end");
}

static void out_of_memory_leaves_the_contents(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth++) {
        struct rondo_buf b = {0};
        rondo_mem_fail_nth(nth);
        enum rondo_err err = fill(&b);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        assert_true(b.len == 0 || memcmp(b.data, "0123456789", 10) == 0);
        assert_int_equal(b.len, !failed ? 113 : nth == 1 ? 0 : nth == 2 ? 10 : 110);
        rondo_buf_fini(&b);
        if (!failed) {
            assert_true(nth > 3);
            break;
        }
    }
    struct rondo_buf b = {0};
    rondo_mem_fail_nth(1);
    assert_null(rondo_buf_cstr(&b));
    rondo_mem_fail_nth(0);
}

static void sizes_that_overflow_are_no_memory(void **state) {
    (void)state;
    struct rondo_buf b = {0};
    assert_int_equal(rondo_buf_append_str(&b, "x"), RONDO_OK);
    assert_int_equal(rondo_buf_reserve(&b, SIZE_MAX), RONDO_ERR_NOMEM);
    assert_string_equal(rondo_buf_cstr(&b), "x");
    rondo_buf_fini(&b);
}

static void slices_compare_by_bytes(void **state) {
    (void)state;
    struct rondo_slice empty = {0};
    assert_true(rondo_slice_eq(empty, rondo_slice_str("")));
    assert_true(rondo_slice_is(rondo_slice_of("a\0b", 1), "a"));
    assert_true(rondo_slice_eq(rondo_slice_of("a\0b", 3), rondo_slice_of("a\0b", 3)));
    assert_false(rondo_slice_eq(rondo_slice_of("a\0b", 3), rondo_slice_of("a\0c", 3)));
    assert_false(rondo_slice_is(rondo_slice_str("ab"), "a"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_as_they_went_in),
        cmocka_unit_test(nothing_appended_is_nothing),
        cmocka_unit_test(printf_grows_as_needed),
        cmocka_unit_test(consume_drops_the_front),
        cmocka_unit_test(shrink_frees_only_what_is_empty_and_large),
        cmocka_unit_test(out_of_memory_leaves_the_contents),
        cmocka_unit_test(sizes_that_overflow_are_no_memory),
        cmocka_unit_test(slices_compare_by_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
