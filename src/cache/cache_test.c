/* SPDX-License-Identifier: MIT */
/* The front door: forms of get, many keys, lack of memory, and real threads. */
#include "cache/fixture.h"

#include "base/sync.h"
#include "cache/keyspace.h"

static struct test_cache t;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    return 0;
}

static void begin_threads(const struct rondo_cache_options *o) {
    struct rondo_runtime_options r = {.size = sizeof r,
                                      .threads = {.kind = RONDO_THREADS_FIXED, .max = 2}};
    assert_int_equal(rondo_runtime_new(&r, &t.rt), RONDO_OK);
    test_open(&t, o);
}

/* ------------------------------------------------------------ forms of get --- */

enum { MSG_ANSWER = 7 };

static struct test_answer received[4];
static uint32_t indexes[4];
static unsigned n_received;

static void receive_answer(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)self;
    (void)state;
    RONDO_CHECK(m->type == MSG_ANSWER && n_received < 4);
    struct rondo_reply *reply = (struct rondo_reply *)(void *)m;
    indexes[n_received] = reply->index;
    received[n_received] = test_note(&reply->answer); /* takes it out */
    received[n_received++].id = reply->id;
    rondo_msg_free(m);
}

static void test_an_answer_as_a_message(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    test_begin(&t, 1, &o);
    n_received = 0;
    rondo_actor *actor;
    struct rondo_actor_options a = {.size = sizeof a, .receive = receive_answer};
    assert_int_equal(rondo_spawn(t.rt, &a, &actor), RONDO_OK);
    struct rondo_read read = {.done = {.to = actor, .type = MSG_ANSWER, .id = 42}};
    struct rondo_key k = test_key("k");
    struct rondo_answer answer;
    assert_int_equal(rondo_cache_get(t.cache, &k, &read, &answer), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(n_received, 1);
    assert_int_equal(received[0].id, 42);
    assert_string_equal(received[0].text, "k=1");
    /* Its receiver is gone: the message is dropped, its value released. */
    test_forget(&t, "k");
    assert_int_equal(rondo_cache_get(t.cache, &k, &read, &answer), RONDO_PENDING);
    rondo_actor_stop(actor);
    rondo_actor_unref(actor);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(n_received, 1);
    test_end(&t);
}

static void test_small_values_go_to_the_scratch_and_large_ones_by_reference(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    test_begin(&t, 1, &o);
    char big[3000], scratch[2000];
    memset(big, 'b', sizeof big);
    struct rondo_key small = test_key("small"), large = test_key("large");
    struct rondo_answer a;
    struct rondo_read read = {.scratch = scratch, .scratch_size = sizeof scratch};
    (void)rondo_cache_put(t.cache, &small, rondo_slice_of(big, 1000), NULL, &a);
    (void)rondo_cache_put(t.cache, &large, rondo_slice_of(big, 3000), NULL, &a);
    assert_int_equal(rondo_cache_get(t.cache, &small, &read, &a), RONDO_VALUE);
    assert_ptr_equal(a.value.data, scratch);
    assert_null(a.value.blob);
    rondo_answer_release(&a);
    assert_int_equal(rondo_cache_get(t.cache, &large, &read, &a), RONDO_VALUE);
    assert_non_null(a.value.blob);
    rondo_cache_invalidate(t.cache, &large); /* the reader keeps it */
    assert_memory_equal(a.value.data, big, 3000);
    rondo_answer_release(&a);
    read.scratch_size = 999;
    assert_int_equal(rondo_cache_get(t.cache, &small, &read, &a), RONDO_VALUE);
    assert_non_null(a.value.blob);
    rondo_answer_release(&a);
    test_end(&t);
}

static void test_R10_many_keys_one_batch(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    t.source.batch = 100;
    test_begin(&t, 1, &o);
    test_put(&t, "a", "1", (struct rondo_write){0});
    test_put(&t, "c", "3", (struct rondo_write){0});
    const char *names[] = {"a", "x", "c", "y", "x"};
    struct rondo_key keys[5];
    struct rondo_answer answers[5];
    for (int i = 0; i < 5; i++) keys[i] = test_key(names[i]);
    char scratch[64];
    struct rondo_read read = {.done = {.fn = test_collect, .arg = &t, .id = 9},
                              .scratch = scratch,
                              .scratch_size = sizeof scratch};
    assert_int_equal(rondo_cache_get_many(t.cache, keys, 5, &read, answers), 3);
    assert_memory_equal(answers[0].value.data, "1", 1);
    assert_memory_equal(answers[2].value.data, "3", 1);
    assert_int_equal(answers[1].outcome, RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(t.source.calls, 1);
    assert_int_equal(t.source.largest, 2);
    test_end(&t);
}

static void test_R10_answers_are_matched_by_key(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    t.source.batch = 100;
    test_begin(&t, 1, &o);
    n_received = 0;
    rondo_actor *actor;
    struct rondo_actor_options a = {.size = sizeof a, .receive = receive_answer};
    assert_int_equal(rondo_spawn(t.rt, &a, &actor), RONDO_OK);
    const char *names[] = {"p", "q", "r"};
    struct rondo_key keys[3];
    struct rondo_answer answers[3];
    for (int i = 0; i < 3; i++) keys[i] = test_key(names[i]);
    struct rondo_read read = {.done = {.to = actor, .type = MSG_ANSWER, .id = 9}};
    assert_int_equal(rondo_cache_get_many(t.cache, keys, 3, &read, answers), 3);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(n_received, 3);
    for (unsigned i = 0; i < 3; i++) assert_int_equal(received[i].text[0], *names[indexes[i]]);
    rondo_actor_stop(actor);
    rondo_actor_unref(actor);
    test_end(&t);
}

static void test_R10_all_or_none_is_admitted(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.queue = 2;
    test_begin(&t, 1, &o);
    const char *names[] = {"a", "b", "c"};
    struct rondo_key keys[3];
    struct rondo_answer answers[3];
    for (int i = 0; i < 3; i++) keys[i] = test_key(names[i]);
    struct rondo_read read = {.done = {.fn = test_collect, .arg = &t, .id = 9}};
    assert_int_equal(rondo_cache_get_many(t.cache, keys, 3, &read, answers), 2);
    assert_int_equal(answers[2].err, RONDO_ERR_FULL);
    rondo_answer_release(&answers[2]);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(t.answers[0].err, RONDO_ERR_FULL);
    assert_int_equal(t.answers[1].err, RONDO_ERR_FULL);
    assert_int_equal(t.source.calls, 0);
    assert_int_equal(test_stats(&t).flights, 0);
    assert_int_equal(rondo_cache_get_many(t.cache, keys, 2, &read, answers), 2);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[3].outcome, RONDO_VALUE);
    test_end(&t);
}

static void test_refresh_replaces_when_it_lands(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    test_begin(&t, 1, &o);
    t.source.delay_ns = RONDO_SEC;
    struct rondo_key k = test_key("k");
    test_put(&t, "k", "old", (struct rondo_write){0});
    assert_int_equal(rondo_cache_refresh(t.cache, &k), RONDO_OK);
    assert_int_equal(rondo_cache_refresh(t.cache, &k), RONDO_OK); /* under way already */
    assert_string_equal(test_peek(&t, "k").text, "old");
    test_advance(&t, 2 * RONDO_SEC);
    assert_string_equal(test_peek(&t, "k").text, "k=1");
    test_end(&t);
}

/* ---------------------------------------------------------- lack of memory --- */

static void test_open_without_memory(void **state) {
    (void)state;
    test_simulate(&t, 1);
    struct rondo_cache_options o = test_options(&t);
    for (uint64_t n = 1;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_cache_open(t.rt, &o, &t.cache);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        if (!err) {
            rondo_cache_close(t.cache);
            if (!failed) break;
        } else {
            assert_int_equal(err, RONDO_ERR_NOMEM);
            assert_int_equal(t.source.closes, 0);
        }
    }
    rondo_runtime_free(t.rt);
}

/* Whatever fails, every read ends once, nothing leaks and the cache goes on. */
static void test_use_without_memory(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        setup(NULL);
        struct rondo_cache_options o = test_options(&t);
        o.miss_ttl_ns = RONDO_SEC;
        test_begin(&t, 1, &o);
        t.source.delay_ns = RONDO_MS;
        test_set_alarm(&t, 60 * RONDO_SEC);
        rondo_mem_fail_nth(n);
        struct test_answer a = {0};
        unsigned pending = 0;
        struct rondo_key big = test_key("big");
        struct rondo_answer answer;
        char value[2000] = {0};
        pending += test_get(&t, "a", 1, &a) == RONDO_PENDING;
        pending += test_get(&t, "a", 2, &a) == RONDO_PENDING;
        (void)rondo_cache_put(t.cache, &big, rondo_slice_of(value, sizeof value), NULL, &answer);
        rondo_answer_release(&answer);
        (void)test_put(&t, "b", "v", (struct rondo_write){0});
        (void)test_forget(&t, "b");
        test_run(&t);
        failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(t.n_answers, pending);
        if (test_get(&t, "a", 3, &a) == RONDO_PENDING) test_advance(&t, RONDO_SEC);
        assert_int_equal(test_peek(&t, "a").outcome, RONDO_VALUE);
        test_end(&t);
    }
}

/* ------------------------------------------------------------------ threads --- */

enum { THREADS = 4, ROUNDS = 3000 };

static struct rondo_latch latch;
static uint32_t n_wrong, n_answered, n_pending; /* atomic */

static void count_answer(void *arg, uint64_t id, struct rondo_answer *answer) {
    (void)arg;
    (void)id;
    if (answer->outcome != RONDO_VALUE) rondo_add_relaxed(&n_wrong, 1);
    rondo_answer_release(answer);
    rondo_add_relaxed(&n_answered, 1);
    rondo_latch_count_down(&latch);
}

static void hammer(void *arg) {
    uint64_t random = (uintptr_t)arg;
    char scratch[64];
    for (int i = 0; i < ROUNDS; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", (int)rondo_random_below(&random, 50));
        struct rondo_key k = test_key(key);
        struct rondo_answer a = {.outcome = RONDO_ABSENT};
        struct rondo_read read = {
            .done = {.fn = count_answer}, .scratch = scratch, .scratch_size = sizeof scratch};
        enum rondo_outcome outcome = RONDO_VALUE;
        switch (rondo_random_below(&random, 10)) {
        case 0:
            (void)rondo_cache_put(t.cache, &k, rondo_slice_str("v"), NULL, &a);
            break;
        case 1:
            (void)rondo_cache_invalidate(t.cache, &k);
            break;
        case 2:
            (void)rondo_cache_get_wait(t.cache, &k, &read, &a);
            break;
        case 3:
            if (i % 50 == 0) rondo_keyspace_flush(t.cache->ks, RONDO_ALL_SPACES);
            break;
        default:
            outcome = rondo_cache_get(t.cache, &k, &read, &a);
            break;
        }
        if (outcome == RONDO_PENDING)
            rondo_add_relaxed(&n_pending, 1);
        else
            rondo_latch_count_down(&latch);
        if (outcome == RONDO_FAILED) rondo_add_relaxed(&n_wrong, 1);
        if (outcome != RONDO_PENDING) rondo_answer_release(&a);
    }
}

static void test_threads_read_write_and_flush(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.memory_bytes = 64 << 10;
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 3};
    t.source.batch = 4;
    begin_threads(&o);
    n_wrong = n_answered = n_pending = 0;
    rondo_latch_init(&latch, THREADS * ROUNDS);
    struct rondo_thread threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(rondo_thread_start(&threads[i], "hammer", hammer, (void *)(i + 1)),
                         RONDO_OK);
    for (int i = 0; i < THREADS; i++) rondo_thread_join(&threads[i]);
    rondo_latch_wait(&latch);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_answered, n_pending);
    test_end(&t);
    rondo_latch_fini(&latch);
    assert_int_equal(t.source.connects, t.source.disconnects);
}

static void test_R8_a_blocking_get_keeps_its_own_time(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    struct rondo_runtime_options r = {.size = sizeof r, .threads.kind = RONDO_THREADS_NONE};
    assert_int_equal(rondo_runtime_new(&r, &t.rt), RONDO_OK); /* nobody runs its timers */
    test_open(&t, &o);
    t.source.delay_ns = 3600 * RONDO_SEC;
    struct rondo_key k = test_key("k");
    struct rondo_answer a;
    struct rondo_read read = {.wait_ns = RONDO_MS};
    assert_int_equal(rondo_cache_get_wait(t.cache, &k, &read, &a), RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_TIMEOUT);
    rondo_answer_release(&a);
    test_end(&t); /* wakes the source's sleep */
}

static void test_R8_a_timer_ends_the_wait_of_a_blocking_get(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    begin_threads(&o);
    t.source.delay_ns = 3600 * RONDO_SEC;
    struct rondo_key k = test_key("k");
    struct rondo_answer a;
    struct rondo_read read = {.wait_ns = RONDO_MS};
    assert_int_equal(rondo_cache_get_wait(t.cache, &k, &read, &a), RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_TIMEOUT);
    rondo_answer_release(&a);
    test_end(&t);
}

static struct rondo_latch cancelled;

static void hang(void *connection, const struct rondo_load *load) {
    (void)connection;
    rondo_latch_wait(&cancelled);
    rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, RONDO_ERR_TIMEOUT, "cancelled");
}

static void cancel(void *connection) {
    RONDO_CHECK(connection == &t.source);
    rondo_latch_count_down(&cancelled);
}

static void test_R8_a_call_is_cancelled_at_its_deadline(void **state) {
    (void)state;
    struct rondo_source_ops ops = test_source_ops;
    ops.load = hang;
    ops.cancel = cancel;
    struct rondo_cache_options o = test_options(&t);
    o.source.ops = &ops;
    o.load_timeout_ns = RONDO_MS;
    rondo_latch_init(&cancelled, 1);
    begin_threads(&o);
    struct rondo_key k = test_key("k");
    struct rondo_answer a;
    assert_int_equal(rondo_cache_get_wait(t.cache, &k, NULL, &a), RONDO_FAILED);
    assert_int_equal(a.err, RONDO_ERR_TIMEOUT);
    rondo_answer_release(&a);
    test_end(&t); /* which waits for the call: it would hang */
    rondo_latch_fini(&cancelled);
}

static void test_close_answers_those_who_wait(void **state) {
    (void)state;
    struct rondo_cache_options o = test_options(&t);
    o.threads.kind = RONDO_THREADS_NONE;
    begin_threads(&o);
    t.source.delay_ns = 3600 * RONDO_SEC;
    struct test_answer ignored;
    for (uint64_t i = 0; i < 10; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", (int)i);
        assert_int_equal(test_get(&t, key, i, &ignored), RONDO_PENDING);
    }
    rondo_cache_close(t.cache);
    assert_int_equal(t.n_answers, 10);
    for (int i = 0; i < 10; i++) assert_int_equal(t.answers[i].err, RONDO_ERR_CLOSED);
    rondo_runtime_free(t.rt);
    assert_int_equal(t.source.closes, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_an_answer_as_a_message, setup),
        cmocka_unit_test_setup(test_small_values_go_to_the_scratch_and_large_ones_by_reference,
                               setup),
        cmocka_unit_test_setup(test_R10_many_keys_one_batch, setup),
        cmocka_unit_test_setup(test_R10_answers_are_matched_by_key, setup),
        cmocka_unit_test_setup(test_R10_all_or_none_is_admitted, setup),
        cmocka_unit_test_setup(test_refresh_replaces_when_it_lands, setup),
        cmocka_unit_test_setup(test_open_without_memory, setup),
        cmocka_unit_test_setup(test_use_without_memory, setup),
        cmocka_unit_test_setup(test_threads_read_write_and_flush, setup),
        cmocka_unit_test_setup(test_R8_a_blocking_get_keeps_its_own_time, setup),
        cmocka_unit_test_setup(test_R8_a_timer_ends_the_wait_of_a_blocking_get, setup),
        cmocka_unit_test_setup(test_R8_a_call_is_cancelled_at_its_deadline, setup),
        cmocka_unit_test_setup(test_close_answers_those_who_wait, setup),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
