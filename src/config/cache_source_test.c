/* SPDX-License-Identifier: MIT */
#include "config/cache_source.h"

#include "base/buf.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char lines[2048];

static void on_mistake(void *arg, const char *line) {
    size_t used = strlen(lines);
    (void)arg;
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static char name[] = "users";

/* A cache called users, keys user:{id}, of the scripted source. */
static struct rondo_config_cache cache_with(struct rondo_report *report) {
    struct rondo_config_cache cache = {.name = name};
    *report = (struct rondo_report){.path = "r.yaml", .fn = on_mistake};
    lines[0] = '\0';
    assert_int_equal(rondo_cache_source_pattern(&cache, "user:{id}", 2, report), RONDO_OK);
    cache.source_type = rondo_strdup("scripted");
    assert_non_null(cache.source_type);
    return cache;
}

static void test_pattern(void **state) {
    (void)state;
    struct rondo_report report;
    struct rondo_config_cache cache = cache_with(&report);
    assert_string_equal(cache.options.pattern, "user:{id}");
    assert_int_equal(cache.n_params, 1);
    assert_string_equal(cache.params[0], "id");
    rondo_cache_source_fini(&cache);

    cache = (struct rondo_config_cache){.name = name};
    assert_int_equal(rondo_cache_source_pattern(&cache, "user:{id", 2, &report), RONDO_ERR_CONFIG);
    rondo_report_flush(&report);
    assert_string_equal(lines, "r.yaml:2: caches.users.keys: found \"user:{id\": column 6: '{' "
                               "without '}'\n");
    rondo_cache_source_fini(&cache);
}

static void test_mistakes_have_the_line_of_their_setting(void **state) {
    (void)state;
    struct rondo_report report;
    struct rondo_config_cache cache = cache_with(&report);
    assert_int_equal(rondo_cache_source_add(&cache, "delay", "soon", 7), RONDO_OK);
    assert_int_equal(rondo_cache_source_add(&cache, "seed", "-1", 6), RONDO_OK);
    assert_int_equal(rondo_cache_source_open(&cache, NULL, 3, 4, &report), RONDO_ERR_CONFIG);
    rondo_report_flush(&report);
    assert_string_equal(lines,
                        "r.yaml:6: caches.users.source.seed: found \"-1\": a whole number\n"
                        "r.yaml:7: caches.users.source.delay: found \"soon\": a duration is a "
                        "whole number and a unit (ns us ms s m h d), such as 10m\n");
    assert_null(cache.options.source.ops);
    rondo_cache_source_fini(&cache);
}

static void test_through_needs_a_source_that_writes(void **state) {
    (void)state;
    struct rondo_report report;
    struct rondo_config_cache cache = cache_with(&report);
    cache.options.writes = RONDO_WRITES_THROUGH;
    assert_int_equal(rondo_cache_source_open(&cache, NULL, 3, 4, &report), RONDO_ERR_CONFIG);
    rondo_report_flush(&report);
    assert_string_equal(lines, "r.yaml:3: caches.users.source: `writes: through` needs a source "
                               "that stores (a `store` statement)\n"
                               "r.yaml:3: caches.users.source: `writes: through` needs a source "
                               "that erases (an `erase` statement)\n");
    assert_null(cache.options.source.ops);
    rondo_cache_source_fini(&cache);
}

static void test_reports_are_sorted_and_stable(void **state) {
    (void)state;
    struct rondo_report report = {.path = "f", .fn = on_mistake};
    lines[0] = '\0';
    rondo_report_mistake(&report, 3, "a", "first");
    rondo_report_mistake(&report, 1, "b", "%s", "second");
    rondo_report_mistake(&report, 3, NULL, "third");
    rondo_report_mistake(&report, 0, NULL, "fourth");
    assert_int_equal(report.n_mistakes, 4);
    assert_string_equal(lines, "");
    rondo_report_flush(&report);
    assert_string_equal(lines, "f: fourth\nf:1: b: second\nf:3: a: first\nf:3: third\n");
    rondo_report_flush(&report);
    assert_int_equal(report.n_mistakes, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_mistakes_have_the_line_of_their_setting),
        cmocka_unit_test(test_through_needs_a_source_that_writes),
        cmocka_unit_test(test_reports_are_sorted_and_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
