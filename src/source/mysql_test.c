/* SPDX-License-Identifier: MIT */
/* Every test but those of settings talks to a MariaDB server that this program
 * starts; without its programs all are skipped. */
#include <mysql.h> /* first: its macros name functions that are banned below */

#include "source/server_fixture.h"

#include "source/source.h"

static struct database db;
static char url[128];

static const char by_id[] = "SELECT name FROM users WHERE id = {id}";
static const char many_by_id[] = "SELECT id, name FROM users WHERE id IN ({id})";

/* ------------------------------------------------------------------ the server --- */

/* Runs statements; the first value of the last, if any. */
static const char *sql(const char *text) {
    static char value[256];
    MYSQL *my = mysql_init(NULL);
    value[0] = '\0';
    if (!mysql_real_connect(my, "127.0.0.1", "root", NULL, "mysql", db.port, NULL,
                            CLIENT_MULTI_STATEMENTS) ||
        mysql_query(my, text) != 0)
        fail_msg("%s: %s", text, mysql_error(my));
    do {
        MYSQL_RES *r = mysql_store_result(my);
        MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
        if (row && row[0]) snprintf(value, sizeof value, "%s", row[0]);
        if (r) mysql_free_result(r);
    } while (mysql_next_result(my) == 0);
    if (mysql_errno(my)) fail_msg("%s: %s", text, mysql_error(my));
    mysql_close(my);
    return value;
}

static void make_tables(void) {
    sql("CREATE DATABASE app CHARACTER SET utf8mb4;"
        "CREATE USER app@'%' IDENTIFIED BY 's3cret@/'; GRANT ALL ON app.* TO app@'%'");
    sql("USE app; CREATE TABLE users (id INT PRIMARY KEY, name TEXT, score DOUBLE, photo BLOB,"
        " info JSON);"
        "INSERT INTO users VALUES (1, 'Ada', 0.1, NULL, '{\"a\": [1.10, null]}'),"
        " (2, 'Bob', 2, x'00ff', NULL), (42, 'Grace', NULL, x'6f6b', '7'),"
        " (43, NULL, 1, NULL, NULL);"
        "CREATE TABLE words (word VARCHAR(100), lang TEXT, meaning TEXT)"
        " COLLATE utf8mb4_nopad_bin;"
        "INSERT INTO words VALUES ('gift', 'en', 'present'), ('gift', 'de', 'poison'),"
        " ('tau', 'de', 'dew'), ('tau', 'de', 'rope'), ('a\"b\\\\c,{}', 'de', 'odd'),"
        " ('', 'de', 'empty'), ('NULL', 'de', 'word'), ('x\\ny', 'de', 'lines'),"
        " ('a\\0b', 'de', 'nul');"
        "CREATE TABLE blobs (k VARBINARY(20) PRIMARY KEY, v BLOB);"
        "INSERT INTO blobs VALUES ('a', 'plain'), (x'00ff22', 'odd key');"
        "CREATE TABLE herd (id INT PRIMARY KEY, name TEXT);"
        "INSERT INTO herd SELECT seq, CONCAT('name-', seq) FROM seq_0_to_99;"
        "CREATE TABLE kv (k VARCHAR(100) PRIMARY KEY, v TEXT, b BLOB)");
}

static int start_server(void **state) {
    (void)state;
    database_start(&db);
    make_tables();
    snprintf(url, sizeof url, "mysql://app:s3cret%%40%%2F@127.0.0.1:%u/app", db.port);
    return 0;
}

static int remove_server(void **state) {
    (void)state;
    database_remove(&db);
    return 0;
}

/* ----------------------------------------------------------------------- loads --- */

static void test_one_column(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, NULL};
    struct server_source s = server_connect(1, pairs);
    assert_int_equal(s.ops->batch(s.self), 1);
    assert_int_equal(s.ops->writes(s.self), 0);
    server_check(&s, "1", "=Ada");
    server_check(&s, "3", "absent");
    server_check(&s, "43", "absent"); /* NULL */
    server_check(&s, "042", "=Grace");
    server_check(&s, "x", "absent");
    server_check(&s, "2", "=Bob");
    server_close(&s);
}

static void test_several_columns(void **state) {
    (void)state;
    const char all[] = "SELECT id, name, score, info, id = 1 AS first FROM users WHERE id = {id}";
    server_check_statement(url, all, "1",
                           "={\"id\":1,\"name\":\"Ada\",\"score\":0.1,"
                           "\"info\":{\"a\": [1.10, null]},\"first\":1}");
    server_check_statement(url, all, "2",
                           "={\"id\":2,\"name\":\"Bob\",\"score\":2,\"info\":null,\"first\":0}");
    server_check_statement(url, "SELECT id, photo FROM users WHERE id = {id}", "42",
                           "={\"id\":42,\"photo\":\"ok\"}");
    server_check_statement(url, "SELECT id, photo FROM users WHERE id = {id}", "2",
                           "LOAD: load: column \"photo\" is not UTF-8: take hex() of it, or it "
                           "alone");
    server_check_statement(url, "SELECT 1 AS a, 2 AS a, {id} AS b", "1",
                           "LOAD: load: column \"a\" occurs twice: name them apart with AS");
}

static void test_types(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"SELECT CAST({id} AS DECIMAL(30,2))", "12345678901234567890.10",
         "=12345678901234567890.10"},
        {"SELECT CAST({id} AS SIGNED)", "-9223372036854775808", "=-9223372036854775808"},
        {"SELECT CAST({id} AS UNSIGNED)", "18446744073709551615", "=18446744073709551615"},
        {"SELECT CAST({id} AS DATE)", "2026-02-28", "=2026-02-28"},
        {"SELECT CAST({id} AS DATETIME(3))", "2026-02-28 01:02:03.045", "=2026-02-28 01:02:03.045"},
        {"SELECT CAST({id} AS TIME)", "-01:02:03", "=-01:02:03"},
        {"SELECT {id}", "\xc3\xa9\xf0\x9f\x99\x82", "=\xc3\xa9\xf0\x9f\x99\x82"},
        {"SELECT CONCAT({id}, {client})", "for ", "=for Ann"},
        {"SELECT CONCAT({id}, {id}, {client})", "x", "=xxAnn"},
        {"SELECT {id}", "", "="},
        {"SELECT CAST({id} AS DECIMAL(30,2)) AS n, 'x' AS t", "12345678901234567890.10",
         "={\"n\":12345678901234567890.10,\"t\":\"x\"}"},
        {"SELECT CAST({id} AS DOUBLE) AS a, 1e300 AS b, 0.1e0 AS c, -1.5e-7 AS d", "1e20",
         "={\"a\":1e20,\"b\":1e300,\"c\":0.1,\"d\":-0.00000015}"},
        {"SELECT CAST({id} AS DATE) AS d, NULL AS n", "2026-02-28",
         "={\"d\":\"2026-02-28\",\"n\":null}"},
        {"SELECT JSON_OBJECT('id', {id})", "7", "={\"id\": \"7\"}"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++)
        server_check_statement(url, cases[i][0], cases[i][1], cases[i][2]);
    sql("USE app; CREATE TABLE odd (id INT, z INT(6) ZEROFILL, f FLOAT, y YEAR, t TINYINT,"
        " e ENUM('no','yes')); INSERT INTO odd VALUES (1, 42, 0.1, 2026, -1, 'yes')");
    server_check_statement(url, "SELECT z, f, y, t, e FROM odd WHERE id = {id}", "1",
                           "={\"z\":42,\"f\":0.1,\"y\":2026,\"t\":-1,\"e\":\"yes\"}");
}

static void test_blob(void **state) {
    (void)state;
    const char *const photo[] = {"url", url, "load", "SELECT photo FROM users WHERE id = {id}",
                                 NULL};
    struct server_source s = server_connect(1, photo);
    server_check_value(&s, rondo_slice_str("2"), rondo_slice_of("\0\xff", 2));
    server_close(&s);
    const char *const blobs[] = {"url",       url,
                                 "load",      "SELECT v FROM blobs WHERE k = {id}",
                                 "load_many", "SELECT k, v FROM blobs WHERE k IN ({id})",
                                 NULL};
    const struct rondo_slice ids[] = {rondo_slice_of("\0\xff\"", 3), rondo_slice_str("a"),
                                      rondo_slice_str("b")};
    struct fixture_load f;
    s = server_connect(1, blobs);
    server_check_bytes(&s, ids[0], "=odd key");
    server_load(&s, 3, ids, 0, &f);
    assert_string_equal(f.answers[0], "=odd key");
    assert_string_equal(f.answers[1], "=plain");
    assert_string_equal(f.answers[2], "absent");
    server_close(&s);
}

static void test_a_large_value(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT REPEAT({id}, 300000)", NULL};
    struct server_source s = server_connect(1, pairs);
    char *expected = malloc(300000);
    assert_non_null(expected);
    memset(expected, 'k', 300000);
    server_check_value(&s, rondo_slice_str("k"), rondo_slice_of(expected, 300000));
    server_check_value(&s, rondo_slice_str("k"), rondo_slice_of(expected, 300000));
    server_close(&s);
    const char *const length[] = {"url", url, "load", "SELECT LENGTH({id})", NULL};
    s = server_connect(1, length);
    server_check_bytes(&s, rondo_slice_of(expected, 65536), "=65536");
    server_close(&s);
    free(expected);
}

static void test_injection(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url", url, "load", "SELECT meaning FROM words WHERE word = {id} AND lang = {lang}", NULL};
    static const char *const attempts[] = {
        "' OR '1'='1", "gift'; DROP TABLE words; --", "?", "gift' --", "{id}", "\\'; SELECT 1; --"};
    struct server_source s = server_connect(2, pairs);
    for (size_t i = 0; i < RONDO_COUNT_OF(attempts); i++) server_check(&s, attempts[i], "absent");
    server_check(&s, "\xff", "LOAD: load: Invalid utf8mb4 character string: 'FF'");
    server_check(&s, "gift", "=poison");
    server_check(&s, "a\"b\\c,{}", "=odd");
    server_check(&s, "", "=empty");
    server_check(&s, "x\ny", "=lines");
    server_check_bytes(&s, rondo_slice_of("a\0b", 3), "=nul");
    server_check(&s, "tau", "LOAD: load: more than one row for one key");
    server_check(&s, "gift", "=poison");
    server_close(&s);
}

static void test_far_too_many_rows(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load",
                                 "SELECT seq FROM seq_1_to_100000000 WHERE seq > {id}", NULL};
    struct server_source s = server_connect(1, pairs);
    server_check(&s, "5", "LOAD: load: more than one row for one key");
    server_check(&s, "99999998", "LOAD: load: more than one row for one key");
    server_check(&s, "99999999", "=100000000");
    server_close(&s);
}

/* --------------------------------------------------------------------- batches --- */

static void test_many(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, "load_many", many_by_id, NULL};
    const char *const all[] = {"42",     "=Grace", "3",      "absent", "1",      "=Ada", "042",
                               "=Grace", "43",     "absent", "x",      "absent", NULL};
    const char *const five[] = {"1",  "=Ada",   "2",  "=Bob",   "7", "absent",
                                "42", "=Grace", "43", "absent", NULL};
    struct server_source s = server_connect(1, pairs);
    assert_int_equal(s.ops->batch(s.self), 256);
    server_check_many(&s, all);
    server_check_many(&s, five);
    server_close(&s);
}

static void test_many_as_json(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url",       url,
        "load",      "SELECT name, score FROM users WHERE id = {id}",
        "load_many", "SELECT id, name, score FROM users WHERE id IN ({id}) ORDER BY id DESC",
        NULL};
    const char *const all[] = {"1",  "={\"name\":\"Ada\",\"score\":0.1}",
                               "43", "={\"name\":null,\"score\":1}",
                               "44", "absent",
                               NULL};
    struct server_source s = server_connect(1, pairs);
    server_check_many(&s, all);
    server_close(&s);
}

static void test_many_odd_keys(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url",       url,
        "load",      "SELECT meaning FROM words WHERE word = {id} AND lang = 'de'",
        "load_many", "SELECT word, meaning FROM words WHERE word IN ({id}) AND lang = 'de'",
        NULL};
    const char *const all[] = {"a\"b\\c,{}", "=odd",
                               "",           "=empty",
                               "NULL",       "=word",
                               "x\ny",       "=lines",
                               "tau",        "LOAD: load_many: more than one row for one key",
                               "\xff",       "LOAD: load: Invalid utf8mb4 character string: 'FF'",
                               "null",       "absent",
                               "gift",       "=poison",
                               NULL};
    struct server_source s = server_connect(1, pairs);
    server_check_many(&s, all);
    server_close(&s);
}

/* Equal to the server, different as bytes: a batch answers as single loads do. */
static void test_many_by_another_equality(void **state) {
    (void)state;
    const char *const pairs[] = {"url",       url,
                                 "load",      "SELECT id FROM users WHERE name = {id}",
                                 "load_many", "SELECT name, id FROM users WHERE name IN ({id})",
                                 NULL};
    const char *const all[] = {"Ada", "=1", "ADA", "=1", "BOB", "=2", "nobody", "absent", NULL};
    const char *const both[] = {"Ada", "=1", "ADA", "=1", NULL};
    struct server_source s = server_connect(1, pairs);
    server_check_many(&s, all);
    server_check_many(&s, both);
    server_close(&s);
}

/* What the manual advises where MySQL's own idea of equality is too generous. */
static void test_exact_keys(void **state) {
    (void)state;
    const char *const loose[] = {"url", url, "load", by_id, "load_many", many_by_id, NULL};
    const char *const exact[] = {
        "url",       url,
        "load",      "SELECT name FROM users WHERE id = {id} AND CAST(id AS CHAR) = {id}",
        "load_many", "SELECT id, name FROM users WHERE id IN ({id}) AND CAST(id AS CHAR) IN ({id})",
        NULL};
    const char *const text[] = {
        "url", url, "load", "SELECT id FROM users WHERE name = {id} AND BINARY name = {id}", NULL};
    const char *const all[] = {"1x", "absent", "1", "=Ada", "02", "absent", "2", "=Bob", NULL};
    struct server_source s = server_connect(1, loose);
    server_check(&s, "1x", "=Ada");
    server_close(&s);
    s = server_connect(1, exact);
    server_check(&s, "1x", "absent");
    server_check(&s, "1", "=Ada");
    server_check_many(&s, all);
    server_close(&s);
    s = server_connect(1, text);
    server_check(&s, "ADA", "absent");
    server_check(&s, "Ada", "=1");
    server_close(&s);
}

/* ---------------------------------------------------------------------- writes --- */

/* A client SETs an object with the names of the columns. */
static void test_a_json_object_is_stored(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url",
        url,
        "load",
        "SELECT name, email FROM people WHERE id = {id}",
        "store",
        "INSERT INTO people (id, name, email) VALUES ({id}, JSON_VALUE({value}, "
        "'$.name'), JSON_VALUE({value}, '$.email')) ON DUPLICATE KEY UPDATE "
        "name = VALUES(name), email = VALUES(email)",
        NULL};
    static const char ann[] = "{\"name\":\"Ann\",\"email\":\"a@b\"}";
    sql("CREATE TABLE app.people (id INT PRIMARY KEY, name TEXT, email TEXT)");
    struct server_source s = server_connect(1, pairs);
    struct rondo_source_error why;
    for (int i = 0; i < 2; i++)
        assert_int_equal(server_write(&s, true, rondo_slice_str("5"), rondo_slice_str(ann), &why),
                         RONDO_OK);
    server_check(&s, "5", "={\"name\":\"Ann\",\"email\":\"a@b\"}");
    server_close(&s);
}

static void test_writes(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url",
        url,
        "load",
        "SELECT v FROM kv WHERE k = {id}",
        "store",
        "INSERT INTO kv (k, v) VALUES ({id}, {value}) ON DUPLICATE KEY UPDATE v = "
        "{value}",
        "erase",
        "DELETE FROM kv WHERE k = {id}",
        NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_source_error why;
    struct rondo_slice id = rondo_slice_str("a'b");
    assert_int_equal(s.ops->writes(s.self), RONDO_SOURCE_STORES | RONDO_SOURCE_ERASES);
    for (int i = 0; i < 2; i++) { /* the second time nothing changes, which is no error */
        assert_int_equal(server_write(&s, true, id, rondo_slice_str("t'wo"), &why), RONDO_OK);
        server_check(&s, "a'b", "=t'wo");
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(server_write(&s, false, id, rondo_slice_of(NULL, 0), &why), RONDO_OK);
        server_check(&s, "a'b", "absent");
    }
    server_close(&s);
}

static void test_writes_that_fail(void **state) {
    (void)state;
    const char *const pairs[] = {"url",   url,
                                 "load",  "SELECT b FROM kv WHERE k = {id}",
                                 "store", "UPDATE kv SET b = {value} WHERE k = {id}",
                                 NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_source_error why;
    struct rondo_slice id = rondo_slice_str("bytes"), value = rondo_slice_of("\0\xff", 2);
    assert_int_equal(server_write(&s, true, id, value, &why), RONDO_ERR_STORE);
    assert_string_equal(why.text, "store: it changed no row");
    assert_int_equal(server_write(&s, false, id, value, &why), RONDO_ERR_STORE);
    assert_string_equal(why.text, "the source has no `erase` statement");
    sql("INSERT INTO app.kv (k) VALUES ('bytes')");
    for (int i = 0; i < 2; i++) assert_int_equal(server_write(&s, true, id, value, &why), RONDO_OK);
    server_check_value(&s, id, value);
    server_close(&s);
}

/* -------------------------------------------------------- schema, time, the server --- */

static void test_the_schema_changes(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT * FROM shifting WHERE id = {id}",
                                 NULL};
    sql("USE app; CREATE TABLE shifting (id INT, name TEXT); INSERT INTO shifting VALUES (1, 'x')");
    struct server_source s = server_connect(1, pairs);
    server_check(&s, "1", "={\"id\":1,\"name\":\"x\"}");
    sql("ALTER TABLE app.shifting ADD extra BOOL");
    server_check(&s, "1", "={\"id\":1,\"name\":\"x\",\"extra\":null}");
    sql("USE app; ALTER TABLE shifting DROP name, DROP extra, MODIFY id TEXT;"
        "UPDATE shifting SET id = 'k1'");
    server_check(&s, "k1", "=k1");
    sql("DROP TABLE app.shifting");
    server_check(&s, "k1", "LOAD: load: Table 'app.shifting' doesn't exist");
    sql("USE app; CREATE TABLE shifting (id INT, v INT); INSERT INTO shifting VALUES (1, 5)");
    server_check(&s, "1", "={\"id\":1,\"v\":5}");
    sql("DROP TABLE app.shifting");
    server_close(&s);
}

static void test_statements_that_do_not_fit(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"SELECT nam FROM users WHERE id = {id}", "LOAD: load: Unknown column 'nam' in 'SELECT'"},
        {"SELECT 'x\\' AS a, {id} AS b, '",
         "LOAD: load: a {place} where no parameter can be bound"},
        {"SELECT ?, {id}", "LOAD: load: a {place} where no parameter can be bound"},
        {"SELECT id FROM users WHERE id = (SELECT id FROM users WHERE id >= {id})",
         "LOAD: load: Subquery returns more than 1 row"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++)
        server_check_statement(url, cases[i][0], "1", cases[i][1]);
}

static const char sleeping[] = "SELECT COUNT(*) FROM information_schema.processlist WHERE info "
                               "LIKE 'SELECT SLEEP%' AND command <> 'Sleep'";

static void await_sleepers(const char *n) {
    while (strcmp(sql(sleeping), n) != 0) database_pause();
}

static void test_a_slow_query_is_stopped(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT SLEEP({id})", NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_slice id = rondo_slice_str("3600");
    struct fixture_load f;
    server_load(&s, 1, &id, 2 * RONDO_SEC, &f);
    assert_memory_equal(f.answers[0], "TIMEOUT: load: ", 15);
    await_sleepers("0");
    server_check(&s, "0", "=0"); /* without a limit now */
    server_close(&s);
}

static void test_cancel(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT SLEEP({id})", NULL};
    struct server_slow_load l = {.s = server_connect(1, pairs)};
    struct rondo_thread thread;
    assert_int_equal(rondo_thread_start(&thread, "slow", server_load_slowly, &l), RONDO_OK);
    await_sleepers("1");
    l.s.ops->cancel(l.s.connection);
    rondo_thread_join(&thread);
    assert_memory_equal(l.f.answers[0], "TIMEOUT: load: stopped at its time limit", 40);
    await_sleepers("0");
    l.s.ops->cancel(l.s.connection); /* too late for anything */
    server_check(&l.s, "0", "=0");
    server_close(&l.s);
}

/* The server stops dead; the kernel still accepts connections. */
static void test_a_server_that_hangs(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, "connect_timeout", "2s", NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_slice id = rondo_slice_str("1");
    struct rondo_source_error why;
    struct fixture_load f;
    void *another = NULL;
    server_check(&s, "1", "=Ada");
    kill(db.pid, SIGSTOP);
    server_load(&s, 1, &id, 100 * RONDO_MS, &f);
    assert_memory_equal(f.answers[0], "TIMEOUT: load: stopped at its time limit", 40);
    assert_int_equal(s.ops->connect(s.self, &why, &another), RONDO_ERR_CONNECT);
    assert_string_equal(why.text, "connecting to \"127.0.0.1\" took too long");
    kill(db.pid, SIGCONT);
    server_close(&s);
}

static void test_an_idle_connection_is_remade(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url", url, "load", by_id, "store", "INSERT INTO kv (k, v) VALUES ({id}, {value})", NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_source_error why;
    server_check(&s, "1", "=Ada");
    database_kill(&db);
    database_start(&db);
    server_check(&s, "1", "=Ada");
    database_kill(&db);
    database_start(&db);
    assert_int_equal(server_write(&s, true, rondo_slice_str("remade"), rondo_slice_str("v"), &why),
                     RONDO_OK);
    server_close(&s);
}

static void test_killed_under_load(void **state) {
    (void)state;
    const char *const pairs[] = {"url",       url,
                                 "load",      "SELECT name FROM herd WHERE id = {id}",
                                 "load_many", "SELECT id, name FROM herd WHERE id IN ({id})",
                                 NULL};
    server_check_herd(&db, pairs);
}

/* ------------------------------------------------------------------- connecting --- */

static void test_connections_that_fail(void **state) {
    (void)state;
    char to[160];
    snprintf(to, sizeof to, "mysql://app:hunter2@127.0.0.1:%u/app", db.port);
    server_check_refused(to, "Access denied for user 'app'", "hunter2");
    snprintf(to, sizeof to, "mysql://root@127.0.0.1:%u/nowhere", db.port);
    server_check_refused(to, "Unknown database 'nowhere'", "hunter2");
    snprintf(to, sizeof to, "mysql://app:hunter2@127.0.0.1:%u/x", database_free_port());
    server_check_refused(to, "Can't connect to server on '127.0.0.1'", "hunter2");
    server_check_refused("mysql://app:hunter2@nowhere.invalid/x", "nowhere.invalid", "hunter2");
    server_check_refused("mysql://app:hunter2@localhost/x?socket=/nowhere/s",
                         "Can't connect to local server through socket '/nowhere/s'", "hunter2");
}

static void test_the_socket(void **state) {
    (void)state;
    char to[256];
    snprintf(to, sizeof to, "mariadb://app:s3cret%%40%%2F@localhost/app?socket=%s/socket", db.dir);
    server_check_statement(to, by_id, "1", "=Ada");
}

static void test_a_server_that_is_not_up_yet(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, NULL};
    struct server_source s = server_open(1, pairs);
    struct rondo_source_error why;
    database_end(&db, SIGTERM);
    assert_int_equal(s.ops->connect(s.self, &why, &s.connection), RONDO_ERR_CONNECT);
    assert_int_equal(s.ops->connect(s.self, &why, &s.connection), RONDO_ERR_CONNECT);
    database_start(&db);
    while (s.ops->connect(s.self, &why, &s.connection)) database_pause();
    server_check(&s, "1", "=Ada");
    server_close(&s);
}

static void test_the_loadable_object(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, NULL};
    struct fixture_config f;
    struct rondo_source source;
    struct rondo_source_error why;
    fixture_settings(&f, server_params, 1, pairs);
    assert_int_equal(rondo_source_open("mysql", &f.config, NULL, &source), RONDO_OK);
    struct server_source s = {source.ops, source.self, NULL};
    assert_ptr_not_equal(s.ops, rondo_source_plugin());
    assert_int_equal(s.ops->connect(s.self, &why, &s.connection), RONDO_OK);
    server_check(&s, "1", "=Ada");
    server_close(&s);
}

/* --------------------------------------------------------------------- settings --- */

static void test_mistakes(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url", "mysql://a:hunter2@b@c", "load", "INSERT {id}", "connect_timeout", "off", NULL};
    struct fixture_config f;
    void *source;
    assert_int_equal(server_try_open(1, pairs, &f, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes,
                        "url: it has more than one @: one in a user or password is written as %40\n"
                        "load: a statement that reads begins with SELECT, WITH, VALUES or TABLE\n"
                        "connect_timeout: it cannot be off\n");
}

static void test_out_of_memory(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, "load_many", many_by_id, NULL};
    server_check_out_of_memory(pairs, "1", "=Ada");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_one_column),
        cmocka_unit_test(test_several_columns),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_blob),
        cmocka_unit_test(test_a_large_value),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_far_too_many_rows),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_many_as_json),
        cmocka_unit_test(test_many_odd_keys),
        cmocka_unit_test(test_many_by_another_equality),
        cmocka_unit_test(test_exact_keys),
        cmocka_unit_test(test_a_json_object_is_stored),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_writes_that_fail),
        cmocka_unit_test(test_the_schema_changes),
        cmocka_unit_test(test_statements_that_do_not_fit),
        cmocka_unit_test(test_a_slow_query_is_stopped),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_a_server_that_hangs),
        cmocka_unit_test(test_connections_that_fail),
        cmocka_unit_test(test_the_socket),
        cmocka_unit_test(test_the_loadable_object),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_an_idle_connection_is_remade),
        cmocka_unit_test(test_a_server_that_is_not_up_yet),
        cmocka_unit_test(test_killed_under_load),
    };
    if (!database_create(&db, false)) {
        puts("skipped: no MariaDB server here");
        return DATABASE_SKIPPED;
    }
    return cmocka_run_group_tests(tests, start_server, remove_server);
}
