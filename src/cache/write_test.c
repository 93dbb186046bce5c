/* SPDX-License-Identifier: MIT */
/* The rules of write-through (W2), simulated. */
#include "cache/fixture.h"

#include "base/hash.h"
#include "base/sync.h"
#include "cache/keyspace.h"

static struct test_cache t;
static char stored[16][32]; /* what reached the source, in order */
static unsigned n_stored;
static enum rondo_err store_err;
static uint64_t store_ns;

static void note(const struct rondo_store *store, const char *verb) {
    RONDO_CHECK(n_stored < 16);
    snprintf(stored[n_stored++], sizeof stored[0], "%s %.*s %.*s", verb, (int)store->key.key.len,
             (const char *)store->key.key.data, (int)store->value.len,
             store->value.len ? (const char *)store->value.data : "");
}

static enum rondo_err store(void *connection, const struct rondo_store *store,
                            struct rondo_source_error *why) {
    (void)connection;
    note(store, "set");
    (void)rondo_job_sleep(store_ns);
    if (store_err) snprintf(why->text, sizeof why->text, "read\nonly");
    return store_err;
}

static enum rondo_err erase(void *connection, const struct rondo_store *store,
                            struct rondo_source_error *why) {
    (void)connection;
    (void)why;
    note(store, "del");
    (void)rondo_job_sleep(store_ns);
    return store_err;
}

static struct rondo_source_ops ops;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    memset(stored, 0, sizeof stored);
    n_stored = 0;
    store_err = RONDO_OK;
    store_ns = RONDO_SEC;
    ops = test_source_ops;
    ops.store = store;
    ops.erase = erase;
    return 0;
}

static struct rondo_cache_options options(void) {
    struct rondo_cache_options o = test_options(&t);
    o.writes = RONDO_WRITES_THROUGH;
    o.source.ops = &ops;
    return o;
}

static void begin(struct rondo_cache_options o) {
    test_begin(&t, 1, &o);
}

static enum rondo_outcome put(const char *key, const char *value, uint64_t id, unsigned flags) {
    struct rondo_write w = {.done = {.fn = test_collect, .arg = &t, .id = id}, .flags = flags};
    return test_put(&t, key, value, w);
}

static enum rondo_outcome del(const char *key, uint64_t id) {
    struct rondo_key k = test_key(key);
    struct rondo_write w = {.done = {.fn = test_collect, .arg = &t, .id = id}};
    struct rondo_answer a;
    enum rondo_outcome outcome = rondo_cache_delete(t.cache, &k, &w, &a);
    if (outcome != RONDO_PENDING) rondo_answer_release(&a);
    return outcome;
}

static enum rondo_outcome get(const char *key, uint64_t id) {
    struct test_answer ignored;
    return test_get(&t, key, id, &ignored);
}

static void ms(uint64_t n) {
    test_advance(&t, n * RONDO_MS);
}

static void test_W2_the_source_first_then_memory(void **state) {
    (void)state;
    begin(options());
    assert_int_equal(put("k", "v", 1, 0), RONDO_PENDING);
    ms(500);
    assert_string_equal(stored[0], "set k v");
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    ms(600);
    assert_int_equal(t.answers[0].outcome, RONDO_VALUE);
    assert_string_equal(test_peek(&t, "k").text, "v");
    assert_int_equal(del("k", 2), RONDO_PENDING);
    assert_string_equal(test_peek(&t, "k").text, "v");
    ms(1100);
    assert_string_equal(stored[1], "del k ");
    assert_int_equal(t.answers[1].outcome, RONDO_VALUE);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    assert_int_equal(test_stats(&t).stores_ok, 2);
    assert_int_equal(test_stats(&t).loads, 0);
    test_end(&t);
}

static void test_W2_a_failure_keeps_the_old_value(void **state) {
    (void)state;
    begin(options());
    put("k", "old", 1, 0);
    ms(1100);
    store_err = RONDO_ERR_STORE;
    put("k", "new", 2, 0);
    ms(1100);
    assert_int_equal(t.answers[1].outcome, RONDO_FAILED);
    assert_int_equal(t.answers[1].err, RONDO_ERR_STORE);
    assert_string_equal(t.answers[1].text, "test read only");
    assert_string_equal(test_peek(&t, "k").text, "old");
    assert_int_equal(test_stats(&t).stores_error, 1);
    test_end(&t);
}

static void test_W2_writes_of_one_key_keep_their_order(void **state) {
    (void)state;
    begin(options());
    put("k", "1", 1, 0);
    put("k", "2", 2, 0);
    del("k", 3);
    put("k", "4", 4, 0);
    put("other", "x", 5, 0);
    ms(900); /* another key does not wait */
    assert_int_equal(n_stored, 2);
    ms(3500);
    assert_int_equal(t.n_answers, 5);
    static const char *const order[] = {"set k 1", "set k 2", "del k ", "set k 4"};
    unsigned n = 0;
    for (unsigned i = 0; i < n_stored; i++)
        if (strcmp(stored[i], "set other x") != 0) assert_string_equal(stored[i], order[n++]);
    assert_int_equal(n, 4);
    assert_string_equal(test_peek(&t, "k").text, "4");
    test_end(&t);
}

static void test_W2_a_store_supersedes_a_load_and_loads_wait_for_it(void **state) {
    (void)state;
    begin(options());
    t.source.delay_ns = 3 * RONDO_SEC;
    store_ns = 2 * RONDO_SEC;
    get("k", 1);
    ms(100);
    put("k", "new", 2, 0);
    ms(100);
    get("k", 3); /* memory has nothing: it waits for the store */
    ms(1500);
    assert_int_equal(t.source.calls, 1);
    ms(500);
    assert_int_equal(t.n_answers, 1); /* the store */
    assert_string_equal(test_peek(&t, "k").text, "new");
    ms(1000);
    assert_string_equal(t.answers[1].text, "k=1"); /* who waited for the first load */
    assert_string_equal(test_peek(&t, "k").text, "new");
    ms(3000);
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(t.source.calls, 2);
    test_end(&t);
}

static void test_W2_an_unknown_outcome_invalidates(void **state) {
    (void)state;
    begin(options());
    put("k", "old", 1, 0);
    ms(1100);
    store_err = RONDO_ERR_TIMEOUT;
    put("k", "new", 2, 0);
    ms(1100);
    assert_int_equal(t.answers[1].err, RONDO_ERR_STORE);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_end(&t);
}

static void test_W2_a_store_that_overruns_invalidates_and_holds_the_key(void **state) {
    (void)state;
    struct rondo_cache_options o = options();
    o.load_timeout_ns = 3 * RONDO_SEC;
    begin(o);
    put("k", "old", 1, 0);
    ms(1100);
    store_ns = 10 * RONDO_SEC;
    put("k", "new", 2, 0);
    ms(4000);
    assert_int_equal(t.n_answers, 2);
    assert_int_equal(t.answers[1].err, RONDO_ERR_STORE);
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    get("k", 3);
    ms(1000);
    assert_int_equal(t.source.calls, 0); /* no load until it has ended */
    ms(6000);
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(t.source.calls, 1);
    test_end(&t);
}

static void test_W2_conditions_are_seen_in_order(void **state) {
    (void)state;
    begin(options());
    put("k", "1", 1, 0);
    put("k", "2", 2, RONDO_WRITE_IF_ABSENT);
    put("j", "3", 3, RONDO_WRITE_IF_PRESENT);
    ms(3000);
    assert_int_equal(t.n_answers, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t.answers[i].outcome, t.answers[i].id == 1 ? RONDO_VALUE : RONDO_ABSENT);
    assert_int_equal(n_stored, 1);
    assert_int_equal(test_stats(&t).flights, 0);
    test_end(&t);
}

static unsigned stores_only(const void *source) {
    (void)source;
    return RONDO_SOURCE_STORES;
}

static unsigned no_writes(const void *source) {
    (void)source;
    return 0;
}

static void test_W2_only_where_the_source_takes_it(void **state) {
    (void)state;
    struct rondo_cache_options o = options();
    ops.writes = no_writes;
    test_simulate(&t, 1);
    assert_int_equal(rondo_cache_open(t.rt, &o, &t.cache), RONDO_ERR_INVALID);
    ops.writes = stores_only;
    test_open(&t, &o);
    assert_int_equal(del("k", 1), RONDO_FAILED);
    assert_int_equal(put("k", "v", 2, 0), RONDO_PENDING);
    struct rondo_key k = test_key("k");
    struct rondo_answer a;
    assert_int_equal(rondo_cache_put(t.cache, &k, rondo_slice_str("w"), NULL, &a),
                     RONDO_PENDING); /* nobody asks how it ends */
    ms(3000);
    assert_int_equal(t.n_answers, 1);
    assert_string_equal(test_peek(&t, "k").text, "w");
    test_end(&t);
}

static void test_W2_close_and_lack_of_memory_end_writes(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        setup(NULL);
        begin(options());
        rondo_mem_fail_nth(n);
        unsigned pending = put("k", "1", 1, 0) == RONDO_PENDING;
        pending += put("k", "2", 2, 0) == RONDO_PENDING;
        pending += del("k", 3) == RONDO_PENDING;
        failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        if (n % 2) ms(10000);
        test_end(&t);
        assert_int_equal(t.n_answers, pending);
    }
}

/* ------------------------------------------------------------------- update --- */

struct change {
    enum rondo_change what;
    unsigned flags, calls;
    char seen[TEST_TEXT], text[TEST_TEXT];
};

/* Appends a letter to what is there, unless told otherwise. */
static enum rondo_change append(void *arg, struct rondo_slice old, struct rondo_value *out,
                                struct rondo_write *write) {
    struct change *c = arg;
    c->calls++;
    snprintf(c->seen, sizeof c->seen, "%.*s", (int)old.len,
             old.data ? (const char *)old.data : "-");
    if (!old.data) snprintf(c->seen, sizeof c->seen, "nothing");
    int len = snprintf(c->text, sizeof c->text, "%.*s+", (int)old.len,
                       old.data ? (const char *)old.data : "");
    *out = (struct rondo_value){c->text, (size_t)len, NULL};
    write->flags = c->flags;
    return c->what;
}

static enum rondo_outcome update_within(const char *key, bool load_first, struct change *c,
                                        uint64_t id, uint64_t wait_ns) {
    struct rondo_key k = test_key(key);
    struct rondo_read r = {.done = {.fn = test_collect, .arg = &t, .id = id}, .wait_ns = wait_ns};
    struct rondo_answer a = {.outcome = RONDO_PENDING};
    enum rondo_outcome outcome = rondo_cache_update(t.cache, &k, load_first, append, c, &r, &a);
    rondo_answer_release(&a);
    return outcome;
}

static enum rondo_outcome update(const char *key, bool load_first, struct change *c, uint64_t id) {
    return update_within(key, load_first, c, id, 0);
}

static void test_W2_an_update_stores_the_computed_value(void **state) {
    (void)state;
    begin(options());
    struct change c = {.what = RONDO_CHANGE_PUT};
    put("k", "v", 1, 0);
    ms(1100);
    assert_int_equal(update("k", true, &c, 2), RONDO_PENDING);
    ms(500);
    assert_string_equal(stored[1], "set k v+");
    assert_string_equal(test_peek(&t, "k").text, "v"); /* until the source has it */
    ms(600);
    assert_int_equal(t.answers[1].outcome, RONDO_VALUE);
    assert_string_equal(test_peek(&t, "k").text, "v+");
    assert_int_equal(t.source.calls, 0);
    assert_int_equal(test_stats(&t).stores_ok, 2);
    test_end(&t);
}

/* Two updates of a key that memory has not: the second sees what the first did,
 * though memory may have lost it again. */
static void test_W2_an_update_loads_while_it_has_the_key(void **state) {
    (void)state;
    begin(options());
    t.source.delay_ns = RONDO_SEC;
    struct change first = {.what = RONDO_CHANGE_PUT}, second = {.what = RONDO_CHANGE_PUT};
    update("k", true, &first, 1);
    update("k", true, &second, 2);
    get("k", 3);
    ms(2100); /* load, store */
    assert_int_equal(t.n_answers, 1);
    assert_string_equal(first.seen, "k=1");
    assert_string_equal(stored[0], "set k k=1+");
    ms(1000);
    assert_string_equal(second.seen, "k=1+");
    assert_string_equal(stored[1], "set k k=1++");
    ms(3000);
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(test_stats(&t).flights, 0);
    test_end(&t);
}

static void test_W2_an_update_may_start_from_nothing_change_nothing_or_erase(void **state) {
    (void)state;
    begin(options());
    struct change c = {.what = RONDO_CHANGE_PUT};
    update("k", false, &c, 1);
    ms(1100);
    assert_string_equal(c.seen, "nothing");
    assert_string_equal(stored[0], "set k +");
    assert_int_equal(t.source.calls, 0);
    c.what = RONDO_CHANGE_NONE;
    update("k", true, &c, 2);
    ms(100);
    assert_int_equal(t.answers[1].outcome, RONDO_VALUE);
    assert_int_equal(n_stored, 1);
    c = (struct change){.what = RONDO_CHANGE_PUT, .flags = RONDO_WRITE_IF_ABSENT};
    update("k", true, &c, 3);
    ms(100);
    assert_int_equal(t.answers[2].outcome, RONDO_ABSENT);
    assert_int_equal(n_stored, 1);
    c = (struct change){.what = RONDO_CHANGE_DELETE};
    update("k", true, &c, 4);
    ms(1100);
    assert_int_equal(t.answers[3].outcome, RONDO_VALUE);
    assert_string_equal(stored[1], "del k ");
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    test_end(&t);
}

static void test_W2_an_update_that_fails_changes_nothing(void **state) {
    (void)state;
    begin(options());
    struct change c = {.what = RONDO_CHANGE_PUT};
    t.source.fail = RONDO_ERR_LOAD;
    update("k", true, &c, 1);
    ms(1100);
    assert_int_equal(t.answers[0].err, RONDO_ERR_LOAD);
    assert_int_equal(c.calls, 0);
    assert_int_equal(test_stats(&t).loads_error, 1);
    t.source.fail = RONDO_OK;
    put("k", "old", 2, 0);
    ms(1100);
    store_err = RONDO_ERR_STORE;
    update("k", true, &c, 3);
    ms(1100);
    assert_int_equal(t.answers[2].err, RONDO_ERR_STORE);
    assert_string_equal(test_peek(&t, "k").text, "old");
    test_end(&t);
}

static void test_W2_an_update_whose_caller_has_gone_is_not_made(void **state) {
    (void)state;
    struct rondo_cache_options o = options();
    o.load_timeout_ns = 3 * RONDO_SEC;
    begin(o);
    struct change c = {.what = RONDO_CHANGE_PUT};
    store_ns = 2 * RONDO_SEC;
    put("k", "v", 1, 0);
    update_within("k", true, &c, 2, RONDO_SEC);
    ms(1100);
    assert_int_equal(t.answers[0].id, 2);
    assert_int_equal(t.answers[0].err, RONDO_ERR_STORE);
    ms(3000);
    assert_int_equal(c.calls, 0);
    assert_int_equal(n_stored, 1);
    assert_int_equal(test_stats(&t).flights, 0);
    test_end(&t);
}

/* The load of the update returns once the caller has been told that time is up. */
static struct told {
    struct rondo_mutex mu;
    struct rondo_cond cond;
    bool is_told; /* guarded by mu */
    enum rondo_err err;
} told;

static void tell(void *arg, uint64_t id, struct rondo_answer *answer) {
    (void)arg;
    (void)id;
    rondo_mutex_lock(&told.mu);
    told.err = answer->err;
    told.is_told = true;
    rondo_cond_broadcast(&told.cond);
    rondo_mutex_unlock(&told.mu);
    rondo_answer_release(answer);
}

static void until_told(void) {
    rondo_mutex_lock(&told.mu);
    while (!told.is_told) rondo_cond_wait(&told.cond, &told.mu);
    rondo_mutex_unlock(&told.mu);
}

static void load_late(struct test_source *s, const struct rondo_load *load) {
    until_told();
    test_source_answer(s, load, 0);
}

static void test_W2_an_update_whose_load_overran_is_not_made(void **state) {
    (void)state;
    struct rondo_cache_options o = options();
    struct change c = {.what = RONDO_CHANGE_PUT};
    struct rondo_key k = test_key("k");
    struct rondo_read r = {.done = {.fn = tell}};
    struct rondo_answer a;
    told = (struct told){0};
    rondo_mutex_init(&told.mu);
    rondo_cond_init(&told.cond);
    o.load_timeout_ns = 20 * RONDO_MS;
    t.source.script = load_late;
    assert_int_equal(rondo_runtime_new(NULL, &t.rt), RONDO_OK);
    test_open(&t, &o);
    assert_int_equal(rondo_cache_update(t.cache, &k, true, append, &c, &r, &a), RONDO_PENDING);
    until_told();
    test_end(&t);
    assert_int_equal(told.err, RONDO_ERR_STORE);
    assert_int_equal(c.calls, 0);
    assert_int_equal(n_stored, 0);
    rondo_cond_fini(&told.cond);
    rondo_mutex_fini(&told.mu);
}

static void test_W2_close_and_lack_of_memory_end_updates(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        setup(NULL);
        begin(options());
        struct change c = {.what = RONDO_CHANGE_PUT}, d = {.what = RONDO_CHANGE_PUT};
        test_set_alarm(&t, 10 * RONDO_SEC);
        rondo_mem_fail_nth(n);
        unsigned pending = update("k", true, &c, 1) == RONDO_PENDING;
        pending += update("k", true, &d, 2) == RONDO_PENDING;
        if (n % 3) test_run(&t);
        failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        test_end(&t);
        assert_int_equal(t.n_answers, pending);
    }
}

/* Updates of one key are never lost, whatever memory and loads do meanwhile. */
static void test_W2_random_updates(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        setup(NULL);
        uint64_t random = seed;
        struct rondo_cache_options o = options();
        o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 3};
        test_begin(&t, seed, &o);
        struct change c[10];
        put("k", "", 0, 0);
        for (int i = 0; i < 10; i++) {
            c[i] = (struct change){.what = RONDO_CHANGE_PUT};
            store_ns = rondo_random_below(&random, 3) * RONDO_SEC;
            update("k", true, &c[i], (uint64_t)i);
            if (rondo_random_below(&random, 3) == 0) get("k", 100);
            ms(rondo_random_below(&random, 1500));
        }
        ms(60000);
        assert_string_equal(stored[n_stored - 1], "set k ++++++++++");
        assert_string_equal(test_peek(&t, "k").text, "++++++++++");
        assert_int_equal(test_stats(&t).flights, 0);
        assert_int_equal(test_stats(&t).waiting, 0);
        test_end(&t);
    }
}

/* Memory never shows anything but the last write that the source took. */
static void test_W2_random_writes_and_reads(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        setup(NULL);
        uint64_t random = seed;
        struct rondo_cache_options o = options();
        o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 3};
        test_begin(&t, seed, &o);
        t.source.delay_ns = RONDO_SEC;
        char value[8] = "";
        for (int i = 0; i < 12; i++) {
            store_ns = rondo_random_below(&random, 3) * RONDO_SEC;
            if (rondo_random_below(&random, 2)) {
                snprintf(value, sizeof value, "w%d", i);
                put("k", value, (uint64_t)i, 0);
            } else {
                get("k", (uint64_t)i);
            }
            ms(rondo_random_below(&random, 1500));
        }
        ms(60000);
        if (n_stored) assert_string_equal(stored[n_stored - 1] + 6, value);
        struct test_answer a = test_peek(&t, "k");
        if (a.text[0] == 'w') assert_string_equal(a.text, value);
        assert_int_equal(test_stats(&t).flights, 0);
        assert_int_equal(test_stats(&t).waiting, 0);
        test_end(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_W2_the_source_first_then_memory, setup),
        cmocka_unit_test_setup(test_W2_a_failure_keeps_the_old_value, setup),
        cmocka_unit_test_setup(test_W2_writes_of_one_key_keep_their_order, setup),
        cmocka_unit_test_setup(test_W2_a_store_supersedes_a_load_and_loads_wait_for_it, setup),
        cmocka_unit_test_setup(test_W2_an_unknown_outcome_invalidates, setup),
        cmocka_unit_test_setup(test_W2_a_store_that_overruns_invalidates_and_holds_the_key, setup),
        cmocka_unit_test_setup(test_W2_conditions_are_seen_in_order, setup),
        cmocka_unit_test_setup(test_W2_only_where_the_source_takes_it, setup),
        cmocka_unit_test_setup(test_W2_close_and_lack_of_memory_end_writes, setup),
        cmocka_unit_test_setup(test_W2_random_writes_and_reads, setup),
        cmocka_unit_test_setup(test_W2_an_update_stores_the_computed_value, setup),
        cmocka_unit_test_setup(test_W2_an_update_loads_while_it_has_the_key, setup),
        cmocka_unit_test_setup(test_W2_an_update_may_start_from_nothing_change_nothing_or_erase,
                               setup),
        cmocka_unit_test_setup(test_W2_an_update_that_fails_changes_nothing, setup),
        cmocka_unit_test_setup(test_W2_an_update_whose_caller_has_gone_is_not_made, setup),
        cmocka_unit_test_setup(test_W2_an_update_whose_load_overran_is_not_made, setup),
        cmocka_unit_test_setup(test_W2_close_and_lack_of_memory_end_updates, setup),
        cmocka_unit_test_setup(test_W2_random_updates, setup),
    };
    return cmocka_run_group_tests_name("write", tests, NULL, NULL);
}
