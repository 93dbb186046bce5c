/* SPDX-License-Identifier: MIT */
/* The rules of time past its end, simulated: refresh ahead (T3) and stale values
 * (T4). */
#include "cache/fixture.h"

static struct test_cache t;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    return 0;
}

static struct test_answer got(const char *key) {
    struct test_answer a = {.outcome = RONDO_PENDING};
    (void)test_get(&t, key, 0, &a);
    return a;
}

/* A cache whose values live 100 s, with "k" loaded at 0. */
static void begin(struct rondo_cache_options o) {
    o.ttl_ns = 100 * RONDO_SEC;
    test_begin(&t, 1, &o);
    assert_int_equal(got("k").outcome, RONDO_PENDING);
    test_advance(&t, RONDO_MS);
    t.n_answers = 0;
}

static void seconds(uint64_t s) {
    test_advance(&t, s * RONDO_SEC);
}

static void test_T3_a_late_access_refreshes_in_the_background(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    seconds(79);
    assert_string_equal(got("k").text, "k=1");
    seconds(2);
    assert_int_equal(t.source.calls, 1); /* not late enough */
    for (int i = 0; i < 10; i++) assert_string_equal(got("k").text, "k=1");
    seconds(2);
    assert_int_equal(t.source.calls, 2); /* one load however many */
    assert_string_equal(got("k").text, "k=2");
    assert_int_equal(test_stats(&t).refreshes, 1);
    seconds(98); /* the new value has a full life of its own */
    assert_string_equal(got("k").text, "k=2");
    seconds(2);
    assert_int_equal(t.source.calls, 3);
    test_end(&t);
}

static void test_T3_no_access_no_refresh(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    begin(o);
    seconds(200);
    assert_int_equal(t.source.calls, 1);
    assert_int_equal(got("k").outcome, RONDO_PENDING);
    seconds(1);
    test_end(&t);
}

static void test_T3_a_failed_refresh_keeps_the_value_and_backs_off(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    begin(o);
    t.source.fail = RONDO_ERR_LOAD;
    seconds(80);
    assert_string_equal(got("k").text, "k=1");
    seconds(1);
    assert_int_equal(t.source.calls, 2);
    seconds(2);
    assert_string_equal(got("k").text, "k=1");
    seconds(1);
    assert_int_equal(t.source.calls, 2); /* not at once again */
    seconds(7);
    assert_string_equal(got("k").text, "k=1");
    seconds(1);
    assert_int_equal(t.source.calls, 3);
    seconds(10);
    assert_int_equal(got("k").outcome, RONDO_PENDING); /* its time is up */
    seconds(1);
    assert_int_equal(t.answers[0].outcome, RONDO_FAILED);
    test_end(&t);
}

static void test_T3_absent_removes_and_a_newer_write_wins(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    seconds(85);
    (void)got("k");
    test_put(&t, "k", "written", (struct rondo_write){0});
    seconds(2);
    assert_string_equal(got("k").text, "written");
    test_forget(&t, "k");
    (void)got("k");
    seconds(90);
    t.source.is_absent = true;
    assert_int_equal(got("k").outcome, RONDO_VALUE);
    seconds(2);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_end(&t);
}

static void test_T3_what_a_client_wrote_lives_to_its_expiry(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    o.stale_while_revalidate_ns = 50 * RONDO_SEC;
    begin(o);
    test_put(&t, "k", "written", (struct rondo_write){0});
    seconds(99);
    assert_string_equal(got("k").text, "written");
    seconds(2);
    assert_int_equal(t.source.calls, 1);
    assert_int_equal(got("k").outcome, RONDO_PENDING);
    seconds(1);
    test_end(&t);
}

static void test_T3_a_refresh_waits_behind_all_misses(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    o.threads.kind = RONDO_THREADS_NONE;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    seconds(85);
    (void)got("running");
    test_advance(&t, RONDO_MS);
    (void)got("k"); /* queues a refresh */
    (void)got("miss");
    seconds(2);
    assert_int_equal(t.n_answers, 2);
    assert_string_equal(test_peek(&t, "k").text, "k=1");
    seconds(2);
    assert_string_equal(test_peek(&t, "k").text, "k=4");
    test_end(&t);
}

static void test_T3_a_miss_that_joins_gives_its_priority(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.refresh_ahead_percent = 20;
    o.threads.kind = RONDO_THREADS_NONE;
    begin(o);
    t.source.delay_ns = 10 * RONDO_SEC;
    seconds(85);
    (void)got("running");
    test_advance(&t, RONDO_MS);
    (void)got("k"); /* queues a refresh, which this cache's one thread does not reach */
    struct rondo_key k = test_key("k");
    assert_int_equal(rondo_cache_refresh(t.cache, &k), RONDO_OK); /* joins it, for nobody */
    for (int i = 0; i < 4; i++) {
        char key[8];
        snprintf(key, sizeof key, "m%d", i);
        if (i == 2) {
            seconds(15); /* its life ends; "running" has landed, "m0" runs */
            assert_int_equal(got("k").outcome, RONDO_PENDING);
        }
        (void)got(key);
    }
    seconds(26); /* "m1" and then "k", in front of "m2" and "m3" */
    assert_int_equal(t.n_answers, 4);
    assert_memory_equal(t.answers[3].text, "k=", 2);
    seconds(60);
    test_end(&t);
}

static void test_T4_stale_while_revalidate(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.stale_while_revalidate_ns = 30 * RONDO_SEC;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    seconds(110);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT); /* reads only */
    for (int i = 0; i < 5; i++) {
        struct test_answer a = got("k");
        assert_string_equal(a.text, "k=1");
        assert_true(a.is_stale);
    }
    seconds(2);
    assert_int_equal(t.source.calls, 2);
    struct test_answer a = got("k");
    assert_string_equal(a.text, "k=2");
    assert_false(a.is_stale);
    struct rondo_cache_stats s = test_stats(&t);
    assert_int_equal(s.stale_hits, 5);
    assert_int_equal(s.hits, 1);
    seconds(131); /* past the window */
    assert_int_equal(got("k").outcome, RONDO_PENDING);
    seconds(2);
    test_end(&t);
}

static void test_T4_stale_if_error(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.stale_if_error_ns = 3600 * RONDO_SEC;
    begin(o);
    t.source.fail = RONDO_ERR_CONNECT;
    seconds(200);
    assert_int_equal(got("k").outcome, RONDO_PENDING); /* the source is asked first */
    assert_int_equal(got("k").outcome, RONDO_PENDING);
    seconds(1);
    assert_int_equal(t.n_answers, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(t.answers[i].text, "k=1");
        assert_true(t.answers[i].is_stale);
    }
    assert_int_equal(test_stats(&t).stale_hits, 2);
    assert_int_equal(test_stats(&t).loads_error, 1); /* O2: it does not hide */
    t.source.fail = RONDO_OK;
    (void)got("k");
    seconds(1);
    assert_string_equal(t.answers[2].text, "k=2");
    t.source.is_absent = true; /* absent is no error */
    seconds(200);
    (void)got("k");
    seconds(1);
    assert_int_equal(t.answers[3].outcome, RONDO_ABSENT);
    test_end(&t);
}

static void test_T4_stale_if_time_is_up(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.stale_if_error_ns = 3600 * RONDO_SEC;
    o.load_timeout_ns = 10 * RONDO_SEC;
    begin(o);
    t.source.delay_ns = 60 * RONDO_SEC;
    seconds(200);
    struct test_answer ignored;
    (void)test_get_as(&t, "k", 1, &ignored, (struct rondo_read){.wait_ns = RONDO_SEC});
    (void)test_get(&t, "k", 2, &ignored);
    seconds(2);
    assert_int_equal(t.n_answers, 1); /* its wait */
    assert_string_equal(t.answers[0].text, "k=1");
    assert_true(t.answers[0].is_stale);
    seconds(9);
    assert_int_equal(t.n_answers, 2); /* the load's time */
    assert_true(t.answers[1].is_stale);
    assert_true(got("k").is_stale); /* at once, while that call runs */
    seconds(60);
    assert_string_equal(got("k").text, "k=2");
    test_end(&t);
}

static void test_R8_the_breaker_spares_the_source_and_probes_close_it(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.stale_if_error_ns = 3600 * RONDO_SEC;
    o.breaker_failures = 3;
    begin(o);
    t.source.fail = RONDO_ERR_CONNECT;
    seconds(200);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got("k").outcome, RONDO_PENDING);
        test_advance(&t, RONDO_MS);
    }
    assert_int_equal(test_stats(&t).breaker_open, 1);
    assert_int_equal(t.source.calls, 4);
    assert_true(got("k").is_stale); /* at once */
    struct test_answer a = got("other");
    assert_int_equal(a.err, RONDO_ERR_CONNECT);
    assert_string_equal(a.text, "test the source failed too often; it is asked again soon");
    seconds(1);
    for (int i = 0; i < 5; i++) {
        char key[8];
        snprintf(key, sizeof key, "p%d", i);
        assert_int_equal(got(key).outcome, RONDO_PENDING);
    }
    test_advance(&t, RONDO_MS);
    assert_int_equal(t.source.calls, 5); /* one of them was the probe */
    seconds(1);
    assert_int_equal(got("k").outcome, RONDO_VALUE); /* 2 s this time */
    t.source.fail = RONDO_OK;
    seconds(1);
    (void)got("k");
    seconds(1);
    assert_int_equal(test_stats(&t).breaker_open, 0);
    assert_false(got("k").is_stale);
    assert_int_equal(got("other").outcome, RONDO_PENDING);
    seconds(1);
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_T3_a_late_access_refreshes_in_the_background, setup),
        cmocka_unit_test_setup(test_T3_no_access_no_refresh, setup),
        cmocka_unit_test_setup(test_T3_a_failed_refresh_keeps_the_value_and_backs_off, setup),
        cmocka_unit_test_setup(test_T3_absent_removes_and_a_newer_write_wins, setup),
        cmocka_unit_test_setup(test_T3_what_a_client_wrote_lives_to_its_expiry, setup),
        cmocka_unit_test_setup(test_T3_a_refresh_waits_behind_all_misses, setup),
        cmocka_unit_test_setup(test_T3_a_miss_that_joins_gives_its_priority, setup),
        cmocka_unit_test_setup(test_T4_stale_while_revalidate, setup),
        cmocka_unit_test_setup(test_T4_stale_if_error, setup),
        cmocka_unit_test_setup(test_T4_stale_if_time_is_up, setup),
        cmocka_unit_test_setup(test_R8_the_breaker_spares_the_source_and_probes_close_it, setup),
    };
    return cmocka_run_group_tests_name("stale", tests, NULL, NULL);
}
