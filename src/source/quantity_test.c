/* SPDX-License-Identifier: MIT */
#include "source/quantity.h"

#include "base/check.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_durations(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"1ns", 1},
        {"5us", 5000},
        {"250ms", 250000000},
        {"5s", UINT64_C(5000000000)},
        {"10m", UINT64_C(600000000000)},
        {"1h", UINT64_C(3600000000000)},
        {"3650d", UINT64_C(315360000000000000)},
        {"007s", UINT64_C(7000000000)},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(good); i++) {
        uint64_t ns = 0;
        assert_null(rondo_quantity_duration(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    static const char *const bad[] = {"",
                                      "10",
                                      "10x",
                                      "-1s",
                                      "+1s",
                                      "1.5s",
                                      " 1s",
                                      "1 s",
                                      "1s ",
                                      "1h30m",
                                      "s",
                                      "1S",
                                      "0s",
                                      "0ns",
                                      "3651d",
                                      "off",
                                      "99999999999999999999d"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++) {
        uint64_t ns = 77;
        assert_non_null(rondo_quantity_duration(bad[i], &ns));
        assert_int_equal(ns, 77);
    }
}

static void test_phrases_say_what_is_wrong(void **state) {
    (void)state;
    uint64_t n;
    assert_string_equal(rondo_quantity_duration("10", &n),
                        "a duration is a whole number and a unit (ns us ms s m h d), such as 10m");
    assert_string_equal(rondo_quantity_duration("0s", &n), "a duration is more than zero");
    assert_string_equal(rondo_quantity_duration("4000d", &n), "a duration is at most 3650d");
    assert_string_equal(rondo_quantity_size("0b", &n), "a size is more than zero");
    assert_string_equal(rondo_quantity_size("9000tb", &n), "a size is at most 8191tb");
}

static void test_sizes(void **state) {
    (void)state;
    uint64_t n = 0;
    assert_null(rondo_quantity_size("1b", &n));
    assert_int_equal(n, 1);
    assert_null(rondo_quantity_size("64kb", &n));
    assert_int_equal(n, 65536);
    assert_null(rondo_quantity_size("3mb", &n));
    assert_int_equal(n, 3145728);
    assert_null(rondo_quantity_size("1gb", &n));
    assert_int_equal(n, 1073741824);
    assert_null(rondo_quantity_size("8191tb", &n));
    assert_non_null(rondo_quantity_size("64", &n));
    assert_non_null(rondo_quantity_size("64k", &n));
    assert_non_null(rondo_quantity_size("64KB", &n));
    assert_non_null(rondo_quantity_size("18446744073709551616b", &n));
}

static void test_percent(void **state) {
    (void)state;
    unsigned p = 0;
    assert_null(rondo_quantity_percent("1%", &p));
    assert_int_equal(p, 1);
    assert_null(rondo_quantity_percent("100%", &p));
    assert_int_equal(p, 100);
    static const char *const bad[] = {"0%", "101%", "20", "%", "-5%", "20 %", "4294967297%"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++)
        assert_non_null(rondo_quantity_percent(bad[i], &p));
    assert_int_equal(p, 100);
}

static void test_counts(void **state) {
    (void)state;
    uint64_t n = 5;
    assert_null(rondo_quantity_count("0", &n));
    assert_int_equal(n, 0);
    assert_null(rondo_quantity_count("9223372036854775807", &n));
    assert_int_equal(n, INT64_MAX);
    static const char *const bad[] = {
        "",   "9223372036854775808",    "18446744073709551616", "1.0", "-1", "1e3", "0x10",
        " 1", "99999999999999999999999"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++)
        assert_non_null(rondo_quantity_count(bad[i], &n));
    assert_int_equal(n, INT64_MAX);
}

static void test_switches(void **state) {
    (void)state;
    bool b = false;
    static const char *const yes[] = {"yes", "on", "true"}, *const no[] = {"no", "off", "false"};
    for (size_t i = 0; i < 3; i++) {
        assert_null(rondo_quantity_bool(yes[i], &b));
        assert_true(b);
        assert_null(rondo_quantity_bool(no[i], &b));
        assert_false(b);
    }
    assert_non_null(rondo_quantity_bool("1", &b));
    assert_non_null(rondo_quantity_bool("Yes", &b));
    assert_true(rondo_quantity_is_off("off"));
    assert_false(rondo_quantity_is_off("no"));
}

static void test_threads(void **state) {
    (void)state;
    static const struct {
        const char *text;
        struct rondo_threads threads;
    } good[] = {
        {"auto", {RONDO_THREADS_AUTO, 0, 0}},    {"8", {RONDO_THREADS_FIXED, 8, 8}},
        {"2..16", {RONDO_THREADS_RANGE, 2, 16}}, {"3..3", {RONDO_THREADS_RANGE, 3, 3}},
        {"0", {RONDO_THREADS_NONE, 0, 0}},       {"1024", {RONDO_THREADS_FIXED, 1024, 1024}},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(good); i++) {
        struct rondo_threads t = {RONDO_THREADS_FIXED, 99, 99};
        assert_null(rondo_quantity_threads(good[i].text, &t));
        assert_int_equal(t.kind, good[i].threads.kind);
        assert_int_equal(t.min, good[i].threads.min);
        assert_int_equal(t.max, good[i].threads.max);
    }
    static const char *const bad[] = {"",      "-1",    "1025", "0..4", "5..2",
                                      "1..",   "..5",   "1.5",  "Auto", "1..1025",
                                      "2..4x", "2...4", "none", "4 ",   "4294967296..4294967297"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++) {
        struct rondo_threads t;
        assert_non_null(rondo_quantity_threads(bad[i], &t));
    }
}

static void test_printing(void **state) {
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {{UINT64_C(1500000000), "1500ms"},
                 {UINT64_C(86400000000000), "1d"},
                 {UINT64_C(5000000000), "5s"},
                 {7, "7ns"},
                 {UINT64_MAX, "18446744073709551615ns"}};
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++) {
        char text[24];
        rondo_quantity_print_duration(cases[i].ns, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations), cmocka_unit_test(test_phrases_say_what_is_wrong),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_percent),
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_switches),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
