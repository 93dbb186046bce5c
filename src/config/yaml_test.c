/* SPDX-License-Identifier: MIT */
#include "config/yaml.h"

#include "base/buf.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char mistakes[2048];

static void on_mistake(void *arg, unsigned line, const char *text) {
    size_t used = strlen(mistakes);
    (void)arg;
    snprintf(mistakes + used, sizeof mistakes - used, "%u: %s\n", line, text);
}

static enum rondo_err parse(const char *text, size_t len, struct rondo_yaml **out) {
    mistakes[0] = '\0';
    *out = NULL;
    return rondo_yaml_parse(text, len, on_mistake, NULL, out);
}

static void test_a_tree_with_lines(void **state) {
    (void)state;
    static const char text[] = "a: 1\n"
                               "# comment\n"
                               "b:\n"
                               "  c: \"two words\"\n"
                               "  d: [x, y]\n"
                               "e:\n"
                               "f: 'user:{id}'\n";
    struct rondo_yaml *root;
    assert_int_equal(parse(text, strlen(text), &root), RONDO_OK);
    assert_string_equal(mistakes, "");
    assert_int_equal(root->kind, RONDO_YAML_MAP);
    assert_string_equal(rondo_yaml_get(root, "a")->text, "1");
    const struct rondo_yaml *b = rondo_yaml_get(root, "b");
    assert_int_equal(b->key_line, 3);
    assert_string_equal(rondo_yaml_get(b, "c")->text, "two words");
    assert_int_equal(rondo_yaml_get(b, "c")->line, 4);
    const struct rondo_yaml *d = rondo_yaml_get(b, "d");
    assert_int_equal(d->kind, RONDO_YAML_LIST);
    assert_string_equal(d->child->text, "x");
    assert_string_equal(d->child->next->text, "y");
    assert_null(d->child->next->next);
    assert_ptr_equal(d->parent, b);
    assert_null(rondo_yaml_get(root, "e")->text);
    assert_string_equal(rondo_yaml_get(root, "f")->text, "user:{id}");
    assert_null(rondo_yaml_get(root, "g"));
    rondo_yaml_free(root);
}

static void test_nothing(void **state) {
    (void)state;
    static const char *const empty[] = {"", "\n", "# only a comment\n"};
    for (size_t i = 0; i < RONDO_COUNT_OF(empty); i++) {
        struct rondo_yaml *root;
        assert_int_equal(parse(empty[i], strlen(empty[i]), &root), RONDO_OK);
        assert_null(root);
    }
}

static void test_null_and_quotes(void **state) {
    (void)state;
    static const char text[] = "[~, null, '', 'null', \"~\", nothing]";
    struct rondo_yaml *root;
    assert_int_equal(parse(text, strlen(text), &root), RONDO_OK);
    const struct rondo_yaml *n = root->child;
    assert_null(n->text);
    assert_null((n = n->next)->text);
    assert_string_equal((n = n->next)->text, "");
    assert_string_equal((n = n->next)->text, "null");
    assert_string_equal((n = n->next)->text, "~");
    assert_string_equal((n = n->next)->text, "nothing");
    rondo_yaml_free(root);
}

static void test_a_key_given_twice_is_told_and_read_on(void **state) {
    (void)state;
    static const char text[] = "a: 1\nb: 2\na: 3\nb: {c: 1, c: 2}\n";
    struct rondo_yaml *root;
    assert_int_equal(parse(text, strlen(text), &root), RONDO_OK);
    assert_string_equal(mistakes, "3: `a` is given twice, first in line 1\n"
                                  "4: `b` is given twice, first in line 2\n"
                                  "4: `c` is given twice, first in line 4\n");
    assert_string_equal(rondo_yaml_get(root, "a")->text, "1");
    rondo_yaml_free(root);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *mistake;
    } cases[] = {
        {"a: &x 1\nb: *x\n", "1: found an anchor (&x): write it out\n"},
        {"a: 1\nb: *x\n", "2: found an alias (*x): write it out\n"},
        {"a: !!int 1\n", "1: found a tag (tag:yaml.org,2002:int): write the value alone\n"},
        {"a: &l [1]\n", "1: found an anchor (&l): write it out\n"},
        {"a: &m {b: 1}\n", "1: found an anchor (&m): write it out\n"},
        {"a: 1\n---\nb: 2\n", "2: found a second document (---): one is allowed\n"},
        {"{a: 1}: 2\n", "1: found a map as a name: a name is one word (a text that begins with "
                        "\"{\" or \"[\" needs quotes)\n"},
        {"? [a]\n: 2\n", "1: found a list as a name: a name is one word (a text that begins with "
                         "\"{\" or \"[\" needs quotes)\n"},
        {"a: \"x\\0y\"\n", "1: found a NUL character\n"},
        {"a: 1\n b: 2\n", "2: not YAML: mapping values are not allowed in this context\n"},
        {"a: 'b\n",
         "2: not YAML: while scanning a quoted scalar: found unexpected end of stream\n"},
        {"a:\n\tb: 1\n", "2: not YAML: while scanning for the next token: found character that "
                         "cannot start any token\n"},
        {"a: [1, 2\nb: 3\n",
         "2: not YAML: while parsing a flow sequence: did not find expected ',' or ']'\n"},
        {"[[[[[[[[[1]]]]]]]]]\n", "1: nested deeper than 8 levels\n"},
        {"a: \xff\n", "0: not YAML: invalid leading UTF-8 octet (at byte 3)\n"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++) {
        struct rondo_yaml *root;
        assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &root), RONDO_ERR_CONFIG);
        assert_string_equal(mistakes, cases[i].mistake);
        assert_null(root);
    }
}

static void test_bounds(void **state) {
    (void)state;
    struct rondo_yaml *root;
    struct rondo_buf text = {0};
    for (int i = 0; i <= RONDO_YAML_ENTRIES_MAX; i++)
        assert_int_equal(rondo_buf_append_str(&text, "- x\n"), RONDO_OK);
    assert_int_equal(parse(text.data, text.len - 4, &root), RONDO_OK);
    rondo_yaml_free(root);
    assert_int_equal(parse(text.data, text.len, &root), RONDO_ERR_CONFIG);
    assert_string_equal(mistakes, "10001: more than 10000 entries in one place\n");
    rondo_buf_fini(&text);

    char *large = rondo_alloc(RONDO_YAML_BYTES_MAX + 1);
    assert_non_null(large);
    memset(large, '#', RONDO_YAML_BYTES_MAX + 1);
    assert_int_equal(parse(large, RONDO_YAML_BYTES_MAX, &root), RONDO_OK);
    assert_int_equal(parse(large, RONDO_YAML_BYTES_MAX + 1, &root), RONDO_ERR_CONFIG);
    assert_string_equal(mistakes, "0: larger than 1048576 bytes\n");
    rondo_free(large);
}

static void test_out_of_memory(void **state) {
    (void)state;
    static const char text[] = "a: 1\nb: {c: [d, e]}\n";
    uint64_t n = 1;
    for (;; n++) {
        struct rondo_yaml *root;
        rondo_mem_fail_nth(n);
        enum rondo_err err = parse(text, strlen(text), &root);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        rondo_yaml_free(root);
        if (!failed) break;
    }
    assert_true(n > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tree_with_lines),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_null_and_quotes),
        cmocka_unit_test(test_a_key_given_twice_is_told_and_read_on),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
