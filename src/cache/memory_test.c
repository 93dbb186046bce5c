/* SPDX-License-Identifier: MIT */
/* Memory alone: expiry, versions, scans, and updates in place. */
#include "cache/fixture.h"

#include "base/hash.h"
#include "cache/keyspace.h"

static struct test_cache t;

static int setup(void **state) {
    (void)state;
    memset(&t, 0, sizeof t);
    struct rondo_cache_options o = test_options(&t);
    test_begin(&t, 1, &o);
    test_advance(&t, RONDO_SEC);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_end(&t);
    return 0;
}

static uint64_t now(void) {
    return rondo_runtime_now_ns(t.rt);
}

static void test_R5_expiry_is_seen_and_set_without_a_load(void **state) {
    (void)state;
    struct rondo_key k = test_key("k");
    assert_int_equal(rondo_cache_expiry(t.cache, &k, 0), 0);
    assert_false(rondo_cache_expire(t.cache, &k, RONDO_OFF, 0));
    test_put(&t, "k", "v", (struct rondo_write){.ttl_ns = 5 * RONDO_SEC});
    assert_int_equal(rondo_cache_expiry(t.cache, &k, 0), now() + 5 * RONDO_SEC);
    assert_true(rondo_cache_expire(t.cache, &k, now() + 50 * RONDO_SEC, 0));
    test_advance(&t, 10 * RONDO_SEC);
    assert_string_equal(test_peek(&t, "k").text, "v");
    assert_true(rondo_cache_expire(t.cache, &k, RONDO_OFF, 0));
    test_advance(&t, 100 * RONDO_SEC);
    assert_int_equal(rondo_cache_expiry(t.cache, &k, 0), RONDO_OFF);
    assert_true(rondo_cache_expire(t.cache, &k, now(), 0)); /* a moment that is past */
    assert_int_equal(test_peek(&t, "k").outcome, RONDO_ABSENT);
    assert_int_equal(t.source.calls, 0);
}

static uint64_t version(const char *key) {
    struct rondo_key k = test_key(key);
    return rondo_keyspace_version(t.cache->ks, &k);
}

static void test_a_version_changes_with_the_value(void **state) {
    (void)state;
    struct rondo_key k = test_key("k");
    uint64_t v = version("k");
    assert_int_equal(version("k"), v);
    test_put(&t, "k", "1", (struct rondo_write){.ttl_ns = 5 * RONDO_SEC});
    assert_int_not_equal(version("k"), v);
    v = version("k");
    (void)test_peek(&t, "k");
    assert_int_equal(version("k"), v);
    test_put(&t, "k", "1", (struct rondo_write){.flags = RONDO_WRITE_KEEP_TTL});
    assert_int_not_equal(version("k"), v);
    v = version("k");
    test_advance(&t, 6 * RONDO_SEC);
    assert_int_not_equal(version("k"), v); /* it has expired */
    v = version("k");
    struct test_answer ignored;
    (void)test_get(&t, "k", 1, &ignored); /* which takes out what is left of it */
    assert_int_equal(version("k"), v);
    test_advance(&t, RONDO_SEC); /* loaded */
    assert_int_not_equal(version("k"), v);
    v = version("k");
    rondo_keyspace_flush(t.cache->ks, 0);
    assert_int_not_equal(version("k"), v);
    test_put(&t, "k", "1", (struct rondo_write){0});
    v = version("k");
    rondo_cache_invalidate(t.cache, &k);
    assert_int_not_equal(version("k"), v);
}

static void test_R5_lookup_of_several_keys(void **state) {
    (void)state;
    test_put(&t, "a", "1", (struct rondo_write){0});
    test_put(&t, "c", "1", (struct rondo_write){.ttl_ns = RONDO_SEC});
    struct rondo_key keys[] = {test_key("a"), test_key("b"), test_key("c")};
    bool found[3];
    assert_int_equal(rondo_keyspace_lookup(t.cache->ks, keys, 3, found), 2);
    assert_true(found[0] && !found[1] && found[2]);
    test_advance(&t, 2 * RONDO_SEC);
    assert_int_equal(rondo_keyspace_lookup(t.cache->ks, keys, 3, found), 1);
    assert_int_equal(t.source.calls, 0);
}

enum { KEYS = 5000 };
static unsigned seen[KEYS];

static void see(void *arg, const struct rondo_key *key, rondo_cache *cache) {
    RONDO_CHECK(cache == t.cache && arg == &seen);
    char text[16] = {0};
    memcpy(text, key->data, key->len < 15 ? key->len : 15);
    unsigned long n = strtoul(text + 1, NULL, 10);
    if (text[0] == 'k') seen[n]++;
}

static void put_number(char prefix, unsigned n, uint64_t ttl_ns) {
    char key[16];
    snprintf(key, sizeof key, "%c%u", prefix, n);
    test_put(&t, key, "v", (struct rondo_write){.ttl_ns = ttl_ns});
}

static void test_R5_a_scan_meets_all_that_stays(void **state) {
    (void)state;
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < KEYS; i++) put_number('k', i, i % 2 ? RONDO_OFF : RONDO_SEC);
    test_advance(&t, 2 * RONDO_SEC); /* half of them expire */
    uint64_t cursor = 0;
    unsigned others = 0, calls = 0;
    do {
        cursor = rondo_keyspace_scan(t.cache->ks, 0, cursor, 10, see, &seen);
        for (int i = 0; i < 20; i++) put_number('o', others++, RONDO_OFF);
        calls++;
    } while (cursor != 0);
    assert_true(calls > 100);
    for (unsigned i = 0; i < KEYS; i++) assert_true(i % 2 ? seen[i] >= 1 : seen[i] == 0);
    assert_int_equal(rondo_keyspace_scan(t.cache->ks, 3, 0, 1u << 20, see, &seen), 0);
}

/* ------------------------------------------------------------------- update --- */

static enum rondo_change increment(void *arg, struct rondo_slice old, struct rondo_value *out,
                                   struct rondo_write *write) {
    static char text[32];
    char number[32] = {0};
    (void)write;
    if (old.len) memcpy(number, old.data, old.len < 31 ? old.len : 31);
    unsigned long n = strtoul(number, NULL, 10) + 1;
    *(unsigned long *)arg = n;
    out->len = (size_t)snprintf(text, sizeof text, "%lu", n);
    out->data = text;
    return RONDO_CHANGE_PUT;
}

static enum rondo_change remove_it(void *arg, struct rondo_slice old, struct rondo_value *out,
                                   struct rondo_write *write) {
    (void)out;
    (void)write;
    *(bool *)arg = old.data != NULL;
    return RONDO_CHANGE_DELETE;
}

static enum rondo_outcome update(const char *key, bool load_first, rondo_update_fn fn, void *arg) {
    struct rondo_key k = test_key(key);
    struct rondo_answer a;
    struct rondo_read read = {.done = {.fn = test_collect, .arg = &t, .id = 5}};
    enum rondo_outcome outcome = rondo_cache_update(t.cache, &k, load_first, fn, arg, &read, &a);
    if (outcome != RONDO_PENDING) rondo_answer_release(&a);
    return outcome;
}

static void test_an_update_computes_from_what_is_there(void **state) {
    (void)state;
    unsigned long n = 0;
    bool was_there = false;
    assert_int_equal(update("n", false, increment, &n), RONDO_VALUE);
    assert_int_equal(update("n", true, increment, &n), RONDO_VALUE);
    assert_int_equal(n, 2);
    assert_string_equal(test_peek(&t, "n").text, "2");
    assert_int_equal(update("n", false, remove_it, &was_there), RONDO_VALUE);
    assert_true(was_there);
    assert_int_equal(test_peek(&t, "n").outcome, RONDO_ABSENT);
    assert_int_equal(t.source.calls, 0);
}

static void answer_41(struct test_source *s, const struct rondo_load *load) {
    (void)s;
    rondo_load_value(load, 0, "41", 2, 0);
}

static void test_R5_an_update_of_an_absent_key_loads_first(void **state) {
    (void)state;
    unsigned long n[3] = {0};
    t.source.script = answer_41;
    for (int i = 0; i < 3; i++)
        assert_int_equal(update("n", true, increment, &n[i]), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(t.source.calls, 1);
    assert_int_equal(n[0] + n[1] + n[2], 42 + 43 + 44); /* each once, none lost */
    assert_string_equal(test_peek(&t, "n").text, "44");
}

static void test_R5_an_update_whose_load_fails_does_nothing(void **state) {
    (void)state;
    unsigned long n = 0;
    t.source.fail = RONDO_ERR_LOAD;
    assert_int_equal(update("n", true, increment, &n), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[0].outcome, RONDO_FAILED);
    assert_int_equal(n, 0);
    t.source.fail = RONDO_OK;
    t.source.is_absent = true;
    assert_int_equal(update("n", true, increment, &n), RONDO_PENDING);
    test_advance(&t, RONDO_SEC);
    assert_int_equal(t.answers[1].outcome, RONDO_VALUE);
    assert_string_equal(test_peek(&t, "n").text, "1");
}

static void test_an_update_without_memory_changes_nothing(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        unsigned long n = 0;
        t.n_answers = 0;
        t.source.script = answer_41;
        test_set_alarm(&t, RONDO_SEC);
        rondo_mem_fail_nth(nth);
        enum rondo_outcome outcome = update("n", true, increment, &n);
        test_run(&t);
        failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(t.n_answers, outcome == RONDO_PENDING);
        rondo_keyspace_flush(t.cache->ks, 0);
    }
}

/* -------------------------------------------------------------- transaction --- */

static enum rondo_outcome txn_outcomes[4];
static char txn_seen[4][8];

static void txn_note(rondo_txn *txn, size_t i) {
    struct rondo_slice v = {NULL, 0};
    txn_outcomes[i] = rondo_txn_get(txn, i, &v);
    memset(txn_seen[i], 0, sizeof txn_seen[i]);
    if (v.len) memcpy(txn_seen[i], v.data, v.len);
}

static void move_a_to_b(void *arg, rondo_txn *txn) {
    struct rondo_slice v;
    (void)arg;
    RONDO_CHECK(rondo_txn_get(txn, 0, &v) == RONDO_VALUE);
    RONDO_CHECK(rondo_txn_put(txn, 1, v, NULL) == RONDO_OK);
    RONDO_CHECK(rondo_txn_delete(txn, 0));
    for (size_t i = 0; i < 4; i++) txn_note(txn, i);
}

static void test_a_transaction_sees_what_was_loaded_and_its_own_changes(void **state) {
    (void)state;
    struct rondo_key keys[] = {test_key("a"), test_key("b"), test_key("a"), test_key("d")};
    struct rondo_answer loaded[4] = {{.outcome = RONDO_VALUE, .value = {"1", 1, NULL}},
                                     {.outcome = RONDO_ABSENT},
                                     {.outcome = RONDO_VALUE, .value = {"1", 1, NULL}},
                                     {.outcome = RONDO_VALUE, .value = {"4", 1, NULL}}};
    test_put(&t, "d", "new", (struct rondo_write){0});
    assert_int_equal(rondo_keyspace_txn(t.cache->ks, keys, 4, loaded, move_a_to_b, NULL), RONDO_OK);
    assert_int_equal(txn_outcomes[0], RONDO_ABSENT);
    assert_string_equal(txn_seen[1], "1");
    assert_int_equal(txn_outcomes[2], RONDO_ABSENT); /* the same key again */
    assert_string_equal(txn_seen[3], "new");         /* memory goes before what was loaded */
    assert_string_equal(test_peek(&t, "b").text, "1");
    assert_int_equal(test_peek(&t, "a").outcome, RONDO_ABSENT);
}

static void test_a_transaction_supersedes_loads(void **state) {
    (void)state;
    struct rondo_key keys[] = {test_key("a"), test_key("b"), test_key("a"), test_key("d")};
    struct test_answer ignored;
    t.source.delay_ns = RONDO_SEC;
    test_put(&t, "a", "1", (struct rondo_write){0});
    (void)test_get(&t, "b", 1, &ignored);
    test_advance(&t, RONDO_MS);
    assert_int_equal(rondo_keyspace_txn(t.cache->ks, keys, 4, NULL, move_a_to_b, NULL), RONDO_OK);
    test_advance(&t, 2 * RONDO_SEC);
    assert_string_equal(t.answers[0].text, "b=1");
    assert_string_equal(test_peek(&t, "b").text, "1");
    for (uint64_t n = 1; n <= 2; n++) {
        rondo_mem_fail_nth(n);
        assert_int_equal(rondo_keyspace_txn(t.cache->ks, keys, 4, NULL, move_a_to_b, NULL),
                         RONDO_ERR_NOMEM);
        rondo_mem_fail_nth(0);
    }
}

enum { MANY_KEYS = 300000 };

static void put_all(void *arg, rondo_txn *txn) {
    size_t *n_changed = arg;
    struct rondo_slice v;
    for (size_t i = 0; i < MANY_KEYS; i++) {
        RONDO_CHECK(rondo_txn_put(txn, i, rondo_slice_str("x"), NULL) == RONDO_OK);
        *n_changed += rondo_txn_get(txn, i, &v) == RONDO_VALUE && rondo_slice_is(v, "x");
    }
}

/* Every shard waits for it, so that its time must not grow with their square: this
 * would be minutes. */
static void test_a_transaction_may_have_very_many_keys(void **state) {
    (void)state;
    static char names[MANY_KEYS][8];
    static struct rondo_key keys[MANY_KEYS];
    static struct rondo_answer loaded[MANY_KEYS];
    for (size_t i = 0; i < MANY_KEYS; i++) {
        (void)snprintf(names[i], sizeof names[i], "%zu", i % 2 ? i : 0); /* one of them often */
        keys[i] = test_key(names[i]);
        loaded[i] = (struct rondo_answer){.outcome = RONDO_VALUE, .value = {"1", 1, NULL}};
    }
    size_t n_changed = 0;
    assert_int_equal(rondo_keyspace_txn(t.cache->ks, keys, MANY_KEYS, loaded, put_all, &n_changed),
                     RONDO_OK);
    assert_int_equal(n_changed, MANY_KEYS);
}

static void test_a_prefetch_changes_nothing(void **state) {
    (void)state;
    char names[70][8];
    struct rondo_key keys[70]; /* more than are fetched at a time */
    struct rondo_cache_stats before, after;
    for (size_t i = 0; i < 70; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%zu", i);
        keys[i] = test_key(names[i]);
    }
    rondo_keyspace_prefetch(t.cache->ks, keys, 70); /* an empty table */
    for (size_t i = 0; i < 70; i += 2) test_put(&t, names[i], "v", (struct rondo_write){0});
    rondo_cache_stats(t.cache, &before);
    rondo_keyspace_prefetch(t.cache->ks, keys, 70);
    rondo_keyspace_prefetch(t.cache->ks, keys, 0);
    rondo_cache_stats(t.cache, &after);
    assert_memory_equal(&before, &after, sizeof before);
    for (size_t i = 0; i < 70; i++)
        assert_int_equal(test_peek(&t, names[i]).outcome, i % 2 ? RONDO_ABSENT : RONDO_VALUE);
    assert_int_equal(t.source.calls, 0);
}

struct txn_times {
    uint64_t before, set, version[3];
    bool was_set, was_set_absent, was_ended;
};

static void set_times(void *arg, rondo_txn *txn) {
    struct txn_times *times = arg;
    times->before = rondo_txn_expiry(txn, 0);
    times->version[0] = rondo_txn_version(txn, 0);
    times->was_set = rondo_txn_expire(txn, 0, 100 * RONDO_SEC);
    times->set = rondo_txn_expiry(txn, 0);
    times->version[1] = rondo_txn_version(txn, 0);
    times->was_set_absent = rondo_txn_expire(txn, 1, RONDO_OFF);
    times->was_ended = rondo_txn_expire(txn, 2, 0);
    times->version[2] = rondo_txn_version(txn, 2);
}

static void test_a_transaction_sees_and_sets_expiry(void **state) {
    (void)state;
    struct rondo_key keys[] = {test_key("a"), test_key("b"), test_key("c")};
    struct rondo_answer loaded[3] = {{.outcome = RONDO_ABSENT},
                                     {.outcome = RONDO_ABSENT},
                                     {.outcome = RONDO_VALUE, .value = {"1", 1, NULL}}};
    struct txn_times times = {0};
    test_put(&t, "a", "1", (struct rondo_write){.ttl_ns = RONDO_OFF});
    test_put(&t, "c", "1", (struct rondo_write){.ttl_ns = RONDO_OFF});
    uint64_t a = version("a"), c = version("c");
    assert_int_equal(rondo_keyspace_txn(t.cache->ks, keys, 3, loaded, set_times, &times), RONDO_OK);
    assert_true(times.before == RONDO_OFF);
    assert_int_equal(times.version[0], a);
    assert_true(times.was_set && !times.was_set_absent && times.was_ended);
    assert_int_equal(times.set, 100 * RONDO_SEC);
    assert_int_not_equal(times.version[1], a);
    assert_int_not_equal(times.version[2], c);
    assert_int_equal(times.version[1], version("a"));
    assert_int_equal(test_peek(&t, "c").outcome, RONDO_ABSENT);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_R5_expiry_is_seen_and_set_without_a_load),
        TEST(test_a_version_changes_with_the_value),
        TEST(test_R5_lookup_of_several_keys),
        TEST(test_R5_a_scan_meets_all_that_stays),
        TEST(test_an_update_computes_from_what_is_there),
        TEST(test_R5_an_update_of_an_absent_key_loads_first),
        TEST(test_R5_an_update_whose_load_fails_does_nothing),
        TEST(test_an_update_without_memory_changes_nothing),
        TEST(test_a_transaction_sees_what_was_loaded_and_its_own_changes),
        TEST(test_a_prefetch_changes_nothing),
        TEST(test_a_transaction_supersedes_loads),
        TEST(test_a_transaction_may_have_very_many_keys),
        TEST(test_a_transaction_sees_and_sets_expiry),
    };
#undef TEST
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
