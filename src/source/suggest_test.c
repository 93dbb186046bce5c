/* SPDX-License-Identifier: MIT */
#include "source/suggest.h"

#include "base/check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

static void test_distances(void **state) {
    (void)state;
    assert_int_equal(rondo_suggest_distance("", ""), 0);
    assert_int_equal(rondo_suggest_distance("", "ttl"), 3);
    assert_int_equal(rondo_suggest_distance("ttl", ""), 3);
    assert_int_equal(rondo_suggest_distance("ttl", "ttl"), 0);
    assert_int_equal(rondo_suggest_distance("tll", "ttl"), 1);
    assert_int_equal(rondo_suggest_distance("tlt", "ttl"), 1); /* swapped */
    assert_int_equal(rondo_suggest_distance("kitten", "sitting"), 3);
    assert_int_equal(rondo_suggest_distance("ab", "ba"), 1);
}

static void test_long_names_are_far(void **state) {
    (void)state;
    char name[65];
    memset(name, 'a', sizeof name - 1);
    name[64] = '\0';
    assert_true(rondo_suggest_distance(name, name) == (size_t)-1);
    name[63] = '\0';
    assert_int_equal(rondo_suggest_distance(name, name), 0);
    assert_int_equal(rondo_suggest_distance(name, ""), 63);
}

static const char *nearest(const char *typed) {
    static const char *const names[] = {"ttl", "ttl_jitter", "threads", "keys", "load_timeout"};
    struct rondo_suggest s;
    rondo_suggest_init(&s, typed);
    for (size_t i = 0; i < RONDO_COUNT_OF(names); i++) rondo_suggest_offer(&s, names[i]);
    return s.best;
}

static void test_nearest(void **state) {
    (void)state;
    assert_string_equal(nearest("tll"), "ttl");
    assert_string_equal(nearest("thread"), "threads");
    assert_string_equal(nearest("load-timeout"), "load_timeout");
    assert_string_equal(nearest("loadtimeout"), "load_timeout");
    assert_string_equal(nearest("key"), "keys");
    assert_null(nearest("colour"));
    assert_null(nearest(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_long_names_are_far),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
