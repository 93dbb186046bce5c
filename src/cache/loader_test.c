/* SPDX-License-Identifier: MIT */
/* What the loader does with keys that wait (R11), with a source that calls back (R14)
 * and with the caller's name (R17), simulated. */
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

static void test_R11_a_busy_pool_makes_batches(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    t.source.batch = 100;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    get("first", 0);
    test_advance(&t, RONDO_MS);
    assert_int_equal(t.source.calls, 1); /* an idle pool waits for nobody */
    for (uint64_t i = 0; i < 20; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", (int)i);
        get(key, i);
    }
    test_advance(&t, 10 * RONDO_SEC);
    assert_int_equal(t.n_answers, 21);
    assert_int_equal(t.source.largest, 20);
    assert_int_equal(t.source.calls, 2);
    test_end(&t);
}

static void test_R11_batches_are_as_large_as_both_allow(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    o.batch = 8;
    t.source.batch = 100;
    begin(o);
    t.source.delay_ns = RONDO_SEC;
    get("first", 0);
    test_advance(&t, RONDO_MS);
    for (uint64_t i = 0; i < 20; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", (int)i);
        get(key, i);
    }
    test_advance(&t, 10 * RONDO_SEC);
    assert_int_equal(t.n_answers, 21);
    assert_int_equal(t.source.largest, 8);
    assert_int_equal(t.source.calls, 4);
    test_end(&t);
}

static void fail_bad(struct test_source *s, const struct rondo_load *load) {
    for (size_t i = 0; i < load->n; i++) {
        if (!rondo_slice_is(load->keys[i].key, "bad")) continue;
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, RONDO_ERR_LOAD, "bad key");
        return;
    }
    for (size_t i = 0; i < load->n; i++) test_source_answer(s, load, i);
}

static void test_R11_a_failed_batch_is_asked_again_key_by_key(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    t.source.batch = 100;
    t.source.script = fail_bad;
    begin(o);
    get("a", 1);
    get("bad", 2);
    get("c", 3);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t.answers[i].outcome, t.answers[i].id == 2 ? RONDO_FAILED : RONDO_VALUE);
    assert_int_equal(t.source.calls, 4);
    test_end(&t);
}

static void test_R11_a_lost_connection_is_not_retried(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    t.source.batch = 100;
    t.source.fail = RONDO_ERR_CONNECT;
    begin(o);
    get("a", 1);
    get("b", 2);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(t.source.calls, 1);
    assert_int_equal(t.source.disconnects, 1); /* remade before the next call */
    test_end(&t);
}

static struct test_answer inner;

/* Needs another key for each one that it loads: "a" needs "b". */
static void ask_back(struct test_source *s, const struct rondo_load *load) {
    char key[8] = {0};
    memcpy(key, load->keys[0].key.data, load->keys[0].key.len);
    if (key[0] != 'c') {
        key[0]++;
        struct rondo_key k = test_key(key);
        struct rondo_answer a;
        (void)rondo_cache_get_wait(t.cache, &k, NULL, &a);
        inner = test_note(&a);
    }
    test_source_answer(s, load, 0);
}

static void test_R14_a_blocking_get_of_the_source_loads_on_its_own_thread(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE; /* nobody else could */
    begin(o);
    t.source.script = ask_back;
    get("a", 1);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 1);
    assert_int_equal(t.source.calls, 3);
    assert_memory_equal(inner.text, "b=", 2);
    assert_int_equal(test_peek(&t, "c").outcome, RONDO_VALUE);
    test_end(&t);
}

static void ask_itself(struct test_source *s, const struct rondo_load *load) {
    char key[8] = {0};
    memcpy(key, load->keys[0].key.data, load->keys[0].key.len);
    inner = got(key);
    test_source_answer(s, load, 0);
}

static void test_R14_a_source_that_asks_for_its_own_key_is_refused(void **state) {
    (void)state;
    begin(test_options(&t));
    t.source.script = ask_itself;
    get("k", 1);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(inner.outcome, RONDO_FAILED);
    assert_int_equal(inner.err, RONDO_ERR_DEADLOCK);
    assert_string_equal(inner.text, "test the source asked for the key that it is loading");
    assert_int_equal(t.answers[0].outcome, RONDO_VALUE);
    test_end(&t);
}

static void note_client(struct test_source *s, const struct rondo_load *load) {
    struct rondo_slice client = load->keys[0].client;
    memcpy(s->client, client.data, client.len);
    test_source_answer(s, load, 0);
}

static void test_R17_the_callers_name_reaches_the_source(void **state) {
    (void)state;
    t.source.script = note_client;
    begin(test_options(&t));
    struct test_answer ignored;
    test_get_as(&t, "k", 1, &ignored, (struct rondo_read){.client = rondo_slice_str("Cultist 3")});
    test_get_as(&t, "k", 2, &ignored, (struct rondo_read){.client = rondo_slice_str("Cultist 4")});
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_string_equal(t.source.client, "Cultist 3");
    assert_int_equal(t.source.calls, 1); /* it is no part of the key */
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_R11_a_busy_pool_makes_batches, setup),
        cmocka_unit_test_setup(test_R11_batches_are_as_large_as_both_allow, setup),
        cmocka_unit_test_setup(test_R11_a_failed_batch_is_asked_again_key_by_key, setup),
        cmocka_unit_test_setup(test_R11_a_lost_connection_is_not_retried, setup),
        cmocka_unit_test_setup(test_R14_a_blocking_get_of_the_source_loads_on_its_own_thread,
                               setup),
        cmocka_unit_test_setup(test_R14_a_source_that_asks_for_its_own_key_is_refused, setup),
        cmocka_unit_test_setup(test_R17_the_callers_name_reaches_the_source, setup),
    };
    return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}
