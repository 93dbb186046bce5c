/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/mem.h"
#include "runtime/actor.h"

/* One simulated runtime a test; an actor that counts. */
struct counter {
    unsigned handled, freed, stop_at;
};

static rondo_runtime *rt;

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct counter *c = state;
    if (++c->handled == c->stop_at) rondo_actor_stop(self);
    rondo_msg_free(m);
}

static void free_counter(void *state) {
    ((struct counter *)state)->freed++;
}

static rondo_actor *spawn(struct counter *c) {
    struct rondo_actor_options o = {.size = sizeof o,
                                    .name = "counter",
                                    .receive = receive,
                                    .state = c,
                                    .free_state = free_counter};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send(rondo_actor *a, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        void *m = rondo_msg_new(1, sizeof(struct rondo_msg));
        assert_non_null(m);
        rondo_send(a, m);
    }
}

static uint64_t dropped(void) {
    struct rondo_runtime_stats s;
    rondo_runtime_stats(rt, &s);
    return s.dropped;
}

static int setup(void **state) {
    (void)state;
    struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = 1};
    return rondo_runtime_new(&o, &rt) ? 1 : 0;
}

static int teardown(void **state) {
    (void)state;
    rondo_runtime_free(rt);
    return 0;
}

static void stop_comes_after_what_was_sent_before(void **state) {
    (void)state;
    struct counter c = {0};
    rondo_actor *a = spawn(&c);
    send(a, 10);
    rondo_actor_stop(a);
    rondo_actor_stop(a);
    send(a, 3);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(c.handled, 10);
    assert_int_equal(c.freed, 1);
    assert_int_equal(dropped(), 3);
    rondo_actor_unref(a);
}

static void stopping_oneself_is_at_once(void **state) {
    (void)state;
    struct counter c = {.stop_at = 4};
    rondo_actor *a = spawn(&c);
    send(a, 10);
    rondo_actor_stop(a); /* its message is in the mailbox, too */
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(c.handled, 4);
    assert_int_equal(c.freed, 1);
    assert_int_equal(dropped(), 6);
    rondo_actor_stop(a);
    rondo_actor_unref(a);
}

static void an_address_stays_as_long_as_a_reference(void **state) {
    (void)state;
    struct counter c = {.stop_at = 1};
    rondo_actor *a = spawn(&c);
    rondo_actor *again = rondo_actor_ref(a);
    assert_string_equal(rondo_actor_name(a), "counter");
    assert_ptr_equal(rondo_actor_runtime(a), rt);
    send(a, 1);
    assert_int_equal(rondo_runtime_run(rt), 0);
    rondo_actor_unref(a);
    send(again, 2);
    assert_int_equal(dropped(), 2);
    rondo_actor_unref(again);
    rondo_actor_unref(NULL);
}

static void an_actor_lives_without_references(void **state) {
    (void)state;
    struct counter c = {.stop_at = 2};
    rondo_actor *a = spawn(&c);
    send(a, 2);
    rondo_actor_unref(a);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(c.handled, 2);
    assert_int_equal(c.freed, 1);
}

struct letter {
    struct rondo_msg head;
    rondo_actor *ref;
};

static void letter_fini(struct rondo_msg *m) {
    rondo_actor_unref(((struct letter *)(void *)m)->ref);
}

static void a_dropped_message_may_hold_the_last_reference(void **state) {
    (void)state;
    struct counter c = {.stop_at = 1};
    uint64_t live = rondo_mem_live();
    rondo_actor *a = spawn(&c);
    send(a, 1);
    assert_int_equal(rondo_runtime_run(rt), 0);
    struct letter *l = rondo_msg_new(1, sizeof *l);
    assert_non_null(l);
    l->head.fini = letter_fini;
    l->ref = a; /* our reference moves into the message */
    rondo_send(a, l);
    assert_int_equal(dropped(), 1);
    rondo_runtime_free(rt);
    rt = NULL;
    assert_true(rondo_mem_live() < live);
}

static void references_outlive_the_runtime(void **state) {
    (void)state;
    struct counter c = {0};
    rondo_actor *a = spawn(&c);
    send(a, 5);
    rondo_runtime_free(rt);
    rt = NULL;
    assert_int_equal(c.handled, 0);
    assert_int_equal(c.freed, 1);
    send(a, 1);
    rondo_actor_stop(a);
    rondo_timer *t;
    struct rondo_msg *m = rondo_msg_new(1, sizeof *m);
    assert_int_equal(rondo_send_after(a, m, 1, &t), RONDO_ERR_CLOSED);
    rondo_actor_unref(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stop_comes_after_what_was_sent_before, setup, teardown),
        cmocka_unit_test_setup_teardown(stopping_oneself_is_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(an_address_stays_as_long_as_a_reference, setup, teardown),
        cmocka_unit_test_setup_teardown(an_actor_lives_without_references, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dropped_message_may_hold_the_last_reference, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(references_outlive_the_runtime, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
