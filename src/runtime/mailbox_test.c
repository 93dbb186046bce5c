/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/sync.h"
#include "runtime/mailbox.h"

struct note {
    struct rondo_msg head;
    unsigned from, number;
};

static struct rondo_msg *push(struct rondo_mailbox *mb, struct note *n, enum rondo_push want) {
    assert_int_equal(rondo_mailbox_push(mb, &n->head, &n->head), want);
    return &n->head;
}

static void one_message_makes_it_run_and_idle_again(void **state) {
    (void)state;
    struct rondo_mailbox mb;
    struct note a = {0}, b = {0};
    rondo_mailbox_init(&mb);
    for (int i = 0; i < 2; i++) {
        push(&mb, &a, RONDO_PUSH_SCHEDULE);
        assert_ptr_equal(rondo_mailbox_first(&mb), &a);
        assert_null(rondo_mailbox_next(&a.head));
        assert_true(rondo_mailbox_finish(&mb, &a.head));
    }
    push(&mb, &a, RONDO_PUSH_SCHEDULE);
    push(&mb, &b, RONDO_PUSH_QUEUED);
    assert_false(rondo_mailbox_finish(&mb, &a.head));
    assert_ptr_equal(rondo_mailbox_first(&mb), &b);
    assert_true(rondo_mailbox_finish(&mb, &b.head));
}

static void a_detached_message_may_come_back_at_once(void **state) {
    (void)state;
    struct rondo_mailbox mb;
    struct note a = {0}, b = {0};
    rondo_mailbox_init(&mb);
    push(&mb, &a, RONDO_PUSH_SCHEDULE);
    rondo_mailbox_detach(&mb, &a.head);
    push(&mb, &a, RONDO_PUSH_QUEUED);
    assert_ptr_equal(rondo_mailbox_first(&mb), &a);
    rondo_mailbox_detach(&mb, &a.head);
    assert_null(rondo_mailbox_first(&mb)); /* and idle */
    push(&mb, &a, RONDO_PUSH_SCHEDULE);
    push(&mb, &b, RONDO_PUSH_QUEUED);
    rondo_mailbox_detach(&mb, &a.head); /* not the last any more: stepped over */
    assert_ptr_equal(rondo_mailbox_first(&mb), &b);
}

static void chains_keep_their_order(void **state) {
    (void)state;
    struct rondo_mailbox mb;
    struct note n[4] = {0};
    rondo_mailbox_init(&mb);
    push(&mb, &n[0], RONDO_PUSH_SCHEDULE);
    n[1].head.link_ = &n[2];
    n[2].head.link_ = &n[3];
    assert_int_equal(rondo_mailbox_push(&mb, &n[1].head, &n[3].head), RONDO_PUSH_QUEUED);
    for (int i = 0; i < 3; i++) {
        struct rondo_msg *m = rondo_mailbox_first(&mb);
        assert_ptr_equal(m, &n[i]);
        rondo_mailbox_step(&mb, rondo_mailbox_next(m));
    }
    assert_true(rondo_mailbox_finish(&mb, &n[3].head));
}

static void count(void *arg, struct rondo_msg *m) {
    (void)m;
    ++*(unsigned *)arg;
}

static void a_dead_mailbox_gives_everything_to_the_pusher(void **state) {
    (void)state;
    struct rondo_mailbox mb;
    struct note n[4] = {0};
    unsigned dropped = 0;
    rondo_mailbox_init(&mb);
    push(&mb, &n[0], RONDO_PUSH_SCHEDULE);
    push(&mb, &n[1], RONDO_PUSH_QUEUED);
    rondo_mailbox_drain(&mb, NULL, count, &dropped);
    assert_int_equal(dropped, 2);
    assert_true(rondo_mailbox_is_dead(&mb));
    push(&mb, &n[2], RONDO_PUSH_DEAD);
    push(&mb, &n[3], RONDO_PUSH_QUEUED); /* behind one that is being dropped */
    rondo_mailbox_drain(&mb, &n[2].head, count, &dropped);
    assert_int_equal(dropped, 4);
    assert_true(rondo_mailbox_is_dead(&mb));
}

static void an_empty_one_that_runs_can_be_closed(void **state) {
    (void)state;
    struct rondo_mailbox mb;
    struct note a = {0};
    unsigned dropped = 0;
    rondo_mailbox_init(&mb);
    push(&mb, &a, RONDO_PUSH_SCHEDULE);
    rondo_mailbox_detach(&mb, &a.head);
    rondo_mailbox_drain(&mb, NULL, count, &dropped);
    assert_int_equal(dropped, 0);
    assert_true(rondo_mailbox_is_dead(&mb));
}

enum { PRODUCERS = 2, NOTES = 30000 };

/* Producers push to one mailbox while a consumer, who runs whenever a push says
 * so, checks the order.  At the end it closes, and late pushes are dropped. */
struct stress {
    struct rondo_mailbox mb;
    struct note notes[PRODUCERS][NOTES];
    unsigned seen[PRODUCERS];
    unsigned scheduled; /* atomic: rights handed to the consumer */
    unsigned handled, dropped, disorder;
    unsigned dropped_late[PRODUCERS];
    struct rondo_latch *start;
};

struct producer {
    struct stress *s;
    unsigned index;
};

static void produce(void *arg) {
    struct producer *p = arg;
    struct stress *s = p->s;
    for (unsigned i = 0; i < NOTES; i++) {
        struct note *n = &s->notes[p->index][i];
        n->from = p->index;
        n->number = i + 1;
        switch (rondo_mailbox_push(&s->mb, &n->head, &n->head)) {
        case RONDO_PUSH_SCHEDULE:
            rondo_store_release(&s->scheduled, 1); /* pairs with consume */
            break;
        case RONDO_PUSH_DEAD:
            rondo_mailbox_drain(&s->mb, &n->head, count, &s->dropped_late[p->index]);
            break;
        case RONDO_PUSH_QUEUED:
            break;
        }
    }
}

static void see(struct stress *s, struct rondo_msg *m) {
    struct note *n = (struct note *)(void *)m;
    if (n->number <= s->seen[n->from]) s->disorder++;
    s->seen[n->from] = n->number;
    s->handled++;
}

static void consume(void *arg) {
    struct stress *s = arg;
    enum { LAST = PRODUCERS * NOTES * 3 / 4 };
    while (s->handled < LAST) {
        while (!rondo_load_acquire(&s->scheduled)) rondo_cpu_relax(); /* pairs with produce */
        rondo_store_relaxed(&s->scheduled, 0);
        for (;;) {
            struct rondo_msg *m = rondo_mailbox_first(&s->mb);
            if (!m) break;
            struct rondo_msg *next = rondo_mailbox_next(m);
            see(s, m);
            if (next) {
                rondo_mailbox_step(&s->mb, next);
            } else if (s->handled % 3 == 0) {
                rondo_mailbox_detach(&s->mb, m);
            } else if (rondo_mailbox_finish(&s->mb, m)) {
                break;
            }
            if (s->handled < LAST) continue;
            rondo_mailbox_drain(&s->mb, NULL, count, &s->dropped);
            return;
        }
    }
    /* Idle: nobody pushes onto a mailbox without rights, so wait for them once more. */
    while (!rondo_load_acquire(&s->scheduled)) rondo_cpu_relax(); /* pairs with produce */
    rondo_mailbox_drain(&s->mb, NULL, count, &s->dropped);
}

static void nothing_is_lost_between_threads(void **state) {
    (void)state;
    static struct stress s;
    struct producer p[PRODUCERS];
    struct rondo_thread threads[PRODUCERS], consumer;
    memset(&s, 0, sizeof s);
    rondo_mailbox_init(&s.mb);
    assert_int_equal(rondo_thread_start(&consumer, "consumer", consume, &s), 0);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        p[i] = (struct producer){&s, i};
        assert_int_equal(rondo_thread_start(&threads[i], "producer", produce, &p[i]), 0);
    }
    for (unsigned i = 0; i < PRODUCERS; i++) rondo_thread_join(&threads[i]);
    rondo_thread_join(&consumer);
    unsigned dropped = s.dropped;
    for (unsigned i = 0; i < PRODUCERS; i++) dropped += s.dropped_late[i];
    assert_int_equal(s.disorder, 0);
    assert_int_equal(s.handled + dropped, PRODUCERS * NOTES);
    assert_true(rondo_mailbox_is_dead(&s.mb));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_makes_it_run_and_idle_again),
        cmocka_unit_test(a_detached_message_may_come_back_at_once),
        cmocka_unit_test(chains_keep_their_order),
        cmocka_unit_test(a_dead_mailbox_gives_everything_to_the_pusher),
        cmocka_unit_test(an_empty_one_that_runs_can_be_closed),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
