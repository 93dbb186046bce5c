/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "runtime/runq.h"

enum { ACTORS = 1000, ROUNDS = 200 };

static struct rondo_actor actors[ACTORS];

static void the_ring_is_first_in_first_out_and_bounded(void **state) {
    (void)state;
    static struct rondo_runq q;
    memset(&q, 0, sizeof q);
    for (int round = 0; round < 3; round++) {
        unsigned n = 0;
        while (rondo_runq_push(&q, &actors[n])) n++;
        assert_int_equal(n, RONDO_RUNQ_CAP);
        assert_int_equal(rondo_runq_len(&q), n);
        for (unsigned i = 0; i < n; i++) assert_ptr_equal(rondo_runq_pop(&q), &actors[i]);
        assert_null(rondo_runq_pop(&q));
    }
}

static void a_thief_takes_half_and_leaves_one(void **state) {
    (void)state;
    static struct rondo_runq q, mine;
    memset(&q, 0, sizeof q);
    memset(&mine, 0, sizeof mine);
    assert_int_equal(rondo_runq_steal(&q, &mine, true), 0);
    for (unsigned i = 0; i < 7; i++) assert_true(rondo_runq_push(&q, &actors[i]));
    assert_int_equal(rondo_runq_steal(&q, &mine, false), 3);
    for (unsigned i = 0; i < 3; i++) assert_ptr_equal(rondo_runq_pop(&mine), &actors[i]);
    for (unsigned i = 3; i < 6; i++) assert_ptr_equal(rondo_runq_pop(&q), &actors[i]);
    assert_int_equal(rondo_runq_steal(&q, &mine, false), 0);
    assert_int_equal(rondo_runq_steal(&q, &mine, true), 1);
    assert_ptr_equal(rondo_runq_pop(&mine), &actors[6]);
    assert_null(rondo_runq_pop(&q));
}

static void an_inbox_gives_the_oldest_first(void **state) {
    (void)state;
    struct rondo_actor *top = NULL;
    struct rondo_actor_queue q = {NULL, NULL, 0};
    rondo_actor_queue_push(&q, &actors[9]);
    rondo_actor_inbox_take(&top, &q);
    for (unsigned i = 0; i < 3; i++) rondo_actor_inbox_push(&top, &actors[i]);
    rondo_actor_inbox_take(&top, &q);
    assert_null(top);
    assert_int_equal(q.n, 4);
    assert_ptr_equal(rondo_actor_queue_pop(&q), &actors[9]);
    for (unsigned i = 0; i < 3; i++) assert_ptr_equal(rondo_actor_queue_pop(&q), &actors[i]);
    assert_null(rondo_actor_queue_pop(&q));
    assert_int_equal(q.n, 0);
}

/* An owner pushes each actor many times and pops some; a thief steals.  Each
 * push must be taken exactly once. */
struct stress {
    struct rondo_runq q, stolen;
    unsigned taken_by_owner[ACTORS], taken_by_thief[ACTORS];
    unsigned is_over; /* atomic */
};

static void steal_all(void *arg) {
    struct stress *s = arg;
    for (bool last = false;;) {
        bool over = rondo_load_acquire(&s->is_over); /* pairs with the owner's store */
        rondo_runq_steal(&s->q, &s->stolen, true);
        for (struct rondo_actor *a; (a = rondo_runq_pop(&s->stolen));)
            s->taken_by_thief[a - actors]++;
        if (last) return;
        last = over;
    }
}

static void each_is_taken_once_between_threads(void **state) {
    (void)state;
    static struct stress s;
    struct rondo_thread thief;
    memset(&s, 0, sizeof s);
    assert_int_equal(rondo_thread_start(&thief, "thief", steal_all, &s), 0);
    for (unsigned i = 0; i < ROUNDS * ACTORS; i++) {
        struct rondo_actor *a = NULL;
        while (!rondo_runq_push(&s.q, &actors[i % ACTORS])) {
            a = rondo_runq_pop(&s.q);
            if (a) s.taken_by_owner[a - actors]++;
        }
        if (i % 5 == 0 && (a = rondo_runq_pop(&s.q))) s.taken_by_owner[a - actors]++;
    }
    for (struct rondo_actor *a; (a = rondo_runq_pop(&s.q));) s.taken_by_owner[a - actors]++;
    rondo_store_release(&s.is_over, 1); /* pairs with the thief's load */
    rondo_thread_join(&thief);
    for (unsigned i = 0; i < ACTORS; i++)
        assert_int_equal(s.taken_by_owner[i] + s.taken_by_thief[i], ROUNDS);
}

struct inbox_stress {
    struct rondo_actor *top;
    unsigned is_free[ACTORS]; /* atomic: may be pushed again */
};

static void push_some(void *arg) {
    struct inbox_stress *s = arg;
    for (unsigned i = 0; i < ROUNDS * ACTORS; i++) {
        unsigned k = i % ACTORS;
        while (!rondo_load_acquire(&s->is_free[k])) rondo_cpu_relax(); /* pairs with the taker */
        rondo_store_relaxed(&s->is_free[k], 0);
        rondo_actor_inbox_push(&s->top, &actors[k]);
    }
}

static void an_inbox_keeps_order_between_threads(void **state) {
    (void)state;
    static struct inbox_stress s;
    struct rondo_thread pusher;
    struct rondo_actor_queue q = {NULL, NULL, 0};
    unsigned n = 0, disorder = 0;
    s.top = NULL;
    for (unsigned i = 0; i < ACTORS; i++) s.is_free[i] = 1;
    assert_int_equal(rondo_thread_start(&pusher, "pusher", push_some, &s), 0);
    while (n < ROUNDS * ACTORS) {
        rondo_actor_inbox_take(&s.top, &q);
        for (struct rondo_actor *a; (a = rondo_actor_queue_pop(&q)); n++) {
            if (a != &actors[n % ACTORS]) disorder++;
            rondo_store_release(&s.is_free[a - actors], 1); /* pairs with the pusher */
        }
    }
    rondo_thread_join(&pusher);
    assert_int_equal(disorder, 0);
    assert_null(s.top);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ring_is_first_in_first_out_and_bounded),
        cmocka_unit_test(a_thief_takes_half_and_leaves_one),
        cmocka_unit_test(an_inbox_gives_the_oldest_first),
        cmocka_unit_test(each_is_taken_once_between_threads),
        cmocka_unit_test(an_inbox_keeps_order_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
