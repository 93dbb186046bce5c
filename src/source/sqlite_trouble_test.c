/* SPDX-License-Identifier: MIT */
/*
 * The sqlite source when something is wrong: schemas, locks, files, settings, memory;
 * and its writes.
 *
 * Memory runs out in the same code linked into the test, whose allocator can be
 * reached; all else opens the loadable object.
 */
#include "source/sqlite_fixture.h"

#include "base/mem.h"
#include "base/sync.h"
#include <sys/stat.h>

const struct rondo_source_ops *rondo_source_plugin(void); /* linked in */

static const char *const params[] = {"id"};

/* ------------------------------------------------------------------ trouble --- */

static void test_a_schema_that_changes(void **state) {
    const struct db *db = *state;
    struct opened o = open_load(db, "SELECT * FROM users WHERE id = {id}");
    struct opened named = open_load(db, by_id);
    check(&o, "42", "={\"id\":42,\"name\":\"Grace\",\"score\":null,\"photo\":\"ok\"}");
    check(&named, "42", "=Grace");

    sql(db, "ALTER TABLE users DROP COLUMN photo");
    check(&o, "42", "={\"id\":42,\"name\":\"Grace\",\"score\":null}");
    sql(db, "ALTER TABLE users RENAME COLUMN name TO title");
    check(&o, "42", "={\"id\":42,\"title\":\"Grace\",\"score\":null}");
    check(&named, "42", "LOAD: load: no such column: name");

    sql(db, "DROP TABLE users");
    check(&o, "42", "LOAD: load: no such table: users");
    sql(db, "CREATE TABLE users (id INTEGER, name TEXT); INSERT INTO users VALUES (42, 'back')");
    check(&o, "42", "={\"id\":42,\"name\":\"back\"}");
    check(&named, "42", "=back");
    shut(&o);
    shut(&named);
}

static void test_many_that_loses_a_column(void **state) {
    const struct db *db = *state;
    sql(db, "CREATE TABLE pairs (k TEXT, v TEXT); INSERT INTO pairs VALUES ('a', '1'), ('b', '2')");
    struct opened o = open_many(
        db, "SELECT 1", "SELECT * FROM pairs WHERE k IN (SELECT value FROM json_each({id}))");
    static const char *const ids[] = {"a", "b"};
    static const char lost[] = "LOAD: load_many: the result has lost its value's column";
    check_many(&o, 2, ids, (const char *const[]){"=1", "=2"});
    sql(db, "ALTER TABLE pairs DROP COLUMN v");
    check_many(&o, 2, ids, (const char *const[]){lost, lost});
    shut(&o);
}

static void test_statements_that_do_not_fit(void **state) {
    const struct db *db = *state;
    check_query(db, "SELECT name FROM user WHERE id = {id}", "1",
                "LOAD: load: no such table: user");
    check_query(db, "SELECT 1; DELETE FROM users", "1", "LOAD: load: more than one statement");
    check_query(db, "SELECT 1;  ", "1", "=1");
    check_query(db, "WITH x AS (SELECT 1) DELETE FROM users", "1",
                "LOAD: load: a statement that writes");
    check_query(db, "SELECT nosuch({id})", "1", "LOAD: load: no such function: nosuch");
    check_query(db, "SELECT json({id})", "{", "LOAD: load: malformed JSON");
    check_query(db, by_id, "1", "=Ada");
}

static void test_a_locked_database(void **state) {
    const struct db *db = *state;
    struct opened o = open_load(db, by_id);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(db->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    check(&o, "1", "LOAD: load: database is locked (busy_timeout is 10ms)");

    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    f.load.timeout_ns = 1000000;
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "TIMEOUT: load: database is locked (busy_timeout is 10ms)");

    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    check(&o, "1", "=Ada");
    sqlite3_close(other);
    shut(&o);
}

static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                              "SELECT count(*) FROM n";

static void test_the_time_limit(void **state) {
    struct opened o = open_load(*state, endless);
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    f.load.timeout_ns = 5000000;
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "TIMEOUT: load: stopped at its time limit");
    shut(&o);
}

struct cancelling {
    struct opened *o;
    struct rondo_mutex mu;
    bool has_ended; /* guarded by mu */
};

/* A cancel before the call has begun is lost, so cancel until it has ended. */
static void cancel_until_ended(void *arg) {
    struct cancelling *c = arg;
    bool has_ended = false;
    while (!has_ended) {
        c->o->source.ops->cancel(c->o->connection);
        usleep(1000);
        rondo_mutex_lock(&c->mu);
        has_ended = c->has_ended;
        rondo_mutex_unlock(&c->mu);
    }
}

static void test_cancel(void **state) {
    struct opened o = open_load(*state, endless);
    struct cancelling c = {.o = &o};
    struct rondo_thread thread;
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    rondo_mutex_init(&c.mu);
    assert_int_equal(rondo_thread_start(&thread, "cancel", cancel_until_ended, &c), RONDO_OK);
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    rondo_mutex_lock(&c.mu);
    c.has_ended = true;
    rondo_mutex_unlock(&c.mu);
    rondo_thread_join(&thread);
    rondo_mutex_fini(&c.mu);
    assert_string_equal(f.answers[0], "TIMEOUT: load: stopped at its time limit");
    shut(&o);
}

static void test_a_file_that_is_no_database(void **state) {
    const struct db *db = *state;
    FILE *f = fopen(db->path, "w");
    assert_non_null(f);
    for (int i = 0; i < 500; i++) fputs("this is no database. ", f);
    fclose(f);
    check_query(db, by_id, "1", "CONNECT: load: file is not a database");
}

static void test_a_damaged_database(void **state) {
    const struct db *db = *state;
    struct stat st;
    FILE *f = fopen(db->path, "r+");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    assert_int_equal(fseek(f, 200, SEEK_SET), 0);
    for (off_t i = 200; i < st.st_size; i++) fputc(0xa5, f);
    fclose(f);
    struct opened o = open_load(db, by_id);
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load load;
    fixture_load_init(&load, 1, &id);
    o.source.ops->load(o.connection, &load.load);
    assert_memory_equal(load.answers[0], "CONNECT: load: ", 15);
    assert_non_null(strstr(load.answers[0], "malformed"));
    shut(&o);
}

static void test_a_file_that_goes(void **state) {
    const struct db *db = *state;
    struct fixture_config f;
    struct rondo_source source;
    struct rondo_source_error why = {""};
    void *connection = NULL;
    const char *const pairs[] = {"file", db->path, "load", by_id, NULL};
    char expected[128];
    fixture_settings(&f, params, 1, pairs);
    assert_int_equal(rondo_source_open("sqlite", &f.config, NULL, &source), RONDO_OK);
    assert_int_equal(unlink(db->path), 0);
    assert_int_equal(source.ops->connect(source.self, &why, &connection), RONDO_ERR_CONNECT);
    snprintf(expected, sizeof expected, "%s: unable to open database file", db->path);
    assert_string_equal(why.text, expected);
    rondo_source_close(&source);
}

/* As a new version of a database is put in place. */
static void test_a_file_that_is_replaced(void **state) {
    const struct db *db = *state;
    char other[256], expected[300];
    sqlite3 *made;
    struct opened o = open_load(db, by_id);
    check(&o, "1", "=Ada");
    snprintf(other, sizeof other, "%s.new", db->path);
    assert_int_equal(sqlite3_open(other, &made), SQLITE_OK);
    assert_int_equal(sqlite3_exec(made,
                                  "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);"
                                  "INSERT INTO users VALUES (1, 'Barbara')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(made);
    assert_int_equal(rename(other, db->path), 0);
    check(&o, "1", "=Barbara");

    assert_int_equal(rename(db->path, other), 0);
    snprintf(expected, sizeof expected, "CONNECT: %s: unable to open database file", db->path);
    check(&o, "1", expected);
    assert_int_equal(rename(other, db->path), 0);
    check(&o, "1", "=Barbara");
    shut(&o);
}

/* ------------------------------------------------------------------- writes --- */

static enum rondo_err change(struct opened *o, bool erase, const char *id, struct rondo_slice value,
                             struct rondo_source_error *why) {
    struct rondo_slice param = rondo_slice_str(id);
    struct rondo_store store = {.key = {.key = param, .params = &param}, .value = value};
    why->text[0] = '\0';
    return (erase ? o->source.ops->erase : o->source.ops->store)(o->connection, &store, why);
}

static void test_store_and_erase(void **state) {
    const struct db *db = *state;
    const char *const pairs[] = {"file",
                                 db->path,
                                 "load",
                                 by_id,
                                 "store",
                                 "INSERT INTO users (id, name) VALUES ({id}, {value}) "
                                 "ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id",
                                 "erase",
                                 "DELETE FROM users WHERE id = {id}",
                                 NULL};
    struct opened o = open_with(1, pairs);
    struct rondo_source_error why;
    assert_int_equal(o.source.ops->writes(o.source.self),
                     RONDO_SOURCE_STORES | RONDO_SOURCE_ERASES);
    assert_int_equal(change(&o, false, "9", rondo_slice_str("nine'; --"), &why), RONDO_OK);
    check(&o, "9", "=nine'; --");
    assert_int_equal(change(&o, false, "9", rondo_slice_str(""), &why), RONDO_OK);
    check(&o, "9", "=");
    assert_int_equal(change(&o, false, "9", rondo_slice_of("a\0b", 3), &why), RONDO_OK);
    assert_int_equal(change(&o, true, "9", rondo_slice_of(NULL, 0), &why), RONDO_OK);
    check(&o, "9", "absent");
    assert_int_equal(change(&o, true, "9", rondo_slice_of(NULL, 0), &why), RONDO_OK);
    assert_int_equal(change(&o, false, "nine", rondo_slice_str("x"), &why), RONDO_ERR_STORE);
    assert_string_equal(why.text, "store: datatype mismatch");
    shut(&o);
}

static void test_a_store_that_changes_nothing(void **state) {
    const struct db *db = *state;
    const char *const pairs[] = {
        "file", db->path, "load", by_id, "store", "UPDATE users SET name = {value} WHERE id = {id}",
        NULL};
    struct opened o = open_with(1, pairs);
    struct rondo_source_error why;
    assert_int_equal(o.source.ops->writes(o.source.self), RONDO_SOURCE_STORES);
    assert_int_equal(change(&o, false, "1", rondo_slice_str("Eve"), &why), RONDO_OK);
    assert_int_equal(change(&o, false, "99", rondo_slice_str("Eve"), &why), RONDO_ERR_STORE);
    assert_string_equal(why.text, "store: it changed no row");
    assert_int_equal(change(&o, true, "1", rondo_slice_of(NULL, 0), &why), RONDO_ERR_STORE);
    assert_string_equal(why.text, "the source has no `erase` statement");
    shut(&o);
}

/* ----------------------------------------------------------------- mistakes --- */

static void check_mistakes(size_t n_params, const char *const *pairs, const char *expected) {
    struct fixture_config f;
    struct rondo_source source = {0};
    fixture_settings(&f, two_params, n_params, pairs);
    assert_int_equal(rondo_source_open("sqlite", &f.config, NULL, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, expected);
    assert_null(source.ops);
}

static void test_all_mistakes(void **state) {
    const struct db *db = *state;
    char missing[64];
    snprintf(missing, sizeof missing, "%s/no.db", db->dir);
    const char *const pairs[] = {"file",
                                 missing,
                                 "load",
                                 "SELEC name FROM users WHERE id = {id}",
                                 "load_many",
                                 "SELECT id, name FROM users",
                                 "store",
                                 "INSERT INTO users VALUES ({id})",
                                 "erase",
                                 "DELETE FROM users WHERE id = '{id}'",
                                 "busy_timeout",
                                 "5",
                                 NULL};
    char expected[1024];
    snprintf(expected, sizeof expected,
             "busy_timeout: found \"5\": a duration is a whole number and a unit (ns us ms s m h "
             "d), such as 10m\n"
             "file: found \"%s\": there is no such file\n"
             "load: a statement that reads begins with SELECT, WITH or VALUES\n"
             "load_many: it has no place for the keys\n"
             "store: it has no place for {value}\n"
             "erase: a {place} inside quotes ('…'): write it bare, it is bound as a parameter and "
             "needs no quotes\n",
             missing);
    check_mistakes(1, pairs, expected);
}

static void test_mistakes_one_by_one(void **state) {
    const struct db *db = *state;
    const char *const syntax[] = {"file", db->path, "load", "SELECT name FORM users", NULL};
    check_mistakes(1, syntax, "load: near \"users\": syntax error\n");
    const char *const open_end[] = {"file", db->path, "load", "SELECT (1", NULL};
    check_mistakes(1, open_end, "load: incomplete input\n");
    const char *const empty[] = {"file", db->path, "load", " ", NULL};
    check_mistakes(1, empty, "load: an empty statement\n");
    const char *const name[] = {"file", db->path, "load", "SELECT {name}, {value}", NULL};
    check_mistakes(2, name, "load: found {name}, allowed: {id} {lang} {client}\n");
    const char *const writes[] = {"file", db->path, "load", "DELETE FROM users", NULL};
    check_mistakes(1, writes, "load: a statement that reads begins with SELECT, WITH or VALUES\n");
    const char *const two[] = {"file", db->path, "load", by_id, "load_many", many_by_id, NULL};
    check_mistakes(2, two, "load_many: it needs a key with exactly one parameter\n");
    const char *const dir[] = {"file", db->dir, "load", by_id, NULL};
    char expected[128];
    snprintf(expected, sizeof expected, "file: found \"%s\": this is not a file\n", db->dir);
    check_mistakes(1, dir, expected);
    const char *const nothing[] = {NULL};
    check_mistakes(1, nothing,
                   "-: `file` is missing: the database; it must exist\n"
                   "-: `load` is missing: the SELECT for one key, with its {parameters}: one row, "
                   "or none if the key is absent\n");
    const char *const uri[] = {"file", "file:x?mode=memory", "load", by_id, NULL};
    check_mistakes(1, uri, "file: found \"./file:x?mode=memory\": there is no such file\n");
    const char *const memory[] = {"file", ":memory:", "load", by_id, NULL};
    check_mistakes(1, memory, "file: found \"./:memory:\": there is no such file\n");
}

static void test_a_relative_path(void **state) {
    const struct db *db = *state;
    const char *const pairs[] = {"file", "t.db", "load", by_id, NULL};
    struct rondo_source_context context = {.base_dir = db->dir};
    struct fixture_config f;
    struct opened o = {0};
    struct rondo_source_error why;
    fixture_settings(&f, params, 1, pairs);
    assert_int_equal(rondo_source_open("sqlite", &f.config, &context, &o.source), RONDO_OK);
    assert_int_equal(o.source.ops->connect(o.source.self, &why, &o.connection), RONDO_OK);
    check(&o, "1", "=Ada");
    shut(&o);
}

/* ------------------------------------------------------------------- memory --- */

/* Opens, loads one and many, closes; NOMEM if any of it said so. */
static enum rondo_err whole_life(const struct db *db) {
    const struct rondo_source_ops *ops = rondo_source_plugin();
    const char *const pairs[] = {"file", db->path, "load", by_id, "load_many", many_by_id, NULL};
    struct rondo_slice ids[] = {rondo_slice_str("1"), rondo_slice_str("2")};
    struct fixture_config f;
    struct fixture_load one, many;
    struct rondo_source_error why;
    void *source, *connection;
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = ops->open(&f.config, &source);
    if (err) return err;
    err = ops->connect(source, &why, &connection);
    if (!err) {
        fixture_load_init(&one, 1, ids);
        ops->load(connection, &one.load);
        fixture_load_init(&many, 2, ids);
        ops->load(connection, &many.load);
        ops->disconnect(connection);
        bool failed = strncmp(one.answers[0], "NOMEM", 5) == 0 ||
                      strncmp(many.answers[0], "NOMEM", 5) == 0 ||
                      strncmp(many.answers[1], "NOMEM", 5) == 0;
        err = failed ? RONDO_ERR_NOMEM : RONDO_OK;
        if (one.n_answers != 1 || many.n_answers < 2) err = RONDO_ERR_INVALID;
    }
    ops->close(source);
    return err;
}

static void test_out_of_memory(void **state) {
    uint64_t n = 1;
    for (;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = whole_life(*state);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_true(n > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_schema_that_changes),
        TEST(test_many_that_loses_a_column),
        TEST(test_statements_that_do_not_fit),
        TEST(test_a_locked_database),
        TEST(test_the_time_limit),
        TEST(test_cancel),
        TEST(test_a_file_that_is_no_database),
        TEST(test_a_damaged_database),
        TEST(test_a_file_that_goes),
        TEST(test_a_file_that_is_replaced),
        TEST(test_store_and_erase),
        TEST(test_a_store_that_changes_nothing),
        TEST(test_all_mistakes),
        TEST(test_mistakes_one_by_one),
        TEST(test_a_relative_path),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
