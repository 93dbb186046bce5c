/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "server/ahead.h"

#include "base/test.h"

#define GET(key) "*2\r\n$3\r\nGET\r\n$1\r\n" key "\r\n"

static void look(const char *text, size_t len, size_t max, const char *keys, size_t used) {
    struct rondo_key found[8];
    size_t at, n = rondo_ahead(text, len, 3, found, max, &at);
    assert_int_equal(n, strlen(keys));
    assert_int_equal(at, used);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(found[i].space, 3);
        assert_int_equal(found[i].len, 1);
        assert_memory_equal(found[i].data, keys + i, 1);
    }
}

static void test_it_finds_the_keys_of_a_pipeline(void **state) {
    (void)state;
    const char text[] = GET("a") "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$2\r\n\r\n\r\n"
                                 "*1\r\n$4\r\nPING\r\n" GET("c");
    look(text, sizeof text - 1, 8, "abc", sizeof text - 1);
    look(text, sizeof text - 1, 2, "ab", strlen(GET("a")) + 28);
}

/* Whatever part has come: no key is found that is not whole. */
static void test_it_stops_where_a_command_is_not_whole(void **state) {
    (void)state;
    const char text[] = GET("a") GET("b");
    size_t one = strlen(GET("a"));
    for (size_t len = 0; len < 2 * one; len++) {
        char *copy = malloc(len + !len); /* so that a sanitizer sees the end */
        assert_non_null(copy);
        memcpy(copy, text, len);
        look(copy, len, 8, len < one ? "" : "a", len < one ? 0 : one);
        free(copy);
    }
    look(text, 2 * one, 8, "ab", 2 * one);
}

static void test_it_stops_where_anything_looks_odd(void **state) {
    (void)state;
    static const char *const odd[] = {"PING\r\n",      "*x\r\n",         "*-1\r\n",
                                      "*2\r\n$-1\r\n", "*2\r\n+GET\r\n", "*999999999\r\n$",
                                      "*2\n$3\n"};
    for (size_t i = 0; i < RONDO_COUNT_OF(odd); i++) {
        char text[64];
        int len = snprintf(text, sizeof text, "%s%s", GET("a"), odd[i]);
        look(text, (size_t)len, 8, "a", strlen(GET("a")));
    }
    look("*0\r\n", 4, 8, "", 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_finds_the_keys_of_a_pipeline),
        cmocka_unit_test(test_it_stops_where_a_command_is_not_whole),
        cmocka_unit_test(test_it_stops_where_anything_looks_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
