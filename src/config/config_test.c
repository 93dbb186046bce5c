/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include "base/buf.h"
#include "base/mem.h"
#include "source/source.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static char lines[8192];

static void on_mistake(void *arg, const char *line) {
    size_t used = strlen(lines);
    (void)arg;
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static enum rondo_err parse(const char *text, struct rondo_config **out) {
    lines[0] = '\0';
    *out = NULL;
    return rondo_config_parse(text, strlen(text), "r.yaml", NULL, on_mistake, NULL, out);
}

/* Compares what was told; "@types" stands for the types of sources that there are. */
static void check_lines(const char *expected) {
    char text[sizeof lines];
    const char *at = strstr(expected, "@types");
    if (!at) {
        assert_string_equal(lines, expected);
        return;
    }
    size_t used = (size_t)snprintf(text, sizeof text, "%.*s", (int)(at - expected), expected);
    for (size_t i = 0; rondo_source_type_at(i); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                 rondo_source_type_at(i)->name);
    snprintf(text + used, sizeof text - used, "%s", at + strlen("@types"));
    assert_string_equal(lines, text);
}

static struct rondo_config *good(const char *text) {
    struct rondo_config *config;
    enum rondo_err err = parse(text, &config);
    assert_string_equal(lines, "");
    assert_int_equal(err, RONDO_OK);
    return config;
}

/* ------------------------------------------------------------------- right --- */

static void test_defaults(void **state) {
    (void)state;
    struct rondo_config *c = good("");
    assert_string_equal(c->listen.host, "127.0.0.1");
    assert_int_equal(c->listen.port, 6380);
    assert_true(c->listen.is_loopback);
    assert_false(c->admin.is_set);
    assert_int_equal(c->workers.kind, RONDO_THREADS_AUTO);
    assert_int_equal(c->memory_bytes, 0);
    assert_int_equal(c->max_connections, 10000);
    assert_null(c->password);
    assert_false(c->refuse_unmatched);
    assert_int_equal(c->n_caches, 0);
    rondo_config_free(c);
    assert_int_equal(rondo_config_default(&c), RONDO_OK);
    assert_int_equal(c->listen.port, 6380);
    rondo_config_free(c);
}

static void test_everything(void **state) {
    (void)state;
    struct rondo_config *c = good("listen: '[::1]:7000'\n"
                                  "admin: 127.0.0.1:9680\n"
                                  "workers: 4\n"
                                  "memory: 1gb\n"
                                  "max_connections: 50\n"
                                  "password: hunter2\n"
                                  "unmatched: refuse\n"
                                  "caches:\n"
                                  "  plain:\n"
                                  "    keys: \"p:{k}\"\n"
                                  "    ttl: off\n"
                                  "  prices:\n"
                                  "    keys: price:{sku}:{currency}\n"
                                  "    ttl: 1h\n"
                                  "    threads: 2..16\n"
                                  "    source:\n"
                                  "      type: scripted\n"
                                  "      value: \"{sku} in {currency}\"\n"
                                  "      delay: 10ms\n");
    assert_true(c->listen.is_ipv6);
    assert_int_equal(c->admin.port, 9680);
    assert_int_equal(c->workers.max, 4);
    assert_int_equal(c->memory_bytes, 1 << 30);
    assert_int_equal(c->max_connections, 50);
    assert_string_equal(c->password, "hunter2");
    assert_true(c->refuse_unmatched);
    assert_int_equal(c->n_caches, 2);

    struct rondo_config_cache *plain = rondo_config_find(c, "plain");
    assert_null(plain->options.source.ops);
    assert_true(plain->options.ttl_ns == RONDO_OFF);
    assert_int_equal(plain->line, 9);

    struct rondo_config_cache *prices = rondo_config_find(c, "prices");
    assert_int_equal(prices->options.size, sizeof(struct rondo_cache_options));
    assert_string_equal(prices->options.name, "prices");
    assert_string_equal(prices->options.pattern, "price:{sku}:{currency}");
    assert_int_equal(prices->options.ttl_ns, UINT64_C(3600000000000));
    assert_int_equal(prices->options.threads.max, 16);
    assert_int_equal(prices->n_params, 2);
    assert_string_equal(prices->params[1], "currency");
    assert_string_equal(prices->source_type, "scripted");
    assert_int_equal(prices->n_settings, 2);
    assert_non_null(prices->options.source.ops);
    assert_null(rondo_config_find(c, "users"));
    rondo_config_free(c);
}

static void test_a_map_becomes_settings(void **state) {
    (void)state;
    struct rondo_config *c = good("caches:\n"
                                  "  fhtagn:\n"
                                  "    keys: \"fhtagn:{name}\"\n"
                                  "    source:\n"
                                  "      type: scripted\n"
                                  "      answers:\n"
                                  "        Cthulhu: Ia! Ia!\n"
                                  "        Yog-Sothoth: \"the gate\"\n");
    assert_int_equal(c->caches[0].n_settings, 2);
    assert_string_equal(c->caches[0].settings[1].name, "answers.Yog-Sothoth");
    assert_string_equal(c->caches[0].settings[1].value, "the gate");
    assert_int_equal(c->caches[0].settings[1].line, 8);
    rondo_config_free(c);
}

/* ---------------------------------------------------------------- mistakes --- */

#define CACHE(text) "caches:\n  c:\n    keys: \"k:{id}\"\n" text
#define SOURCE(text) CACHE("    source:\n      type: scripted\n" text)

static const char cache_options[] =
    "keys source ttl ttl_jitter miss_ttl error_ttl refresh_ahead stale_while_revalidate "
    "stale_if_error threads max_stuck load_timeout wait queue waiters batch single_flight "
    "breaker_failures "
    "breaker_probe memory max_value miss_memory writes";

static const struct {
    const char *text, *mistakes;
} table[] = {
    {"port: 6380\n",
     "r.yaml:1: port: unknown option, allowed: listen admin workers memory "
     "max_connections drain_timeout idle_timeout password insecure unmatched log_level log_format "
     "caches\n"},
    {"lisen: 127.0.0.1:6380\n",
     "r.yaml:1: lisen: unknown option, did you mean \"listen\"? allowed: listen admin workers "
     "memory max_connections drain_timeout idle_timeout password insecure unmatched log_level "
     "log_format caches\n"},
    {"listen: 6380\n", "r.yaml:1: listen: found \"6380\": an address and a port: 127.0.0.1:6380, "
                       "[::1]:6380, localhost:6380 or *:6380\n"},
    {"listen: 127.0.0.1:70000\n", "r.yaml:1: listen: found \"127.0.0.1:70000\": a port is 0 (any "
                                  "that is free) to 65535\n"},
    {"\nlisten: 0.0.0.0:6380\n",
     "r.yaml:2: listen: 0.0.0.0 is reachable from other machines: set `password`, listen on "
     "127.0.0.1, or say `insecure: yes`\n"},
    {"admin: \"*:9680\"\npassword: hunter2\n",
     "r.yaml:1: admin: 0.0.0.0 is reachable from other machines, and admin has no password: use "
     "127.0.0.1, or say `insecure: yes`\n"},
    {"admin: 127.0.0.1:6380\n", "r.yaml:1: admin: the same address as `listen`\n"},
    {"workers: 0\n", "r.yaml:1: workers: found \"0\": auto (one a core) or a number from 1 to "
                     "1024\n"},
    {"memory: 1\n", "r.yaml:1: memory: found \"1\": a size is a whole number and a unit (b kb mb "
                    "gb tb), such as 64mb\n"},
    {"memory: 1kb\n", "r.yaml:1: memory: found \"1kb\": at least 1mb\n"},
    {"memory: [1gb]\n", "r.yaml:1: memory: found a list: a size, at least 1mb\n"},
    {"memory:\n", "r.yaml:1: memory: found nothing: a size, at least 1mb\n"},
    {"memory: 1gb\nmemory: 2gb\n", "r.yaml:2: `memory` is given twice, first in line 1\n"},
    {"password: ''\n", "r.yaml:1: password: 1 to 512 bytes\n"},
    {"unmatched: drop\n", "r.yaml:1: unmatched: found \"drop\": keep or refuse\n"},
    {"- a\n", "r.yaml:1: found a list: a map of options, such as \"listen: 127.0.0.1:6380\"\n"},
    {"hello\n", "r.yaml:1: found a value: a map of options, such as \"listen: 127.0.0.1:6380\"\n"},
    {"a: b: c\n", "r.yaml:1: not YAML: mapping values are not allowed in this context\n"},
    {"caches: users\n", "r.yaml:1: caches: found a value: a map of names\n"},
    {"caches:\n  users: 5\n",
     "r.yaml:2: caches.users: found a value: a map of options, with `keys` and `source`\n"},
    {"caches:\n  a b: {keys: \"k:{id}\"}\n",
     "r.yaml:2: caches.a b: a cache's name is 1 to 64 letters, digits, _ and -, and not "
     "\"default\"\n"},
    {"caches:\n  default: {keys: \"k:{id}\"}\n",
     "r.yaml:2: caches.default: a cache's name is 1 to 64 letters, digits, _ and -, and not "
     "\"default\"\n"},
    {"caches:\n  c: {}\n",
     "r.yaml:2: caches.c: `keys` is missing: a pattern such as \"user:{id}\"\n"},
    {"caches:\n  c:\n    keys: user\n", "r.yaml:3: caches.c.keys: found \"user\": column 1: no "
                                        "parameter; a pattern looks like \"user:{id}\"\n"},
    {"caches:\n  c: {keys: \"k:{id}\"}\n  c: {keys: \"l:{id}\"}\n",
     "r.yaml:3: `c` is given twice, first in line 2\n"},
    {"caches:\n  a: {keys: \"k:{id}\"}\n  b: {keys: \"k:{x}:{y}\"}\n",
     "r.yaml:3: caches.b.keys: found \"k:{x}:{y}\", which begins like the keys of `a` in line 2 "
     "(\"k:{id}\"): the text before the first { must differ\n"},
    {CACHE("    ttl: 10\n"), "r.yaml:4: caches.c.ttl: found \"10\": a duration is a whole number "
                             "and a unit (ns us ms s m h d), such as 10m\n"},
    {CACHE("    ttl: 0s\n"),
     "r.yaml:4: caches.c.ttl: found \"0s\": a duration is more than zero\n"},
    {CACHE("    ttl: -5s\n"), "r.yaml:4: caches.c.ttl: found \"-5s\": a duration is a whole number "
                              "and a unit (ns us ms s m h d), such as 10m\n"},
    {CACHE("    threads: many\n"), "r.yaml:4: caches.c.threads: found \"many\": auto, a number, "
                                   "MIN..MAX (1 to 1024), or 0\n"},
    {CACHE("    writes: behind\n"),
     "r.yaml:4: caches.c.writes: found \"behind\": memory, through or refuse\n"},
    {CACHE("    ttl: {a: 1}\n"),
     "r.yaml:4: caches.c.ttl: found a map: a duration, off or from-source\n"},
    {CACHE("    source: sqlite\n"), "r.yaml:4: caches.c.source: found a value: a map with a type, "
                                    "such as type: sqlite\n"},
    {CACHE("    source:\n      file: x\n"), "r.yaml:4: caches.c.source: `type` is missing: a map "
                                            "with a type, such as type: sqlite\n"},
    {CACHE("    source:\n      type: sqlte\n"),
     "r.yaml:5: caches.c.source.type: found \"sqlte\", did you mean \"sqlite\"? allowed: @types\n"},
    {CACHE("    source:\n      type: ../x\n"),
     "r.yaml:5: caches.c.source.type: found \"../x\", allowed: @types\n"},
    {SOURCE("      value: \"{name}\"\n"),
     "r.yaml:6: caches.c.source.value: found {name}, allowed: {id} {client} {count}\n"},
    {SOURCE("      answers: {a: [1]}\n"),
     "r.yaml:6: caches.c.source.answers.a: found a list: a text\n"},
    {SOURCE("      answers: yes\n"),
     "r.yaml:6: caches.c.source.answers: found \"yes\": a table of names and texts\n"},
    {SOURCE("      delay:\n"), "r.yaml:6: caches.c.source.delay: found nothing: a value\n"},
    {CACHE("    writes: through\n"),
     "r.yaml:4: caches.c.writes: found \"through\", which needs a `source` to write to\n"},
    {"caches:\n  c:\n    keys: \"k:{id}\"\n    writes: through\n    source:\n      type: "
     "scripted\n",
     "r.yaml:5: caches.c.source: `writes: through` needs a source that stores (a `store` "
     "statement)\nr.yaml:5: caches.c.source: `writes: through` needs a source that erases (an "
     "`erase` statement)\n"},
    {CACHE("    refresh_ahead: 20\n"), "r.yaml:4: caches.c.refresh_ahead: found \"20\": a share of "
                                       "the entry's life, 1% to 99%, or off\n"},
};

static void test_each_mistake(void **state) {
    (void)state;
    for (size_t i = 0; i < RONDO_COUNT_OF(table); i++) {
        struct rondo_config *config;
        assert_int_equal(parse(table[i].text, &config), RONDO_ERR_CONFIG);
        check_lines(table[i].mistakes);
        assert_null(config);
    }
}

static void test_all_mistakes_at_once_in_the_order_of_the_file(void **state) {
    (void)state;
    struct rondo_config *config;
    char expected[2048];
    assert_int_equal(parse("listen: 127.0.0.1:6380\n"
                           "caches:\n"
                           "  users:\n"
                           "    source:\n"
                           "      type: scripted\n"
                           "      dealy: 5s\n"
                           "      value: \"{nam}\"\n"
                           "      fail: every\n"
                           "    keys: \"user:{id}\"\n"
                           "    tll: 10m\n"
                           "    load_timeout: 2\n"
                           "memory: lots\n",
                           &config),
                     RONDO_ERR_CONFIG);
    snprintf(expected, sizeof expected,
             "r.yaml:6: caches.users.source.dealy: unknown setting, did you mean \"delay\"? "
             "allowed: delay value answers absent fail error hang seed batch ttl announce\n"
             "r.yaml:7: caches.users.source.value: found {nam}, allowed: {id} {client} {count}\n"
             "r.yaml:8: caches.users.source.fail: found \"every\": off, always, P%%, every N, turn "
             "N, turns A..B or turns A.. (turns are a key's loads, from 1)\n"
             "r.yaml:10: caches.users.tll: unknown option, did you mean \"ttl\"? allowed: %s\n"
             "r.yaml:11: caches.users.load_timeout: found \"2\": a duration is a whole number and "
             "a unit (ns us ms s m h d), such as 10m\n"
             "r.yaml:12: memory: found \"lots\": a size is a whole number and a unit (b kb mb gb "
             "tb), such as 64mb\n",
             cache_options);
    assert_string_equal(lines, expected);
}

static void test_secrets_stay_out_of_messages(void **state) {
    (void)state;
    struct rondo_config *config;
    struct rondo_buf text = {0};
    assert_int_equal(rondo_buf_append_str(&text, "password: "), RONDO_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rondo_buf_append_str(&text, "hunter2"), RONDO_OK);
    assert_int_equal(parse(rondo_buf_cstr(&text), &config), RONDO_ERR_CONFIG);
    assert_string_equal(lines, "r.yaml:1: password: 1 to 512 bytes\n");
    rondo_buf_fini(&text);
}

static void test_control_characters_stay_out_of_messages(void **state) {
    (void)state;
    struct rondo_config *config;
    assert_int_equal(parse("unmatched: \"a\\n\\e[2J\"\n", &config), RONDO_ERR_CONFIG);
    assert_string_equal(lines, "r.yaml:1: unmatched: found \"a??[2J\": keep or refuse\n");
}

static void test_loopback_rules_that_pass(void **state) {
    (void)state;
    static const char *const texts[] = {"listen: \"*:6380\"\npassword: x\n",
                                        "listen: \"*:6380\"\ninsecure: yes\n",
                                        "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\n"};
    for (size_t i = 0; i < RONDO_COUNT_OF(texts); i++) rondo_config_free(good(texts[i]));
}

/* ------------------------------------------------------------------- files --- */

static void test_a_file_that_is_not_there(void **state) {
    (void)state;
    struct rondo_config *config = NULL;
    lines[0] = '\0';
    assert_int_equal(rondo_config_load("/nonexistent/r.yaml", on_mistake, NULL, &config),
                     RONDO_ERR_CONFIG);
    assert_string_equal(lines, "/nonexistent/r.yaml: cannot be read: No such file or directory\n");
    lines[0] = '\0';
    assert_int_equal(rondo_config_load("/", on_mistake, NULL, &config), RONDO_ERR_CONFIG);
    assert_string_equal(lines, "/: cannot be read: Is a directory\n");
    assert_null(config);
}

static void test_a_file(void **state) {
    (void)state;
    char dir[] = "/tmp/rondo-config-XXXXXX", path[64];
    struct rondo_config *config = NULL;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/r.yaml", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(SOURCE(""), f);
    fclose(f);
    lines[0] = '\0';
    assert_int_equal(rondo_config_load(path, on_mistake, NULL, &config), RONDO_OK);
    assert_string_equal(lines, "");
    assert_string_equal(config->path, path);
    assert_string_equal(config->base_dir, dir);
    rondo_config_free(config);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static struct rondo_config *load_example(const char *dir, const char *name) {
    struct rondo_config *c = NULL;
    char path[512];
    lines[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", dir, name);
    enum rondo_err err = rondo_config_load(path, on_mistake, NULL, &c);
    assert_string_equal(lines, "");
    assert_int_equal(err, RONDO_OK);
    return c;
}

static void test_the_examples_say_what_they_say(void **state) {
    (void)state;
    struct rondo_config *c = load_example(RONDO_EXAMPLES, "fhtagn.yaml");
    const struct rondo_config_cache *fhtagn = rondo_config_find(c, "fhtagn");
    assert_int_equal(fhtagn->options.threads.kind, RONDO_THREADS_FIXED);
    assert_int_equal(fhtagn->options.threads.max, 10);
    assert_string_equal(fhtagn->options.pattern, "fhtagn:{name}");
    rondo_config_free(c);
}

/* Whether this build has the sources that an example of this name is about. */
static bool has_sources_of(const char *example) {
    static const char *const types[][2] = {
        {"users", "sqlite"}, {"postgres", "postgres"}, {"mysql", "mysql"}, {"http", "http"}};
    struct rondo_source_error why;
    const struct rondo_source_ops *ops;
    for (size_t i = 0; i < RONDO_COUNT_OF(types); i++)
        if (strncmp(example, types[i][0], strlen(types[i][0])) == 0)
            return rondo_source_find(types[i][1], NULL, &why, &ops) == RONDO_OK;
    return true;
}

/* A database need not be one to be opened, only be there. */
static void test_all_examples_are_right(void **state) {
    (void)state;
    char dir[] = "/tmp/rondo-config-XXXXXX", command[1024];
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command, "cp '%s'/*.yaml '%s' && : >'%s/users.db'", RONDO_EXAMPLES,
             dir, dir);
    assert_int_equal(system(command), 0);
    DIR *examples = opendir(dir);
    assert_non_null(examples);
    unsigned n = 0;
    for (struct dirent *e = readdir(examples); e; e = readdir(examples)) {
        if (!strstr(e->d_name, ".yaml")) continue;
        n++;
        if (has_sources_of(e->d_name)) rondo_config_free(load_example(dir, e->d_name));
    }
    closedir(examples);
    assert_true(n >= 4);
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* ---------------------------------------------------------- without a file --- */

static enum rondo_err quick(const char *pattern, const char *target, const char *statement,
                            struct rondo_config **out) {
    lines[0] = '\0';
    *out = NULL;
    return rondo_config_quick(pattern, target, statement, on_mistake, NULL, out);
}

static void test_quick(void **state) {
    (void)state;
    struct rondo_config *c;
    assert_int_equal(quick("user:{id}", "scripted:2s", "value of {id}", &c), RONDO_OK);
    assert_string_equal(lines, "");
    assert_int_equal(c->n_caches, 1);
    assert_string_equal(c->caches[0].name, "user");
    assert_string_equal(c->caches[0].options.pattern, "user:{id}");
    assert_int_equal(c->caches[0].n_settings, 2);
    assert_string_equal(c->caches[0].settings[0].name, "delay");
    assert_string_equal(c->caches[0].settings[0].value, "2s");
    assert_string_equal(c->caches[0].settings[1].name, "value");
    assert_int_equal(c->listen.port, 6380);
    rondo_config_free(c);

    assert_int_equal(quick("{id}", "scripted", NULL, &c), RONDO_OK);
    assert_string_equal(c->caches[0].name, "cache");
    assert_int_equal(c->caches[0].n_settings, 0);
    rondo_config_free(c);
}

static void test_quick_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *target, *statement, *mistakes;
    } cases[] = {
        {"user", "scripted", NULL,
         "command line: caches.user.keys: found \"user\": column 1: no parameter; a pattern looks "
         "like \"user:{id}\"\n"},
        {"user:{id}", "orakel:db", NULL,
         "command line: source: found \"orakel\", allowed: @types\n"},
        {"user:{id}", ":db", NULL, "command line: source: found \"\", allowed: @types\n"},
        {"user:{id}", "plugin:./x.so", "words.txt",
         "command line: source: found \"words.txt\", but plugin takes no statement\n"},
        {"user:{id}", "scripted:2x", "{name}",
         "command line: caches.user.source.delay: found \"2x\": a duration is a whole number and a "
         "unit (ns us ms s m h d), such as 10m\n"
         "command line: caches.user.source.value: found {name}, allowed: {id} {client} {count}\n"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++) {
        struct rondo_config *c;
        assert_int_equal(quick(cases[i].pattern, cases[i].target, cases[i].statement, &c),
                         RONDO_ERR_CONFIG);
        check_lines(cases[i].mistakes);
    }
}

/* --------------------------------------------------------------------- set --- */

static void test_set(void **state) {
    (void)state;
    struct rondo_config *c = good(SOURCE("      delay: 5s\n      value: x\n"));
    struct rondo_config_cache *cache = &c->caches[0];
    assert_int_equal(rondo_config_set(c, cache, "delay", "1s", on_mistake, NULL), RONDO_OK);
    assert_int_equal(cache->n_settings, 2);
    assert_string_equal(cache->settings[1].name, "delay");
    assert_string_equal(cache->settings[1].value, "1s");
    assert_int_equal(rondo_config_set(c, cache, "value", NULL, on_mistake, NULL), RONDO_OK);
    assert_int_equal(cache->n_settings, 1);

    const void *before = cache->options.source.self;
    assert_int_equal(rondo_config_set(c, cache, "delay", "soon", on_mistake, NULL),
                     RONDO_ERR_CONFIG);
    assert_string_equal(lines, "r.yaml: caches.c.source.delay: found \"soon\": a duration is a "
                               "whole number and a unit (ns us ms s m h d), such as 10m\n");
    assert_ptr_equal(cache->options.source.self, before);
    assert_string_equal(cache->settings[0].value, "1s");
    rondo_config_free(c);
}

/* ------------------------------------------------------------------ memory --- */

static void ignore(void *arg, const char *line) {
    (void)arg;
    (void)line;
}

static enum rondo_err parse_whole(void) {
    static const char text[] = "listen: 127.0.0.1:0\npassword: x\n" SOURCE("      value: \"{id}\"\n"
                                                                           "      answers: {}\n");
    struct rondo_config *config;
    enum rondo_err err =
        rondo_config_parse(text, sizeof text - 1, "r.yaml", "/tmp", ignore, NULL, &config);
    if (err) return err;
    err = rondo_config_set(config, &config->caches[0], "delay", "1s", ignore, NULL);
    rondo_config_free(config);
    return err;
}

static void test_out_of_memory(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = parse_whole();
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        if (!failed) {
            assert_int_equal(err, RONDO_OK);
            break;
        }
        assert_int_not_equal(err, RONDO_OK);
    }
    assert_true(n > 30);
}

/* A file with mistakes tells every one of them even if there is no memory to sort
 * them. */
static void test_out_of_memory_while_reporting(void **state) {
    (void)state;
    static const char text[] = "ttl: 1\nmemory: 1\nworkers: x\n";
    for (uint64_t n = 1;; n++) {
        struct rondo_config *config = NULL;
        lines[0] = '\0';
        rondo_mem_fail_nth(n);
        enum rondo_err err =
            rondo_config_parse(text, sizeof text - 1, "r", NULL, on_mistake, NULL, &config);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_true(err == RONDO_ERR_CONFIG || (failed && err == RONDO_ERR_NOMEM));
        if (err == RONDO_ERR_CONFIG) {
            assert_non_null(strstr(lines, "r:1: ttl: "));
            assert_non_null(strstr(lines, "r:2: memory: "));
            assert_non_null(strstr(lines, "r:3: workers: "));
        }
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_a_map_becomes_settings),
        cmocka_unit_test(test_each_mistake),
        cmocka_unit_test(test_all_mistakes_at_once_in_the_order_of_the_file),
        cmocka_unit_test(test_secrets_stay_out_of_messages),
        cmocka_unit_test(test_control_characters_stay_out_of_messages),
        cmocka_unit_test(test_loopback_rules_that_pass),
        cmocka_unit_test(test_a_file_that_is_not_there),
        cmocka_unit_test(test_a_file),
        cmocka_unit_test(test_the_examples_say_what_they_say),
        cmocka_unit_test(test_all_examples_are_right),
        cmocka_unit_test(test_quick),
        cmocka_unit_test(test_quick_mistakes),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_out_of_memory_while_reporting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
