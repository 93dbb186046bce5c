/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/list.h"

struct item {
    int value;
    struct rondo_list node;
};

static struct item items[4];

static void make_items(void) {
    for (int i = 0; i < 4; i++) {
        items[i].value = i;
        rondo_list_init(&items[i].node);
    }
}

static void assert_order(struct rondo_list *l, const char *want) {
    char got[16] = "";
    size_t n = 0;
    RONDO_LIST_FOREACH(l, node) {
        assert_ptr_equal(node->next->prev, node);
        assert_ptr_equal(node->prev->next, node);
        got[n++] = (char)('0' + RONDO_LIST_ENTRY(node, struct item, node)->value);
    }
    assert_string_equal(got, want);
}

static void both_ends_take_nodes(void **state) {
    (void)state;
    struct rondo_list l;
    make_items();
    rondo_list_init(&l);
    assert_true(rondo_list_is_empty(&l));
    assert_null(rondo_list_pop_front(&l));
    rondo_list_push_back(&l, &items[1].node);
    rondo_list_push_back(&l, &items[2].node);
    rondo_list_push_front(&l, &items[0].node);
    assert_order(&l, "012");
    assert_ptr_equal(rondo_list_pop_front(&l), &items[0].node);
    assert_true(rondo_list_is_empty(&items[0].node));
    assert_order(&l, "12");
}

static void removing_twice_is_once(void **state) {
    (void)state;
    struct rondo_list l;
    make_items();
    rondo_list_init(&l);
    for (int i = 0; i < 4; i++) rondo_list_push_back(&l, &items[i].node);
    rondo_list_remove(&items[2].node);
    rondo_list_remove(&items[2].node);
    assert_order(&l, "013");
    RONDO_LIST_FOREACH(&l, node) rondo_list_remove(node);
    assert_true(rondo_list_is_empty(&l));
}

static void splicing_moves_all(void **state) {
    (void)state;
    struct rondo_list a, b;
    make_items();
    rondo_list_init(&a);
    rondo_list_init(&b);
    rondo_list_splice_back(&a, &b);
    assert_true(rondo_list_is_empty(&a));
    rondo_list_push_back(&a, &items[0].node);
    for (int i = 1; i < 4; i++) rondo_list_push_back(&b, &items[i].node);
    rondo_list_splice_back(&a, &b);
    assert_order(&a, "0123");
    assert_true(rondo_list_is_empty(&b));
    rondo_list_splice_back(&b, &a);
    assert_order(&b, "0123");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_take_nodes),
        cmocka_unit_test(removing_twice_is_once),
        cmocka_unit_test(splicing_moves_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
