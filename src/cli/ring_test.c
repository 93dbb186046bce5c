/* SPDX-License-Identifier: MIT */
#include "base/test.h"
#include "cli/ring.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"

static struct rondo_ring_options options(uint64_t nodes, uint64_t rounds, uint64_t tokens) {
    return (struct rondo_ring_options){
        .nodes = nodes, .rounds = rounds, .tokens = tokens, .stall_ns = 10 * RONDO_SEC};
}

static void expect_right(const struct rondo_ring_options *o) {
    struct rondo_ring_result r;
    assert_int_equal(rondo_ring_run(o, &r), RONDO_OK);
    assert_int_equal(r.messages, o->nodes * o->rounds * o->tokens);
    assert_int_equal(r.dropped, 1);
    /* START, to the timer START STOP CANCEL, a STOP to each node but the first;
     * with more tokens a START and a DONE for each further origin. */
    assert_int_equal(r.control, 4 + (o->nodes - 1) + 2 * (o->tokens - 1));
}

static void test_ring_under_200_seeds(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rondo_ring_options o = options(1 + seed % 7, 20, 1 + seed % (1 + seed % 7));
        o.simulate = true;
        o.seed = seed;
        struct rondo_ring_result r;
        enum rondo_err err = rondo_ring_run(&o, &r);
        if (err || r.messages != o.nodes * o.rounds * o.tokens) print_error("seed %d\n", (int)seed);
        expect_right(&o);
    }
}

static void test_ring_of_one_node(void **state) {
    (void)state;
    struct rondo_ring_options o = options(1, 30000, 1);
    expect_right(&o);
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_NONE};
    expect_right(&o);
}

static void test_ring_on_several_workers(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 4; n++) {
        struct rondo_ring_options o = options(100, 500, n == 1 ? 1 : 20);
        o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .min = n, .max = n};
        expect_right(&o);
    }
}

static void test_ring_with_a_token_per_node(void **state) {
    (void)state;
    struct rondo_ring_options o = options(50, 100, 50);
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .min = 2, .max = 2};
    expect_right(&o);
}

static void expect_fault_found(enum rondo_ring_fault fault, enum rondo_err a, enum rondo_err b) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rondo_ring_options o = options(5, 10, 1 + seed % 3);
        o.simulate = true;
        o.seed = seed;
        o.fault = fault;
        struct rondo_ring_result r;
        enum rondo_err err = rondo_ring_run(&o, &r);
        assert_true(err == a || err == b);
    }
}

static void test_lost_token_is_found(void **state) {
    (void)state;
    expect_fault_found(RONDO_RING_LOSE, RONDO_ERR_STALLED, RONDO_ERR_STALLED);
}

static void test_doubled_token_is_found(void **state) {
    (void)state;
    expect_fault_found(RONDO_RING_DOUBLE, RONDO_ERR_PROTOCOL, RONDO_ERR_PROTOCOL);
}

static char *lines_of(enum rondo_err (*run)(const struct rondo_ring_options *,
                                            struct rondo_ring_result *)) {
    char *text = NULL;
    size_t size = 0;
    struct rondo_ring_options o = options(3, RONDO_RING_LOG_EVERY, 1);
    o.out = open_memstream(&text, &size);
    assert_non_null(o.out);
    struct rondo_ring_result r;
    assert_int_equal(run(&o, &r), RONDO_OK);
    fclose(o.out);
    return text;
}

static void expect_article_lines(const char *text) {
    static const char *const lines[] = {"constructing nodes\nTook ",
                                        "ms to construct 3 nodes\nconnecting nodes\n",
                                        " 0: Starting messages\n",
                                        " 0: Around ring 10000 times\n",
                                        " 1: Stopping\n",
                                        " 2: Stopping\n",
                                        "Start=",
                                        " Stop=",
                                        " Elapsed="};
    for (size_t i = 0; i < RONDO_COUNT_OF(lines); i++)
        if (strstr(text, lines[i]) == NULL) fail_msg("no '%s' in:\n%s", lines[i], text);
    assert_null(strstr(text, " 0: Stopping"));
}

static void test_article_lines(void **state) {
    (void)state;
    char *text = lines_of(rondo_ring_run);
    expect_article_lines(text);
    free(text);
    text = lines_of(rondo_ring_run_plain);
    expect_article_lines(text);
    free(text);
}

static void test_plain_design_counts_alike(void **state) {
    (void)state;
    struct rondo_ring_options o = options(10, 50, 3);
    struct rondo_ring_result r;
    assert_int_equal(rondo_ring_run_plain(&o, &r), RONDO_OK);
    assert_int_equal(r.messages, 10 * 50 * 3);
    assert_int_equal(r.control, 4 + 9 + 2 * 2);
    assert_int_equal(r.dropped, 1);
}

static void test_every_failed_allocation_is_an_error(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct rondo_ring_options o = options(3, 5, 2);
        o.simulate = true;
        o.seed = 7;
        struct rondo_ring_result r;
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_ring_run(&o, &r);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        if (!failed) {
            assert_int_equal(err, RONDO_OK);
            assert_true(n > 3);
            return;
        }
        assert_true(err == RONDO_ERR_NOMEM || err == RONDO_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_under_200_seeds),
        cmocka_unit_test(test_ring_of_one_node),
        cmocka_unit_test(test_ring_on_several_workers),
        cmocka_unit_test(test_ring_with_a_token_per_node),
        cmocka_unit_test(test_lost_token_is_found),
        cmocka_unit_test(test_doubled_token_is_found),
        cmocka_unit_test(test_article_lines),
        cmocka_unit_test(test_plain_design_counts_alike),
        cmocka_unit_test(test_every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
