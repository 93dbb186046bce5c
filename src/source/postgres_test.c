/* SPDX-License-Identifier: MIT */
/* Every test but those of settings talks to a PostgreSQL server that this program
 * starts; without its programs all are skipped. */
#include "source/server_fixture.h"

#include "source/source.h"
#include <libpq-fe.h>

static struct database db;
static char url[128];

static const char by_id[] = "SELECT name FROM users WHERE id = {id}";
static const char many_by_id[] = "SELECT id, name FROM users WHERE id = ANY({id})";

/* ------------------------------------------------------------------ the server --- */

static PGconn *admin(void) {
    char text[128];
    snprintf(text, sizeof text, "host=127.0.0.1 port=%u user=postgres dbname=postgres", db.port);
    PGconn *pg = PQconnectdb(text);
    if (PQstatus(pg) != CONNECTION_OK) fail_msg("%s", PQerrorMessage(pg));
    return pg;
}

/* Runs statements; the first value of the last, if any. */
static const char *sql(const char *text) {
    static char value[256];
    PGconn *pg = admin();
    PQclear(PQexec(pg, "SET client_min_messages = warning"));
    PGresult *r = PQexec(pg, text);
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(pg));
    snprintf(value, sizeof value, "%s", PQntuples(r) ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    PQfinish(pg);
    return value;
}

static void make_tables(void) {
    sql("CREATE ROLE app LOGIN PASSWORD 's3cret@/'; GRANT ALL ON SCHEMA public TO app");
    sql("CREATE TABLE users (id int PRIMARY KEY, name text, score float8, photo bytea, info jsonb);"
        "INSERT INTO users VALUES (1, 'Ada', 0.1, NULL, '{\"a\": [1.10, null]}'),"
        " (2, 'Bob', 2, '\\x00ff', NULL), (42, 'Grace', NULL, '\\x6f6b', '7'),"
        " (43, NULL, 1, NULL, NULL);"
        "CREATE TABLE words (word text, lang text, meaning text);"
        "INSERT INTO words VALUES ('gift', 'en', 'present'), ('gift', 'de', 'poison'),"
        " ('tau', 'de', 'dew'), ('tau', 'de', 'rope'), ('a\"b\\c,{}', 'de', 'odd'),"
        " ('', 'de', 'empty'), ('NULL', 'de', 'word'), (E'x\\ny', 'de', 'lines');"
        "CREATE TABLE blobs (k bytea PRIMARY KEY, v bytea);"
        "INSERT INTO blobs VALUES ('\\x61', 'plain'), ('\\x00ff22', 'odd key');"
        "CREATE TABLE herd (id int PRIMARY KEY, name text);"
        "INSERT INTO herd SELECT n, 'name-' || n FROM generate_series(0, 99) n;"
        "CREATE TABLE kv (k text PRIMARY KEY, v text, b bytea);"
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO app");
}

static int start_server(void **state) {
    (void)state;
    database_start(&db);
    make_tables();
    snprintf(url, sizeof url, "postgresql://app:s3cret%%40%%2F@127.0.0.1:%u/postgres", db.port);
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
    server_check(&s, "x", "LOAD: load: invalid input syntax for type integer: \"x\"");
    server_check(&s, "2", "=Bob");
    server_close(&s);
}

static void test_several_columns(void **state) {
    (void)state;
    const char all[] = "SELECT id, name, score, photo, info, id = 1 AS first FROM users"
                       " WHERE id = {id}";
    server_check_statement(url, all, "1",
                           "={\"id\":1,\"name\":\"Ada\",\"score\":0.1,\"photo\":null,"
                           "\"info\":{\"a\": [1.10, null]},\"first\":true}");
    server_check_statement(url, all, "2",
                           "={\"id\":2,\"name\":\"Bob\",\"score\":2,\"photo\":\"\\\\x00ff\","
                           "\"info\":null,\"first\":false}");
    server_check_statement(url, "SELECT 1 AS a, 2 AS a, {id}::text", "1",
                           "LOAD: load: column \"a\" occurs twice: name them apart with AS");
    server_check_statement(url, "SELECT {id}::float8 AS f, 1 AS n", "NaN",
                           "LOAD: load: column \"f\" is not a finite number");
}

static void test_types(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"SELECT {id}::numeric", "12345678901234567890.10", "=12345678901234567890.10"},
        {"SELECT {id}::bigint", "-9223372036854775808", "=-9223372036854775808"},
        {"SELECT {id}::boolean", "yes", "=t"},
        {"SELECT {id}::jsonb", "{\"a\":1}", "={\"a\": 1}"},
        {"SELECT {id}::json", " {\"a\":1}", "= {\"a\":1}"},
        {"SELECT row_to_json(u) FROM (SELECT {id}::int AS id) u", "7", "={\"id\":7}"},
        {"SELECT {id}::date", "2026-02-28", "=2026-02-28"},
        {"SELECT {id}::uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
         "=a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        {"SELECT ARRAY[{id}, 'b']", "a", "={a,b}"},
        {"SELECT {id}", "untyped", "=untyped"},
        {"SELECT {id} || {client}", "for ", "=for Ann"},
        {"SELECT {id}", "", "="},
        {"SELECT {id}::numeric AS n, {id}::int AS i", "7.50", "={\"n\":7.50,\"i\":8}"},
        {"SELECT {id}::numeric AS n, 'x'::text AS t", "12345678901234567890.10",
         "={\"n\":12345678901234567890.10,\"t\":\"x\"}"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++)
        server_check_statement(url, cases[i][0], cases[i][1], cases[i][2]);
}

static void test_bytea(void **state) {
    (void)state;
    const char *const photo[] = {"url", url, "load", "SELECT photo FROM users WHERE id = {id}",
                                 NULL};
    struct server_source s = server_connect(1, photo);
    server_check_value(&s, rondo_slice_str("2"), rondo_slice_of("\0\xff", 2));
    server_close(&s);
    const char *const blobs[] = {"url",       url,
                                 "load",      "SELECT v FROM blobs WHERE k = {id}",
                                 "load_many", "SELECT k, v FROM blobs WHERE k = ANY({id})",
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

static void test_injection(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url", url, "load", "SELECT meaning FROM words WHERE word = {id} AND lang = {lang}", NULL};
    static const char *const attempts[] = {"' OR '1'='1", "gift'; DROP TABLE words; --",
                                           "$1",          "gift' --",
                                           "{id}",        "\\'; SELECT 1; --"};
    struct server_source s = server_connect(2, pairs);
    for (size_t i = 0; i < RONDO_COUNT_OF(attempts); i++) server_check(&s, attempts[i], "absent");
    server_check(&s, "gift", "=poison");
    server_check(&s, "a\"b\\c,{}", "=odd");
    server_check(&s, "", "=empty");
    server_check(&s, "x\ny", "=lines");
    server_check(&s, "tau", "LOAD: load: more than one row for one key");
    server_check(&s, "gift", "=poison");
    server_check_bytes(&s, rondo_slice_of("a\0b", 3),
                       "LOAD: load: a NUL byte, which PostgreSQL's text cannot hold (bytea can)");
    server_check(&s, "\xff", "LOAD: load: invalid byte sequence for encoding \"UTF8\": 0xff");
    server_close(&s);
}

static void test_a_long_key(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT length({id}::text)", NULL};
    struct server_source s = server_connect(1, pairs);
    char *key = malloc(65536);
    assert_non_null(key);
    memset(key, 'k', 65536);
    server_check_bytes(&s, rondo_slice_of(key, 65536), "=65536");
    free(key);
    server_close(&s);
}

static void test_far_too_many_rows(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load",
                                 "SELECT n FROM generate_series(1, 2000000) n WHERE n > {id}::int",
                                 NULL};
    struct server_source s = server_connect(1, pairs);
    server_check(&s, "5", "LOAD: load: more than one row for one key");
    server_check(&s, "1999999", "=2000000");
    server_close(&s);
}

/* --------------------------------------------------------------------- batches --- */

static void test_many(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, "load_many", many_by_id, NULL};
    const char *const all[] = {
        "42", "=Grace", "3",   "absent",
        "1",  "=Ada",   "042", "=Grace",
        "43", "absent", "x",   "LOAD: load: invalid input syntax for type integer: \"x\"",
        NULL};
    struct server_source s = server_connect(1, pairs);
    assert_int_equal(s.ops->batch(s.self), 1000);
    server_check_many(&s, all);
    server_close(&s);
}

static void test_many_as_json(void **state) {
    (void)state;
    const char *const pairs[] = {
        "url",       url,
        "load",      "SELECT name, score FROM users WHERE id = {id}",
        "load_many", "SELECT id, name, score FROM users WHERE id = ANY({id}) ORDER BY id DESC",
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
        "load_many", "SELECT word, meaning FROM words WHERE word = ANY({id}) AND lang = 'de'",
        NULL};
    const char *const all[] = {
        "a\"b\\c,{}", "=odd",
        "",           "=empty",
        "NULL",       "=word",
        "x\ny",       "=lines",
        "tau",        "LOAD: load_many: more than one row for one key",
        "\xff",       "LOAD: load: invalid byte sequence for encoding \"UTF8\": 0xff",
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
    const char *const pairs[] = {
        "url",
        url,
        "load",
        "SELECT id FROM users WHERE lower(name) = lower({id})",
        "load_many",
        "SELECT name, id FROM users WHERE lower(name) = ANY(SELECT lower(x) FROM "
        "unnest({id}::text[]) x)",
        NULL};
    const char *const all[] = {"Ada", "=1", "ADA", "=1", "BOB", "=2", "nobody", "absent", NULL};
    struct server_source s = server_connect(1, pairs);
    server_check_many(&s, all);
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
        "SELECT row_to_json(u) FROM people u WHERE id = {id}",
        "store",
        "INSERT INTO people (id, name, email) SELECT {id}, v.name, v.email FROM "
        "json_to_record({value}) AS v (name text, email text) ON CONFLICT (id) DO "
        "UPDATE SET name = excluded.name, email = excluded.email",
        NULL};
    static const char ann[] = "{\"name\":\"Ann\",\"email\":\"a@b\"}";
    sql("CREATE TABLE people (id int PRIMARY KEY, name text, email text);"
        "GRANT ALL ON people TO app");
    struct server_source s = server_connect(1, pairs);
    struct rondo_source_error why;
    for (int i = 0; i < 2; i++)
        assert_int_equal(server_write(&s, true, rondo_slice_str("5"), rondo_slice_str(ann), &why),
                         RONDO_OK);
    server_check(&s, "5", "={\"id\":5,\"name\":\"Ann\",\"email\":\"a@b\"}");
    assert_int_equal(server_write(&s, true, rondo_slice_str("5"), rondo_slice_str("no"), &why),
                     RONDO_ERR_STORE);
    assert_string_equal(why.text, "store: invalid input syntax for type json");
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
        "INSERT INTO kv (k, v) VALUES ({id}, {value}) ON CONFLICT (k) DO UPDATE SET v = "
        "excluded.v",
        "erase",
        "DELETE FROM kv WHERE k = {id}",
        NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_source_error why;
    struct rondo_slice id = rondo_slice_str("a'b");
    assert_int_equal(s.ops->writes(s.self), RONDO_SOURCE_STORES | RONDO_SOURCE_ERASES);
    assert_int_equal(server_write(&s, true, id, rondo_slice_str("one"), &why), RONDO_OK);
    server_check(&s, "a'b", "=one");
    assert_int_equal(server_write(&s, true, id, rondo_slice_str("t'wo"), &why), RONDO_OK);
    server_check(&s, "a'b", "=t'wo");
    assert_int_equal(server_write(&s, true, id, rondo_slice_of("\0", 1), &why), RONDO_ERR_STORE);
    assert_string_equal(why.text, "store: a NUL byte, which PostgreSQL's text cannot hold (bytea "
                                  "can)");
    assert_int_equal(server_write(&s, false, id, rondo_slice_of(NULL, 0), &why), RONDO_OK);
    server_check(&s, "a'b", "absent");
    assert_int_equal(server_write(&s, false, id, rondo_slice_of(NULL, 0), &why), RONDO_OK);
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
    sql("INSERT INTO kv (k) VALUES ('bytes')");
    assert_int_equal(server_write(&s, true, id, value, &why), RONDO_OK);
    server_check_value(&s, id, value);
    server_close(&s);
}

/* -------------------------------------------------------- schema, time, the server --- */

static void test_the_schema_changes(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT * FROM shifting WHERE id = {id}",
                                 NULL};
    sql("CREATE TABLE shifting (id int, name text); INSERT INTO shifting VALUES (1, 'x');"
        "GRANT ALL ON shifting TO app");
    struct server_source s = server_connect(1, pairs);
    server_check(&s, "1", "={\"id\":1,\"name\":\"x\"}");
    sql("ALTER TABLE shifting ADD extra bool");
    server_check(&s, "1", "={\"id\":1,\"name\":\"x\",\"extra\":null}");
    sql("ALTER TABLE shifting DROP name, DROP extra, ALTER id TYPE text USING 'k' || id");
    server_check(&s, "k1", "=k1");
    sql("DROP TABLE shifting");
    server_check(&s, "k1", "LOAD: load: relation \"shifting\" does not exist");
    sql("CREATE TABLE shifting (id int, v int); INSERT INTO shifting VALUES (1, 5);"
        "GRANT ALL ON shifting TO app");
    server_check(&s, "1", "={\"id\":1,\"v\":5}");
    sql("DROP TABLE shifting");
    server_close(&s);
}

static void test_statements_that_do_not_fit(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"SELECT nam FROM users WHERE id = {id}", "LOAD: load: column \"nam\" does not exist"},
        {"SELECT $$ {id} $$", "LOAD: load: a {place} where no parameter can be bound"},
        {"SELECT 1 WHERE {id} = '1'; SELECT 2",
         "LOAD: load: cannot insert multiple commands into a prepared statement"},
        {"SELECT 1/0 WHERE {id} = '1'", "LOAD: load: division by zero"},
        {"(SELECT {id}::text", "LOAD: load: syntax error at end of input"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++)
        server_check_statement(url, cases[i][0], "1", cases[i][1]);
}

static const char sleeping[] =
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active'"
    " AND pid <> pg_backend_pid()";

static void await_sleepers(const char *n) {
    while (strcmp(sql(sleeping), n) != 0) database_pause();
}

static void test_a_slow_query_is_stopped(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT pg_sleep({id}::float8)::text", NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_slice id = rondo_slice_str("3600");
    struct fixture_load f;
    server_load(&s, 1, &id, 2 * RONDO_SEC, &f);
    assert_memory_equal(f.answers[0], "TIMEOUT: load: ", 15);
    await_sleepers("0");
    server_check(&s, "0", "="); /* without a limit now */
    server_close(&s);
}

static void test_cancel(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", "SELECT pg_sleep({id}::float8)::text", NULL};
    struct server_slow_load l = {.s = server_connect(1, pairs)};
    struct rondo_thread thread;
    assert_int_equal(rondo_thread_start(&thread, "slow", server_load_slowly, &l), RONDO_OK);
    await_sleepers("1");
    l.s.ops->cancel(l.s.connection);
    rondo_thread_join(&thread);
    assert_memory_equal(l.f.answers[0], "TIMEOUT: load: stopped at its time limit", 40);
    await_sleepers("0");
    l.s.ops->cancel(l.s.connection); /* too late for anything */
    server_check(&l.s, "0", "=");
    server_close(&l.s);
}

/* The postmaster and its children stop dead; the kernel still accepts connections. */
static void test_a_server_that_hangs(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, "connect_timeout", "2s", NULL};
    struct server_source s = server_connect(1, pairs);
    struct rondo_slice id = rondo_slice_str("1");
    struct rondo_source_error why;
    struct fixture_load f;
    void *another = NULL;
    server_check(&s, "1", "=Ada");
    pid_t backend = (pid_t)strtol(
        sql("SELECT pid FROM pg_stat_activity WHERE usename = 'app' AND query LIKE '%users%'"),
        NULL, 10);
    assert_true(backend > 0);
    kill(backend, SIGSTOP);
    server_load(&s, 1, &id, 100 * RONDO_MS, &f);
    assert_memory_equal(f.answers[0], "TIMEOUT: load: stopped at its time limit", 40);
    kill(db.pid, SIGSTOP);
    assert_int_equal(s.ops->connect(s.self, &why, &another), RONDO_ERR_CONNECT);
    assert_string_equal(why.text, "connecting to \"127.0.0.1\" took too long");
    kill(db.pid, SIGCONT);
    kill(backend, SIGCONT);
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
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'");
    server_check(&s, "1", "=Ada");
    server_close(&s);
}

static void test_killed_under_load(void **state) {
    (void)state;
    const char *const pairs[] = {"url",       url,
                                 "load",      "SELECT name FROM herd WHERE id = {id}",
                                 "load_many", "SELECT id, name FROM herd WHERE id = ANY({id})",
                                 NULL};
    server_check_herd(&db, pairs);
}

/* ------------------------------------------------------------------- connecting --- */

static void test_connections_that_fail(void **state) {
    (void)state;
    char to[160];
    snprintf(to, sizeof to, "postgresql://app:hunter2@127.0.0.1:%u/postgres", db.port);
    server_check_refused(to, "password authentication failed for user \"app\"", "hunter2");
    snprintf(to, sizeof to, "postgresql://postgres:hunter2@127.0.0.1:%u/nowhere", db.port);
    server_check_refused(to, "database \"nowhere\" does not exist", "hunter2");
    snprintf(to, sizeof to, "postgresql://app:hunter2@127.0.0.1:%u/x", database_free_port());
    server_check_refused(to, "Connection refused", "hunter2");
    server_check_refused("postgresql://app:hunter2@nowhere.invalid/x",
                         "could not translate host name \"nowhere.invalid\"", "hunter2");
    server_check_refused("postgresql:///x?host=/nowhere", "No such file or directory", "hunter2");
}

static void test_a_server_that_is_not_up_yet(void **state) {
    (void)state;
    const char *const pairs[] = {"url", url, "load", by_id, NULL};
    struct server_source s = server_open(1, pairs);
    struct rondo_source_error why;
    database_end(&db, SIGQUIT);
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
    assert_int_equal(rondo_source_open("postgres", &f.config, NULL, &source), RONDO_OK);
    struct server_source s = {source.ops, source.self, NULL};
    assert_ptr_not_equal(s.ops, rondo_source_plugin());
    assert_int_equal(s.ops->connect(s.self, &why, &s.connection), RONDO_OK);
    server_check(&s, "1", "=Ada");
    server_close(&s);
}

/* --------------------------------------------------------------------- settings --- */

static void check_mistakes(size_t n_params, const char *const *pairs, const char *expected) {
    struct fixture_config f;
    void *source;
    assert_int_equal(server_try_open(n_params, pairs, &f, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, expected);
}

static void test_mistakes(void **state) {
    (void)state;
    const char *const several[] = {
        "url", "mysql://hunter2@x", "load", "INSERT {id}", "connect_timeout", "off", NULL};
    const char *const url_only[] = {"url", "postgresql://a:hunter2@b@c/d", "load", by_id, NULL};
    const char *const broken[] = {"url", "postgresql://a:hunter2@[b", "load", by_id, NULL};
    const char *const two[] = {"url",       "postgresql:///x", "load", by_id,
                               "load_many", many_by_id,        NULL};
    check_mistakes(1, several,
                   "url: it begins with postgresql://\n"
                   "load: a statement that reads begins with SELECT, WITH, VALUES or TABLE\n"
                   "connect_timeout: it cannot be off\n");
    check_mistakes(1, url_only,
                   "url: it has more than one @: one in a user or password is written as %40\n");
    check_mistakes(1, broken,
                   "url: it does not read as "
                   "postgresql://user:password@host:port/database?option=value (special "
                   "characters are written as %XX)\n");
    check_mistakes(2, two, "load_many: it needs a key with exactly one parameter\n");
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
        cmocka_unit_test(test_bytea),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_a_long_key),
        cmocka_unit_test(test_far_too_many_rows),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_many_as_json),
        cmocka_unit_test(test_many_odd_keys),
        cmocka_unit_test(test_many_by_another_equality),
        cmocka_unit_test(test_a_json_object_is_stored),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_writes_that_fail),
        cmocka_unit_test(test_the_schema_changes),
        cmocka_unit_test(test_statements_that_do_not_fit),
        cmocka_unit_test(test_a_slow_query_is_stopped),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_a_server_that_hangs),
        cmocka_unit_test(test_connections_that_fail),
        cmocka_unit_test(test_the_loadable_object),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_an_idle_connection_is_remade),
        cmocka_unit_test(test_a_server_that_is_not_up_yet),
        cmocka_unit_test(test_killed_under_load),
    };
    if (!database_create(&db, true)) {
        puts("skipped: no PostgreSQL server here");
        return DATABASE_SKIPPED;
    }
    return cmocka_run_group_tests(tests, start_server, remove_server);
}
