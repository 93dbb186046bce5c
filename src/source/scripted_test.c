/* SPDX-License-Identifier: MIT */
#include "source/scripted.h"

#include "base/mem.h"
#include "source/load_fixture.h"
#include "source/source.h"
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const params[] = {"id"};

static struct rondo_source open_source(const char *const *pairs) {
    struct fixture_config f;
    struct rondo_source source = {0};
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = rondo_source_open("scripted", &f.config, NULL, &source);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(err, RONDO_OK);
    return source;
}

static void load_one(struct rondo_source *source, const char *id, const char *client,
                     struct fixture_load *f) {
    struct rondo_slice param = rondo_slice_str(id);
    fixture_load_init(f, 1, &param);
    f->keys[0].client = rondo_slice_str(client);
    source->ops->load(source->self, &f->load);
    assert_int_equal(f->n_answers, 1);
}

static void check_load(struct rondo_source *source, const char *id, const char *expected) {
    struct fixture_load f;
    load_one(source, id, "", &f);
    assert_string_equal(f.answers[0], expected);
}

static void test_value(void **state) {
    (void)state;
    const char *const pairs[] = {"value", "{id} #{count} for {client}", "ttl", "3s", NULL};
    struct rondo_source source = open_source(pairs);
    struct fixture_load f;
    check_load(&source, "a", "=a #1 for somebody");
    check_load(&source, "a", "=a #2 for somebody");
    load_one(&source, "b", "Ann", &f);
    assert_string_equal(f.answers[0], "=b #1 for Ann");
    assert_int_equal(f.ttl_ns[0], 3000000000);
    assert_int_equal(source.ops->batch(source.self), 1);
    rondo_source_close(&source);
}

static void test_value_defaults_to_the_key(void **state) {
    (void)state;
    const char *const pairs[] = {NULL};
    struct rondo_source source = open_source(pairs);
    check_load(&source, "seven", "=seven");
    rondo_source_close(&source);
}

static void test_answers(void **state) {
    (void)state;
    const char *const pairs[] = {"answers.Cthulhu", "Ia!", "answers.Yog-Sothoth", "Gate", NULL};
    struct rondo_source source = open_source(pairs);
    check_load(&source, "Cthulhu", "=Ia!");
    check_load(&source, "Yog-Sothoth", "=Gate");
    check_load(&source, "Nyarlathotep", "absent");
    check_load(&source, "", "absent");
    rondo_source_close(&source);
}

static void test_turns(void **state) {
    (void)state;
    const char *const pairs[] = {"fail",    "every 3", "absent",   "turn 2", "error",
                                 "no luck", "value",   "v{count}", NULL};
    struct rondo_source source = open_source(pairs);
    for (int i = 0; i < 2; i++) {
        const char *id = i ? "a" : "b";
        check_load(&source, id, "=v1");
        check_load(&source, id, "absent");
        check_load(&source, id, "LOAD: no luck");
        check_load(&source, id, "=v4");
    }
    rondo_source_close(&source);
}

/* The fates of 200 keys, one letter each. */
static void fates(const char *seed, char *out) {
    const char *const pairs[] = {"fail", "30%", "absent", "30%", "seed", seed, NULL};
    struct rondo_source source = open_source(pairs);
    for (int i = 0; i < 200; i++) {
        char id[8];
        struct fixture_load f;
        snprintf(id, sizeof id, "%d", i);
        load_one(&source, id, "", &f);
        out[i] = f.answers[0][0];
    }
    out[200] = '\0';
    rondo_source_close(&source);
}

static void test_chance_follows_the_seed(void **state) {
    (void)state;
    char first[201], again[201], other[201];
    fates("7", first);
    fates("7", again);
    fates("8", other);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    unsigned failed = 0, absent = 0;
    for (int i = 0; i < 200; i++) {
        failed += first[i] == 'L';
        absent += first[i] == 'a';
    }
    assert_in_range(failed, 35, 85);
    assert_in_range(absent, 20, 70);
}

static void test_a_batch(void **state) {
    (void)state;
    const char *const pairs[] = {"batch", "4", "fail", "turn 2", "value", "{id}{count}", NULL};
    struct rondo_source source = open_source(pairs);
    struct fixture_load f;
    struct rondo_slice ids[] = {rondo_slice_str("a"), rondo_slice_str("b"), rondo_slice_str("c")};
    assert_int_equal(source.ops->batch(source.self), 4);
    check_load(&source, "b", "=b1");
    fixture_load_init(&f, 3, ids);
    source.ops->load(source.self, &f.load);
    assert_int_equal(f.n_answers, 3);
    assert_string_equal(f.answers[0], "=a1");
    assert_string_equal(f.answers[1], "LOAD: scripted failure");
    assert_string_equal(f.answers[2], "=c1");
    rondo_source_close(&source);
}

static void test_a_delay_ends_with_the_call(void **state) {
    (void)state;
    const char *const pairs[] = {"delay", "1h", "value", "late", NULL};
    struct rondo_source source = open_source(pairs);
    struct rondo_slice id = rondo_slice_str("a");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    f.load.timeout_ns = 1000000;
    source.ops->load(source.self, &f.load);
    assert_string_equal(f.answers[0], "TIMEOUT: took longer than 1ms");
    rondo_source_close(&source);
}

/* Runs a load with standard output in a pipe and returns what was written. */
static const char *announced(struct rondo_source *source, const char *id, const char *client) {
    static char out[256];
    int fds[2];
    struct fixture_load f;
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_int_equal(pipe(fds), 0);
    assert_true(dup2(fds[1], STDOUT_FILENO) >= 0);
    load_one(source, id, client, &f);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(fds[1]);
    ssize_t n = read(fds[0], out, sizeof out - 1);
    close(fds[0]);
    close(saved);
    assert_true(n >= 0);
    out[n] = '\0';
    return out;
}

static void test_announce(void **state) {
    (void)state;
    const char *const pairs[] = {"announce",
                                 "TimeAndSpace: Processing summoning by {client} for {id}",
                                 "answers.Cthulhu", "Ia!", NULL};
    struct rondo_source source = open_source(pairs);
    assert_string_equal(announced(&source, "Cthulhu", "Cultist 3"),
                        "TimeAndSpace: Processing summoning by Cultist 3 for Cthulhu\n");
    assert_string_equal(announced(&source, "a\n\033[2Jb", "x\ty"),
                        "TimeAndSpace: Processing summoning by x?y for a??[2Jb\n");
    rondo_source_close(&source);
}

static void test_mistakes(void **state) {
    (void)state;
    const char *const pairs[] = {"delay",  "5",       "value",     "{name}", "fail",  "sometimes",
                                 "absent", "every 0", "answers.a", "b",      "batch", "1001",
                                 "sede",   "1",       "announce",  "{id",    NULL};
    static const char rule[] = "off, always, P%, every N, turn N, turns A..B or turns A.. (turns "
                               "are a key's loads, from 1)";
    struct fixture_config f;
    struct rondo_source source = {0};
    char expected[2048];
    fixture_settings(&f, params, 1, pairs);
    assert_int_equal(rondo_source_open("scripted", &f.config, NULL, &source), RONDO_ERR_CONFIG);
    snprintf(expected, sizeof expected,
             "delay: found \"5\": a duration is a whole number and a unit (ns us ms s m h d), such "
             "as 10m\n"
             "sede: unknown setting, did you mean \"seed\"? allowed: delay value answers absent "
             "fail error hang seed batch ttl announce\n"
             "batch: found \"1001\": a whole number from 1 to 1000\n"
             "absent: found \"every 0\": %s\n"
             "fail: found \"sometimes\": %s\n"
             "value: found {name}, allowed: {id} {client} {count}\n"
             "announce: found \"{id\": a place is {name}, a brace alone is {{\n"
             "value: given beside `answers`: give one of them\n",
             rule, rule);
    assert_string_equal(f.mistakes, expected);
    assert_null(source.ops);
}

static enum rondo_err open_load_close(void) {
    const char *const pairs[] = {"value", "{id}{count}", "fail", "turn 3", NULL};
    struct fixture_config f;
    struct rondo_source source;
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = rondo_source_open("scripted", &f.config, NULL, &source);
    if (err) return err;
    struct rondo_slice id = rondo_slice_str("a");
    struct fixture_load load;
    fixture_load_init(&load, 1, &id);
    source.ops->load(source.self, &load.load);
    rondo_source_close(&source);
    if (load.n_answers != 1) return RONDO_ERR_INVALID;
    return strncmp(load.answers[0], "NOMEM", 5) == 0 ? RONDO_ERR_NOMEM : RONDO_OK;
}

static void test_out_of_memory(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = open_load_close();
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_true(n > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_value_defaults_to_the_key),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_chance_follows_the_seed),
        cmocka_unit_test(test_a_batch),
        cmocka_unit_test(test_a_delay_ends_with_the_call),
        cmocka_unit_test(test_announce),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
