/* SPDX-License-Identifier: MIT */
#include "config/option.h"

#include "base/check.h"
#include "base/mem.h"
#include "cache/policy.h"
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

static const struct {
    enum rondo_config_scope scope;
    const char *name, *standard;
} promised[] = {
    {RONDO_CONFIG_CACHE, "ttl", "10m"},
    {RONDO_CONFIG_CACHE, "ttl_jitter", "10%"},
    {RONDO_CONFIG_CACHE, "miss_ttl", "off"},
    {RONDO_CONFIG_CACHE, "error_ttl", "off"},
    {RONDO_CONFIG_CACHE, "refresh_ahead", "off"},
    {RONDO_CONFIG_CACHE, "stale_while_revalidate", "off"},
    {RONDO_CONFIG_CACHE, "stale_if_error", "off"},
    {RONDO_CONFIG_CACHE, "load_timeout", "30s"},
    {RONDO_CONFIG_CACHE, "wait", "30s"},
    {RONDO_CONFIG_CACHE, "single_flight", "yes"},
    {RONDO_CONFIG_CACHE, "breaker_failures", "10"},
    {RONDO_CONFIG_CACHE, "breaker_probe", "1s"},
    {RONDO_CONFIG_CACHE, "threads", "auto: 1..16"},
    {RONDO_CONFIG_CACHE, "max_stuck", "as many as threads"},
    {RONDO_CONFIG_CACHE, "queue", "10000"},
    {RONDO_CONFIG_CACHE, "waiters", "10000"},
    {RONDO_CONFIG_CACHE, "batch", "128"},
    {RONDO_CONFIG_CACHE, "memory", "no limit of its own"},
    {RONDO_CONFIG_CACHE, "max_value", "512mb"},
    {RONDO_CONFIG_CACHE, "miss_memory", "5%"},
    {RONDO_CONFIG_CACHE, "writes", "memory"},
    {RONDO_CONFIG_SERVER, "memory", "half of the cgroup's limit or of the RAM"},
    {RONDO_CONFIG_SERVER, "workers", "auto: one a core"},
    {RONDO_CONFIG_SERVER, "drain_timeout", "10s"},
    {RONDO_CONFIG_SERVER, "idle_timeout", "off"},
};

static void test_every_default_that_is_promised_can_be_set(void **state) {
    (void)state;
    for (size_t i = 0; i < RONDO_COUNT_OF(promised); i++) {
        const struct rondo_config_option *row =
            rondo_config_option(promised[i].scope, promised[i].name);
        assert_non_null(row);
        assert_non_null(row->read);
        assert_string_equal(row->standard, promised[i].standard);
    }
}

static void check_same(const struct rondo_cache_options *a, const struct rondo_cache_options *b) {
    assert_int_equal(a->ttl_ns, b->ttl_ns);
    assert_int_equal(a->ttl_jitter_percent, b->ttl_jitter_percent);
    assert_int_equal(a->ttl_from_source, b->ttl_from_source);
    assert_int_equal(a->miss_ttl_ns, b->miss_ttl_ns);
    assert_int_equal(a->error_ttl_ns, b->error_ttl_ns);
    assert_int_equal(a->refresh_ahead_percent, b->refresh_ahead_percent);
    assert_int_equal(a->stale_while_revalidate_ns, b->stale_while_revalidate_ns);
    assert_int_equal(a->stale_if_error_ns, b->stale_if_error_ns);
    assert_int_equal(a->threads.kind, b->threads.kind);
    assert_int_equal(a->load_timeout_ns, b->load_timeout_ns);
    assert_int_equal(a->wait_ns, b->wait_ns);
    assert_int_equal(a->queue, b->queue);
    assert_int_equal(a->waiters, b->waiters);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->no_single_flight, b->no_single_flight);
    assert_int_equal(a->breaker_failures, b->breaker_failures);
    assert_int_equal(a->breaker_probe_ns, b->breaker_probe_ns);
    assert_int_equal(a->memory_bytes, b->memory_bytes);
    assert_int_equal(a->max_value_bytes, b->max_value_bytes);
    assert_int_equal(a->miss_memory_percent, b->miss_memory_percent);
    assert_int_equal(a->writes, b->writes);
}

/* Each default, written out in the file, is what the engine does without it. */
static void test_the_engine_has_the_same_defaults(void **state) {
    (void)state;
    struct rondo_policy bare, full;
    struct rondo_cache_options o = {.size = sizeof o};
    assert_int_equal(rondo_policy_init(&bare, &o, 1 << 20), RONDO_OK);
    size_t n, read = 0;
    const struct rondo_config_option *rows = rondo_config_options(&n);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].scope != RONDO_CONFIG_CACHE || !rows[i].read) continue;
        /* "No limit" and "as many as" cannot be written. */
        if (strcmp(rows[i].name, "memory") == 0 || strcmp(rows[i].name, "max_stuck") == 0) continue;
        char text[32];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(rows[i].standard, ":"), rows[i].standard);
        assert_null(rows[i].read(text, (char *)&o + rows[i].offset));
        read++;
    }
    assert_true(read >= 18);
    o.size = sizeof o;
    assert_int_equal(rondo_policy_init(&full, &o, 1 << 20), RONDO_OK);
    check_same(&bare.opt, &full.opt);
    rondo_policy_fini(&bare);
    rondo_policy_fini(&full);
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
        char line[512];
        const struct rondo_config_option *o = &rows[i];
        snprintf(line, sizeof line, "\n| `%s` | %s | %s | %s |\n", o->name, o->allowed, o->standard,
                 o->help);
        if (!strstr(manual, line)) fail_msg("docs/config.md lacks the line%s", line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_whole),
        cmocka_unit_test(test_rubbish_is_refused_by_all),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_every_default_that_is_promised_can_be_set),
        cmocka_unit_test(test_the_engine_has_the_same_defaults),
        cmocka_unit_test(test_password_replaces),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_the_manual_has_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
