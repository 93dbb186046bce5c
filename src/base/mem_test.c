/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/sync.h"

static void all_ways_to_allocate_count(void **state) {
    (void)state;
    uint64_t before = rondo_mem_live();
    void *p[] = {rondo_alloc(10),        rondo_zalloc(0),
                 rondo_realloc(NULL, 5), rondo_alloc_aligned(64, 100),
                 rondo_strdup("four"),   rondo_strndup("fourteen", 4)};
    assert_int_equal(rondo_mem_live() - before, RONDO_COUNT_OF(p));
    for (unsigned i = 0; i < RONDO_COUNT_OF(p); i++) assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[3] % 64, 0);
    assert_string_equal(p[4], "four");
    assert_string_equal(p[5], "four");
    p[0] = rondo_realloc(p[0], 1000);
    assert_int_equal(rondo_mem_live() - before, RONDO_COUNT_OF(p));
    for (unsigned i = 0; i < RONDO_COUNT_OF(p); i++) rondo_free(p[i]);
    rondo_free(NULL);
    assert_int_equal(rondo_mem_live(), before);
}

static void zalloc_zeroes_and_realloc_keeps(void **state) {
    (void)state;
    unsigned char *p = rondo_zalloc(64);
    assert_non_null(p);
    for (unsigned i = 0; i < 64; i++) assert_int_equal(p[i], 0);
    memset(p, 7, 64);
    p = rondo_realloc(p, 4096);
    assert_non_null(p);
    for (unsigned i = 0; i < 64; i++) assert_int_equal(p[i], 7);
    p = rondo_realloc(p, 0);
    assert_non_null(p);
    rondo_free(p);
}

static void small_alignments_are_those_of_malloc(void **state) {
    (void)state;
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *p = rondo_alloc_aligned(align, 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % align, 0);
        rondo_free(p);
    }
}

static void what_is_too_large_is_null(void **state) {
    (void)state;
    uint64_t before = rondo_mem_live();
    /* volatile: the compiler need not know that this cannot succeed. */
    volatile size_t half = SIZE_MAX / 2 + 2, most = SIZE_MAX;
#if defined(RONDO_SANITIZED) /* whose allocators abort on such sizes */
    (void)half;
#else
    assert_null(rondo_alloc(half));
    assert_null(rondo_zalloc(half));
    assert_null(rondo_realloc(NULL, half));
    assert_null(rondo_alloc_aligned(64, half));
#endif
    assert_null(rondo_strndup("", most)); /* no room for the NUL */
    assert_int_equal(rondo_mem_live(), before);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    size_t out = 42;
    assert_false(rondo_size_add(SIZE_MAX, 1, &out));
    assert_false(rondo_size_mul(SIZE_MAX / 2, 3, &out));
    assert_true(rondo_size_add(SIZE_MAX - 1, 1, &out));
    assert_int_equal(out, SIZE_MAX);
    assert_true(rondo_size_mul(6, 7, &out));
    assert_int_equal(out, 42);
}

static void the_nth_allocation_fails_once(void **state) {
    (void)state;
    for (unsigned nth = 1; nth <= 5; nth++) {
        rondo_mem_fail_nth(nth);
        for (unsigned i = 1; i <= 8; i++) {
            assert_int_equal(rondo_mem_failed(), i > nth);
            char *p = i % 2 ? rondo_alloc(8) : rondo_strdup("x");
            if (i == nth)
                assert_null(p);
            else
                assert_non_null(p);
            rondo_free(p);
        }
    }
    rondo_mem_fail_nth(3);
    rondo_mem_fail_nth(0);
    void *p[4];
    for (unsigned i = 0; i < 4; i++) assert_non_null(p[i] = rondo_alloc(1));
    assert_false(rondo_mem_failed());
    for (unsigned i = 0; i < 4; i++) rondo_free(p[i]);
}

static void a_failed_realloc_keeps_the_old(void **state) {
    (void)state;
    uint64_t before = rondo_mem_live();
    char *p = rondo_strdup("still here");
    assert_non_null(p);
    rondo_mem_fail_nth(1);
    assert_null(rondo_realloc(p, 1000));
    assert_true(rondo_mem_failed());
    assert_string_equal(p, "still here");
    rondo_free(p);
    rondo_mem_fail_nth(0);
    assert_int_equal(rondo_mem_live(), before);
}

enum { PER_THREAD = 1000 };

static void allocate_many(void *arg) {
    void **p = arg;
    for (unsigned i = 0; i < PER_THREAD; i++) p[i] = rondo_alloc(16);
}

/* More threads than counters, so that the shared one is used and counters that
 * were given back are taken again; all is freed on another thread. */
static void the_count_is_right_across_threads(void **state) {
    (void)state;
    enum { AT_ONCE = 40, ROUNDS = 3 };
    static void *p[AT_ONCE][PER_THREAD];
    uint64_t before = rondo_mem_live();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rondo_thread threads[AT_ONCE];
        for (unsigned i = 0; i < AT_ONCE; i++)
            assert_int_equal(rondo_thread_start(&threads[i], "alloc", allocate_many, p[i]), 0);
        for (unsigned i = 0; i < AT_ONCE; i++) rondo_thread_join(&threads[i]);
        assert_int_equal(rondo_mem_live() - before, AT_ONCE * PER_THREAD);
        for (unsigned i = 0; i < AT_ONCE * PER_THREAD; i++) {
            assert_non_null(p[i / PER_THREAD][i % PER_THREAD]);
            rondo_free(p[i / PER_THREAD][i % PER_THREAD]);
        }
        assert_int_equal(rondo_mem_live(), before);
    }
}

struct gate {
    struct rondo_latch arrived, leave;
};

static void allocate_and_stay(void *arg) {
    struct gate *gate = arg;
    void *p = rondo_alloc(1);
    rondo_latch_count_down(&gate->arrived);
    rondo_latch_wait(&gate->leave);
    rondo_free(p);
}

static void more_threads_than_counters_share_one(void **state) {
    (void)state;
    enum { THREADS = 100 };
    struct gate gate;
    struct rondo_thread threads[THREADS];
    uint64_t before = rondo_mem_live();
    rondo_latch_init(&gate.arrived, THREADS);
    rondo_latch_init(&gate.leave, 1);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "stay", allocate_and_stay, &gate), 0);
    rondo_latch_wait(&gate.arrived);
    assert_int_equal(rondo_mem_live() - before, THREADS);
    rondo_latch_count_down(&gate.leave);
    for (unsigned i = 0; i < THREADS; i++) rondo_thread_join(&threads[i]);
    assert_int_equal(rondo_mem_live(), before);
    rondo_latch_fini(&gate.arrived);
    rondo_latch_fini(&gate.leave);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_to_allocate_count),
        cmocka_unit_test(zalloc_zeroes_and_realloc_keeps),
        cmocka_unit_test(small_alignments_are_those_of_malloc),
        cmocka_unit_test(what_is_too_large_is_null),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(the_nth_allocation_fails_once),
        cmocka_unit_test(a_failed_realloc_keeps_the_old),
        cmocka_unit_test(the_count_is_right_across_threads),
        cmocka_unit_test(more_threads_than_counters_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
