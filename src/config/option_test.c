/* SPDX-License-Identifier: MIT */
#include "config/option.h"

#include "base/check.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_every_row_is_whole(void **state) {
    (void)state;
    size_t n;
    const struct rondo_config_option *rows = rondo_config_options(&n);
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++) {
        assert_true(strlen(rows[i].name) > 0);
        assert_true(strlen(rows[i].allowed) > 0);
        assert_true(strlen(rows[i].standard) > 0);
        assert_true(strlen(rows[i].help) > 0);
        assert_ptr_equal(rondo_config_option(rows[i].scope, rows[i].name), &rows[i]);
    }
    assert_null(rondo_config_option(RONDO_CONFIG_SERVER, "ttl"));
    assert_null(rondo_config_option(RONDO_CONFIG_CACHE, "listen"));
}

/* Nothing that is no value at all may pass, whatever the option. */
static void test_rubbish_is_refused_by_all(void **state) {
    (void)state;
    static const char *const rubbish[] = {
        "", "0s", "-1", "1e9", "maybe", " 1", "99999999999999999999"};
    size_t n;
    const struct rondo_config_option *rows = rondo_config_options(&n);
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].read || strcmp(rows[i].name, "password") == 0) continue;
        for (size_t k = 0; k < RONDO_COUNT_OF(rubbish); k++) {
            struct rondo_config config = {0};
            struct rondo_cache_options options = {0};
            char *base = rows[i].scope == RONDO_CONFIG_CACHE ? (char *)&options : (char *)&config;
            assert_non_null(rows[i].read(rubbish[k], base + rows[i].offset));
        }
    }
}

static const char *read_cache(const char *name, const char *text, struct rondo_cache_options *o) {
    const struct rondo_config_option *row = rondo_config_option(RONDO_CONFIG_CACHE, name);
    *o = (struct rondo_cache_options){0};
    return row->read(text, (char *)o + row->offset);
}

static void test_off(void **state) {
    (void)state;
    struct rondo_cache_options o;
    assert_null(read_cache("ttl", "off", &o));
    assert_true(o.ttl_ns == RONDO_OFF);
    assert_null(read_cache("ttl_jitter", "off", &o));
    assert_int_equal(o.ttl_jitter_percent, 101);
    assert_null(read_cache("refresh_ahead", "off", &o));
    assert_int_equal(o.refresh_ahead_percent, 0);
    assert_null(read_cache("stale_if_error", "off", &o));
    assert_true(o.stale_if_error_ns == RONDO_OFF);
    assert_non_null(read_cache("load_timeout", "off", &o));
    assert_non_null(read_cache("wait", "off", &o));
}

static void test_values(void **state) {
    (void)state;
    struct rondo_cache_options o;
    assert_null(read_cache("ttl", "from-source", &o));
    assert_true(o.ttl_from_source);
    assert_int_equal(o.ttl_ns, 0);
    assert_null(read_cache("ttl", "90s", &o));
    assert_int_equal(o.ttl_ns, UINT64_C(90000000000));
    assert_null(read_cache("single_flight", "off", &o));
    assert_true(o.no_single_flight);
    assert_null(read_cache("single_flight", "on", &o));
    assert_false(o.no_single_flight);
    assert_null(read_cache("writes", "through", &o));
    assert_int_equal(o.writes, RONDO_WRITES_THROUGH);
    assert_null(read_cache("threads", "2..16", &o));
    assert_int_equal(o.threads.kind, RONDO_THREADS_RANGE);
    assert_null(read_cache("max_value", "512mb", &o));
    assert_non_null(read_cache("max_value", "513mb", &o));
    assert_non_null(read_cache("refresh_ahead", "100%", &o));
    assert_non_null(read_cache("batch", "1001", &o));
}

static void test_what_is_lacking(void **state) {
    (void)state;
    struct rondo_config_option o = {.name = "x"};
    assert_false(rondo_config_option_lacks(&o, "1h"));
    o.lacking = "through";
    assert_true(rondo_config_option_lacks(&o, "through"));
    assert_false(rondo_config_option_lacks(&o, "memory"));
    o.lacking = "";
    assert_true(rondo_config_option_lacks(&o, "1h"));
    assert_false(rondo_config_option_lacks(&o, "off"));
}

static void test_password_replaces(void **state) {
    (void)state;
    const struct rondo_config_option *row = rondo_config_option(RONDO_CONFIG_SERVER, "password");
    char *password = NULL;
    assert_non_null(row->read("", &password));
    assert_null(row->read("one", &password));
    assert_null(row->read("two", &password));
    assert_string_equal(password, "two");
    rondo_free(password);
}

static void test_names(void **state) {
    (void)state;
    char list[64];
    assert_string_equal(rondo_config_option_near(RONDO_CONFIG_SERVER, "lisen"), "listen");
    assert_string_equal(rondo_config_option_near(RONDO_CONFIG_CACHE, "tll"), "ttl");
    assert_null(rondo_config_option_near(RONDO_CONFIG_CACHE, "colour"));
    rondo_config_option_list(RONDO_CONFIG_SERVER, list, 21);
    assert_string_equal(list, "listen admin workers");
}

/* Every row stands in the manual as it is in the table. */
static void test_the_manual_has_every_row(void **state) {
    (void)state;
    static char manual[65536];
    FILE *f = fopen(RONDO_MANUAL, "r");
    assert_non_null(f);
    size_t len = fread(manual, 1, sizeof manual - 1, f), n;
    fclose(f);
    manual[len] = '\0';
    const struct rondo_config_option *rows = rondo_config_options(&n);
    for (size_t i = 0; i < n; i++) {
        char line[512], lacking[64] = "";
        const struct rondo_config_option *o = &rows[i];
        if (o->lacking && o->lacking[0])
            snprintf(lacking, sizeof lacking, " (`%s` is not in this version)", o->lacking);
        else if (o->lacking)
            snprintf(lacking, sizeof lacking, " (not in this version)");
        snprintf(line, sizeof line, "\n| `%s` | %s | %s | %s%s |\n", o->name, o->allowed,
                 o->standard, o->help, lacking);
        if (!strstr(manual, line)) fail_msg("docs/config.md lacks the line%s", line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_whole),
        cmocka_unit_test(test_rubbish_is_refused_by_all),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_is_lacking),
        cmocka_unit_test(test_password_replaces),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_the_manual_has_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
