/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/hash.h"

static void hashes_depend_on_bytes_length_and_seed(void **state) {
    (void)state;
    assert_true(rondo_hash("abc", 3, 1) == rondo_hash("abcd", 3, 1));
    assert_true(rondo_hash("abc", 3, 1) != rondo_hash("abd", 3, 1));
    assert_true(rondo_hash("abc", 3, 1) != rondo_hash("abc", 2, 1));
    assert_true(rondo_hash("abc", 3, 1) != rondo_hash("abc", 3, 2));
    assert_true(rondo_hash(NULL, 0, 1) == rondo_hash("", 0, 1));
}

/* Written down once: the same on every machine and in every build. */
static void the_hash_is_xxh3(void **state) {
    (void)state;
    assert_true(rondo_hash("", 0, 0) == UINT64_C(0x2d06800538d394c2));
}

static void seeds_differ(void **state) {
    (void)state;
    uint64_t first = rondo_hash_seed();
    unsigned same = 0;
    for (unsigned i = 0; i < 8; i++) same += rondo_hash_seed() == first;
    assert_int_equal(same, 0);
}

static void random_numbers_repeat_with_their_state(void **state) {
    (void)state;
    uint64_t a = 42, b = 42, zero = 0;
    for (unsigned i = 0; i < 100; i++) assert_true(rondo_random_next(&a) == rondo_random_next(&b));
    /* The generator's published first output for the state 0. */
    assert_true(rondo_random_next(&zero) == UINT64_C(0xe220a8397b1dcdaf));
}

static void below_reaches_all_and_nothing_else(void **state) {
    (void)state;
    uint64_t s = 7;
    unsigned seen[10] = {0};
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t r = rondo_random_below(&s, RONDO_COUNT_OF(seen));
        assert_true(r < RONDO_COUNT_OF(seen));
        seen[r]++;
    }
    for (unsigned i = 0; i < RONDO_COUNT_OF(seen); i++) assert_in_range(seen[i], 800, 1200);
    assert_int_equal(rondo_random_below(&s, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_depend_on_bytes_length_and_seed),
        cmocka_unit_test(the_hash_is_xxh3),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(random_numbers_repeat_with_their_state),
        cmocka_unit_test(below_reaches_all_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
