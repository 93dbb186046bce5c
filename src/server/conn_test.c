/* SPDX-License-Identifier: MIT */
#include "server/conn_fixture.h"

static void a_pipeline_is_answered_with_one_send(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "SET a 1\nGET a\nGET b\nDEL a b\nPING\n");
    test_readable(&t);
    assert_sent(&t, "+OK\n$1\n1\n$-1\n:1\n+PONG\n");
    assert_int_equal(t.wire.recvs, 1);
    assert_int_equal(t.wire.sends, 1);
    assert_int_equal(t.next, RONDO_CONN_WAIT);
    test_end(&t);
}

static void an_idle_connection_owns_no_buffer(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "PING\n");
    test_readable(&t);
    assert_null(t.conn.in.data);
    assert_null(t.conn.out.data);
    assert_non_null(t.service.workers[0].spare_in.data);
    test_end(&t);
}

static void a_miss_holds_back_its_reply_and_not_the_connection(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "SET a 1\nGET slow:x\nGET a\nSET a 2\nGET a\n");
    test_readable(&t);
    assert_sent(&t, "+OK\n");
    struct rondo_service_counts counts;
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.commands, 5);
    assert_int_equal(counts.slots, 1);
    test_settle(&t);
    assert_sent(&t, "+OK\n$6\nslow:x\n$1\n1\n+OK\n$1\n2\n");
    test_end(&t);
}

static void a_command_that_shares_a_key_is_held(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET slow:x\nSET slow:x 1\nGET slow:x\nDEL slow:x\nGET slow:x\nDBSIZE\n");
    test_readable(&t);
    struct rondo_service_counts counts;
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.commands, 1);
    assert_int_equal(counts.held, 1);
    test_settle(&t);
    assert_sent(&t, "$6\nslow:x\n+OK\n$1\n1\n:1\n$6\nslow:x\n:1\n");
    test_end(&t);
}

static void half_a_command_waits_for_the_rest(void **state) {
    (void)state;
    const char *text =
        "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n\r\n\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n";
    size_t n = strlen(text);
    for (size_t cut = 1; cut < n; cut++) {
        struct test_server t;
        test_begin(&t, 1, NULL);
        test_sends(&t, text, cut);
        test_readable(&t);
        test_sends(&t, text + cut, n - cut);
        test_readable(&t);
        assert_sent(&t, "+OK\n$4\n\n\n\n");
        test_end(&t);
    }
}

/* What is sent must not depend on how much the socket takes at a time. */
static void short_sends_lose_nothing(void **state) {
    (void)state;
    for (size_t room = 1; room < 40; room++) {
        struct test_server t;
        test_begin(&t, 1, NULL);
        t.wire.send_room = room;
        test_says(&t, "SET a 12345\nGET a\nGET slow:x\nGET a\nPING\n");
        test_readable(&t);
        for (int i = 0; i < 60; i++) {
            t.wire.send_room = room;
            t.next = rondo_conn_ready(&t.conn, RONDO_IO_WRITE, test_now(&t));
            if (i == 3) test_settle(&t);
        }
        assert_sent(&t, "+OK\n$5\n12345\n$6\nslow:x\n$5\n12345\n+PONG\n");
        test_end(&t);
    }
}

static void every_failed_send_or_recv_ends_the_connection(void **state) {
    (void)state;
    for (unsigned n = 1;; n++) {
        struct test_server t;
        test_begin(&t, 1, NULL);
        t.wire.fail_send = n / 2;
        t.wire.fail_recv = n % 2 ? n / 2 + 1 : 0;
        t.wire.recv_most = 7;
        t.wire.send_room = 3;
        test_says(&t, "SET a 1\nGET slow:y\nGET a\nGET slow:x\n");
        bool is_over = false;
        for (int i = 0; i < 30 && !is_over; i++) {
            t.next = rondo_conn_ready(&t.conn, RONDO_IO_READ | RONDO_IO_WRITE, test_now(&t));
            is_over = t.next == RONDO_CONN_END;
            t.wire.send_room = 3;
            if (i == 8 && !is_over) test_settle(&t);
            if (t.next == RONDO_CONN_END) is_over = true;
        }
        bool has_failed = (t.wire.fail_send && t.wire.sends >= t.wire.fail_send) ||
                          (t.wire.fail_recv && t.wire.recvs >= t.wire.fail_recv);
        assert_int_equal(is_over, has_failed);
        test_end(&t);
        if (!has_failed && n > 2) break;
    }
}

static void every_failed_allocation_closes_or_is_answered(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct test_server t;
        test_begin(&t, 1, NULL);
        test_says(&t, "SET a 1\nGET slow:y\nMGET a slow:x a\nHELLO 3\nINFO\nCLIENT LIST\n"
                      "CLIENT SETNAME me\nDEL a b\nMSET a 1 b 2\nINCR n\nAPPEND slow:z 1\n"
                      "GETSET a 5\nKEYS *\nSCAN 0\nGETEX a EX 5\nSUBSCRIBE c\nPUBLISH c x\n");
        assert_int_equal(rondo_buf_reserve(&t.wire.out, 65536), RONDO_OK); /* not ours to fail */
        rondo_mem_fail_nth(n);
        test_readable(&t);
        if (t.next != RONDO_CONN_END) test_settle(&t);
        bool has_failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        test_end(&t);
        if (!has_failed) break;
    }
}

static void a_protocol_error_is_answered_in_its_turn(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET slow:x\n*1\n$629145600\nGET a\n");
    test_readable(&t);
    assert_sent(&t, "");
    assert_int_equal(t.next, RONDO_CONN_WAIT);
    test_settle(&t);
    assert_sent(&t, "$6\nslow:x\n-ERR Protocol error: invalid bulk length\n");
    assert_int_equal(t.next, RONDO_CONN_END);
    test_end(&t);
}

static void a_client_that_ends_gets_its_answers(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET slow:x\nDEL slow:x\nPING\n*1\n$4\nhalf");
    t.wire.is_ended = true;
    t.next = rondo_conn_ready(&t.conn, RONDO_IO_READ | RONDO_IO_HANGUP, test_now(&t));
    assert_int_equal(t.next, RONDO_CONN_WAIT);
    test_settle(&t);
    assert_sent(&t, "$6\nslow:x\n:1\n+PONG\n");
    assert_int_equal(t.next, RONDO_CONN_END);
    test_end(&t);
}

static void quit_answers_what_came_before_and_nothing_after(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET slow:x\nQUIT\nSET a 1\n");
    test_readable(&t);
    test_settle(&t);
    assert_sent(&t, "$6\nslow:x\n+OK\n");
    assert_int_equal(t.next, RONDO_CONN_END);
    test_end(&t);
}

static void a_client_that_goes_leaves_nothing_behind(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct test_server t;
        test_begin(&t, seed, NULL);
        test_says(&t,
                  "GET slow:x\nAPPEND slow:w 1\nMGET slow:y slow:z a\nDEL slow:x\nGET slow:y\n");
        test_readable(&t);
        if (seed % 3) test_step(&t);
        test_disconnect(&t);
        if (seed % 2) { /* answers of the old connection must not reach the new one */
            test_connect(&t);
            test_says(&t, "GET none:a\nPING\n");
            test_readable(&t);
            test_settle(&t);
            assert_sent(&t, "$-1\n+PONG\n");
        }
        test_end(&t);
    }
}

static void slots_are_bounded(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.slots = 3};
    struct test_server t;
    test_begin(&t, 1, &limits);
    test_says(&t, "GET slow:1\nGET slow:2\nGET slow:3\nGET slow:4\nPING\n");
    test_readable(&t);
    assert_int_equal(rondo_slots_count(&t.conn.session.slots), 3);
    test_says(&t, "PING\n");
    test_readable(&t);
    assert_int_equal(t.wire.recvs, 1); /* not read meanwhile */
    test_settle(&t);
    assert_sent(&t, "$6\nslow:1\n$6\nslow:2\n$6\nslow:3\n$6\nslow:4\n+PONG\n+PONG\n");
    test_end(&t);
}

static void output_is_bounded(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.output_soft = 100};
    struct test_server t;
    struct rondo_service_counts counts;
    test_begin(&t, 1, &limits);
    t.wire.send_room = 0;
    for (int i = 0; i < 50; i++) test_says(&t, "ECHO 0123456789\n");
    test_readable(&t);
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.commands, 6); /* 17 bytes each */
    assert_int_equal(counts.stalls, 1);
    test_readable(&t);
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.commands, 6);
    assert_int_equal(t.wire.recvs, 1);

    t.wire.send_room = SIZE_MAX;
    t.next = rondo_conn_ready(&t.conn, RONDO_IO_WRITE, test_now(&t));
    while (t.next == RONDO_CONN_AGAIN) t.next = rondo_conn_continue(&t.conn, test_now(&t));
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.commands, 50);
    assert_int_equal(t.wire.out.len, 50 * 17);
    test_end(&t);
}

static void too_much_output_closes(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.output_soft = 10, .output_hard = 50};
    struct test_server t;
    struct rondo_service_counts counts;
    test_begin(&t, 1, &limits);
    t.wire.send_room = 0;
    test_says(&t, "ECHO 0123456789012345678901234567890123456789012345678901234567890123456789\n");
    test_readable(&t);
    assert_int_equal(t.next, RONDO_CONN_END);
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.closed_output, 1);
    test_end(&t);
}

static void values_too_large_together_are_refused(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.output_hard = 100};
    struct test_server t;
    test_begin(&t, 1, &limits);
    test_says(&t, "SET a 0123456789012345678901234567890123456789\nMGET a a\nMGET a a a\nGET a\n");
    test_readable(&t);
    assert_sent(&t, "+OK\n*2\n$40\n0123456789012345678901234567890123456789\n"
                    "$40\n0123456789012345678901234567890123456789\n"
                    "-ERR the values are too large to be answered together\n"
                    "$40\n0123456789012345678901234567890123456789\n");
    test_end(&t);
}

/* Who listens and does not read: many of them would fill the memory. */
static void too_many_messages_close(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.output_push = 300};
    struct test_server t;
    struct rondo_service_counts counts;
    test_begin(&t, 1, &limits);
    test_says(&t, "HELLO 3\nSUBSCRIBE c\n");
    test_readable(&t);
    test_settle(&t);
    t.wire.send_room = 0;
    test_says(&t, "ECHO 0123456789012345678901234567890123456789012345678901234567890123456789\n");
    for (int i = 0; i < 20 && t.next != RONDO_CONN_END; i++) {
        test_says(&t, "PUBLISH c 0123456789\n");
        test_readable(&t);
        test_settle(&t);
        assert_int_equal(t.next == RONDO_CONN_END, i >= 7); /* 42 bytes each, and its answer */
    }
    assert_int_equal(t.next, RONDO_CONN_END);
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.closed_output, 1);
    test_end(&t);
}

static void too_large_a_command_closes(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.input = 1000};
    struct test_server t;
    struct rondo_service_counts counts;
    test_begin(&t, 1, &limits);
    test_says(&t, "*3\n$3\nSET\n$1\na\n$5000\n");
    for (int i = 0; i < 200 && t.next != RONDO_CONN_END; i++) {
        test_says(&t, "0123456789");
        test_readable(&t);
    }
    assert_int_equal(t.next, RONDO_CONN_END);
    rondo_service_sum(&t.service, &counts);
    assert_int_equal(counts.closed_input, 1);
    test_end(&t);
}

static void one_busy_connection_lets_others_have_their_turn(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    size_t n = 400000; /* more than one turn receives */
    for (size_t i = 0; i < n; i++) test_says(&t, "PING\n");
    t.next = rondo_conn_ready(&t.conn, RONDO_IO_READ, test_now(&t));
    assert_int_equal(t.next, RONDO_CONN_AGAIN);
    test_readable(&t);
    assert_int_equal(t.wire.out.len, n * 7);
    test_end(&t);
}

static void draining_answers_what_runs(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET slow:x\nSET slow:x 1\n");
    test_readable(&t);
    t.next = rondo_conn_drain(&t.conn, test_now(&t));
    assert_int_equal(t.next, RONDO_CONN_WAIT);
    test_settle(&t);
    assert_sent(&t, "$6\nslow:x\n");
    assert_int_equal(t.next, RONDO_CONN_END);
    test_end(&t);
}

static void shutting_fails_what_waits(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET slow:x\nPING\nMGET a slow:y\n");
    test_readable(&t);
    t.next = rondo_conn_shut(&t.conn, test_now(&t));
    assert_int_equal(t.next, RONDO_CONN_END);
    assert_sent(&t, "-ERR the server is shutting down\n+PONG\n-ERR the server is shutting down\n");
    test_settle(&t); /* the answers that come now find nobody */
    test_end(&t);
}

static void idle_connections_are_closed(void **state) {
    (void)state;
    struct rondo_service_limits limits = {.idle_ns = RONDO_SEC};
    struct test_server t;
    test_begin(&t, 1, &limits);
    test_says(&t, "GET slow:x\n");
    test_readable(&t);
    uint64_t later = test_now(&t) + 2 * RONDO_SEC;
    assert_int_equal(rondo_conn_idle(&t.conn, later), RONDO_CONN_WAIT); /* it waits for us */
    test_settle(&t);
    test_says(&t, "PING\n");
    test_readable(&t);
    later = test_now(&t) + RONDO_SEC;
    assert_int_equal(rondo_conn_idle(&t.conn, later - 1), RONDO_CONN_WAIT);
    assert_int_equal(rondo_conn_idle(&t.conn, later), RONDO_CONN_END);
    test_end(&t);
}

static void silent_replies_keep_the_order(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "CLIENT REPLY SKIP\nGET slow:x\nPING\nCLIENT REPLY OFF\nGET slow:y\nECHO x\n"
                  "CLIENT REPLY ON\nECHO y\n");
    test_readable(&t);
    test_settle(&t);
    assert_sent(&t, "+PONG\n+OK\n$1\ny\n");
    test_end(&t);
}

static void a_reply_is_in_the_protocol_it_was_asked_in(void **state) {
    (void)state;
    struct test_server t;
    test_begin(&t, 1, NULL);
    test_says(&t, "GET none:x\nHELLO 3\nGET none:y\n");
    test_readable(&t);
    test_settle(&t);
    assert_memory_equal(t.wire.out.data, "$-1\r\n%7\r\n", 9);
    assert_memory_equal(t.wire.out.data + t.wire.out.len - 3, "_\r\n", 3);
    test_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_is_answered_with_one_send),
        cmocka_unit_test(an_idle_connection_owns_no_buffer),
        cmocka_unit_test(a_miss_holds_back_its_reply_and_not_the_connection),
        cmocka_unit_test(a_command_that_shares_a_key_is_held),
        cmocka_unit_test(half_a_command_waits_for_the_rest),
        cmocka_unit_test(short_sends_lose_nothing),
        cmocka_unit_test(every_failed_send_or_recv_ends_the_connection),
        cmocka_unit_test(every_failed_allocation_closes_or_is_answered),
        cmocka_unit_test(a_protocol_error_is_answered_in_its_turn),
        cmocka_unit_test(a_client_that_ends_gets_its_answers),
        cmocka_unit_test(quit_answers_what_came_before_and_nothing_after),
        cmocka_unit_test(a_client_that_goes_leaves_nothing_behind),
        cmocka_unit_test(slots_are_bounded),
        cmocka_unit_test(output_is_bounded),
        cmocka_unit_test(too_much_output_closes),
        cmocka_unit_test(values_too_large_together_are_refused),
        cmocka_unit_test(too_many_messages_close),
        cmocka_unit_test(too_large_a_command_closes),
        cmocka_unit_test(one_busy_connection_lets_others_have_their_turn),
        cmocka_unit_test(draining_answers_what_runs),
        cmocka_unit_test(shutting_fails_what_waits),
        cmocka_unit_test(idle_connections_are_closed),
        cmocka_unit_test(silent_replies_keep_the_order),
        cmocka_unit_test(a_reply_is_in_the_protocol_it_was_asked_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
