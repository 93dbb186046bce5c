/* SPDX-License-Identifier: MIT */
#include "cache/ring.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/test.h"

enum { ENTRIES = 200, STEPS = 20000 };

static struct rondo_entry *entries[ENTRIES];

static int make_entries(void **state) {
    (void)state;
    for (int i = 0; i < ENTRIES; i++)
        if (!(entries[i] = rondo_zalloc(sizeof *entries[i]))) return -1;
    return 0;
}

static int free_entries(void **state) {
    (void)state;
    for (int i = 0; i < ENTRIES; i++) rondo_free(entries[i]);
    return 0;
}

/* A ring whose sequence numbers begin at `seq`. */
static struct rondo_ring ring_from(uint32_t seq) {
    return (struct rondo_ring){.head = seq, .tail = seq};
}

static void test_first_in_first_out(void **state) {
    (void)state;
    struct rondo_ring r = {0};
    assert_null(rondo_ring_pop(&r));
    for (int i = 0; i < ENTRIES; i++) assert_int_equal(rondo_ring_push(&r, entries[i]), RONDO_OK);
    assert_int_equal(r.count, ENTRIES);
    for (int i = 0; i < ENTRIES; i++) assert_ptr_equal(rondo_ring_pop(&r), entries[i]);
    assert_null(rondo_ring_pop(&r));
    rondo_ring_fini(&r);
}

static void test_one_in_the_place_of_another(void **state) {
    (void)state;
    struct rondo_ring r = {0};
    for (int i = 0; i < 3; i++) assert_int_equal(rondo_ring_push(&r, entries[i]), RONDO_OK);
    rondo_ring_replace(&r, entries[1], entries[9]);
    assert_int_equal(r.count, 3);
    assert_ptr_equal(rondo_ring_pop(&r), entries[0]);
    assert_ptr_equal(rondo_ring_pop(&r), entries[9]);
    assert_ptr_equal(rondo_ring_pop(&r), entries[2]);
    rondo_ring_fini(&r);
}

/* The same as a list of numbers in order. */
struct model {
    int order[ENTRIES];
    int n;
    bool is_in[ENTRIES];
};

static void model_take(struct model *m, int at) {
    m->is_in[m->order[at]] = false;
    memmove(&m->order[at], &m->order[at + 1], (size_t)(m->n - at - 1) * sizeof m->order[0]);
    m->n--;
}

static void step(struct rondo_ring *r, struct model *m, uint64_t *random) {
    uint64_t what = rondo_random_below(random, 5);
    int i = (int)rondo_random_below(random, ENTRIES);
    if (what <= 1 && !m->is_in[i]) {
        assert_int_equal(rondo_ring_push(r, entries[i]), RONDO_OK);
        m->order[m->n++] = i;
        m->is_in[i] = true;
    } else if (what == 2) {
        struct rondo_entry *want = m->n ? entries[m->order[0]] : NULL;
        assert_ptr_equal(rondo_ring_pop(r), want);
        if (m->n) model_take(m, 0);
    } else if (what >= 3 && m->n) {
        int at = (int)rondo_random_below(random, (uint64_t)m->n);
        rondo_ring_remove(r, entries[m->order[at]]);
        model_take(m, at);
    }
    assert_int_equal(r->count, m->n);
}

/* Begun shortly before the sequence numbers wrap round. */
static void test_any_order_of_calls_keeps_the_order_of_entries(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rondo_ring r = ring_from(UINT32_MAX - 100);
        struct model m = {.n = 0};
        uint64_t random = seed;
        for (int i = 0; i < STEPS; i++) step(&r, &m, &random);
        for (int i = 0; i < m.n; i++) assert_ptr_equal(rondo_ring_pop(&r), entries[m.order[i]]);
        assert_null(rondo_ring_pop(&r));
        rondo_ring_fini(&r);
    }
}

static void test_holes_are_closed_before_it_grows(void **state) {
    (void)state;
    struct rondo_ring r = {0};
    assert_int_equal(rondo_ring_push(&r, entries[0]), RONDO_OK);
    uint32_t cap = r.cap;
    assert_int_equal(rondo_ring_push(&r, entries[8]), RONDO_OK);
    for (int round = 0; round < 50; round++) {
        /* One at the front and one at the end stay, so the holes are between. */
        for (int i = 1; i <= 7; i++) assert_int_equal(rondo_ring_push(&r, entries[i]), RONDO_OK);
        assert_int_equal(rondo_ring_push(&r, entries[9 - round % 2]), RONDO_OK);
        for (int i = 1; i <= 7; i++) rondo_ring_remove(&r, entries[i]);
        rondo_ring_remove(&r, entries[8 + round % 2]);
    }
    assert_int_equal(r.count, 2);
    assert_int_equal(r.cap, cap);
    assert_ptr_equal(rondo_ring_pop(&r), entries[0]);
    rondo_ring_fini(&r);
}

static void test_a_push_without_memory_changes_nothing(void **state) {
    (void)state;
    struct rondo_ring r = {0};
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_ring_push(&r, entries[0]), RONDO_ERR_NOMEM);
    rondo_mem_fail_nth(0);
    assert_int_equal(r.count, 0);
    while (r.tail - r.head < r.cap || r.cap == 0)
        assert_int_equal(rondo_ring_push(&r, entries[r.count]), RONDO_OK);
    uint32_t full = r.count;
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_ring_push(&r, entries[full]), RONDO_ERR_NOMEM);
    rondo_mem_fail_nth(0);
    assert_int_equal(r.count, full);
    assert_ptr_equal(rondo_ring_pop(&r), entries[0]);
    rondo_mem_fail_nth(1); /* right after a pop nothing is needed */
    assert_int_equal(rondo_ring_push(&r, entries[full]), RONDO_OK);
    rondo_mem_fail_nth(0);
    rondo_ring_fini(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_first_out),
        cmocka_unit_test(test_one_in_the_place_of_another),
        cmocka_unit_test(test_any_order_of_calls_keeps_the_order_of_entries),
        cmocka_unit_test(test_holes_are_closed_before_it_grows),
        cmocka_unit_test(test_a_push_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("ring", tests, make_entries, free_entries);
}
