/* SPDX-License-Identifier: MIT */
#include "cache/pattern.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/test.h"

static const struct {
    const char *pattern, *key;
    const char *captures[3]; /* none: no match */
} matches[] = {
    {"user:{id}", "user:42", {"42"}},
    {"user:{id}", "user:", {NULL}},
    {"user:{id}", "usr:42", {NULL}},
    {"user:{id}", "user:a:b", {"a:b"}},
    {"price:{sku}:{currency}", "price:7:EUR", {"7", "EUR"}},
    {"price:{sku}:{currency}", "price:7:EUR:x", {"7", "EUR:x"}},
    {"price:{sku}:{currency}", "price::EUR", {NULL}},
    {"price:{sku}:{currency}", "price:::EUR", {":", "EUR"}},
    {"price:{sku}:{currency}", "price:7:", {NULL}},
    {"price:{sku}:{currency}", "price:7", {NULL}},
    {"{a}.{b}.json", "x.y.json", {"x", "y"}},
    {"{a}.{b}.json", "x.json", {NULL}},
    {"{a}.{b}.json", "x.y.json.json", {"x", "y.json"}},
    {"{key}", "anything", {"anything"}},
    {"{key}", "", {NULL}},
    {NULL, "", {""}},
    {NULL, "x", {"x"}},
};

static void test_K1_parameters_take_what_is_between(void **state) {
    (void)state;
    for (size_t i = 0; i < RONDO_COUNT_OF(matches); i++) {
        struct rondo_pattern p;
        struct rondo_pattern_error why;
        struct rondo_slice captures[RONDO_PATTERN_PARAMS_MAX];
        assert_int_equal(rondo_pattern_init(&p, matches[i].pattern, &why), RONDO_OK);
        bool expected = matches[i].captures[0] != NULL;
        bool matched = rondo_pattern_match(&p, rondo_slice_str(matches[i].key), captures);
        assert_int_equal(matched, expected);
        assert_int_equal(rondo_pattern_match(&p, rondo_slice_str(matches[i].key), NULL), expected);
        for (size_t c = 0; expected && c < p.n_params; c++)
            assert_true(rondo_slice_is(captures[c], matches[i].captures[c]));
        rondo_pattern_fini(&p);
    }
}

static void test_K1_keys_are_any_bytes(void **state) {
    (void)state;
    struct rondo_pattern p;
    struct rondo_pattern_error why;
    struct rondo_slice captures[1];
    assert_int_equal(rondo_pattern_init(&p, "k:{x}", &why), RONDO_OK);
    assert_string_equal(p.params[0], "x");
    assert_true(rondo_pattern_match(&p, rondo_slice_of("k:a\0\nb", 6), captures));
    assert_int_equal(captures[0].len, 4);
    rondo_pattern_fini(&p);
}

static void test_mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *why;
    } mistakes[] = {
        {"", "column 1: an empty pattern"},
        {"plain", "column 1: no parameter"},
        {"user:{id", "column 6: '{' without '}'"},
        {"user:id}", "column 8: '}' without '{'"},
        {"user:{}", "column 6: a parameter without a name"},
        {"user:{a b}", "column 8: a parameter's name"},
        {"user:{1}", "column 7: a parameter's name"},
        {"{a}{b}", "column 4: two parameters need"},
        {"{a}:{a}", "column 5: the same parameter twice"},
        {"{a}-{b}-{c}-{d}-{e}-{f}-{g}-{h}-{i}-{j}-{k}-{l}-{m}-{n}-{o}-{p}-{q}",
         "column 65: more than 16"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(mistakes); i++) {
        struct rondo_pattern p;
        struct rondo_pattern_error why;
        assert_int_equal(rondo_pattern_init(&p, mistakes[i].pattern, &why), RONDO_ERR_CONFIG);
        assert_memory_equal(why.text, mistakes[i].why, strlen(mistakes[i].why));
        assert_null(p.text);
    }
}

static void test_out_of_memory(void **state) {
    (void)state;
    struct rondo_pattern p;
    struct rondo_pattern_error why;
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_pattern_init(&p, "k:{x}", &why), RONDO_ERR_NOMEM);
    rondo_mem_fail_nth(0);
    rondo_pattern_fini(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_K1_parameters_take_what_is_between),
        cmocka_unit_test(test_K1_keys_are_any_bytes),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
