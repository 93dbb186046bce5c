/* SPDX-License-Identifier: MIT */
/* The server here is a table of three rows that finds its keys without regard to case. */
#include "source/rows.h"

#include "base/mem.h"
#include "source/load_fixture.h"
#include <strings.h>

#include "base/test.h"

static const char *const table[][2] = {{"Ada", "1"}, {"Bob", "2"}, {"7", "3"}};

struct server {
    enum rondo_err broken; /* what every question is answered with */
    const char *repeated;  /* the row that comes twice */
    unsigned n_one, n_many, n_asked;
};

static bool same(struct rondo_slice a, const char *b) {
    return a.len == strlen(b) && strncasecmp(a.data, b, a.len) == 0;
}

static enum rondo_err one(void *connection, const struct rondo_load_key *key,
                          struct rondo_buf *value, bool *is_absent,
                          struct rondo_source_error *why) {
    struct server *s = connection;
    s->n_one++;
    if (s->broken) snprintf(why->text, sizeof why->text, "it broke");
    if (s->broken) return s->broken;
    *is_absent = true;
    for (size_t i = 0; i < RONDO_COUNT_OF(table); i++) {
        if (!same(key->params[0], table[i][0])) continue;
        *is_absent = false;
        return rondo_buf_append_str(value, table[i][1]);
    }
    return RONDO_OK;
}

static enum rondo_err give_row(struct rondo_rows *rows, const char *const *row,
                               struct rondo_source_error *why) {
    const struct rondo_column columns[] = {
        {"k", RONDO_COLUMN_TEXT, false, rondo_slice_str(row[0])},
        {"v", RONDO_COLUMN_NUMBER, false, rondo_slice_str(row[1])}};
    return rondo_rows_take(rows, columns, 2, why);
}

static enum rondo_err many(void *connection, struct rondo_rows *rows,
                           struct rondo_source_error *why) {
    struct server *s = connection;
    s->n_many++;
    s->n_asked += (unsigned)rows->n_asked;
    if (s->broken) snprintf(why->text, sizeof why->text, "it broke");
    enum rondo_err err = s->broken;
    for (size_t i = RONDO_COUNT_OF(table); !err && i-- > 0;) {
        bool is_asked = false;
        for (size_t k = 0; k < rows->n_asked; k++)
            is_asked = is_asked || same(rondo_rows_asked(rows, k), table[i][0]);
        if (is_asked) err = give_row(rows, table[i], why);
        if (!err && is_asked && s->repeated && strcmp(s->repeated, table[i][0]) == 0)
            err = give_row(rows, table[i], why);
    }
    return err;
}

static bool fits(void *connection, struct rondo_slice param) {
    (void)connection;
    return param.len == 0 || *(const char *)param.data != '!';
}

static const struct rondo_rows_driver driver = {one, many, NULL, fits};

/* `pairs`: parameter, answer, …, NULL. */
static void check(struct server *s, const char *const *pairs) {
    struct rondo_slice ids[FIXTURE_KEYS];
    struct fixture_load f;
    size_t n = 0;
    for (; pairs[2 * n]; n++) ids[n] = rondo_slice_str(pairs[2 * n]);
    fixture_load_init(&f, n, ids);
    rondo_rows_load(&driver, s, &f.load, true);
    for (size_t i = 0; i < n; i++) assert_string_equal(f.answers[i], pairs[2 * i + 1]);
}

static void test_by_value_not_by_position(void **state) {
    (void)state;
    struct server s = {.repeated = NULL};
    const char *const pairs[] = {"Ada", "=1", "7", "=3", "Bob", "=2", NULL};
    check(&s, pairs);
    assert_int_equal(s.n_many, 1);
    assert_int_equal(s.n_one, 0);
}

static void test_missing_is_asked_for_again(void **state) {
    (void)state;
    struct server s = {.repeated = NULL};
    const char *const pairs[] = {"Ada", "=1", "Eve", "absent", "Zoe", "absent", NULL};
    check(&s, pairs);
    assert_int_equal(s.n_many, 2);
    assert_int_equal(s.n_asked, 5);
    assert_int_equal(s.n_one, 0);
}

static void test_missing_is_certain(void **state) {
    (void)state;
    struct server s = {.repeated = NULL};
    const char *const none[] = {"Eve", "absent", "Zoe", "absent", NULL};
    const char *const numbers[] = {"7", "=3", "8", "absent", NULL};
    check(&s, none);
    check(&s, numbers);
    assert_int_equal(s.n_many, 2);
    assert_int_equal(s.n_one, 0);
}

static void test_another_equality(void **state) {
    (void)state;
    struct server s = {.repeated = NULL};
    const char *const stray[] = {"ADA", "=1", "Bob", "=2", "Eve", "absent", NULL};
    const char *const hidden[] = {"Ada", "=1", "ADA", "=1", NULL};
    check(&s, stray);
    assert_int_equal(s.n_many, 1);
    assert_int_equal(s.n_one, 2);
    check(&s, hidden);
    assert_int_equal(s.n_many, 3);
    assert_int_equal(s.n_one, 3);
}

static void test_what_does_not_fit(void **state) {
    (void)state;
    struct server s = {.repeated = NULL};
    const char *const pairs[] = {"!", "absent", "Bob", "=2", NULL};
    check(&s, pairs);
    assert_int_equal(s.n_many, 0); /* a batch of one is none */
    assert_int_equal(s.n_one, 2);
}

static void test_two_rows(void **state) {
    (void)state;
    struct server s = {.repeated = "Bob"};
    const char *const pairs[] = {"Ada", "=1", "Bob",
                                 "LOAD: load_many: more than one row for one key", NULL};
    check(&s, pairs);
}

static void test_errors(void **state) {
    (void)state;
    struct server s = {.broken = RONDO_ERR_LOAD};
    const char *const load[] = {"Ada", "LOAD: it broke", "Bob", "LOAD: it broke", NULL};
    const char *const connect[] = {"!a", "CONNECT: it broke", "!b", "CONNECT: it broke", NULL};
    check(&s, load);
    assert_int_equal(s.n_one, 0); /* the cache asks again, not we */
    s = (struct server){.broken = RONDO_ERR_CONNECT};
    check(&s, connect);
    assert_int_equal(s.n_one, 1); /* the next would meet it, too */
}

static void test_plain_numbers(void **state) {
    (void)state;
    static const char *const good[] = {"0", "7", "-7", "999999999999999"};
    static const char *const bad[] = {"", "-", "-0", "007", "+7", "7 ", "1e3", "1000000000000000"};
    for (size_t i = 0; i < RONDO_COUNT_OF(good); i++)
        assert_true(rondo_rows_is_plain_number(rondo_slice_str(good[i])));
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++)
        assert_false(rondo_rows_is_plain_number(rondo_slice_str(bad[i])));
}

static void test_out_of_memory(void **state) {
    (void)state;
    const struct rondo_slice ids[] = {rondo_slice_str("Ada"), rondo_slice_str("Bob")};
    uint64_t n = 1;
    for (;; n++) {
        struct server s = {.repeated = NULL};
        struct fixture_load f;
        fixture_load_init(&f, 2, ids);
        rondo_mem_fail_nth(n);
        rondo_rows_load(&driver, &s, &f.load, true);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        if (!failed) break;
        assert_string_equal(f.answers[0], "NOMEM: out of memory");
    }
    assert_true(n > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_value_not_by_position),
        cmocka_unit_test(test_missing_is_asked_for_again),
        cmocka_unit_test(test_missing_is_certain),
        cmocka_unit_test(test_another_equality),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_two_rows),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_plain_numbers),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
