/* SPDX-License-Identifier: MIT */
/*
 * sqlite_fixture.h - for the tests of the sqlite source: a database of its own for
 * each test, and the loadable object opened on it as a cache would.
 */
#ifndef RONDO_SOURCE_SQLITE_FIXTURE_H
#define RONDO_SOURCE_SQLITE_FIXTURE_H

#include "source/load_fixture.h"
#include "source/source.h"
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const two_params[] = {"id", "lang"};

static const char by_id[] = "SELECT name FROM users WHERE id = {id}";
static const char many_by_id[] =
    "SELECT id, name FROM users WHERE id IN (SELECT value FROM json_each({id}))";

/* -------------------------------------------------------------- a database --- */

struct db {
    char dir[32], path[64];
};

static inline void sql(const struct db *db, const char *text) {
    sqlite3 *s;
    char *message = NULL;
    assert_int_equal(sqlite3_open(db->path, &s), SQLITE_OK);
    sqlite3_exec(s, text, NULL, NULL, &message);
    if (message) fail_msg("%s: %s", text, message);
    assert_int_equal(sqlite3_close(s), SQLITE_OK);
}

static inline int setup(void **state) {
    struct db *db = calloc(1, sizeof *db);
    assert_non_null(db);
    snprintf(db->dir, sizeof db->dir, "/tmp/rondo-sqlite-XXXXXX");
    assert_non_null(mkdtemp(db->dir));
    snprintf(db->path, sizeof db->path, "%s/t.db", db->dir);
    sql(db, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, score REAL, photo BLOB);"
            "INSERT INTO users VALUES (1, 'Ada', 0.1, NULL), (2, 'Bob', 2, x'00ff'),"
            " (42, 'Grace', NULL, x'6f6b'), (43, NULL, 1, NULL);"
            "CREATE TABLE words (word TEXT, lang TEXT, meaning TEXT);"
            "INSERT INTO words VALUES ('1', 'en', 'one'), ('01', 'en', 'oh one'),"
            " ('gift', 'en', 'present'), ('gift', 'de', 'poison'), ('tau', 'de', 'dew'),"
            " ('tau', 'de', 'rope');"
            "CREATE TABLE nocase (name TEXT COLLATE NOCASE, v TEXT);"
            "INSERT INTO nocase VALUES ('Bob', 'b');");
    *state = db;
    return 0;
}

static inline int teardown(void **state) {
    struct db *db = *state;
    unlink(db->path);
    rmdir(db->dir);
    free(db);
    return 0;
}

/* ------------------------------------------------------- a source, connected --- */

struct opened {
    struct rondo_source source;
    void *connection;
};

static inline struct opened open_with(size_t n_params, const char *const *pairs) {
    struct opened o = {0};
    struct fixture_config f;
    struct rondo_source_error why = {""};
    fixture_settings(&f, two_params, n_params, pairs);
    enum rondo_err err = rondo_source_open("sqlite", &f.config, NULL, &o.source);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(err, RONDO_OK);
    err = o.source.ops->connect(o.source.self, &why, &o.connection);
    assert_string_equal(why.text, "");
    assert_int_equal(err, RONDO_OK);
    return o;
}

static inline struct opened open_load(const struct db *db, const char *load) {
    const char *const pairs[] = {"file", db->path, "load", load, "busy_timeout", "10ms", NULL};
    return open_with(1, pairs);
}

static inline void shut(struct opened *o) {
    o->source.ops->disconnect(o->connection);
    rondo_source_close(&o->source);
}

static inline void check_slice(struct opened *o, struct rondo_slice id, const char *expected) {
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    o->source.ops->load(o->connection, &f.load);
    assert_int_equal(f.n_answers, 1);
    assert_string_equal(f.answers[0], expected);
}

static inline void check(struct opened *o, const char *id, const char *expected) {
    check_slice(o, rondo_slice_str(id), expected);
}

static inline void check_query(const struct db *db, const char *load, const char *id,
                               const char *expected) {
    struct opened o = open_load(db, load);
    check(&o, id, expected);
    shut(&o);
}

static inline void check_many(struct opened *o, size_t n, const char *const *ids,
                              const char *const *expected) {
    struct rondo_slice slices[FIXTURE_KEYS];
    struct fixture_load f;
    for (size_t i = 0; i < n; i++) slices[i] = rondo_slice_str(ids[i]);
    fixture_load_init(&f, n, slices);
    o->source.ops->load(o->connection, &f.load);
    assert_int_equal(f.n_answers, n);
    for (size_t i = 0; i < n; i++) assert_string_equal(f.answers[i], expected[i]);
}

static inline struct opened open_many(const struct db *db, const char *load, const char *many) {
    const char *const pairs[] = {"file", db->path, "load", load, "load_many", many, NULL};
    return open_with(1, pairs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
