/* SPDX-License-Identifier: MIT */
#include "source/settings.h"

#include "source/load_fixture.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct rondo_source_option options[] = {
    {"file", RONDO_SETTING_PATH, true, false, "the database"},
    {"load", RONDO_SETTING_TEMPLATE, true, false, "the statement"},
    {"delay", RONDO_SETTING_DURATION, false, false, "how long"},
    {"batch", RONDO_SETTING_COUNT, false, false, "how many"},
    {"strict", RONDO_SETTING_BOOL, false, false, "whether"},
    {"answers", RONDO_SETTING_MAP, false, false, "a table"},
    {"pin", RONDO_SETTING_COUNT, false, true, "a secret number"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

static size_t check(struct fixture_config *f, const char *const *pairs, size_t *n_good,
                    bool *can_open) {
    static struct rondo_source_setting good[16];
    fixture_settings(f, NULL, 0, pairs);
    return rondo_settings_check(&f->config, options, good, n_good, can_open);
}

static void test_all_right(void **state) {
    (void)state;
    struct fixture_config f;
    size_t n_good;
    bool can_open;
    const char *const pairs[] = {"file",      "x",     "load",      "SELECT", "delay",
                                 "off",       "batch", "3",         "strict", "no",
                                 "answers.a", "1",     "answers.b", "2",      NULL};
    assert_int_equal(check(&f, pairs, &n_good, &can_open), 0);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(n_good, 7);
    assert_true(can_open);
}

static void test_all_mistakes_are_told(void **state) {
    (void)state;
    struct fixture_config f;
    size_t n_good;
    bool can_open;
    const char *const pairs[] = {"fiel", "x",       "delay",   "5",     "batch",
                                 "many", "strict",  "maybe",   "batch", "3",
                                 "pin",  "hunter2", "answers", "flat",  NULL};
    assert_int_equal(check(&f, pairs, &n_good, &can_open), 9);
    assert_false(can_open);
    assert_int_equal(n_good, 0);
    assert_string_equal(
        f.mistakes,
        "fiel: unknown setting, did you mean \"file\"? allowed: file load delay batch strict "
        "answers pin\n"
        "delay: found \"5\": a duration is a whole number and a unit (ns us ms s m h d), such as "
        "10m\n"
        "batch: found \"many\": a whole number\n"
        "strict: found \"maybe\": yes or no (also on, off, true, false)\n"
        "batch: given twice\n"
        "pin: a whole number\n"
        "answers: found \"flat\": a table of names and texts\n"
        "-: `file` is missing: the database\n"
        "-: `load` is missing: the statement\n");
}

static void test_a_required_setting_that_is_wrong(void **state) {
    (void)state;
    struct fixture_config f;
    size_t n_good;
    bool can_open;
    const char *const pairs[] = {"file", "", "load", "SELECT", NULL};
    assert_int_equal(check(&f, pairs, &n_good, &can_open), 1);
    assert_string_equal(f.mistakes, "file: found \"\": a path is not empty\n");
    assert_false(can_open);
    assert_int_equal(n_good, 1);
}

static void test_reading(void **state) {
    (void)state;
    struct fixture_config f;
    const char *const pairs[] = {"delay", "2s", "none", "off", "bad", "2",
                                 "n",     "7",  "big",  "101", NULL};
    fixture_settings(&f, NULL, 0, pairs);
    uint64_t n = 5;
    assert_true(rondo_settings_duration(&f.config, "missing", &n));
    assert_int_equal(n, 5);
    assert_true(rondo_settings_duration(&f.config, "delay", &n));
    assert_int_equal(n, 2000000000);
    assert_true(rondo_settings_duration(&f.config, "none", &n));
    assert_int_equal(n, 0);
    assert_false(rondo_settings_duration(&f.config, "bad", &n));
    assert_true(rondo_settings_count(&f.config, "n", 1, 100, &n));
    assert_int_equal(n, 7);
    assert_false(rondo_settings_count(&f.config, "big", 1, 100, &n));
    assert_int_equal(n, 7);
    assert_string_equal(f.mistakes,
                        "bad: found \"2\": a duration is a whole number and a unit (ns us ms s m h "
                        "d), such as 10m\n"
                        "big: found \"101\": a whole number from 1 to 100\n");
    assert_null(rondo_settings_get(&f.config, "nothing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_right),
        cmocka_unit_test(test_all_mistakes_are_told),
        cmocka_unit_test(test_a_required_setting_that_is_wrong),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
