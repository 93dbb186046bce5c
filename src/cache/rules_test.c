/* SPDX-License-Identifier: MIT */
/* The rules of reading, in the library, simulated: each test bears the number of
 * the rule that it holds the cache to. */
#include "cache/fixture.h"

#include "cache/keyspace.h"

static struct test_cache t;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    return 0;
}

static void begin(struct rondo_cache_options o) {
    test_begin(&t, 1, &o);
}

static enum rondo_outcome get(const char *key, uint64_t id) {
    struct test_answer ignored;
    return test_get(&t, key, id, &ignored);
}

static struct test_answer got(const char *key) {
    struct test_answer a = {.outcome = RONDO_PENDING};
    (void)test_get(&t, key, 0, &a);
    return a;
}

static void test_R1_a_hit_passes_a_saturated_pool(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 2};
    begin(o);
    test_put(&t, "hot", "v", (struct rondo_write){0});
    t.source.delay_ns = 3600 * RONDO_SEC;
    for (int i = 0; i < 10; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(get(key, 1), RONDO_PENDING);
    }
    test_advance(&t, RONDO_SEC);
    assert_int_equal(test_stats(&t).busy, 2);
    assert_int_equal(got("hot").outcome, RONDO_VALUE);
    test_end(&t);
}

static void test_R2_one_load_per_key(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = RONDO_SEC;
    for (uint64_t i = 0; i < 200; i++) assert_int_equal(get("k", i), RONDO_PENDING);
    test_advance(&t, 2 * RONDO_SEC);
    assert_int_equal(t.n_answers, 200);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(t.answers[i].id, i);
        assert_int_equal(t.answers[i].outcome, RONDO_VALUE);
        assert_string_equal(t.answers[i].text, "k=1");
    }
    struct rondo_cache_stats s = test_stats(&t);
    assert_int_equal(s.loads, 1);
    assert_int_equal(s.misses, 200);
    assert_int_equal(s.joined, 199);
    assert_int_equal(s.waiting, 0);
    assert_int_equal(s.flights, 0);
    assert_string_equal(got("k").text, "k=1");
    assert_int_equal(test_stats(&t).hits, 1);
    test_end(&t);
}

static void test_R2_single_flight_off_loads_for_each(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.no_single_flight = true;
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 10};
    begin(o);
    t.source.delay_ns = 5 * RONDO_SEC;
    for (uint64_t i = 0; i < 5; i++) assert_int_equal(get("k", i), RONDO_PENDING);
    test_advance(&t, 6 * RONDO_SEC);
    assert_int_equal(t.n_answers, 5);
    assert_int_equal(t.source.calls, 5);
    assert_int_equal(got("k").outcome, RONDO_VALUE);
    test_end(&t);
}

static void test_R3_keys_load_side_by_side(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 2};
    begin(o);
    t.source.delay_ns = 5 * RONDO_SEC;
    get("a", 1);
    get("b", 2);
    get("c", 3);
    test_advance(&t, 6 * RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    test_advance(&t, 5 * RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    test_end(&t);
}

static void test_R4_threads_none_is_one_call_at_a_time(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    begin(o);
    t.source.delay_ns = 5 * RONDO_SEC;
    get("a", 1);
    get("b", 2);
    test_advance(&t, 6 * RONDO_SEC);
    assert_int_equal(t.n_answers, 1);
    test_advance(&t, 5 * RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    test_end(&t);
}

static void test_R4_auto_is_the_default(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = 5 * RONDO_SEC;
    for (uint64_t i = 0; i < 16; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", (int)i);
        get(key, i);
    }
    test_advance(&t, 6 * RONDO_SEC);
    assert_int_equal(t.n_answers, 16);
    test_end(&t);
}

static void test_R6_absent_stores_nothing(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.is_absent = true;
    assert_int_equal(get("k", 1), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[0].outcome, RONDO_ABSENT);
    assert_int_equal(get("k", 2), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    struct rondo_cache_stats s = test_stats(&t);
    assert_int_equal(s.loads_absent, 2);
    assert_int_equal(s.entries, 0);
    test_end(&t);
}

static void test_R6_miss_ttl_remembers_an_absence(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.miss_ttl_ns = 5 * RONDO_SEC;
    begin(o);
    t.source.is_absent = true;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(got("k").outcome, RONDO_ABSENT);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    assert_int_equal(rondo_keyspace_size(t.cache->ks, 0), 0);
    test_advance(&t, 3 * RONDO_SEC);
    assert_int_equal(got("k").outcome, RONDO_ABSENT);
    assert_int_equal(t.source.calls, 1);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(get("k", 2), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    /* A write or a removal of the key clears it. */
    assert_false(test_forget(&t, "k"));
    assert_int_equal(get("k", 3), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    test_put(&t, "k", "v", (struct rondo_write){0});
    assert_string_equal(got("k").text, "v");
    test_end(&t);
}

static void test_R6_absences_evict_no_value(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.miss_ttl_ns = 3600 * RONDO_SEC;
    o.memory_bytes = 4 << 20;
    o.load_timeout_ns = RONDO_OFF;
    begin(o);
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "v%d", i);
        test_put(&t, key, "value", (struct rondo_write){.ttl_ns = RONDO_OFF});
    }
    t.source.is_absent = true;
    for (int i = 0; i < 20000; i++) {
        char key[16];
        snprintf(key, sizeof key, "a%d", i);
        get(key, 1);
        t.n_answers = 0;
        if (i % 100 == 99) test_advance(&t, RONDO_MS);
    }
    test_advance(&t, RONDO_MS);
    struct rondo_cache_stats s = test_stats(&t);
    assert_int_equal(s.entries, 1000);
    assert_int_equal(s.evicted, 0);
    struct rondo_budget *negative = &t.cache->policy.negative;
    assert_true(negative->used <= negative->limit);
    assert_true(negative->used > negative->limit / 2);
    /* First in, first out: the newest are there. */
    assert_int_equal(got("a19999").outcome, RONDO_ABSENT);
    assert_int_equal(got("a0").outcome, RONDO_PENDING);
    test_advance(&t, RONDO_MS);
    test_end(&t);
}

static void test_R7_a_failure_reaches_all_and_changes_nothing(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.fail = RONDO_ERR_LOAD;
    get("k", 1);
    get("k", 2);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t.answers[i].outcome, RONDO_FAILED);
        assert_int_equal(t.answers[i].err, RONDO_ERR_LOAD);
        assert_string_equal(t.answers[i].text, "test it  is down");
    }
    assert_int_equal(test_stats(&t).loads_error, 1);
    assert_int_equal(get("k", 3), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.source.calls, 2);
    test_end(&t);
}

static void test_R7_error_ttl_spares_the_source(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.error_ttl_ns = 5 * RONDO_SEC;
    begin(o);
    t.source.fail = RONDO_ERR_CONNECT;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    struct test_answer a = got("k");
    assert_int_equal(a.outcome, RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_CONNECT);
    assert_string_equal(a.text, "test it  is down");
    assert_int_equal(t.source.calls, 1);
    t.source.fail = RONDO_OK;
    test_forget(&t, "k");
    assert_int_equal(get("k", 2), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[1].outcome, RONDO_VALUE);
    test_end(&t);
}

static void test_R8_wait_bounds_a_waiter_and_the_load_goes_on(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = 10 * RONDO_SEC;
    struct test_answer ignored;
    test_get_as(&t, "k", 1, &ignored, (struct rondo_read){.wait_ns = RONDO_SEC});
    test_get_as(&t, "k", 2, &ignored, (struct rondo_read){.wait_ns = 20 * RONDO_SEC});
    uint64_t start_ns = rondo_runtime_now_ns(t.rt);
    test_advance(&t, 2 * RONDO_SEC);
    assert_int_equal(t.n_answers, 1);
    assert_int_equal(t.answers[0].id, 1);
    assert_int_equal(t.answers[0].err, RONDO_ERR_TIMEOUT);
    assert_string_equal(t.answers[0].text, "test time is up");
    assert_true(t.answers[0].at_ns - start_ns >= RONDO_SEC);
    assert_true(t.answers[0].at_ns - start_ns <= RONDO_SEC + 5 * RONDO_MS);
    test_advance(&t, 10 * RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_string_equal(t.answers[1].text, "k=1");
    assert_int_equal(test_stats(&t).waits_timeout, 1);
    test_end(&t);
}

static void test_R8_load_timeout_fails_all_and_a_late_value_is_stored(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.load_timeout_ns = 2 * RONDO_SEC;
    begin(o);
    t.source.delay_ns = 10 * RONDO_SEC;
    get("k", 1);
    get("k", 2);
    test_advance(&t, 3 * RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(t.answers[0].err, RONDO_ERR_TIMEOUT);
    assert_int_equal(t.answers[1].err, RONDO_ERR_TIMEOUT);
    /* While that call runs, the key answers at once. */
    assert_int_equal(got("k").err, RONDO_ERR_TIMEOUT);
    assert_int_equal(t.source.calls, 1);
    test_advance(&t, 10 * RONDO_SEC);
    assert_string_equal(got("k").text, "k=1");
    struct rondo_cache_stats s = test_stats(&t);
    assert_int_equal(s.loads_timeout, 1);
    assert_int_equal(s.loads_ok, 0);
    test_end(&t);
}

static void test_R8_a_late_value_yields_to_a_write(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.load_timeout_ns = 2 * RONDO_SEC;
    begin(o);
    t.source.delay_ns = 10 * RONDO_SEC;
    get("k", 1);
    test_advance(&t, 3 * RONDO_SEC);
    test_put(&t, "k", "new", (struct rondo_write){0});
    test_advance(&t, 10 * RONDO_SEC);
    assert_string_equal(got("k").text, "new");
    test_end(&t);
}

static void test_R8_the_deadline_counts_from_the_start_of_the_call(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.load_timeout_ns = 4 * RONDO_SEC;
    o.threads.kind = RONDO_THREADS_NONE;
    begin(o);
    t.source.delay_ns = 3 * RONDO_SEC;
    get("a", 1);
    get("b", 2);
    test_advance(&t, 7 * RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(t.answers[0].outcome, RONDO_VALUE);
    assert_int_equal(t.answers[1].outcome, RONDO_VALUE);
    test_end(&t);
}

static void test_R9_a_full_queue_refuses_at_once(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.queue = 2;
    o.threads.kind = RONDO_THREADS_NONE;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    get("running", 1);
    test_advance(&t, RONDO_MS);
    assert_int_equal(get("a", 2), RONDO_PENDING);
    assert_int_equal(get("b", 3), RONDO_PENDING);
    struct test_answer a = got("c");
    assert_int_equal(a.outcome, RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_FULL);
    assert_int_equal(get("a", 4), RONDO_PENDING); /* joining needs no place */
    assert_int_equal(test_stats(&t).shed, 1);
    test_advance(&t, 4 * RONDO_SEC);
    assert_int_equal(t.n_answers, 4);
    assert_int_equal(get("c", 5), RONDO_PENDING);
    test_advance(&t, 4 * RONDO_SEC);
    test_end(&t);
}

static void test_R9_too_many_waiters_are_refused(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.waiters = 3;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(get("k", i), RONDO_PENDING);
    assert_int_equal(got("k").err, RONDO_ERR_FULL);
    test_advance(&t, 2 * RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    test_end(&t);
}

static void test_R9_a_queued_flight_without_waiters_is_dropped(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    begin(o);
    t.source.delay_ns = 10 * RONDO_SEC;
    struct test_answer ignored;
    get("a", 1);
    test_advance(&t, RONDO_MS);
    test_get_as(&t, "b", 2, &ignored, (struct rondo_read){.wait_ns = RONDO_SEC});
    test_advance(&t, 15 * RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(t.source.calls, 1);
    assert_int_equal(test_stats(&t).flights, 0);
    test_end(&t);
}

static void test_R12_a_write_supersedes_a_load(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = 5 * RONDO_SEC;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    test_put(&t, "k", "new", (struct rondo_write){0});
    assert_string_equal(got("k").text, "new");
    test_advance(&t, 5 * RONDO_SEC);
    assert_int_equal(t.n_answers, 1);
    assert_string_equal(t.answers[0].text, "k=1"); /* those who waited get it */
    assert_string_equal(got("k").text, "new");     /* memory does not */
    assert_int_equal(test_stats(&t).superseded, 1);
    test_end(&t);
}

static void test_R12_a_removal_supersedes_and_the_next_read_starts_afresh(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = 5 * RONDO_SEC;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    test_forget(&t, "k");
    assert_int_equal(get("k", 2), RONDO_PENDING);
    test_advance(&t, 4500 * RONDO_MS);
    assert_int_equal(t.n_answers, 1);
    assert_string_equal(t.answers[0].text, "k=1");
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_advance(&t, RONDO_SEC);
    assert_string_equal(t.answers[1].text, "k=2");
    assert_string_equal(got("k").text, "k=2");
    test_end(&t);
}

static void test_R12_a_flush_supersedes(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = 5 * RONDO_SEC;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    rondo_keyspace_flush(t.cache->ks, 1); /* another space */
    assert_int_equal(get("k", 2), RONDO_PENDING);
    assert_int_equal(test_stats(&t).flights, 1);
    rondo_keyspace_flush(t.cache->ks, 0);
    assert_int_equal(get("k", 3), RONDO_PENDING);
    assert_int_equal(test_stats(&t).flights, 2);
    test_advance(&t, 4500 * RONDO_MS);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    assert_string_equal(got("k").text, "k=2");
    test_end(&t);
}

static void test_R12_a_third_load_waits_for_a_superseded_call(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.delay_ns = 5 * RONDO_SEC;
    for (uint64_t i = 0; i < 3; i++) {
        get("k", i);
        test_advance(&t, RONDO_SEC);
        test_forget(&t, "k");
    }
    assert_int_equal(t.source.calls, 2);
    assert_int_equal(test_stats(&t).flights, 3);
    test_advance(&t, 2500 * RONDO_MS);
    assert_int_equal(t.source.calls, 3);
    test_advance(&t, 10 * RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(test_stats(&t).flights, 0);
    test_end(&t);
}

/* ----------------------------------------------------------------------- R15 --- */

static void flood(unsigned from, unsigned n) {
    static char value[900];
    memset(value, 'x', sizeof value - 1);
    for (unsigned i = from; i < from + n; i++) {
        char key[16];
        snprintf(key, sizeof key, "f%u", i);
        test_put(&t, key, value, (struct rondo_write){0});
        get(key, i); /* so that it is kept as long as others that are read */
    }
}

static void test_R15_eviction_passes_over_what_is_being_loaded(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.memory_bytes = 4 << 20;
    o.load_timeout_ns = RONDO_OFF;
    begin(o);
    test_put(&t, "loading", "old", (struct rondo_write){0});
    test_put(&t, "idle", "old", (struct rondo_write){0});
    t.source.delay_ns = 100 * RONDO_SEC;
    struct rondo_key k = test_key("loading");
    assert_int_equal(rondo_cache_refresh(t.cache, &k), RONDO_OK);
    test_advance(&t, RONDO_SEC);
    flood(0, 20000);
    assert_true(test_stats(&t).evicted > 10000);
    assert_int_equal(test_peek(&t, "idle").outcome, RONDO_ABSENT);
    assert_string_equal(test_peek(&t, "loading").text, "old");
    test_advance(&t, 200 * RONDO_SEC);
    assert_string_equal(test_peek(&t, "loading").text, "loading=1");
    flood(20000, 20000); /* like any other again */
    assert_int_equal(test_peek(&t, "loading").outcome, RONDO_ABSENT);
    assert_true(test_stats(&t).bytes <= 4 << 20);
    test_end(&t);
}

/* ------------------------------------------------------------------------ R8 --- */

/* A hanging source takes its threads, which others replace up to max_stuck; then
 * it is left alone. */
static void test_R8_stuck_threads_are_replaced_then_the_breaker_opens(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 2};
    o.max_stuck = 3;
    o.load_timeout_ns = RONDO_SEC;
    begin(o);
    t.source.delay_ns = 100 * RONDO_SEC;
    for (uint64_t i = 0; i < 5; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%u", (unsigned)i);
        get(key, i);
    }
    test_advance(&t, 500 * RONDO_MS);
    assert_int_equal(t.source.calls, 2);
    assert_int_equal(test_stats(&t).stuck, 0);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(test_stats(&t).stuck, 2);
    assert_int_equal(test_stats(&t).breaker_open, 0);
    assert_int_equal(t.source.calls, 4); /* two others in their place */
    test_advance(&t, 1500 * RONDO_MS);
    assert_true(test_stats(&t).stuck >= 3);
    assert_int_equal(test_stats(&t).breaker_open, 1);
    assert_int_equal(t.n_answers, 5);
    t.source.delay_ns = 0;
    test_advance(&t, 200 * RONDO_SEC);
    assert_int_equal(test_stats(&t).stuck, 0);
    assert_int_equal(get("new", 9), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[5].outcome, RONDO_VALUE);
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_R1_a_hit_passes_a_saturated_pool, setup),
        cmocka_unit_test_setup(test_R2_one_load_per_key, setup),
        cmocka_unit_test_setup(test_R2_single_flight_off_loads_for_each, setup),
        cmocka_unit_test_setup(test_R3_keys_load_side_by_side, setup),
        cmocka_unit_test_setup(test_R4_threads_none_is_one_call_at_a_time, setup),
        cmocka_unit_test_setup(test_R4_auto_is_the_default, setup),
        cmocka_unit_test_setup(test_R6_absent_stores_nothing, setup),
        cmocka_unit_test_setup(test_R6_miss_ttl_remembers_an_absence, setup),
        cmocka_unit_test_setup(test_R6_absences_evict_no_value, setup),
        cmocka_unit_test_setup(test_R7_a_failure_reaches_all_and_changes_nothing, setup),
        cmocka_unit_test_setup(test_R7_error_ttl_spares_the_source, setup),
        cmocka_unit_test_setup(test_R8_wait_bounds_a_waiter_and_the_load_goes_on, setup),
        cmocka_unit_test_setup(test_R8_load_timeout_fails_all_and_a_late_value_is_stored, setup),
        cmocka_unit_test_setup(test_R8_a_late_value_yields_to_a_write, setup),
        cmocka_unit_test_setup(test_R8_the_deadline_counts_from_the_start_of_the_call, setup),
        cmocka_unit_test_setup(test_R9_a_full_queue_refuses_at_once, setup),
        cmocka_unit_test_setup(test_R9_too_many_waiters_are_refused, setup),
        cmocka_unit_test_setup(test_R9_a_queued_flight_without_waiters_is_dropped, setup),
        cmocka_unit_test_setup(test_R12_a_write_supersedes_a_load, setup),
        cmocka_unit_test_setup(test_R12_a_removal_supersedes_and_the_next_read_starts_afresh,
                               setup),
        cmocka_unit_test_setup(test_R12_a_flush_supersedes, setup),
        cmocka_unit_test_setup(test_R12_a_third_load_waits_for_a_superseded_call, setup),
        cmocka_unit_test_setup(test_R15_eviction_passes_over_what_is_being_loaded, setup),
        cmocka_unit_test_setup(test_R8_stuck_threads_are_replaced_then_the_breaker_opens, setup),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
