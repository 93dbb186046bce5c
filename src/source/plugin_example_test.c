/* SPDX-License-Identifier: MIT */
/* examples/plugin, built on its own, opened as a cache would; plugin_example.sh. */
#include "source/load_fixture.h"
#include "source/source.h"
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static const char *object;
static const char *const params[] = {"n", "m"};

static void test_the_example(void **state) {
    (void)state;
    char file[] = "/tmp/rondo-lines-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "one\ntwo\n\nfour"), 13);
    close(fd);
    const char *const pairs[] = {"path", object, "file", file, NULL};
    struct fixture_config f;
    struct rondo_source source;
    struct rondo_source_error why;
    void *connection;
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = rondo_source_open("plugin", &f.config, NULL, &source);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(err, RONDO_OK);
    assert_string_equal(source.ops->type, "lines");
    assert_int_equal(source.ops->connect(source.self, &why, &connection), RONDO_OK);

    static const char *const keys[] = {"4", "1", "3", "2", "5", "0", "-1", "1000000000"};
    static const char *const expected[] = {"=four",  "=one",   "=",      "=two",
                                           "absent", "absent", "absent", "absent"};
    struct rondo_slice ids[FIXTURE_KEYS];
    struct fixture_load load;
    for (size_t i = 0; i < FIXTURE_KEYS; i++) ids[i] = rondo_slice_str(keys[i]);
    fixture_load_init(&load, FIXTURE_KEYS, ids);
    source.ops->load(connection, &load.load);
    assert_int_equal(load.n_answers, FIXTURE_KEYS);
    for (size_t i = 0; i < FIXTURE_KEYS; i++) assert_string_equal(load.answers[i], expected[i]);
    source.ops->disconnect(connection);
    rondo_source_close(&source);
    unlink(file);
}

static void test_its_mistakes(void **state) {
    (void)state;
    struct fixture_config f;
    struct rondo_source source;
    const char *const missing[] = {"path", object, "file", "/nonexistent", NULL};
    fixture_settings(&f, params, 1, missing);
    assert_int_equal(rondo_source_open("plugin", &f.config, NULL, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, "file: No such file or directory\n");
    const char *const two[] = {"path", object, "file", object, NULL};
    fixture_settings(&f, params, 2, two);
    assert_int_equal(rondo_source_open("plugin", &f.config, NULL, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, "-: a key with one parameter, such as line:{n}\n");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example),
        cmocka_unit_test(test_its_mistakes),
    };
    if (argc != 2) return 2;
    object = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
