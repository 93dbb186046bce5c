/* SPDX-License-Identifier: MIT */
#include "base/test.h"
#include "cli/progress.h"

#include "base/check.h"
#include "base/clock.h"

static void test_bar_half_way(void **state) {
    (void)state;
    char line[256];
    int n = rondo_progress_format(line, sizeof line, 60, "rounds", 50, 100, 4 * RONDO_SEC);
    assert_string_equal(line, "[############............]  50 %  50 of 100 rounds, 4 s left");
    assert_int_equal(n, (int)strlen(line));
}

static void test_bar_at_both_ends(void **state) {
    (void)state;
    char line[256];
    rondo_progress_format(line, sizeof line, 60, "keys", 0, 7, 0);
    assert_non_null(strstr(line, "0 of 7 keys, 0 s left"));
    assert_null(strchr(line, '#'));
    rondo_progress_format(line, sizeof line, 60, "keys", 9, 7, RONDO_SEC);
    assert_non_null(strstr(line, "100 %  7 of 7 keys, 0 s left"));
    assert_null(strchr(line + 1, '.'));
}

static void test_bar_of_nothing_and_in_no_space(void **state) {
    (void)state;
    char line[256];
    rondo_progress_format(line, sizeof line, 1, "x", 0, 0, 0);
    assert_non_null(strstr(line, "[..........]"));
    int n = rondo_progress_format(line, 8, 200, "x", 1, 2, 0);
    assert_true(n > 8);
    assert_int_equal(strlen(line), 7);
}

static void test_no_terminal_no_bar(void **state) {
    (void)state;
    struct rondo_progress p;
    rondo_progress_init(&p, "x", false);
    assert_false(p.is_on);
    rondo_progress_show(&p, 1, 2);
    assert_int_equal(p.drawn_ns, 0);
    rondo_progress_wipe(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bar_half_way),
        cmocka_unit_test(test_bar_at_both_ends),
        cmocka_unit_test(test_bar_of_nothing_and_in_no_space),
        cmocka_unit_test(test_no_terminal_no_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
