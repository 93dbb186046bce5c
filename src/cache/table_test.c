/* SPDX-License-Identifier: MIT */
#include "cache/table.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/test.h"

enum { N = 20000 };

static struct rondo_table table;
static struct rondo_entry *entries[N];
static unsigned char seen[N];

static uint64_t hash_of(uint32_t i) {
    uint64_t state = i;
    return rondo_random_next(&state);
}

static struct rondo_entry *make(uint32_t i, uint64_t hash) {
    struct rondo_entry_init init = {.hash = hash, .key = rondo_slice_of(&i, sizeof i)};
    return rondo_entry_new(&init);
}

static uint32_t number_of(const struct rondo_entry *e) {
    uint32_t i;
    memcpy(&i, rondo_entry_key(e), sizeof i);
    return i;
}

static struct rondo_entry *find(uint32_t i, uint64_t hash) {
    return rondo_table_find(&table, hash, 0, rondo_slice_of(&i, sizeof i));
}

static void put(uint32_t i) {
    entries[i] = make(i, hash_of(i));
    assert_int_equal(rondo_table_insert(&table, entries[i], hash_of(i)), RONDO_OK);
}

static void take_out(uint32_t i) {
    rondo_table_remove(&table, entries[i]);
    rondo_entry_free(entries[i]);
    entries[i] = NULL;
}

static int setup(void **state) {
    (void)state;
    memset(entries, 0, sizeof entries);
    memset(seen, 0, sizeof seen);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N; i++) rondo_entry_free(entries[i]);
    memset(entries, 0, sizeof entries);
    rondo_table_fini(&table);
    assert_int_equal(table.bytes, 0);
    return 0;
}

static void test_random_operations_against_an_array(void **state) {
    (void)state;
    uint64_t random = 1;
    assert_null(find(1, hash_of(1)));
    for (int step = 0; step < 200000; step++) {
        uint32_t i = (uint32_t)rondo_random_below(&random, N);
        if (entries[i]) {
            if (rondo_random_below(&random, 3) == 0) {
                take_out(i);
            } else {
                struct rondo_entry *e = make(i, hash_of(i));
                rondo_table_replace(&table, entries[i], e, hash_of(i));
                rondo_entry_free(entries[i]);
                entries[i] = e;
            }
        } else {
            put(i);
        }
        assert_ptr_equal(find(i, hash_of(i)), entries[i]);
    }
    uint64_t count = 0;
    for (uint32_t i = 0; i < N; i++) {
        assert_ptr_equal(find(i, hash_of(i)), entries[i]);
        count += entries[i] != NULL;
    }
    assert_int_equal(table.count, count);
}

static void test_equal_hashes_share_a_chain(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        entries[i] = make(i, 42);
        assert_int_equal(rondo_table_insert(&table, entries[i], 42), RONDO_OK);
    }
    for (uint32_t i = 0; i < 300; i++) assert_ptr_equal(find(i, 42), entries[i]);
    for (uint32_t i = 0; i < 300; i += 2) take_out(i);
    for (uint32_t i = 0; i < 300; i++) assert_ptr_equal(find(i, 42), entries[i]);
}

static void see(void *arg, struct rondo_entry *e) {
    (void)arg;
    seen[number_of(e)] = 1;
}

/* The promise of SCAN: what is there from beginning to end is seen, though the
 * table grows by a lot meanwhile and other keys come and go. */
static void test_a_scan_meets_all_that_stays(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < 50; seed++) {
        uint64_t random = seed;
        uint32_t before = 1 + (uint32_t)rondo_random_below(&random, 3000), next = before;
        setup(NULL);
        for (uint32_t i = 0; i < before; i++) put(i);
        uint32_t cursor = 0;
        do {
            cursor = rondo_table_scan(&table, cursor, see, NULL);
            for (uint64_t n = rondo_random_below(&random, 20); n > 0 && next < N; n--) put(next++);
            if (next > before && rondo_random_below(&random, 2)) {
                uint32_t i = before + (uint32_t)rondo_random_below(&random, next - before);
                if (entries[i]) take_out(i);
            }
        } while (cursor != 0);
        for (uint32_t i = 0; i < before; i++) assert_true(seen[i]);
        teardown(NULL);
    }
}

static bool is_odd(void *arg, struct rondo_entry *e, uint64_t word) {
    (void)arg;
    (void)word;
    uint32_t i = number_of(e);
    assert_false(seen[i]);
    seen[i] = 1;
    if (i % 2 == 0) return false;
    rondo_entry_free(e);
    entries[i] = NULL;
    return true;
}

static void test_a_sweep_visits_all_once(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N; i++) put(i);
    assert_int_equal(rondo_table_sweep(&table, is_odd, NULL), N / 2);
    assert_int_equal(table.count, N / 2);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(seen[i]);
        assert_ptr_equal(find(i, hash_of(i)), entries[i]);
    }
}

static void test_it_takes_few_bytes_an_entry(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N; i++) put(i);
    assert_true(table.bytes <= 22 * (uint64_t)N);
}

static void test_out_of_memory_changes_nothing(void **state) {
    (void)state;
    uint32_t i = 0;
    for (uint64_t n = 1; i < 2000; n = n % 3 + 1) {
        entries[i] = make(i, hash_of(i));
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_table_insert(&table, entries[i], hash_of(i));
        rondo_mem_fail_nth(0);
        if (err) {
            assert_null(find(i, hash_of(i)));
            assert_int_equal(table.count, i);
            assert_int_equal(rondo_table_insert(&table, entries[i], hash_of(i)), RONDO_OK);
        }
        i++;
        for (uint32_t k = i > 50 ? i - 50 : 0; k < i; k++)
            assert_ptr_equal(find(k, hash_of(k)), entries[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_operations_against_an_array, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_hashes_share_a_chain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_scan_meets_all_that_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_sweep_visits_all_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_takes_few_bytes_an_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory_changes_nothing, setup, teardown),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
