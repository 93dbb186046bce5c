/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/test.h"
#include "cli/logger.h"
#include <jansson.h>
#include <string.h>

static const uint64_t when_ns = UINT64_C(1767323045678) * RONDO_MS; /* 2026-01-02 03:04:05.678 */

static void test_text(void **state) {
    (void)state;
    char out[256];
    size_t n = rondo_logger_format(false, RONDO_LOG_WARN, "a line", when_ns, 0, out, sizeof out);
    assert_string_equal(out, "rondo: warning: a line\n");
    assert_int_equal(n, strlen(out));
    (void)rondo_logger_format(false, RONDO_LOG_ERROR, "x", when_ns, 7, out, sizeof out);
    assert_string_equal(out, "rondo: error: x (7 more lines left out)\n");
    assert_int_equal(rondo_logger_format(false, RONDO_LOG_INFO, "cut", when_ns, 0, out, 10), 9);
}

static void check_message(const char *line, const char *expected) {
    char out[8 * RONDO_LOG_LINE];
    size_t n = rondo_logger_format(true, RONDO_LOG_INFO, line, when_ns, 0, out, sizeof out);
    assert_int_equal(n, strlen(out));
    assert_ptr_equal(strchr(out, '\n'), out + n - 1); /* one line, whatever is in it */
    json_t *event = json_loads(out, 0, NULL);
    assert_non_null(event);
    assert_string_equal(json_string_value(json_object_get(event, "message")), expected);
    assert_string_equal(json_string_value(json_object_get(event, "level")), "info");
    assert_string_equal(json_string_value(json_object_get(event, "time")),
                        "2026-01-02T03:04:05.678Z");
    assert_null(json_object_get(event, "left_out"));
    json_decref(event);
}

static void test_json(void **state) {
    (void)state;
    char most[RONDO_LOG_LINE];
    check_message("plain", "plain");
    check_message("a \"quote\", a \\ and a\nbreak", "a \"quote\", a \\ and a\nbreak");
    check_message("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
    check_message("not \xff UTF-8", "not ? UTF-8");
    memset(most, 1, sizeof most - 1); /* a control character takes six bytes */
    most[sizeof most - 1] = '\0';
    check_message(most, most);
}

static void test_json_tells_what_was_left_out(void **state) {
    (void)state;
    char out[256];
    (void)rondo_logger_format(true, RONDO_LOG_INFO, "x", when_ns, 9, out, sizeof out);
    assert_non_null(strstr(out, "\"left_out\":9"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_tells_what_was_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
