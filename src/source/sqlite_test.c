/* SPDX-License-Identifier: MIT */
/* The sqlite source: what loads answer; sqlite_trouble_test.c has what goes wrong. */
#include "source/sqlite_fixture.h"

/* -------------------------------------------------------------------- loads --- */

static void test_one_value(void **state) {
    struct opened o = open_load(*state, by_id);
    check(&o, "42", "=Grace");
    check(&o, "7", "absent");
    check(&o, "43", "absent"); /* NULL */
    check(&o, "1", "=Ada");
    assert_int_equal(o.source.ops->batch(o.source.self), 1);
    assert_int_equal(o.source.ops->writes(o.source.self), 0);
    shut(&o);
}

static void test_types_of_one_column(void **state) {
    const struct db *db = *state;
    check_query(db, "SELECT 6 * 7", "1", "=42");
    check_query(db, "SELECT 0.1", "1", "=0.1");
    check_query(db, "SELECT ''", "1", "=");
    check_query(db, "SELECT photo FROM users WHERE id = {id}", "42", "=ok");
    check_query(db, "SELECT json_object('id', id, 'name', name) FROM users WHERE id = {id}", "43",
                "={\"id\":43,\"name\":null}");
    check_query(db, "VALUES ({id})", "x'y", "=x'y");
    check_query(db, "WITH u AS (SELECT * FROM users) SELECT name FROM u WHERE id = {id}", "2",
                "=Bob");
}

static void test_bytes_pass_unchanged(void **state) {
    struct opened o = open_load(*state, "SELECT photo FROM users WHERE id = {id}");
    struct rondo_slice id = rondo_slice_str("2");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    assert_memory_equal(f.answers[0], "=", 2); /* the first byte is NUL */
    shut(&o);
    check_query(*state, "SELECT hex(photo) FROM users WHERE id = {id}", "2", "=00FF");
}

static void test_several_columns_are_an_object(void **state) {
    const struct db *db = *state;
    check_query(db, "SELECT * FROM users WHERE id = {id}", "1",
                "={\"id\":1,\"name\":\"Ada\",\"score\":0.1,\"photo\":null}");
    check_query(db, "SELECT id, photo FROM users WHERE id = {id}", "42",
                "={\"id\":42,\"photo\":\"ok\"}");
    check_query(db, "SELECT id, photo FROM users WHERE id = {id}", "2",
                "LOAD: column \"photo\" is not UTF-8: take hex() of it, or it alone");
    check_query(db, "SELECT 1 AS a, 2 AS a", "1",
                "LOAD: column \"a\" occurs twice: name them apart with AS");
    check_query(db, "SELECT 1 AS a, 9e999 AS b", "1", "LOAD: column \"b\" is not a finite number");
    check_query(db, "SELECT 'a\"b' AS a, char(0, 10) AS b", "1",
                "={\"a\":\"a\\\"b\",\"b\":\"\\u0000\\n\"}");
}

static void test_more_than_one_row(void **state) {
    check_query(*state, "SELECT meaning FROM words WHERE word = {id}", "gift",
                "LOAD: load: more than one row for one key");
}

static void test_parameters_are_text(void **state) {
    const struct db *db = *state;
    /* An INTEGER column takes "042" for 42, a TEXT column does not. */
    check_query(db, by_id, "042", "=Grace");
    check_query(db, by_id, "42x", "absent");
    check_query(db, "SELECT meaning FROM words WHERE word = {id}", "1", "=one");
    check_query(db, "SELECT meaning FROM words WHERE word = {id}", "01", "=oh one");
    check_query(db, "SELECT typeof({id})", "42", "=text");
    check_query(db, "SELECT typeof({id})", "\xff", "=blob");
    check_query(db, "SELECT typeof({id})", "", "=text");
}

static void test_several_parameters_and_the_client(void **state) {
    const struct db *db = *state;
    const char *const pairs[] = {
        "file", db->path, "load",
        "SELECT meaning || ' for ' || {client} FROM words WHERE word = {id} AND lang = {lang}",
        NULL};
    struct opened o = open_with(2, pairs);
    struct rondo_slice id = rondo_slice_str("gift");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    f.params[0][1] = rondo_slice_str("de");
    f.keys[0].client = rondo_slice_str("Ann");
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "=poison for Ann");
    shut(&o);
}

static void test_no_key_is_ever_sql(void **state) {
    struct opened o = open_load(*state, by_id);
    static const char *const attempts[] = {"1; DROP TABLE users",
                                           "1 OR 1=1",
                                           "' OR ''='",
                                           "1--",
                                           "\"",
                                           "?1",
                                           "{id}",
                                           "1/*",
                                           "%",
                                           "x'31'"};
    for (size_t i = 0; i < RONDO_COUNT_OF(attempts); i++) check(&o, attempts[i], "absent");
    check_slice(&o, rondo_slice_of("1\0", 2), "absent");
    check_slice(&o, rondo_slice_of("1\0; DROP TABLE users", 20), "absent");
    check_slice(&o, rondo_slice_of("", 0), "absent");
    check_slice(&o, rondo_slice_of("\xff\xfe", 2), "absent");
    check(&o, "1", "=Ada");
    shut(&o);
}

static void test_a_long_key(void **state) {
    struct opened o = open_load(*state, by_id);
    char *key = malloc(65536);
    assert_non_null(key);
    memset(key, '7', 65536);
    check_slice(&o, rondo_slice_of(key, 65536), "absent");
    free(key);
    shut(&o);
}

/* ---------------------------------------------------------------- load_many --- */

static void test_many(void **state) {
    /* Whatever load says, to show which statement answered. */
    struct opened o = open_many(*state, "SELECT 'alone'", many_by_id);
    static const char *const ids[] = {"42", "7", "1", "43", "2"};
    static const char *const expected[] = {"=Grace", "absent", "=Ada", "absent", "=Bob"};
    assert_int_equal(o.source.ops->batch(o.source.self), 1000);
    check_many(&o, 5, ids, expected);
    check_many(&o, 5, ids, expected);
    check_many(&o, 1, ids, (const char *const[]){"=alone"});
    shut(&o);
}

static void test_many_answers_what_one_would(void **state) {
    struct opened o = open_many(*state, by_id, many_by_id);
    static const char *const ids[] = {"42", "042", "42.0", " 42", "4.2e1", "x", "-1", ""};
    static const char *const expected[] = {"=Grace", "=Grace", "=Grace", "=Grace",
                                           "=Grace", "absent", "absent", "absent"};
    check_many(&o, 8, ids, expected);
    shut(&o);

    /* A row that is no key's as it is written: its key is asked for alone. */
    o = open_many(*state, "SELECT v FROM nocase WHERE name = {id}",
                  "SELECT name, v FROM nocase WHERE name IN (SELECT value FROM json_each({id}))");
    static const char *const names[] = {"bob", "eve"};
    static const char *const found[] = {"=b", "absent"};
    check_many(&o, 2, names, found);
    shut(&o);
}

static void test_many_with_any_bytes(void **state) {
    struct opened o = open_many(*state, by_id, many_by_id);
    struct rondo_slice ids[] = {rondo_slice_of("1\0", 2), rondo_slice_str("\xff"),
                                rondo_slice_str("\"],[\""), rondo_slice_str("1")};
    static const char *const expected[] = {"absent", "absent", "absent", "=Ada"};
    struct fixture_load f;
    fixture_load_init(&f, 4, ids);
    o.source.ops->load(o.connection, &f.load);
    for (size_t i = 0; i < 4; i++) assert_string_equal(f.answers[i], expected[i]);
    shut(&o);
}

static void test_many_as_objects_and_twice(void **state) {
    struct opened o = open_many(*state, "SELECT 1",
                                "SELECT word, meaning, lang FROM words WHERE "
                                "word IN (SELECT value FROM json_each({id}))");
    static const char *const ids[] = {"gift", "1", "none"};
    static const char *const expected[] = {"LOAD: load_many: more than one row for one key",
                                           "={\"meaning\":\"one\",\"lang\":\"en\"}", "absent"};
    check_many(&o, 3, ids, expected);
    shut(&o);
}

static void test_many_fails_as_a_whole(void **state) {
    struct opened o = open_many(*state, by_id, "SELECT id FROM users WHERE {id}");
    static const char *const ids[] = {"1", "2"};
    static const char needs[] =
        "LOAD: load_many: needs two columns or more: the key's parameter, then the value";
    check_many(&o, 2, ids, (const char *const[]){needs, needs});
    shut(&o);

    o = open_many(*state, by_id, "SELECT id, nme FROM users WHERE {id}");
    static const char lost[] = "LOAD: load_many: no such column: nme";
    check_many(&o, 2, ids, (const char *const[]){lost, lost});
    check(&o, "1", "=Ada");
    shut(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_one_value),
        TEST(test_types_of_one_column),
        TEST(test_bytes_pass_unchanged),
        TEST(test_several_columns_are_an_object),
        TEST(test_more_than_one_row),
        TEST(test_parameters_are_text),
        TEST(test_several_parameters_and_the_client),
        TEST(test_no_key_is_ever_sql),
        TEST(test_a_long_key),
        TEST(test_many),
        TEST(test_many_answers_what_one_would),
        TEST(test_many_with_any_bytes),
        TEST(test_many_as_objects_and_twice),
        TEST(test_many_fails_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
