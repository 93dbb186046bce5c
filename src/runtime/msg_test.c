/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/mem.h"
#include "runtime/msg.h"

struct probe {
    struct rondo_msg head;
    unsigned *n_fini;
    char body[40];
};

static void probe_fini(struct rondo_msg *m) {
    ++*((struct probe *)(void *)m)->n_fini;
}

static void a_new_message_is_zero_but_its_type(void **state) {
    (void)state;
    static const struct probe zero;
    struct rondo_msg_depot depot;
    struct rondo_msg_cache cache;
    rondo_msg_depot_init(&depot);
    rondo_msg_cache_init(&cache, &depot);
    rondo_msg_cache_use(&cache);
    for (int i = 0; i < 3; i++) { /* also the second time round, from the cache */
        struct probe *p = rondo_msg_new(7, sizeof *p);
        assert_non_null(p);
        assert_int_equal(p->head.type, 7);
        assert_null(p->head.link_);
        assert_null(p->head.fini);
        assert_memory_equal(p->body, zero.body, sizeof p->body);
        memset(p->body, 1, sizeof p->body);
        rondo_msg_release(&p->head);
    }
    rondo_msg_cache_use(NULL);
    rondo_msg_cache_fini(&cache);
    rondo_msg_depot_fini(&depot);
}

static void fini_runs_once_and_static_messages_stay(void **state) {
    (void)state;
    unsigned n = 0;
    struct probe *p = rondo_msg_new(1, sizeof *p);
    assert_non_null(p);
    p->head.fini = probe_fini;
    p->n_fini = &n;
    rondo_msg_free(p);
    assert_int_equal(n, 1);
    struct probe here = {.head = {.fini = probe_fini, .flags_ = RONDO_MSG_STATIC}, .n_fini = &n};
    rondo_msg_free(&here);
    rondo_msg_free(&here);
    assert_int_equal(n, 3);
    rondo_msg_free(NULL);
}

static void out_of_memory_gives_null(void **state) {
    (void)state;
    for (size_t size = sizeof(struct rondo_msg); size < 1000; size += 200) {
        rondo_mem_fail_nth(1);
        assert_null(rondo_msg_new(1, size));
        rondo_mem_fail_nth(0);
        void *m = rondo_msg_new(1, size);
        assert_non_null(m);
        rondo_msg_free(m);
    }
}

/* One-way: what one cache frees comes back to the other through the depot. */
static void blocks_go_back_in_batches(void **state) {
    (void)state;
    enum { N = RONDO_MSG_BATCH * 6 };
    uint64_t live = rondo_mem_live();
    struct rondo_msg_depot depot;
    struct rondo_msg_cache from, to;
    struct rondo_msg *m[N];
    rondo_msg_depot_init(&depot);
    rondo_msg_cache_init(&from, &depot);
    rondo_msg_cache_init(&to, &depot);
    for (int round = 0; round < 3; round++) {
        rondo_msg_cache_use(&from);
        for (unsigned i = 0; i < N; i++) assert_non_null(m[i] = rondo_msg_new(i, 48));
        for (unsigned i = 0; i < N; i++) assert_int_equal(m[i]->type, i);
        rondo_msg_cache_use(&to);
        for (unsigned i = 0; i < N; i++) rondo_msg_release(m[i]);
        /* At most what was needed at once, and two batches that stay with `to`. */
        assert_true(rondo_mem_live() - live <= N + 2 * RONDO_MSG_BATCH);
    }
    rondo_msg_cache_use(NULL);
    rondo_msg_cache_fini(&from);
    rondo_msg_cache_fini(&to);
    rondo_msg_depot_fini(&depot);
    assert_int_equal(rondo_mem_live(), live);
}

static void let_go(void *arg) {
    struct rondo_msg *m = arg;
    rondo_store_release(&m->held_, 0); /* pairs with rondo_msg_await_unheld */
}

static void a_held_message_is_waited_for(void **state) {
    (void)state;
    struct rondo_thread t;
    struct rondo_msg *m = rondo_msg_new(1, sizeof *m);
    assert_non_null(m);
    m->held_ = 1;
    assert_int_equal(rondo_thread_start(&t, "holder", let_go, m), 0);
    rondo_msg_await_unheld(m);
    assert_int_equal(rondo_load_relaxed(&m->held_), 0);
    rondo_msg_free(m);
    rondo_thread_join(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_message_is_zero_but_its_type),
        cmocka_unit_test(fini_runs_once_and_static_messages_stay),
        cmocka_unit_test(out_of_memory_gives_null),
        cmocka_unit_test(blocks_go_back_in_batches),
        cmocka_unit_test(a_held_message_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
