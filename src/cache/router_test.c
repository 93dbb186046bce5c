/* SPDX-License-Identifier: MIT */
#include "cache/router.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/test.h"

enum { MANY = 600 };

static struct rondo_pattern patterns[MANY];
static size_t n_patterns;

static int teardown(void **state) {
    (void)state;
    while (n_patterns > 0) rondo_pattern_fini(&patterns[--n_patterns]);
    return 0;
}

static enum rondo_err add(struct rondo_router *r, const char *text) {
    struct rondo_pattern_error why;
    struct rondo_pattern *p = &patterns[n_patterns];
    assert_int_equal(rondo_pattern_init(p, text, &why), RONDO_OK);
    n_patterns++;
    return rondo_router_add(r, p, p);
}

/* The pattern's text up to its first parameter, "-" for none. */
static const char *route(const struct rondo_router *r, const char *key) {
    const struct rondo_pattern *p = rondo_router_route(r, rondo_slice_str(key));
    static char text[64];
    if (!p) return "-";
    snprintf(text, sizeof text, "%.*s", (int)rondo_pattern_prefix(p).len,
             (const char *)rondo_pattern_prefix(p).data);
    return text;
}

static void test_K2_the_longest_prefix_wins(void **state) {
    (void)state;
    struct rondo_router r = {NULL};
    assert_string_equal(route(&r, "user:1"), "-");
    assert_int_equal(add(&r, "user:{id}"), RONDO_OK);
    assert_int_equal(add(&r, "user:vip:{id}"), RONDO_OK);
    assert_int_equal(add(&r, "u{rest}"), RONDO_OK);
    assert_int_equal(add(&r, "uses:{n}:end"), RONDO_OK);
    assert_string_equal(route(&r, "user:1"), "user:");
    assert_string_equal(route(&r, "user:vip:1"), "user:vip:");
    assert_string_equal(route(&r, "user:vip:"), "user:"); /* its parameter would be empty */
    assert_string_equal(route(&r, "user:"), "u");
    assert_string_equal(route(&r, "uses:1:end"), "uses:");
    assert_string_equal(route(&r, "uses:1"), "u");
    assert_string_equal(route(&r, "x"), "-");
    assert_string_equal(route(&r, ""), "-");
    assert_int_equal(add(&r, "{all}"), RONDO_OK);
    assert_string_equal(route(&r, "x"), "");
    rondo_router_fini(&r);
}

static void test_K2_a_tie_is_an_error(void **state) {
    (void)state;
    struct rondo_router r = {NULL};
    assert_int_equal(add(&r, "price:{sku}"), RONDO_OK);
    assert_int_equal(add(&r, "price:{sku}:{currency}"), RONDO_ERR_EXISTS);
    rondo_router_remove(&r, &patterns[0]);
    assert_string_equal(route(&r, "price:1"), "-");
    assert_int_equal(add(&r, "price:{x}"), RONDO_OK);
    assert_string_equal(route(&r, "price:1"), "price:");
    rondo_router_fini(&r);
}

/* Against a search through all of them. */
static void test_K2_many_patterns_agree_with_a_plain_search(void **state) {
    (void)state;
    struct rondo_router r = {NULL};
    uint64_t random = 7;
    while (n_patterns < MANY) {
        char text[32];
        size_t len = 1 + rondo_random_below(&random, 6);
        for (size_t i = 0; i < len; i++) text[i] = (char)('a' + rondo_random_below(&random, 3));
        snprintf(text + len, sizeof text - len, "{id}");
        enum rondo_err err = add(&r, text);
        assert_true(err == RONDO_OK || err == RONDO_ERR_EXISTS);
        if (err) rondo_pattern_fini(&patterns[--n_patterns]);
        if (n_patterns >= 300 && rondo_random_below(&random, 20) == 0) break;
    }
    for (int i = 0; i < 5000; i++) {
        char key[12];
        size_t len = rondo_random_below(&random, sizeof key);
        for (size_t c = 0; c < len; c++) key[c] = (char)('a' + rondo_random_below(&random, 3));
        const struct rondo_pattern *best = NULL;
        for (size_t p = 0; p < n_patterns; p++)
            if (rondo_pattern_match(&patterns[p], rondo_slice_of(key, len), NULL) &&
                (!best || rondo_pattern_prefix(&patterns[p]).len > rondo_pattern_prefix(best).len))
                best = &patterns[p];
        assert_ptr_equal(rondo_router_route(&r, rondo_slice_of(key, len)), best);
    }
    rondo_router_fini(&r);
}

static void test_out_of_memory_adds_nothing(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct rondo_router r = {NULL};
        assert_int_equal(add(&r, "user:{id}"), RONDO_OK);
        struct rondo_pattern_error why;
        assert_int_equal(rondo_pattern_init(&patterns[n_patterns], "us-{id}", &why), RONDO_OK);
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_router_add(&r, &patterns[n_patterns], &patterns[n_patterns]);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        n_patterns++;
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        assert_string_equal(route(&r, "user:1"), "user:");
        assert_string_equal(route(&r, "us-1"), failed ? "-" : "us-");
        rondo_router_fini(&r);
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_K2_the_longest_prefix_wins, teardown),
        cmocka_unit_test_teardown(test_K2_a_tie_is_an_error, teardown),
        cmocka_unit_test_teardown(test_K2_many_patterns_agree_with_a_plain_search, teardown),
        cmocka_unit_test_teardown(test_out_of_memory_adds_nothing, teardown),
    };
    return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
