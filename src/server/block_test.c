/* SPDX-License-Identifier: MIT */
/* MULTI, EXEC, WATCH, over a simulated runtime. */
#include "server/conn_fixture.h"

static struct test_server t;

static int setup(void **state) {
    (void)state;
    test_begin(&t, 1, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_end(&t);
    return 0;
}

/* The client says this, and is answered that. */
static void expect(const char *says, const char *answers) {
    t.wire.out.len = 0;
    test_says(&t, says);
    test_readable(&t);
    test_settle(&t);
    assert_sent(&t, answers);
}

/* Another client does this at once. */
static void other_sets(const char *key, const char *value) {
    struct rondo_key k = {key, strlen(key), 0};
    rondo_cache *cache = rondo_keyspace_route(t.ks, rondo_slice_str(key));
    struct rondo_answer answer = {0};
    struct rondo_write write = {.ttl_ns = RONDO_OFF};
    assert_int_equal(rondo_cache_put(cache, &k, rondo_slice_str(value), &write, &answer),
                     RONDO_VALUE);
}

static void test_a_block_is_queued_and_run(void **state) {
    (void)state;
    expect("MULTI\nSET a 1\nINCR a\nGET a\nMGET a b\nDEL a\nGET a\nEXEC\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*6\n+OK\n:2\n$1\n2\n*2\n$1\n2\n$-1\n:1\n$-1\n");
    expect("MULTI\nEXEC\nPING\n", "+OK\n*0\n+PONG\n");
}

static void test_what_a_block_is_refused_for(void **state) {
    (void)state;
    expect("EXEC\nDISCARD\n", "-ERR EXEC without MULTI\n-ERR DISCARD without MULTI\n");
    expect("MULTI\nMULTI\nWATCH a\nSET a 1\nEXEC\n",
           "+OK\n-ERR MULTI calls can not be nested\n-ERR WATCH inside MULTI is not allowed\n"
           "+QUEUED\n*1\n+OK\n");
    expect("MULTI\nGET\nSET a 2\nEXEC\nGET a\n",
           "+OK\n-ERR wrong number of arguments for 'get' command\n+QUEUED\n"
           "-EXECABORT Transaction discarded because of previous errors.\n$1\n1\n");
    expect("MULTI\nDBSIZE\nEXEC\n",
           "+OK\n-ERR Command not allowed inside a transaction\n"
           "-EXECABORT Transaction discarded because of previous errors.\n");
    expect("MULTI\nSUBSCRIBE c\nDISCARD\n",
           "+OK\n-ERR Command not allowed inside a transaction\n+OK\n");
    expect("MULTI\nSET a 3\nDISCARD\nGET a\n", "+OK\n+QUEUED\n+OK\n$1\n1\n");
    expect("MULTI\nEXEC now\nEXEC\n",
           "+OK\n-EXECABORT Transaction discarded because of: wrong number of arguments for "
           "'exec' command\n-ERR EXEC without MULTI\n");
}

static void test_an_error_in_a_block_is_its_commands_own(void **state) {
    (void)state;
    expect("SET a x\nMULTI\nINCR a\nSET b 1 NX XX\nGET a\nEXEC\n",
           "+OK\n+OK\n+QUEUED\n+QUEUED\n+QUEUED\n*3\n"
           "-ERR value is not an integer or out of range\n-ERR syntax error\n$1\nx\n");
}

static void test_a_block_loads_what_it_reads(void **state) {
    (void)state;
    expect("MULTI\nGET slow:1\nAPPEND slow:2 x\nGET slow:2\nGET none:1\nEXEC\nPING\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*4\n$6\nslow:1\n:7\n$7\nslow:2x\n$-1\n+PONG\n");
}

static void test_a_block_does_not_load_what_it_overwrites(void **state) {
    (void)state;
    struct rondo_cache_stats stats;
    expect("MULTI\nSET slow:1 a\nGET slow:1\nDEL slow:2\nGET slow:2\nEXEC\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n*4\n+OK\n$1\na\n:0\n$-1\n");
    rondo_cache_stats(rondo_keyspace_find(t.ks, "slow"), &stats);
    assert_int_equal(stats.loads, 0);
    expect("MULTI\nSET slow:3 a GET\nEXEC\n", "+OK\n+QUEUED\n*1\n$6\nslow:3\n");
}

static void test_every_kind_of_command_runs_in_a_block(void **state) {
    (void)state;
    expect("MULTI\nMSET a 1 b 2\nMSETNX a 3 c 4\nRENAME a c\nCOPY b d\nEXISTS a b c d\nTYPE c\n"
           "RENAME nope x\nEXEC\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*7\n+OK\n:0\n+OK\n:1\n:3\n+string\n-ERR no such key\n");
    expect("MULTI\nEXPIRE b 100\nTTL b\nGETEX b PERSIST\nTTL b\nPERSIST b\nEXPIRE b 0\nGET b\n"
           "SETEX b 100 x\nTTL b\nRENAME b e\nTTL e\nEXEC\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "+QUEUED\n+QUEUED\n+QUEUED\n"
           "*11\n:1\n:100\n$1\n2\n:-1\n:0\n:1\n$-1\n+OK\n:100\n+OK\n:100\n");
    expect("MULTI\nSELECT 1\nSET a one\nSELECT 0\nCOPY e f DB 1\nGET a\nSELECT 1\nMGET a f\nEXEC\n"
           "SELECT 0\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*7\n+OK\n+OK\n+OK\n:1\n$-1\n+OK\n*2\n$3\none\n$1\nx\n+OK\n");
    expect("MULTI\nGETSET g 1\nGETDEL g\nSETRANGE g 1 x\nSTRLEN g\nUNWATCH\nPING\nECHO hi\nEXEC\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*7\n$-1\n$1\n1\n:2\n:2\n+OK\n+PONG\n$2\nhi\n");
}

static void test_a_block_publishes_once_it_has_run(void **state) {
    (void)state;
    expect("MULTI\nSET a 1\nPUBLISH c m\nGET a\nPUBSUB NUMSUB c\nEXEC\nPING\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*4\n+OK\n:0\n$1\n1\n*2\n$1\nc\n:0\n+PONG\n");
}

static void test_a_watched_key_that_changes_stops_the_block(void **state) {
    (void)state;
    expect("SET a 1\nWATCH a\nMULTI\nSET a 2\nEXEC\n", "+OK\n+OK\n+OK\n+QUEUED\n*1\n+OK\n");
    expect("WATCH a\nMULTI\nSET a 3\n", "+OK\n+OK\n+QUEUED\n");
    other_sets("a", "other");
    expect("EXEC\nGET a\n", "*-1\n$5\nother\n");
    /* once: the watch is over */
    expect("MULTI\nSET a 3\nEXEC\n", "+OK\n+QUEUED\n*1\n+OK\n");

    expect("WATCH b\n", "+OK\n");
    other_sets("b", "new");
    expect("HELLO 3\n",
           "%7\n$6\nserver\n$5\nredis\n$7\nversion\n$6\n7.0.15\n$5\nproto\n:3\n$2\nid\n"
           ":1\n$4\nmode\n$10\nstandalone\n$4\nrole\n$6\nmaster\n$7\nmodules\n*0\n");
    expect("MULTI\nGET b\nEXEC\n", "+OK\n+QUEUED\n_\n");
}

static void test_a_watch_ends(void **state) {
    (void)state;
    static const char *const ends[] = {"UNWATCH\n", "MULTI\nDISCARD\n"};
    static const char *const replies[] = {"+OK\n+OK\n", "+OK\n+OK\n+OK\n"};
    for (size_t i = 0; i < 2; i++) {
        char says[64];
        (void)snprintf(says, sizeof says, "WATCH a\n%s", ends[i]);
        expect(says, replies[i]);
        other_sets("a", "x");
        expect("MULTI\nGET a\nEXEC\n", "+OK\n+QUEUED\n*1\n$1\nx\n");
    }
}

static void test_a_watched_key_that_expires_stops_the_block(void **state) {
    (void)state;
    expect("SET a 1 PX 10\nWATCH a\nMULTI\nGET a\n", "+OK\n+OK\n+OK\n+QUEUED\n");
    /* A message to nobody in particular moves the simulated clock. */
    assert_int_equal(
        rondo_send_after(t.actor, rondo_msg_new(0, sizeof(struct rondo_msg)), 20 * RONDO_MS, NULL),
        RONDO_OK);
    test_settle(&t);
    expect("EXEC\n", "*-1\n");
    /* One that was gone before is gone still. */
    expect("WATCH a\nMULTI\nGET a\nEXEC\n", "+OK\n+OK\n+QUEUED\n*1\n$-1\n");
}

static void test_what_is_watched_is_loaded_first(void **state) {
    (void)state;
    expect("WATCH slow:1 none:1\nGET slow:1\nMULTI\nSET slow:1 x\nEXEC\nGET slow:1\n",
           "+OK\n$6\nslow:1\n+OK\n+QUEUED\n*1\n+OK\n$1\nx\n");
}

static void test_the_time_that_replies_wait_is_counted(void **state) {
    (void)state;
    struct rondo_service_counts counts;
    expect("GET slow:1\n", "$6\nslow:1\n");
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.reply_wait_ns, 0); /* nobody was behind it */
    expect("GET slow:2\nPING\nPING\n", "$6\nslow:2\n+PONG\n+PONG\n");
    rondo_service_sum(&t.service, &counts);
    assert_in_range(counts.reply_wait_ns, 1, 2 * 2 * RONDO_MS); /* two, for one load */
    assert_int_equal(counts.reply_wait_ns % 2, 0);
}

static void test_reset_leaves_a_block(void **state) {
    (void)state;
    expect("MULTI\nSET a 1\nRESET\nEXEC\nGET a\n",
           "+OK\n+QUEUED\n+RESET\n-ERR EXEC without MULTI\n$-1\n");
}

static void test_a_connection_that_ends_in_a_block_leaves_nothing(void **state) {
    (void)state;
    expect("WATCH a b\nMULTI\nSET a 1\n", "+OK\n+OK\n+QUEUED\n");
    test_says(&t, "GET slow:9\nEXEC\n");
    test_readable(&t); /* waits for the load */
    test_disconnect(&t);
    test_settle(&t);
}

static void test_a_block_without_memory(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        t.wire.out.len = 0;
        rondo_keyspace_flush(t.ks, RONDO_ALL_SPACES);
        test_says(&t, "WATCH a b\nMULTI\nSET a 1\nGET slow:1\nPUBLISH c m\nGET a\nEXEC\n");
        assert_int_equal(rondo_buf_reserve(&t.wire.out, 4096), RONDO_OK);
        rondo_mem_fail_nth(nth);
        test_readable(&t);
        failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        test_settle(&t);
        if (!failed)
            assert_sent(&t, "+OK\n+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
                            "*4\n+OK\n$6\nslow:1\n:0\n$1\n1\n");
        if (t.next == RONDO_CONN_END || failed) {
            test_disconnect(&t);
            test_connect(&t);
        }
    }
}

/* A worker serves many: its time must not grow with the square of what one of them
 * watches.  This would be minutes. */
static void test_very_many_keys_are_watched(void **state) {
    enum { MANY = 300000 };
    struct rondo_block *b = rondo_block_new();
    char name[16];
    (void)state;
    assert_non_null(b);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            struct rondo_key key = {name, (size_t)snprintf(name, sizeof name, "%d", i), 0};
            assert_int_equal(rondo_block_watch(b, &key), RONDO_OK);
            b->watches->is_set = i % 3 != 0;
        }
        assert_int_equal(b->n_watches, MANY);
    }
    rondo_block_unwatch_unset(b);
    assert_int_equal(b->n_watches, MANY / 3 * 2);
    rondo_block_free(b);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_block_is_queued_and_run),
        TEST(test_what_a_block_is_refused_for),
        TEST(test_very_many_keys_are_watched),
        TEST(test_an_error_in_a_block_is_its_commands_own),
        TEST(test_a_block_loads_what_it_reads),
        TEST(test_a_block_does_not_load_what_it_overwrites),
        TEST(test_every_kind_of_command_runs_in_a_block),
        TEST(test_a_block_publishes_once_it_has_run),
        TEST(test_a_watched_key_that_changes_stops_the_block),
        TEST(test_a_watch_ends),
        TEST(test_a_watched_key_that_expires_stops_the_block),
        TEST(test_what_is_watched_is_loaded_first),
        TEST(test_the_time_that_replies_wait_is_counted),
        TEST(test_reset_leaves_a_block),
        TEST(test_a_connection_that_ends_in_a_block_leaves_nothing),
        TEST(test_a_block_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
