/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/death_test.h"
#include "base/log.h"

static char said[1 << 17];

static void fail_a_check(void) {
    volatile int two = 2;
    rondo_log(RONDO_LOG_DEBUG, "what led to it");
    RONDO_CHECK(two + two == 5);
}

static void pass_the_checks(void) {
    volatile int two = 2;
    RONDO_CHECK(two + two == 4);
    RONDO_DEBUG_CHECK(two == 2);
}

static void a_failed_check_tells_and_aborts(void **state) {
    (void)state;
    assert_true(rondo_dies_saying(fail_a_check, said, sizeof said));
    assert_non_null(strstr(said, "check failed: "));
    assert_non_null(strstr(said, "check_test.c:"));
    assert_non_null(strstr(said, "two + two == 5\n"));
    assert_non_null(strstr(said, "trace: what led to it\n"));
}

static void a_true_check_does_nothing(void **state) {
    (void)state;
    assert_false(rondo_dies_saying(pass_the_checks, said, sizeof said));
    assert_string_equal(said, "");
}

static void say(void *arg, enum rondo_log_level level, const char *line) {
    (void)level;
    dprintf(STDERR_FILENO, "%s%s\n", (const char *)arg, line);
}

static char mark[] = "logged: ";

static void fail_with_a_log_function(void) {
    rondo_log_set(say, mark, RONDO_LOG_ERROR);
    fail_a_check();
}

static void the_log_function_hears_it_first(void **state) {
    (void)state;
    assert_true(rondo_dies_saying(fail_with_a_log_function, said, sizeof said));
    assert_memory_equal(said, "logged: check failed: ", 22);
    assert_non_null(strstr(said, "\nlogged: trace: what led to it\n"));
}

static void say_and_fail(void *arg, enum rondo_log_level level, const char *line) {
    (void)arg, (void)level, (void)line;
    bool log_function_works = false;
    RONDO_CHECK(log_function_works);
}

static void fail_with_a_broken_log_function(void) {
    rondo_log_set(say_and_fail, NULL, RONDO_LOG_ERROR);
    bool first_check = false;
    RONDO_CHECK(first_check);
}

static void a_broken_log_function_does_not_loop(void **state) {
    (void)state;
    assert_true(rondo_dies_saying(fail_with_a_broken_log_function, said, sizeof said));
    assert_non_null(strstr(said, "log_function_works"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_check_tells_and_aborts),
        cmocka_unit_test(a_true_check_does_nothing),
        cmocka_unit_test(the_log_function_hears_it_first),
        cmocka_unit_test(a_broken_log_function_does_not_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
