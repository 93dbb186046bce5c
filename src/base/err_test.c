/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "rondo/rondo.h"

static void every_error_has_its_words(void **state) {
    (void)state;
    for (unsigned i = 0; i < RONDO_ERR_COUNT_; i++) {
        enum rondo_err err = (enum rondo_err)i;
        assert_non_null(rondo_err_text(err));
        assert_non_null(rondo_err_word(err));
        assert_non_null(rondo_err_name(err));
    }
    assert_string_equal(rondo_err_name(RONDO_OK), "RONDO_OK");
    assert_string_equal(rondo_err_text(RONDO_ERR_NOMEM), "out of memory");
    assert_string_equal(rondo_err_word(RONDO_ERR_FULL), "OVERLOADED");
    assert_string_equal(rondo_err_name(RONDO_ERR_NOT_FOUND), "RONDO_ERR_NOT_FOUND");
}

static void codes_are_the_abi(void **state) {
    (void)state;
    assert_int_equal(RONDO_OK, 0);
    assert_int_equal(RONDO_ERR_NOMEM, 1);
    assert_int_equal(RONDO_ERR_TIMEOUT, 8);
    assert_int_equal(RONDO_ERR_ABI, 14);
    assert_int_equal(RONDO_ERR_NOT_FOUND, 20);
}

static void unknown_numbers_are_unknown(void **state) {
    (void)state;
    const int strange[] = {RONDO_ERR_COUNT_, -1, 9999};
    for (unsigned i = 0; i < RONDO_COUNT_OF(strange); i++) {
        enum rondo_err err = (enum rondo_err)strange[i];
        assert_string_equal(rondo_err_text(err), "unknown error");
        assert_string_equal(rondo_err_word(err), "ERR");
        assert_string_equal(rondo_err_name(err), "RONDO_ERR_?");
    }
}

static void version_is_the_numbers(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", RONDO_VERSION_MAJOR, RONDO_VERSION_MINOR,
             RONDO_VERSION_PATCH);
    assert_string_equal(text, RONDO_VERSION);
    assert_string_equal(rondo_version(), RONDO_VERSION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_its_words),
        cmocka_unit_test(codes_are_the_abi),
        cmocka_unit_test(unknown_numbers_are_unknown),
        cmocka_unit_test(version_is_the_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
