/* SPDX-License-Identifier: MIT */
#include "source/template.h"

#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const params[] = {"sku", "currency"};
static const char *const words[] = {"value"};
static const struct rondo_template_names names = {params, 2, words, 1};

static void check_render(const char *text, const char *expected) {
    const struct rondo_slice values[] = {rondo_slice_str("a{sku}"), rondo_slice_str("EUR"),
                                         rondo_slice_of("x\0y", 3)};
    struct rondo_source_error why;
    struct rondo_template *t;
    struct rondo_buf out = {0};
    assert_int_equal(rondo_template_new(text, &names, &why, &t), RONDO_OK);
    assert_int_equal(rondo_template_render(t, values, &out), RONDO_OK);
    assert_string_equal(rondo_buf_cstr(&out), expected);
    rondo_buf_fini(&out);
    rondo_template_free(t);
}

static void test_render(void **state) {
    (void)state;
    check_render("", "");
    check_render("plain", "plain");
    check_render("{sku}", "a{sku}"); /* a value is never looked into */
    check_render("{sku}{currency}", "a{sku}EUR");
    check_render("<{currency}|{currency}>", "<EUR|EUR>");
    check_render("{{", "{");
    check_render("{{sku}", "{sku}");
    check_render("{{{currency}}", "{EUR}");
    check_render("{{\"c\":\"{currency}\"}", "{\"c\":\"EUR\"}");
    check_render("}", "}");
}

static void test_render_keeps_any_byte(void **state) {
    (void)state;
    const struct rondo_slice values[] = {{0}, {0}, rondo_slice_of("x\0y", 3)};
    struct rondo_source_error why;
    struct rondo_template *t;
    struct rondo_buf out = {0};
    assert_int_equal(rondo_template_new("[{value}{sku}]", &names, &why, &t), RONDO_OK);
    assert_int_equal(t->used, 1 | 4);
    assert_int_equal(rondo_template_render(t, values, &out), RONDO_OK);
    assert_int_equal(out.len, 5);
    assert_memory_equal(out.data, "[x\0y]", 5);
    rondo_buf_fini(&out);
    rondo_template_free(t);
}

static void test_render_url(void **state) {
    (void)state;
    const struct rondo_slice values[] = {
        rondo_slice_of("a/b?c=d&e#f%20 \0\xc3\xbc", 18), rondo_slice_str("Az09-._~"), {0}};
    struct rondo_source_error why;
    struct rondo_template *t;
    struct rondo_buf out = {0};
    assert_int_equal(rondo_template_new("http://h/{sku}?c={currency}&v={value}", &names, &why, &t),
                     RONDO_OK);
    assert_int_equal(rondo_template_render_url(t, values, &out), RONDO_OK);
    assert_string_equal(rondo_buf_cstr(&out),
                        "http://h/a%2Fb%3Fc%3Dd%26e%23f%2520%20%00%C3%BC?c=Az09-._~&v=");
    rondo_buf_fini(&out);
    rondo_template_free(t);
}

static void check_mistake(const char *text, const char *expected) {
    struct rondo_source_error why = {""};
    struct rondo_template *t = NULL;
    assert_int_equal(rondo_template_new(text, &names, &why, &t), RONDO_ERR_CONFIG);
    assert_string_equal(why.text, expected);
    assert_null(t);
}

static void test_mistakes(void **state) {
    (void)state;
    check_mistake("WHERE id = {id}", "found {id}, allowed: {sku} {currency} {value}");
    check_mistake("{skus}", "found {skus}, allowed: {sku} {currency} {value}");
    check_mistake("{sk}", "found {sk}, allowed: {sku} {currency} {value}");
    check_mistake("{sku", "found \"{sku\": a place is {name}, a brace alone is {{");
    check_mistake("{}", "found \"{}\": a place is {name}, a brace alone is {{");
    check_mistake("{ sku}", "found \"{ sku}\": a place is {name}, a brace alone is {{");
    check_mistake("{1}", "found \"{1}\": a place is {name}, a brace alone is {{");
    check_mistake("{", "found \"{\": a place is {name}, a brace alone is {{");
    check_mistake("{abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz}",
                  "found {abcdefghijklmnopqrstuvwxyzabcdef}, allowed: {sku} {currency} {value}");
}

static void test_no_names_allowed(void **state) {
    (void)state;
    struct rondo_template_names none = {0};
    struct rondo_source_error why = {""};
    struct rondo_template *t;
    assert_int_equal(rondo_template_new("{id}", &none, &why, &t), RONDO_ERR_CONFIG);
    assert_string_equal(why.text, "found {id}, allowed: none");
}

static void test_too_many_places(void **state) {
    (void)state;
    struct rondo_buf text = {0};
    for (int i = 0; i < RONDO_TEMPLATE_PARTS - 1; i++)
        assert_int_equal(rondo_buf_append_str(&text, "{sku}"), RONDO_OK);
    struct rondo_source_error why = {""};
    struct rondo_template *t;
    assert_int_equal(rondo_template_new(rondo_buf_cstr(&text), &names, &why, &t), RONDO_OK);
    assert_int_equal(t->n_parts, RONDO_TEMPLATE_PARTS);
    rondo_template_free(t);
    assert_int_equal(rondo_buf_append_str(&text, "{sku}"), RONDO_OK);
    assert_int_equal(rondo_template_new(rondo_buf_cstr(&text), &names, &why, &t), RONDO_ERR_CONFIG);
    assert_string_equal(why.text, "more than 255 places");
    rondo_buf_fini(&text);
}

static enum rondo_err to_sql(const char *text, char sign, struct rondo_source_error *why,
                             struct rondo_template_sql *sql) {
    struct rondo_template *t;
    assert_int_equal(rondo_template_new(text, &names, why, &t), RONDO_OK);
    enum rondo_err err = rondo_template_to_sql(t, sign, why, sql);
    rondo_template_free(t);
    return err;
}

static void test_sql_numbers_each_name_once(void **state) {
    (void)state;
    struct rondo_source_error why = {""};
    struct rondo_template_sql sql;
    assert_int_equal(
        to_sql("SELECT {currency}, p FROM t WHERE s = {sku} AND c = {currency}", '?', &why, &sql),
        RONDO_OK);
    assert_string_equal(sql.text, "SELECT ?1, p FROM t WHERE s = ?2 AND c = ?1");
    assert_int_equal(sql.n_bind, 2);
    assert_int_equal(sql.bind[0], 1);
    assert_int_equal(sql.bind[1], 0);
    rondo_template_sql_fini(&sql);

    assert_int_equal(to_sql("{sku}{value}", '$', &why, &sql), RONDO_OK);
    assert_string_equal(sql.text, "$1$2");
    rondo_template_sql_fini(&sql);
}

static void test_sql_outside_of_quotes(void **state) {
    (void)state;
    static const char *const good[] = {
        "SELECT 'it''s' || {sku}",     "SELECT \"odd name\" FROM t WHERE a = {sku}",
        "SELECT 1 /* c */ + {sku}",    "SELECT 1 -- c\n + {sku}",
        "SELECT 1 - {sku} - - {sku}",  "SELECT '--' , {sku}",
        "SELECT '/*', {sku}, '*/'",    "SELECT a/{sku}",
        "SELECT `q` , {sku} -- don't", "SELECT '' , {sku}",
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(good); i++) {
        struct rondo_source_error why = {""};
        struct rondo_template_sql sql;
        assert_int_equal(to_sql(good[i], '?', &why, &sql), RONDO_OK);
        rondo_template_sql_fini(&sql);
    }
}

static void test_sql_inside_of_quotes(void **state) {
    (void)state;
    static const char quotes[] = "a {place} inside quotes ('…'): write it bare, it is bound as a "
                                 "parameter and needs no quotes";
    static const char comment[] = "a {place} inside a comment: nothing could be bound to it";
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"SELECT '{sku}'", quotes},
        {"SELECT 'it''s {sku}'", quotes},
        {"SELECT 'a' , 'b' , 'c{sku}", quotes},
        {"SELECT {value}, '{sku}'", quotes},
        {"SELECT 1 -- {sku}", comment},
        {"SELECT 1 /* {sku} */", comment},
        {"SELECT 1 /*/ {sku} */", comment},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++) {
        struct rondo_source_error why = {""};
        struct rondo_template_sql sql;
        assert_int_equal(to_sql(bad[i].text, '?', &why, &sql), RONDO_ERR_CONFIG);
        assert_string_equal(why.text, bad[i].why);
    }
}

static enum rondo_err make_and_use(void) {
    const struct rondo_slice values[] = {rondo_slice_str("a"), {0}, {0}};
    struct rondo_source_error why;
    struct rondo_template *t;
    struct rondo_template_sql sql;
    struct rondo_buf out = {0};
    enum rondo_err err = rondo_template_new("SELECT {sku}, {sku}", &names, &why, &t);
    if (err) return err;
    err = rondo_template_render(t, values, &out);
    if (!err) err = rondo_template_to_sql(t, '?', &why, &sql);
    if (!err) rondo_template_sql_fini(&sql);
    rondo_buf_fini(&out);
    rondo_template_free(t);
    return err;
}

static void test_out_of_memory(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = make_and_use();
        if (!rondo_mem_failed()) {
            rondo_mem_fail_nth(0);
            assert_int_equal(err, RONDO_OK);
            break;
        }
        assert_int_equal(err, RONDO_ERR_NOMEM);
    }
    assert_true(n > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_render_keeps_any_byte),
        cmocka_unit_test(test_render_url),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_names_allowed),
        cmocka_unit_test(test_too_many_places),
        cmocka_unit_test(test_sql_numbers_each_name_once),
        cmocka_unit_test(test_sql_outside_of_quotes),
        cmocka_unit_test(test_sql_inside_of_quotes),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
