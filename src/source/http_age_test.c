/* SPDX-License-Identifier: MIT */
#include "source/http_age.h"

#include "base/check.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static uint64_t age_of(const char *first, const char *second) {
    uint64_t ttl_ns = 0;
    bool is_shared = false;
    rondo_http_age_control(first, &ttl_ns, &is_shared);
    if (second) rondo_http_age_control(second, &ttl_ns, &is_shared);
    return ttl_ns;
}

static void test_control(void **state) {
    (void)state;
    static const struct {
        const char *value;
        uint64_t ttl_ns;
    } cases[] = {
        {"", 0},
        {"public", 0},
        {"max-age=60", 60 * S},
        {"public, max-age=60", 60 * S},
        {"MAX-AGE=60 , public", 60 * S},
        {"max-age=\"60\"", 60 * S},
        {"max-age=0", 1},
        {"max-age=60, s-maxage=5", 5 * S},
        {"s-maxage=5, max-age=60", 5 * S},
        {"no-store", 1},
        {"no-cache, max-age=60", 1},
        {"max-age=60, no-store", 1},
        {"no-store, s-maxage=60", 1},
        {"no-storeroom", 0},
        {"x-max-age=60", 0},
        {"max-age", 0},
        {"max-age=", 0},
        {"max-age=-1", 0},
        {"max-age=6x", 0},
        {"max-age=99999999999999999999999", 315360000 * S},
        {",,,max-age=7", 7 * S},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++)
        assert_int_equal(age_of(cases[i].value, NULL), cases[i].ttl_ns);
    assert_int_equal(age_of("max-age=60", "s-maxage=5"), 5 * S);
    assert_int_equal(age_of("max-age=60", "no-cache"), 1);
    assert_int_equal(age_of("no-cache", "max-age=60"), 1);
}

static void test_spent(void **state) {
    (void)state;
    assert_int_equal(rondo_http_age_spent(60 * S, "20"), 40 * S);
    assert_int_equal(rondo_http_age_spent(60 * S, "60"), 1);
    assert_int_equal(rondo_http_age_spent(60 * S, "99999999999999999999"), 1);
    assert_int_equal(rondo_http_age_spent(60 * S, "soon"), 60 * S);
    assert_int_equal(rondo_http_age_spent(0, "20"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_spent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
