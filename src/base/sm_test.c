/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/death_test.h"
#include "base/sm.h"

enum { RED, GREEN, AMBER, N_STATES };

static const char *const names[] = {"red", "green", "amber"};
static const uint32_t moves[] = {
    [RED] = RONDO_SM_TO(GREEN),
    [GREEN] = RONDO_SM_TO(AMBER),
    [AMBER] = RONDO_SM_TO(RED) | RONDO_SM_TO(GREEN),
};
static const struct rondo_sm light = {"light", N_STATES, names, moves};

static void allowed_moves_move(void **state) {
    (void)state;
    uint8_t at = RED;
    const unsigned way[] = {GREEN, AMBER, GREEN, AMBER, RED};
    for (unsigned i = 0; i < RONDO_COUNT_OF(way); i++) {
        rondo_sm_move(&light, &at, way[i]);
        assert_int_equal(at, way[i]);
    }
}

static void jump(void) {
    uint8_t at = RED;
    rondo_sm_move(&light, &at, AMBER);
}

static void leave_the_table(void) {
    uint8_t at = GREEN;
    rondo_sm_move(&light, &at, 7);
}

static void illegal_moves_name_both_states(void **state) {
    (void)state;
    static char said[1 << 16];
    assert_true(rondo_dies_saying(jump, said, sizeof said));
    assert_non_null(strstr(said, "light: illegal move from red (0) to amber (2)"));
    assert_true(rondo_dies_saying(leave_the_table, said, sizeof said));
    assert_non_null(strstr(said, "light: illegal move from green (1) to (no state) (7)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowed_moves_move),
        cmocka_unit_test(illegal_moves_name_both_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
