/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/mem.h"
#include "runtime/registry.h"

static unsigned n_empty, n_released;

static void on_empty(struct rondo_registry *r) {
    (void)r;
    n_empty++;
}

static void release(struct rondo_registry *r) {
    n_released++;
    rondo_registry_fini(r);
}

static void it_tells_when_the_last_is_gone(void **state) {
    (void)state;
    struct rondo_registry r;
    struct rondo_list a, b, c;
    n_empty = n_released = 0;
    rondo_list_init(&a);
    rondo_list_init(&b);
    rondo_list_init(&c);
    assert_int_equal(rondo_registry_init(&r, 2), 0);
    r.on_empty = on_empty;
    r.release = release;
    assert_true(rondo_registry_add(&r, 0, &a));
    assert_true(rondo_registry_add(&r, 1, &b));
    rondo_registry_remove(&r, 0, &a);
    assert_int_equal(n_empty, 0);
    rondo_registry_close(&r);
    assert_false(rondo_registry_add(&r, 0, &c));
    assert_ptr_equal(rondo_registry_pop(&r), &b);
    assert_null(rondo_registry_pop(&r));
    assert_int_equal(r.n_live, 1);
    rondo_registry_remove(&r, 1, &b);
    assert_int_equal(n_empty, 1);
    rondo_registry_ref(&r);
    rondo_registry_unref(&r);
    assert_int_equal(n_released, 0);
    rondo_registry_unref(&r);
    assert_int_equal(n_released, 1);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    struct rondo_registry r;
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_registry_init(&r, 2), RONDO_ERR_NOMEM);
    rondo_mem_fail_nth(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_tells_when_the_last_is_gone),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
