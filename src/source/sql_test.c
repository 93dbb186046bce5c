/* SPDX-License-Identifier: MIT */
#include "source/sql.h"

#include "base/mem.h"
#include "source/load_fixture.h"

#include "base/test.h"

static const char *const params[] = {"id", "lang"};

static void test_statements(void **state) {
    (void)state;
    const char *const pairs[] = {"load", "SELECT v FROM t WHERE l = {lang} AND k = {id}", "store",
                                 "UPDATE t SET v = {value} WHERE k = {id} AND 'a' <> {id}", NULL};
    struct fixture_config f;
    struct rondo_sql sql;
    fixture_settings(&f, params, 2, pairs);
    assert_int_equal(rondo_sql_open(&f.config, '$', &sql), RONDO_OK);
    assert_string_equal(f.mistakes, "");
    assert_string_equal(sql.sql[RONDO_SQL_LOAD].text, "SELECT v FROM t WHERE l = $1 AND k = $2");
    assert_int_equal(sql.sql[RONDO_SQL_LOAD].bind[0], 1);
    assert_string_equal(sql.sql[RONDO_SQL_STORE].text,
                        "UPDATE t SET v = $1 WHERE k = $2 AND 'a' <> $2");
    assert_null(sql.templates[RONDO_SQL_ERASE]);
    assert_int_equal(rondo_sql_writes(&sql), RONDO_SOURCE_STORES);
    rondo_sql_fini(&sql);
}

static void test_values(void **state) {
    (void)state;
    const char *const pairs[] = {"load", "SELECT {id}", NULL};
    const struct rondo_slice given[] = {rondo_slice_str("1"), rondo_slice_str("de")};
    const struct rondo_load_key key = {rondo_slice_str("k:1:de"), given, rondo_slice_str("Ann")};
    struct rondo_slice values[RONDO_SQL_PARAMS + 1];
    struct fixture_config f;
    struct rondo_sql sql;
    fixture_settings(&f, params, 2, pairs);
    assert_int_equal(rondo_sql_open(&f.config, '?', &sql), RONDO_OK);
    rondo_sql_values(&sql, &key, key.client, values);
    assert_true(rondo_slice_is(values[0], "1"));
    assert_true(rondo_slice_is(values[1], "de"));
    assert_true(rondo_slice_is(values[2], "Ann"));
    rondo_sql_fini(&sql);
}

static void check_mistake(size_t n_params, const char *name, const char *text,
                          const char *expected) {
    const char *const pairs[] = {name, text, NULL};
    struct fixture_config f;
    struct rondo_sql sql;
    fixture_settings(&f, params, n_params, pairs);
    assert_int_equal(rondo_sql_open(&f.config, '$', &sql), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, expected);
    rondo_sql_fini(&sql);
}

static void test_mistakes(void **state) {
    (void)state;
    check_mistake(1, "load", "  ", "load: an empty statement\n");
    check_mistake(1, "load", "selected {id}",
                  "load: a statement that reads begins with SELECT, WITH, VALUES or TABLE\n");
    check_mistake(1, "load", "SELECT {name}", "load: found {name}, allowed: {id} {client}\n");
    check_mistake(1, "load", "SELECT {value}", "load: found {value}, allowed: {id} {client}\n");
    check_mistake(1, "load_many", "SELECT {client}", "load_many: found {client}, allowed: {id}\n");
    check_mistake(1, "load_many", "SELECT 1", "load_many: it has no place for the keys\n");
    check_mistake(2, "load_many", "SELECT {id}",
                  "load_many: it needs a key with exactly one parameter\n");
    check_mistake(1, "store", "UPDATE t SET v = {id}", "store: it has no place for {value}\n");
    check_mistake(1, "erase", "DELETE FROM t", "erase: it has no place for the key\n");
    check_mistake(1, "load", "SELECT 1 -- {id}",
                  "load: a {place} inside a comment: nothing could be bound to it\n");
}

static void test_out_of_memory(void **state) {
    (void)state;
    const char *const pairs[] = {"load", "SELECT {id}", "erase", "DELETE {id}", NULL};
    uint64_t n = 1;
    for (;; n++) {
        struct fixture_config f;
        struct rondo_sql sql;
        fixture_settings(&f, params, 1, pairs);
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_sql_open(&f.config, '$', &sql);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        rondo_sql_fini(&sql);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_true(n > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
