/* SPDX-License-Identifier: MIT */
#include "cache/entry.h"

#include "base/mem.h"
#include "base/test.h"

static struct rondo_entry *make(const char *key, size_t value_len, rondo_blob *blob) {
    static char bytes[4096];
    memset(bytes, 'v', sizeof bytes);
    struct rondo_entry_init init = {.hash = UINT64_C(0x123456789abcdef0),
                                    .space = 15,
                                    .key = rondo_slice_str(key),
                                    .cache = 7,
                                    .bits = RONDO_ENTRY_WRITTEN,
                                    .expiry_ms = 123456789,
                                    .value = rondo_slice_of(bytes, value_len),
                                    .blob = blob};
    return rondo_entry_new(&init);
}

static void test_the_header_is_small(void **state) {
    (void)state;
    assert_int_equal(RONDO_ENTRY_HEADER, 24);
    struct rondo_entry *e = make("0123456789abcdef", 32, NULL);
    assert_int_equal(rondo_entry_cost(e), 80 + 8);
    rondo_entry_free(e);
}

static void test_small_values_lie_inside_and_large_ones_in_a_blob(void **state) {
    (void)state;
    static const size_t lens[] = {0, 1, 1023, 1024, 1025, 4096};
    for (size_t i = 0; i < RONDO_COUNT_OF(lens); i++) {
        struct rondo_entry *e = make("key", lens[i], NULL);
        assert_int_equal(rondo_entry_has_blob(e), lens[i] > RONDO_ENTRY_INLINE_MAX);
        struct rondo_slice value = rondo_entry_value(e);
        assert_int_equal(value.len, lens[i]);
        for (size_t b = 0; b < value.len; b++) assert_int_equal(((const char *)value.data)[b], 'v');
        assert_true(rondo_entry_is(e, UINT64_C(0xffffffff9abcdef0), 15, rondo_slice_str("key")));
        assert_false(rondo_entry_is(e, 0, 15, rondo_slice_str("key")));
        assert_false(rondo_entry_is(e, 0x9abcdef0, 14, rondo_slice_str("key")));
        assert_false(rondo_entry_is(e, 0x9abcdef0, 15, rondo_slice_str("kez")));
        assert_int_equal(rondo_entry_expiry_ms(e), 123456789);
        assert_int_equal(rondo_entry_bits(e), RONDO_ENTRY_WRITTEN);
        rondo_entry_free(e);
    }
}

static void test_a_large_blob_is_shared_not_copied(void **state) {
    (void)state;
    rondo_blob *blob = rondo_blob_new(2000);
    memset(blob->data, 'b', 2000);
    struct rondo_entry *e = make("key", 2000, blob);
    assert_ptr_equal(rondo_entry_blob(e), blob);
    assert_int_equal(blob->refs, 2);
    rondo_blob_unref(blob);
    assert_int_equal(blob->refs, 1);
    rondo_entry_free(e);
}

static void test_touch_counts_to_three(void **state) {
    (void)state;
    struct rondo_entry *e = make("key", 1, NULL);
    for (unsigned i = 0; i < 10; i++) rondo_entry_touch(e);
    assert_int_equal(rondo_entry_bits(e), RONDO_ENTRY_WRITTEN | 3);
    rondo_entry_set_expiry_ms(e, RONDO_ENTRY_NEVER);
    assert_int_equal(rondo_entry_bits(e), RONDO_ENTRY_WRITTEN | 3);
    assert_int_equal(rondo_entry_expiry_ms(e), RONDO_ENTRY_NEVER);
    rondo_entry_set_bits(e, RONDO_ENTRY_FREQ, RONDO_ENTRY_MAIN);
    assert_int_equal(rondo_entry_bits(e), RONDO_ENTRY_WRITTEN | RONDO_ENTRY_MAIN);
    assert_int_equal(rondo_entry_expiry_ms(e), RONDO_ENTRY_NEVER);
    rondo_entry_free(e);
}

static void test_the_lead_is_kept_within_a_thousandth(void **state) {
    (void)state;
    struct rondo_entry *e = make("key", 1, NULL);
    for (uint64_t ms = 0; ms < UINT64_C(1) << 40; ms = ms * 3 + 1) {
        rondo_entry_set_lead(e, ms);
        uint64_t lead = rondo_entry_lead_ms(e);
        assert_true(lead <= ms && ms - lead <= ms / 1000);
    }
    rondo_entry_free(e);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 2; n++) {
        rondo_mem_fail_nth(n);
        assert_null(make("key", 2000, NULL));
        assert_true(rondo_mem_failed());
        rondo_mem_fail_nth(0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_header_is_small),
        cmocka_unit_test(test_small_values_lie_inside_and_large_ones_in_a_blob),
        cmocka_unit_test(test_a_large_blob_is_shared_not_copied),
        cmocka_unit_test(test_touch_counts_to_three),
        cmocka_unit_test(test_the_lead_is_kept_within_a_thousandth),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("entry", tests, NULL, NULL);
}
