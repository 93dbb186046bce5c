/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/log.h"

struct seen {
    unsigned n;
    enum rondo_log_level level;
    char line[2048], first[2048];
};

static void see(void *arg, enum rondo_log_level level, const char *line) {
    struct seen *seen = arg;
    seen->level = level;
    if (seen->n++ == 0) snprintf(seen->first, sizeof seen->first, "%s", line);
    snprintf(seen->line, sizeof seen->line, "%s", line);
}

static void see_dumped(void *arg, const char *line) {
    see(arg, RONDO_LOG_DEBUG, line);
}

static int silence(void **state) {
    (void)state;
    rondo_log_set(NULL, NULL, RONDO_LOG_ERROR);
    return 0;
}

static void lines_reach_the_function_by_level(void **state) {
    (void)state;
    struct seen seen = {0};
    rondo_log(RONDO_LOG_ERROR, "nobody listens");
    rondo_log_set(see, &seen, RONDO_LOG_WARN);
    rondo_log(RONDO_LOG_ERROR, "an error, %d", 7);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.level, RONDO_LOG_ERROR);
    assert_string_equal(seen.line, "an error, 7");
    rondo_log(RONDO_LOG_WARN, "a warning");
    assert_int_equal(seen.n, 2);
    rondo_log(RONDO_LOG_INFO, "not wanted");
    rondo_log(RONDO_LOG_DEBUG, "not wanted");
    assert_int_equal(seen.n, 2);
    assert_string_equal(seen.line, "a warning");
}

static void one_line_stays_one_line(void **state) {
    (void)state;
    struct seen seen = {0};
    rondo_log_set(see, &seen, RONDO_LOG_DEBUG);
    rondo_log(RONDO_LOG_INFO, "a\r\nb\x1b[31m\x7f \xc3\xa9");
    assert_string_equal(seen.line, "a??b?[31m? \xc3\xa9");
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rondo_log(RONDO_LOG_INFO, "%s", text);
    assert_int_equal(strlen(seen.line), 1023);
}

static void the_ring_keeps_the_last_lines_in_order(void **state) {
    (void)state;
    struct seen seen = {0};
    for (unsigned i = 0; i < 1000; i++) rondo_log(RONDO_LOG_DEBUG, "line %u", i);
    rondo_log_dump(see_dumped, &seen);
    assert_true(seen.n >= 16 && seen.n < 1000);
    char first[32];
    snprintf(first, sizeof first, "line %u", 1000 - seen.n);
    assert_string_equal(seen.first, first);
    assert_string_equal(seen.line, "line 999");
}

static void log_from_the_dump(void *arg, const char *line) {
    ++*(unsigned *)arg;
    rondo_log(RONDO_LOG_DEBUG, "again: %.100s", line);
}

static void a_dump_may_log(void **state) {
    (void)state;
    unsigned n = 0;
    rondo_log(RONDO_LOG_DEBUG, "one");
    rondo_log_dump(log_from_the_dump, &n);
    assert_true(n > 0);
}

static void a_limit_lets_a_burst_pass_each_second(void **state) {
    (void)state;
    struct rondo_log_limit limit = {.burst = 3};
    unsigned left_out = 99, passed = 0;
    for (unsigned i = 0; i < 10; i++)
        passed += rondo_log_limit_pass(&limit, 5 * RONDO_SEC + i, &left_out);
    assert_int_equal(passed, 3);
    assert_int_equal(left_out, 0);
    assert_true(rondo_log_limit_pass(&limit, 6 * RONDO_SEC, &left_out));
    assert_int_equal(left_out, 7);
    assert_true(rondo_log_limit_pass(&limit, 6 * RONDO_SEC, &left_out));
    assert_int_equal(left_out, 0);
}

static void a_limited_line_tells_what_was_left_out(void **state) {
    (void)state;
    struct seen seen = {0};
    struct rondo_log_limit limit = {.burst = 1, .left_out = 41};
    rondo_log_set(see, &seen, RONDO_LOG_DEBUG);
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rondo_log_limited(&limit, RONDO_LOG_WARN, "%s", text);
    assert_int_equal(seen.n, 1);
    assert_int_equal(strlen(seen.line), 1023);
    assert_non_null(strstr(seen.line, "x (41 more lines left out)"));
    limit.burst = 0;
    rondo_log_limited(&limit, RONDO_LOG_WARN, "no");
    assert_int_equal(seen.n, 1);
    assert_int_equal(limit.left_out, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lines_reach_the_function_by_level, silence),
        cmocka_unit_test_teardown(one_line_stays_one_line, silence),
        cmocka_unit_test_teardown(the_ring_keeps_the_last_lines_in_order, silence),
        cmocka_unit_test_teardown(a_dump_may_log, silence),
        cmocka_unit_test_teardown(a_limit_lets_a_burst_pass_each_second, silence),
        cmocka_unit_test_teardown(a_limited_line_tells_what_was_left_out, silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
