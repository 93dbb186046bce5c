/* SPDX-License-Identifier: MIT */
#include "source/utf8.h"

#include "base/buf.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_valid(void **state) {
    (void)state;
    static const char *const good[] = {"",
                                       "plain",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "gr\xc3\xbc\xc3\x9f"};
    for (size_t i = 0; i < RONDO_COUNT_OF(good); i++)
        assert_true(rondo_utf8_is_valid(rondo_slice_str(good[i])));
    assert_true(rondo_utf8_is_valid(rondo_slice_of("a\0b", 3)));
    assert_true(rondo_utf8_is_valid(rondo_slice_of(NULL, 0)));
}

static void test_invalid(void **state) {
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x80\x80",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xe2\x82",
                                      "\xe2\x82\x41",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xf0\x9f\x98",
                                      "\xff",
                                      "ok\xfe"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++)
        assert_false(rondo_utf8_is_valid(rondo_slice_str(bad[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
