/* SPDX-License-Identifier: MIT */
#include "config/address.h"

#include "base/check.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_good(void **state) {
    (void)state;
    static const struct {
        const char *text, *host;
        unsigned port;
        bool is_ipv6, is_loopback;
    } cases[] = {
        {"127.0.0.1:6380", "127.0.0.1", 6380, false, true},
        {"127.8.9.1:0", "127.8.9.1", 0, false, true},
        {"localhost:6380", "127.0.0.1", 6380, false, true},
        {"*:6380", "0.0.0.0", 6380, false, false},
        {"0.0.0.0:65535", "0.0.0.0", 65535, false, false},
        {"192.168.1.5:80", "192.168.1.5", 80, false, false},
        {"[::1]:6380", "::1", 6380, true, true},
        {"[::]:6380", "::", 6380, true, false},
        {"[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", 1, true, true},
        {"[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1, true, false},
        {"[fe80::1]:1", "fe80::1", 1, true, false},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++) {
        struct rondo_config_address a = {0};
        assert_null(rondo_config_address_parse(cases[i].text, &a));
        assert_true(a.is_set);
        assert_string_equal(a.host, cases[i].host);
        assert_int_equal(a.port, cases[i].port);
        assert_int_equal(a.is_ipv6, cases[i].is_ipv6);
        assert_int_equal(a.is_loopback, cases[i].is_loopback);
    }
}

static void test_bad(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "6380",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      ":6380",
                                      "127.0.0.1:x",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:123456",
                                      "127.0.0:1",
                                      "127.1:1",
                                      "::1:6380",
                                      "[::1]",
                                      "[::1]6380",
                                      "[]:1",
                                      "[127.0.0.1]:1",
                                      "[localhost]:1",
                                      "example.com:80",
                                      "localhos:1",
                                      "[fe80::1%eth0]:1",
                                      "0x7f.0.0.1:1"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++) {
        struct rondo_config_address a = {.port = 7};
        assert_non_null(rondo_config_address_parse(bad[i], &a));
        assert_int_equal(a.port, 7);
        assert_false(a.is_set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
