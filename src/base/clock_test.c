/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/clock.h"

static void real_time_never_goes_back(void **state) {
    (void)state;
    uint64_t last = 0;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t now = rondo_clock_now(&rondo_clock_real);
        assert_true(now >= last);
        last = now;
    }
    assert_true(last > 0);
    /* 2020-01-01; a machine whose wall clock is wrong fails here rightly. */
    assert_true(rondo_clock_wall(&rondo_clock_real) > UINT64_C(1577836800) * RONDO_SEC);
}

static void fake_time_moves_when_told(void **state) {
    (void)state;
    struct rondo_fake_clock fake;
    rondo_fake_clock_init(&fake, 1000 * RONDO_SEC);
    assert_int_equal(rondo_clock_now(&fake.clock), 0);
    assert_int_equal(rondo_clock_wall(&fake.clock), 1000 * RONDO_SEC);
    rondo_fake_clock_advance(&fake, 5 * RONDO_MS);
    rondo_fake_clock_advance(&fake, 1);
    assert_int_equal(rondo_clock_now(&fake.clock), 5 * RONDO_MS + 1);
    assert_int_equal(rondo_clock_wall(&fake.clock), 1000 * RONDO_SEC + 5 * RONDO_MS + 1);
    rondo_fake_clock_advance(&fake, UINT64_MAX);
    assert_int_equal(rondo_clock_now(&fake.clock), UINT64_MAX);
}

static void deadlines_saturate(void **state) {
    (void)state;
    assert_int_equal(rondo_deadline(5, 7), 12);
    assert_int_equal(rondo_deadline(5, UINT64_MAX), UINT64_MAX);
    assert_int_equal(rondo_deadline(UINT64_MAX, 0), UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_time_never_goes_back),
        cmocka_unit_test(fake_time_moves_when_told),
        cmocka_unit_test(deadlines_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
