/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "base/mem.h"
#include "source/load_fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

/* RONDO_ODD_DIR/<name>/rondo-source-odd.so, from the build */

static enum rondo_err open_odd(const char *name, struct fixture_config *f,
                               struct rondo_source *out) {
    static const char *const nothing[] = {NULL};
    char dir[1024];
    struct rondo_source_context context = {.search_dir = dir};
    snprintf(dir, sizeof dir, "%s/%s", RONDO_ODD_DIR, name);
    fixture_settings(f, NULL, 0, nothing);
    *out = (struct rondo_source){0};
    return rondo_source_open("odd", &f->config, &context, out);
}

static void check_odd(const char *name, const char *what) {
    struct fixture_config f;
    struct rondo_source source;
    char expected[1400];
    assert_int_equal(open_odd(name, &f, &source), RONDO_ERR_CONFIG);
    snprintf(expected, sizeof expected, "type: %s/%s/rondo-source-odd.so: %s\n", RONDO_ODD_DIR,
             name, what);
    /* A path may be so long that the text is cut. */
    if (strlen(expected) < sizeof((struct rondo_source_error *)0)->text)
        assert_string_equal(f.mistakes, expected);
    else
        assert_memory_equal(f.mistakes, expected, 64);
    assert_null(source.ops);
}

static void test_objects_that_are_wrong(void **state) {
    (void)state;
    check_odd("abi", "built for source interface 2, this is 1");
    check_odd("type", "it is a source of type \"even\", not \"odd\"");
    check_odd("nothing", "it offers no source");
    check_odd("no_load", "it lacks a type, options, open or load");
    check_odd("no_symbol", "no source: rondo_source_plugin is not exported");
}

static void test_an_open_that_fails_and_says_nothing(void **state) {
    (void)state;
    struct fixture_config f;
    struct rondo_source source;
    assert_int_equal(open_odd("fails", &f, &source), RONDO_ERR_UNSUPPORTED);
    assert_string_equal(f.mistakes, "-: not supported here\n");
}

static void test_an_object_of_ones_own(void **state) {
    (void)state;
    struct fixture_config f;
    struct fixture_load load;
    struct rondo_source source;
    struct rondo_slice id = rondo_slice_str("1");
    assert_int_equal(open_odd("good", &f, &source), RONDO_OK);
    assert_string_equal(source.ops->type, "odd");
    fixture_load_init(&load, 1, &id);
    source.ops->load(source.self, &load.load);
    assert_string_equal(load.answers[0], "=odd");
    rondo_source_close(&source);
    assert_null(source.ops);
    rondo_source_close(&source);
}

static void test_a_file_that_is_no_object(void **state) {
    (void)state;
    char dir[] = "/tmp/rondo-source-XXXXXX", path[64];
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops = NULL;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/rondo-source-odd.so", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("rubbish", f);
    fclose(f);
    assert_int_equal(rondo_source_find("odd", dir, &why, &ops), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, path));
    assert_null(ops);
    unlink(path);
    rmdir(dir);
}

static void test_types_that_are_not_known(void **state) {
    (void)state;
    static const char *const types[] = {"orakel", "", "../odd", "SQLite", "a/b", "odd.so", "x y"};
    for (size_t i = 0; i < RONDO_COUNT_OF(types); i++) {
        struct rondo_source_error why = {""};
        const struct rondo_source_ops *ops;
        char expected[64];
        snprintf(expected, sizeof expected, "found \"%s\", allowed: scripted sqlite", types[i]);
        assert_int_equal(rondo_source_find(types[i], "/nonexistent", &why, &ops),
                         RONDO_ERR_INVALID);
        assert_memory_equal(why.text, expected, strlen(expected));
    }
}

static void test_a_type_that_is_nearly_known(void **state) {
    (void)state;
    static const char expected[] = "found \"sqlite3\", did you mean \"sqlite\"? allowed: scripted";
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops;
    assert_int_equal(rondo_source_find("sqlite3", "/nonexistent", &why, &ops), RONDO_ERR_INVALID);
    assert_memory_equal(why.text, expected, strlen(expected));
}

static void test_a_type_that_is_not_installed(void **state) {
    (void)state;
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops;
    assert_int_equal(rondo_source_find("sqlite", "/nonexistent", &why, &ops), RONDO_ERR_NOT_FOUND);
    assert_string_equal(why.text, "rondo-source-sqlite.so is not there (building it takes "
                                  "libsqlite3-dev and libjansson-dev)");
}

static void test_the_environment_names_a_directory(void **state) {
    (void)state;
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops;
    assert_int_equal(setenv("RONDO_SOURCE_DIR", RONDO_ODD_DIR "/good", 1), 0);
    assert_int_equal(rondo_source_find("odd", NULL, &why, &ops), RONDO_OK);
    assert_string_equal(ops->type, "odd");
    assert_int_equal(rondo_source_find("sqlite", NULL, &why, &ops), RONDO_ERR_NOT_FOUND);
    assert_int_equal(unsetenv("RONDO_SOURCE_DIR"), 0);
}

static void test_describe(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    assert_int_equal(setenv("RONDO_SOURCE_DIR", "/nonexistent", 1), 0);
    assert_int_equal(rondo_source_describe(&out), RONDO_OK);
    assert_int_equal(unsetenv("RONDO_SOURCE_DIR"), 0);
    static const char expected[] =
        "scripted   built in\n"
        "sqlite     missing (building it takes libsqlite3-dev and libjansson-dev)\n";
    assert_true(out.len >= sizeof expected - 1);
    assert_memory_equal(out.data, expected, sizeof expected - 1);
    rondo_buf_fini(&out);
    assert_null(rondo_source_type_at(100));
}

static void test_every_built_in_type_is_listed(void **state) {
    (void)state;
    static const char *const types[] = {"scripted", "exec", "plugin"};
    for (size_t i = 0; i < RONDO_COUNT_OF(types); i++) {
        struct rondo_source_error why;
        const struct rondo_source_ops *ops;
        size_t k = 0;
        assert_int_equal(rondo_source_find(types[i], "/nonexistent", &why, &ops), RONDO_OK);
        assert_string_equal(ops->type, types[i]);
        while (rondo_source_type_at(k) && strcmp(rondo_source_type_at(k)->name, types[i]) != 0) k++;
        assert_non_null(rondo_source_type_at(k));
        assert_null(rondo_source_type_at(k)->needs);
    }
}

static enum rondo_err open_plugin(const char *const *pairs, const char *base_dir,
                                  struct fixture_config *f, struct rondo_source *out) {
    struct rondo_source_context context = {.base_dir = base_dir};
    fixture_settings(f, NULL, 0, pairs);
    *out = (struct rondo_source){0};
    return rondo_source_open("plugin", &f->config, &context, out);
}

static void test_a_plugin_by_its_path(void **state) {
    (void)state;
    const char *const pairs[] = {"path", "good/rondo-source-odd.so", NULL};
    struct fixture_config f;
    struct rondo_source source;
    assert_int_equal(open_plugin(pairs, RONDO_ODD_DIR, &f, &source), RONDO_OK);
    assert_string_equal(source.ops->type, "odd");
    rondo_source_close(&source);

    const char *const even[] = {"path", "type/rondo-source-odd.so", NULL};
    assert_int_equal(open_plugin(even, RONDO_ODD_DIR, &f, &source), RONDO_OK);
    assert_string_equal(source.ops->type, "even");
    rondo_source_close(&source);
}

static void test_mistakes_with_a_plugin(void **state) {
    (void)state;
    struct fixture_config f;
    struct rondo_source source;
    const char *const nothing[] = {NULL};
    assert_int_equal(open_plugin(nothing, NULL, &f, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, "-: `path` is missing: the shared object; every other setting "
                                    "is checked against the object's own table\n");
    const char *const missing[] = {"path", "/nonexistent/x.so", NULL};
    assert_int_equal(open_plugin(missing, NULL, &f, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, "path: /nonexistent/x.so: cannot open shared object file: No "
                                    "such file or directory\n");
    const char *const more[] = {"path", "good/rondo-source-odd.so", "colour", "red", NULL};
    assert_int_equal(open_plugin(more, RONDO_ODD_DIR, &f, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, "colour: unknown setting, allowed: none\n");
    const char *const abi[] = {"path", "abi/rondo-source-odd.so", NULL};
    assert_int_equal(open_plugin(abi, RONDO_ODD_DIR, &f, &source), RONDO_ERR_CONFIG);
    assert_non_null(strstr(f.mistakes, "built for source interface 2, this is 1\n"));
    assert_null(source.ops);
}

/* Every setting stands in the manual as it is in the source's table. */
static void check_manual(const char *type) {
    static const char *const kinds[] = {"text",      "template", "duration", "whole number",
                                        "yes or no", "map",      "path"};
    static char manual[65536];
    struct rondo_source_error why;
    const struct rondo_source_ops *ops;
    if (rondo_source_find(type, NULL, &why, &ops)) return; /* left out of this build */
    FILE *f = fopen(RONDO_MANUAL, "r");
    assert_non_null(f);
    manual[fread(manual, 1, sizeof manual - 1, f)] = '\0';
    fclose(f);
    for (const struct rondo_source_option *o = ops->options; o->name; o++) {
        char line[512];
        snprintf(line, sizeof line, "\n| `%s` | %s | %s | %s |\n", o->name, kinds[o->kind],
                 o->required ? "required" : "", o->help);
        if (!strstr(manual, line)) fail_msg("docs/sources.md, %s: lacks the line%s", type, line);
    }
}

static void test_the_manual_has_every_setting(void **state) {
    (void)state;
    check_manual("scripted");
    check_manual("sqlite");
    check_manual("exec");
    check_manual("http");
    check_manual("plugin");
}

/* Memory runs out at every step of finding and opening. */
static void test_out_of_memory(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct fixture_config f;
        struct rondo_source source;
        rondo_mem_fail_nth(n);
        enum rondo_err err = open_odd("good", &f, &source);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        rondo_source_close(&source);
        if (!failed) {
            assert_true(n > 2);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_that_are_wrong),
        cmocka_unit_test(test_an_open_that_fails_and_says_nothing),
        cmocka_unit_test(test_an_object_of_ones_own),
        cmocka_unit_test(test_a_file_that_is_no_object),
        cmocka_unit_test(test_types_that_are_not_known),
        cmocka_unit_test(test_a_type_that_is_nearly_known),
        cmocka_unit_test(test_a_type_that_is_not_installed),
        cmocka_unit_test(test_the_environment_names_a_directory),
        cmocka_unit_test(test_a_plugin_by_its_path),
        cmocka_unit_test(test_mistakes_with_a_plugin),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_every_built_in_type_is_listed),
        cmocka_unit_test(test_the_manual_has_every_setting),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
