/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/buf.h"
#include "server/glob.h"

static bool match(const char *pattern, const char *text) {
    return rondo_glob_match(rondo_slice_str(pattern), rondo_slice_str(text), false);
}

static void literals_match_themselves(void **state) {
    (void)state;
    assert_true(match("", ""));
    assert_true(match("abc", "abc"));
    assert_false(match("abc", "ab"));
    assert_false(match("ab", "abc"));
    assert_false(match("abc", "ABC"));
    assert_true(rondo_glob_match(rondo_slice_str("aBc"), rondo_slice_str("AbC"), true));
}

static void stars_match_anything(void **state) {
    (void)state;
    assert_true(match("*", ""));
    assert_true(match("*", "anything"));
    assert_true(match("user:*", "user:"));
    assert_true(match("*:1*:*", "a:b:17:c"));
    assert_true(match("a**b", "ab"));
    assert_true(match("*ab", "aab"));
    assert_false(match("user:*", "use"));
    assert_false(match("*a", "ab"));
}

static void single_characters_and_classes(void **state) {
    (void)state;
    assert_true(match("h?llo", "hallo"));
    assert_false(match("h?llo", "hllo"));
    assert_true(match("h[ae]llo", "hello"));
    assert_false(match("h[ae]llo", "hillo"));
    assert_true(match("h[^e]llo", "hallo"));
    assert_false(match("h[^e]llo", "hello"));
    assert_true(match("[a-c]x", "bx"));
    assert_true(match("[c-a]x", "bx"));
    assert_false(match("[a-c]x", "dx"));
    assert_true(match("[\\]]", "]"));
    assert_true(match("\\*", "*"));
    assert_false(match("\\*", "x"));
    assert_true(match("*[0-9]", "a7"));
}

static void broken_patterns_end(void **state) {
    (void)state;
    assert_true(match("[a", "a"));
    assert_false(match("[a", "b"));
    assert_false(match("[", "x"));
    assert_true(match("a\\", "a\\"));
}

static void many_stars_take_no_exponential_time(void **state) {
    (void)state;
    char text[2001];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static void a_literal_is_told_from_a_pattern(void **state) {
    (void)state;
    assert_true(rondo_glob_is_literal(rondo_slice_str("user:1")));
    assert_false(rondo_glob_is_literal(rondo_slice_str("user:*")));
    assert_false(rondo_glob_is_literal(rondo_slice_str("user:\\1")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_match_themselves),
        cmocka_unit_test(stars_match_anything),
        cmocka_unit_test(single_characters_and_classes),
        cmocka_unit_test(broken_patterns_end),
        cmocka_unit_test(many_stars_take_no_exponential_time),
        cmocka_unit_test(a_literal_is_told_from_a_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
