/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/buf.h"
#include "server/commands.h"
#include <ctype.h>

static struct rondo_commands commands;

static int set_up(void **state) {
    (void)state;
    return rondo_commands_init(&commands) == RONDO_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    rondo_commands_fini(&commands);
    return 0;
}

static void check_entry(const struct rondo_command *c) {
    for (const char *p = c->name; *p; p++) assert_false(isupper((unsigned char)*p));
    assert_int_not_equal(c->arity, 0);
    assert_true(c->run || c->subs);
    assert_true(*c->summary && *c->since && *c->group);
    bool has_keys = c->keys.first > 0;
    bool is_keyed = (c->flags & (RONDO_COMMAND_READ | RONDO_COMMAND_WRITE)) != 0;
    bool is_whole = (c->flags & RONDO_COMMAND_WHOLE) != 0;
    assert_true(has_keys == is_keyed || (is_whole && !has_keys));
    assert_true(!has_keys || (c->keys.step > 0 && c->keys.last != 0));
    /* The smallest call has every key it names. */
    size_t first = 0, step = 0, argc = (size_t)(c->arity < 0 ? -c->arity : c->arity);
    size_t n = rondo_command_key_range(c, argc, &first, &step);
    assert_true(!has_keys || (n >= 1 && first + (n - 1) * step < argc));
}

static void the_table_is_whole(void **state) {
    (void)state;
    const struct rondo_command *c;
    for (size_t i = 0; (c = rondo_commands_at(i)); i++) {
        check_entry(c);
        for (size_t k = 0; c->subs && k < c->subs->n; k++) {
            check_entry(&c->subs->commands[k]);
            size_t n = strlen(c->name);
            assert_memory_equal(c->subs->commands[k].name, c->name, n);
            assert_int_equal(c->subs->commands[k].name[n], '|');
        }
    }
    assert_true(commands.n > 30);
}

static void every_command_is_found_by_its_name(void **state) {
    (void)state;
    const struct rondo_command *c;
    for (size_t i = 0; (c = rondo_commands_at(i)); i++) {
        char name[64];
        size_t n = strlen(c->name);
        assert_ptr_equal(rondo_commands_find(&commands, rondo_slice_str(c->name)), c);
        for (size_t k = 0; k <= n; k++) name[k] = (char)toupper((unsigned char)c->name[k]);
        assert_ptr_equal(rondo_commands_find(&commands, rondo_slice_of(name, n)), c);
        for (size_t k = 0; c->subs && k < c->subs->n; k++)
            assert_ptr_equal(
                rondo_command_sub(c, rondo_slice_str(c->subs->commands[k].name + n + 1)),
                &c->subs->commands[k]);
    }
}

static void other_names_are_not_found(void **state) {
    (void)state;
    static const char *const names[] = {"", "ge", "gett", "client|id", "get\r", "`et", "GE\x14"};
    for (size_t i = 0; i < RONDO_COUNT_OF(names); i++)
        assert_null(rondo_commands_find(&commands, rondo_slice_str(names[i])));
    char longer[200];
    memset(longer, 'g', sizeof longer);
    assert_null(rondo_commands_find(&commands, rondo_slice_of(longer, sizeof longer)));
    assert_null(rondo_commands_find(&commands, rondo_slice_of("get\0", 4)));
}

static void arity_and_keys(void **state) {
    (void)state;
    const struct rondo_command *get = rondo_commands_find(&commands, rondo_slice_str("get"));
    const struct rondo_command *mset = rondo_commands_find(&commands, rondo_slice_str("mset"));
    const struct rondo_command *ping = rondo_commands_find(&commands, rondo_slice_str("ping"));
    size_t first = 0, step = 0;
    assert_true(rondo_command_fits(get, 2));
    assert_false(rondo_command_fits(get, 3));
    assert_false(rondo_command_fits(mset, 2));
    assert_true(rondo_command_fits(mset, 5));
    assert_int_equal(rondo_command_key_range(get, 2, &first, &step), 1);
    assert_int_equal(rondo_command_key_range(mset, 7, &first, &step), 3);
    assert_int_equal(first, 1);
    assert_int_equal(step, 2);
    assert_int_equal(rondo_command_key_range(ping, 1, &first, &step), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(every_command_is_found_by_its_name),
        cmocka_unit_test(other_names_are_not_found),
        cmocka_unit_test(arity_and_keys),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
