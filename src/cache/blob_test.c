/* SPDX-License-Identifier: MIT */
#include "cache/blob.h"

#include "base/mem.h"
#include "base/sync.h"
#include "base/test.h"

enum { THREADS = 2, ROUNDS = 20000 };

static void test_the_last_reference_frees(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    rondo_blob *b = rondo_blob_copy("a\0b", 3);
    assert_non_null(b);
    assert_int_equal(b->len, 3);
    assert_memory_equal(b->data, "a\0b", 3);
    assert_ptr_equal(rondo_blob_ref(b), b);
    rondo_blob_unref(b);
    assert_int_equal(rondo_mem_live(), live + 1);
    rondo_blob_unref(b);
    assert_int_equal(rondo_mem_live(), live);
}

static void test_nothing_is_a_blob_too(void **state) {
    (void)state;
    assert_null(rondo_blob_ref(NULL));
    rondo_blob_unref(NULL);
    rondo_blob *b = rondo_blob_copy(NULL, 0);
    assert_non_null(b);
    assert_int_equal(b->len, 0);
    rondo_blob_unref(b);
}

static void test_a_value_keeps_the_bytes(void **state) {
    (void)state;
    rondo_blob *b = rondo_blob_copy("bytes", 5);
    assert_non_null(b);
    struct rondo_value v = rondo_blob_value(b);
    rondo_blob_unref(b);
    assert_int_equal(v.len, 5);
    assert_memory_equal(v.data, "bytes", 5);
    rondo_value_release(&v);
    assert_null(v.data);
    rondo_value_release(&v);
}

static void test_no_memory_and_no_such_size(void **state) {
    (void)state;
    rondo_mem_fail_nth(1);
    assert_null(rondo_blob_new(10));
    rondo_mem_fail_nth(0);
    assert_null(rondo_blob_new(SIZE_MAX));
    assert_null(rondo_blob_new(SIZE_MAX - 8));
    assert_true(rondo_blob_cost(0) > 0);
    assert_true(rondo_blob_cost(1000) >= 1000 + sizeof(struct rondo_blob));
}

static void share(void *arg) {
    for (int i = 0; i < ROUNDS; i++) rondo_blob_unref(rondo_blob_ref(arg));
    rondo_blob_unref(arg);
}

/* For the thread sanitizer: whichever thread is last frees what the other read. */
static void test_any_thread_may_be_the_last(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    rondo_blob *b = rondo_blob_copy("shared", 6);
    assert_non_null(b);
    struct rondo_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "share", share, rondo_blob_ref(b)),
                         RONDO_OK);
    rondo_blob_unref(b);
    for (int i = 0; i < THREADS; i++) rondo_thread_join(&threads[i]);
    assert_int_equal(rondo_mem_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_reference_frees),
        cmocka_unit_test(test_nothing_is_a_blob_too),
        cmocka_unit_test(test_a_value_keeps_the_bytes),
        cmocka_unit_test(test_no_memory_and_no_such_size),
        cmocka_unit_test(test_any_thread_may_be_the_last),
    };
    return cmocka_run_group_tests_name("blob", tests, NULL, NULL);
}
