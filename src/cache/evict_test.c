/* SPDX-License-Identifier: MIT */
#include "cache/evict.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/test.h"
#include <math.h>

enum { UNIVERSE = 4000 };

static struct rondo_evict ev;
static struct rondo_entry *cached[UNIVERSE];
static uint64_t used;

static struct rondo_entry *make(uint32_t i) {
    uint64_t hash_state = i;
    struct rondo_entry_init init = {.hash = rondo_random_next(&hash_state),
                                    .key = rondo_slice_of(&i, sizeof i)};
    return rondo_entry_new(&init);
}

static uint32_t number_of(const struct rondo_entry *e) {
    uint32_t i;
    memcpy(&i, rondo_entry_key(e), sizeof i);
    return i;
}

static int setup(void **state) {
    (void)state;
    memset(cached, 0, sizeof cached);
    used = 0;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (uint32_t i = 0; i < UNIVERSE; i++) rondo_entry_free(cached[i]);
    rondo_evict_fini(&ev);
    return 0;
}

/* One access of a cache with room for `capacity` entries; whether it hit. */
static bool access_key(uint32_t i, uint64_t capacity) {
    if (cached[i]) {
        rondo_entry_touch(cached[i]);
        return true;
    }
    cached[i] = make(i);
    assert_int_equal(rondo_evict_add(&ev, cached[i]), RONDO_OK);
    if (++used <= capacity) return false;
    struct rondo_entry *gone = rondo_evict_pick(&ev);
    assert_non_null(gone);
    assert_ptr_equal(cached[number_of(gone)], gone);
    cached[number_of(gone)] = NULL;
    rondo_entry_free(gone);
    used--;
    return false;
}

static void test_each_entry_leaves_once(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int step = 0; step < 100000; step++) {
        uint32_t i = (uint32_t)rondo_random_below(&random, UNIVERSE);
        if (cached[i] && rondo_random_below(&random, 4) == 0) {
            rondo_evict_remove(&ev, cached[i]);
            rondo_entry_free(cached[i]);
            cached[i] = NULL;
            used--;
        } else if (cached[i] && rondo_random_below(&random, 4) == 0) {
            struct rondo_entry *e = make(i);
            rondo_evict_replace(&ev, cached[i], e);
            rondo_entry_free(cached[i]);
            cached[i] = e;
        } else {
            (void)access_key(i, 500);
        }
        assert_int_equal(rondo_evict_count(&ev), used);
    }
    struct rondo_entry *e;
    while ((e = rondo_evict_pick(&ev)) != NULL) {
        assert_ptr_equal(cached[number_of(e)], e);
        cached[number_of(e)] = NULL;
        rondo_entry_free(e);
        used--;
    }
    assert_int_equal(used, 0);
    assert_int_equal(ev.small_bytes + ev.main_bytes, 0);
}

/* A scan of keys that never come back must not push out what is read again. */
static void test_a_scan_leaves_the_hot_set(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++)
        for (uint32_t i = 0; i < 400; i++) (void)access_key(i, 500);
    for (uint32_t i = 1000; i < UNIVERSE; i++) (void)access_key(i, 500);
    unsigned left = 0;
    for (uint32_t i = 0; i < 400; i++) left += cached[i] != NULL;
    assert_true(left >= 390);
}

/* What comes back soon after it left the small queue goes to the main one. */
static void test_a_ghost_comes_back_to_the_main_queue(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        (void)access_key(i, 100);
        (void)access_key(i, 100);
    }
    for (uint32_t i = 1000; i < 1100; i++) (void)access_key(i, 100);
    assert_null(cached[1050]);
    (void)access_key(1050, 100);
    assert_true(rondo_entry_bits(cached[1050]) & RONDO_ENTRY_MAIN);
}

/* Against what a plain first-in-first-out cache of the same size gets on the
 * same zipf trace, about 0.47. */
static void test_zipf_hit_ratio(void **state) {
    (void)state;
    static double below[UNIVERSE];
    double sum = 0;
    for (uint32_t i = 0; i < UNIVERSE; i++) below[i] = sum += 1.0 / pow(i + 1, 0.99);
    uint64_t random = 5, hits = 0;
    enum { ACCESSES = 200000 };
    for (int n = 0; n < ACCESSES; n++) {
        double x = (double)(rondo_random_next(&random) >> 11) * 0x1p-53 * sum;
        uint32_t low = 0, high = UNIVERSE - 1;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (below[middle] < x)
                low = middle + 1;
            else
                high = middle;
        }
        hits += access_key(low, UNIVERSE / 10);
    }
    assert_true((double)hits / ACCESSES > 0.60);
}

static void test_a_ring_with_holes_stays_small(void **state) {
    (void)state;
    struct rondo_entry *first = make(0);
    assert_int_equal(rondo_evict_add(&ev, first), RONDO_OK);
    for (uint32_t n = 0; n < 100000; n++) {
        struct rondo_entry *e = make(1 + n % 100);
        assert_int_equal(rondo_evict_add(&ev, e), RONDO_OK);
        if (n % 2) { /* not the newest, so that a hole stays */
            rondo_evict_remove(&ev, cached[1]);
            rondo_evict_remove(&ev, e);
            rondo_entry_free(cached[1]);
            rondo_entry_free(e);
            cached[1] = NULL;
        } else {
            cached[1] = e;
        }
    }
    assert_true(ev.small.cap <= 64);
    rondo_entry_free(first);
}

static void test_out_of_memory_changes_nothing(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        cached[i] = make(i);
        rondo_mem_fail_nth(1);
        enum rondo_err err = rondo_evict_add(&ev, cached[i]);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        assert_int_equal(rondo_evict_count(&ev), i + !failed);
        if (failed) assert_int_equal(rondo_evict_add(&ev, cached[i]), RONDO_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_entry_leaves_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_scan_leaves_the_hot_set, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_ghost_comes_back_to_the_main_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zipf_hit_ratio, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_ring_with_holes_stays_small, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory_changes_nothing, setup, teardown),
    };
    return cmocka_run_group_tests_name("evict", tests, NULL, NULL);
}
