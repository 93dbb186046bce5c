/* SPDX-License-Identifier: MIT */
#include "source/mysql_url.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/test.h"

static const char *shown(const char *s) {
    return s ? s : "-";
}

/* All parts in a row. */
static void check(const char *text, const char *expected) {
    struct rondo_mysql_url url;
    const char *wrong;
    char out[256];
    assert_int_equal(rondo_mysql_url_parse(text, &url, &wrong), RONDO_OK);
    snprintf(out, sizeof out, "%s %s %s %u %s %s %s %d", shown(url.user), shown(url.password),
             shown(url.host), url.port, shown(url.database), shown(url.socket), shown(url.ca),
             (int)url.tls);
    assert_string_equal(out, expected);
    rondo_mysql_url_fini(&url);
}

static void test_parts(void **state) {
    (void)state;
    check("mysql://ann:s3cret@db.example:3307/app", "ann s3cret db.example 3307 app - - 0");
    check("mariadb://db/app", "- - db 0 app - - 0");
    check("mysql://", "- - - 0 - - - 0");
    check("mysql://ann@db", "ann - db 0 - - - 0");
    check("mysql://ann:@db:1", "ann - db 1 - - - 0");
    check("mysql://a%40b:%2F%25%3a@db/x%20y", "a@b /%: db 0 x y - - 0");
    check("mysql://[::1]:3306/app", "- - ::1 3306 app - - 0");
    check("mysql://[fe80::1]", "- - fe80::1 0 - - - 0");
    check("mysql://ann@localhost/app?socket=/run/a%26b.sock",
          "ann - localhost 0 app /run/a&b.sock - 0");
    check("mysql://db?tls=verify&ca=/etc/ca.pem", "- - db 0 - - /etc/ca.pem 2");
    check("mysql://db/app?tls=require", "- - db 0 app - - 1");
    check("mysql://db/app?tls=off", "- - db 0 app - - 0");
}

static void check_wrong(const char *text, const char *expected) {
    struct rondo_mysql_url url;
    const char *wrong = "";
    assert_int_equal(rondo_mysql_url_parse(text, &url, &wrong), RONDO_ERR_CONFIG);
    assert_string_equal(wrong, expected);
    rondo_mysql_url_fini(&url);
}

static void test_mistakes(void **state) {
    (void)state;
    static const char shape[] = "it reads mysql://user:password@host:port/database?option=value "
                                "(special characters are written as %XX)";
    check_wrong("postgresql://db", "it begins with mysql:// or mariadb://");
    check_wrong("", "it begins with mysql:// or mariadb://");
    check_wrong("mysql://a:b@c@d/e",
                "it has more than one @: one in a user or password is written as %40");
    check_wrong("mysql://db:port/x", "a port is a number from 1 to 65535");
    check_wrong("mysql://db:0", "a port is a number from 1 to 65535");
    check_wrong("mysql://db:65536", "a port is a number from 1 to 65535");
    check_wrong("mysql://db:", "a port is a number from 1 to 65535");
    check_wrong("mysql://db:99999999999999999999", "a port is a number from 1 to 65535");
    check_wrong("mysql://[::1/x", shape);
    check_wrong("mysql://a%4@db", shape);
    check_wrong("mysql://a%zz@db", shape);
    check_wrong("mysql://a%00b@db", shape);
    check_wrong("mysql://db/x%", shape);
    check_wrong("mysql://db?color=red", "its options are socket, tls and ca");
    check_wrong("mysql://db?tls=verify", "tls=verify needs ca=PATH");
    check_wrong("mysql://db?tls=yes", "tls is off, require or verify");
}

static void test_out_of_memory(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        struct rondo_mysql_url url;
        const char *wrong;
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_mysql_url_parse("mysql://a:b@c/d?socket=e&ca=f", &url, &wrong);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        rondo_mysql_url_fini(&url);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_int_equal(n, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
