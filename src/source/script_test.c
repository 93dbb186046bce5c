/* SPDX-License-Identifier: MIT */
#include "source/script.h"

#include "base/check.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Which of loads 1 to 9 a rule strikes, as digits. */
static const char *strikes(const char *text) {
    static char out[16];
    struct rondo_script_rule rule;
    size_t n = 0;
    assert_null(rondo_script_parse(text, &rule));
    for (uint64_t turn = 1; turn <= 9; turn++)
        if (rondo_script_applies(&rule, turn, 0)) out[n++] = (char)('0' + turn);
    out[n] = '\0';
    return out;
}

static void test_rules(void **state) {
    (void)state;
    assert_string_equal(strikes("off"), "");
    assert_string_equal(strikes("always"), "123456789");
    assert_string_equal(strikes("every 3"), "369");
    assert_string_equal(strikes("every 1"), "123456789");
    assert_string_equal(strikes("turn 2"), "2");
    assert_string_equal(strikes("turns 2..4"), "234");
    assert_string_equal(strikes("turns 1..1"), "1");
    assert_string_equal(strikes("turns 7.."), "789");
}

static void test_chance(void **state) {
    (void)state;
    struct rondo_script_rule rule;
    assert_null(rondo_script_parse("10%", &rule));
    unsigned n = 0;
    for (uint64_t draw = 0; draw < 100; draw++) n += rondo_script_applies(&rule, 1, draw);
    assert_int_equal(n, 10);
}

static void test_what_is_no_rule(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",          "every",   "every 0",    "every -1",
        "turn",      "turn 0",  "turns 3",    "turns 4..2",
        "turns ..3", "10",      "0%",         "sometimes",
        "every  3",  "turn 2 ", "turns 1..x", "turns 11111111111111111111111111..2"};
    for (size_t i = 0; i < RONDO_COUNT_OF(bad); i++) {
        struct rondo_script_rule rule;
        assert_string_equal(
            rondo_script_parse(bad[i], &rule),
            "off, always, P%, every N, turn N, turns A..B or turns A.. (turns are a key's loads, "
            "from 1)");
    }
}

static void test_turns_count_each_key(void **state) {
    (void)state;
    struct rondo_script_turns t;
    rondo_script_turns_init(&t);
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t key = 0; key < 1000; key++) {
            uint64_t turn = 0;
            assert_int_equal(rondo_script_turns_next(&t, key * UINT64_C(0x9e3779b97f4a7c15), &turn),
                             RONDO_OK);
            assert_int_equal(turn, round);
        }
    }
    rondo_script_turns_fini(&t);
}

static void test_out_of_memory_counts_nothing(void **state) {
    (void)state;
    struct rondo_script_turns t;
    rondo_script_turns_init(&t);
    uint64_t turn = 99;
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_script_turns_next(&t, 5, &turn), RONDO_ERR_NOMEM);
    rondo_mem_fail_nth(0);
    assert_int_equal(turn, 99);
    assert_int_equal(rondo_script_turns_next(&t, 5, &turn), RONDO_OK);
    assert_int_equal(turn, 1);
    rondo_script_turns_fini(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_what_is_no_rule),
        cmocka_unit_test(test_turns_count_each_key),
        cmocka_unit_test(test_out_of_memory_counts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
