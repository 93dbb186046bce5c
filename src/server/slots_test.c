/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/hash.h"
#include "base/mem.h"
#include "server/slots.h"

static unsigned n_freed;

static void count_free(void *op) {
    n_freed++;
    rondo_free(op);
}

static void *new_op(void) {
    void *op = rondo_alloc(1);
    assert_non_null(op);
    return op;
}

static void write_to(struct rondo_buf *buf, const char *text) {
    assert_int_equal(rondo_buf_append_str(buf, text), RONDO_OK);
}

static struct rondo_access one_key(enum rondo_access_kind kind, const uint64_t *key) {
    return (struct rondo_access){kind, key, 1};
}

static uint64_t open_one(struct rondo_slots *s, enum rondo_access_kind kind, uint64_t key) {
    uint64_t number;
    assert_int_equal(rondo_slots_reserve(s, &number), RONDO_OK);
    struct rondo_access access = one_key(kind, &key);
    rondo_slots_open(s, &access, new_op());
    return number;
}

static void complete(struct rondo_slots *s, uint64_t number, const char *reply) {
    write_to(rondo_slots_reply(s, number), reply);
    assert_int_equal(rondo_slots_complete(s, number), RONDO_OK);
}

static bool may(const struct rondo_slots *s, enum rondo_access_kind kind, uint64_t key) {
    struct rondo_access access = one_key(kind, &key);
    return rondo_slots_may_run(s, &access);
}

static void assert_out(const struct rondo_buf *out, const char *text) {
    assert_int_equal(out->len, strlen(text));
    assert_memory_equal(out->data, text, out->len);
}

static void replies_leave_in_the_order_of_the_requests(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s;
    rondo_slots_init(&s, &out, count_free);

    write_to(rondo_slots_direct(&s), "a");
    uint64_t b = open_one(&s, RONDO_ACCESS_READ, 1);
    write_to(rondo_slots_direct(&s), "c");
    write_to(rondo_slots_direct(&s), "d");
    uint64_t e = open_one(&s, RONDO_ACCESS_READ, 2);
    write_to(rondo_slots_direct(&s), "f");
    assert_out(&out, "a");

    complete(&s, e, "e");
    assert_out(&out, "a");
    assert_int_equal(rondo_slots_bytes(&s), 4);
    assert_null(rondo_slots_op(&s, e));
    complete(&s, b, "b");
    assert_out(&out, "abcdef");
    assert_int_equal(rondo_slots_count(&s), 0);

    rondo_slots_fini(&s);
    rondo_buf_fini(&out);
}

static void a_command_passes_only_what_it_shares_no_key_with(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s;
    rondo_slots_init(&s, &out, count_free);
    assert_true(may(&s, RONDO_ACCESS_WRITE, 1));
    uint64_t read = open_one(&s, RONDO_ACCESS_READ, 1);
    uint64_t write = open_one(&s, RONDO_ACCESS_WRITE, 2);

    assert_true(may(&s, RONDO_ACCESS_READ, 1));
    assert_false(may(&s, RONDO_ACCESS_WRITE, 1));
    assert_false(may(&s, RONDO_ACCESS_READ, 2));
    assert_false(may(&s, RONDO_ACCESS_WRITE, 2));
    assert_true(may(&s, RONDO_ACCESS_WRITE, 3));
    assert_false(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_ALL, NULL, 0}));
    assert_true(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_NONE, NULL, 0}));

    complete(&s, write, "w"); /* waits for its turn, but is over */
    assert_true(may(&s, RONDO_ACCESS_WRITE, 2));
    complete(&s, read, "r");
    assert_true(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_ALL, NULL, 0}));
    rondo_slots_fini(&s);
    rondo_buf_fini(&out);
}

static void several_keys_are_remembered(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s;
    uint64_t number, keys[] = {5, 6, 7};
    rondo_slots_init(&s, &out, count_free);
    assert_int_equal(rondo_slots_reserve(&s, &number), RONDO_OK);
    rondo_slots_open(&s, &(struct rondo_access){RONDO_ACCESS_READ, keys, 3}, new_op());
    assert_false(may(&s, RONDO_ACCESS_WRITE, 7));
    assert_true(may(&s, RONDO_ACCESS_WRITE, 8));
    rondo_slots_fini(&s);
    rondo_buf_fini(&out);
}

static void very_many_keys_are_not_compared(void **state) {
    (void)state;
    enum { N = 1024 };
    static uint64_t keys[N], others[N];
    struct rondo_buf out = {0};
    struct rondo_slots s;
    uint64_t number;
    for (uint64_t i = 0; i < N; i++) {
        keys[i] = i;
        others[i] = N + i;
    }
    rondo_slots_init(&s, &out, count_free);
    assert_int_equal(rondo_slots_reserve(&s, &number), RONDO_OK);
    rondo_slots_open(&s, &(struct rondo_access){RONDO_ACCESS_READ, keys, N}, new_op());
    assert_true(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_WRITE, others, 64}));
    assert_false(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_WRITE, others, N}));
    assert_true(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_READ, keys, 1}));
    complete(&s, number, "x");
    assert_true(rondo_slots_may_run(&s, &(struct rondo_access){RONDO_ACCESS_WRITE, others, N}));
    rondo_slots_fini(&s);
    rondo_buf_fini(&out);
}

static void without_memory_for_its_keys_a_slot_holds_all_back(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s;
    uint64_t number, keys[] = {5, 6, 7};
    rondo_slots_init(&s, &out, count_free);
    assert_int_equal(rondo_slots_reserve(&s, &number), RONDO_OK);
    void *op = new_op();
    rondo_mem_fail_nth(1);
    rondo_slots_open(&s, &(struct rondo_access){RONDO_ACCESS_READ, keys, 3}, op);
    assert_true(rondo_mem_failed());
    rondo_mem_fail_nth(0);
    assert_false(may(&s, RONDO_ACCESS_READ, 8));
    rondo_slots_fini(&s);
    rondo_buf_fini(&out);
}

static void what_hangs_on_a_slot_is_freed_once(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s;
    rondo_slots_init(&s, &out, count_free);
    n_freed = 0;
    for (uint64_t i = 0; i < 20; i++) (void)open_one(&s, RONDO_ACCESS_READ, i);
    complete(&s, 3, "x");
    assert_int_equal(n_freed, 1);
    assert_null(rondo_slots_op(&s, 3));
    assert_null(rondo_slots_op(&s, 20));
    assert_non_null(rondo_slots_op(&s, 19));
    rondo_slots_fini(&s);
    assert_int_equal(n_freed, 20);
    rondo_buf_fini(&out);
}

static void idle_slots_own_no_room(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s, other;
    struct rondo_slots_room room = {NULL, 0};
    rondo_slots_init(&s, &out, count_free);
    rondo_slots_init(&other, &out, count_free);
    uint64_t a = open_one(&s, RONDO_ACCESS_READ, 1);
    rondo_slots_leave_room(&s, &room);
    assert_null(room.ring); /* in use */
    complete(&s, a, "a");
    rondo_slots_leave_room(&s, &room);
    assert_null(s.ring);
    assert_non_null(room.ring);

    rondo_slots_take_room(&other, &room);
    assert_null(room.ring);
    uint64_t b = open_one(&other, RONDO_ACCESS_READ, 1);
    uint64_t c = open_one(&s, RONDO_ACCESS_READ, 1);
    assert_int_equal(c, 1); /* numbers are never used twice */
    complete(&other, b, "b");
    complete(&s, c, "c");
    assert_out(&out, "abc");
    rondo_slots_leave_room(&s, &room);
    rondo_slots_leave_room(&other, &room);
    assert_null(other.ring);
    rondo_free(room.ring);
    rondo_slots_fini(&s);
    rondo_slots_fini(&other);
    rondo_buf_fini(&out);
}

static void every_failed_allocation_is_told(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct rondo_buf out = {0};
        struct rondo_slots s;
        uint64_t number = 99;
        rondo_slots_init(&s, &out, count_free);
        void *op = new_op();
        rondo_mem_fail_nth(n);
        enum rondo_err err = rondo_slots_reserve(&s, &number);
        if (!err) {
            uint64_t key = 1;
            struct rondo_access access = one_key(RONDO_ACCESS_READ, &key);
            rondo_slots_open(&s, &access, op);
            op = NULL;
            err = rondo_buf_append_str(rondo_slots_direct(&s), "behind");
            if (!err) err = rondo_buf_append_str(rondo_slots_reply(&s, number), "reply");
            if (!err) err = rondo_slots_complete(&s, number);
        }
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        rondo_free(op);
        rondo_slots_fini(&s);
        rondo_buf_fini(&out);
        if (!failed) break;
    }
}

/* ---- a pipeline gives the answers of a serial run, whatever the interleaving --------- */

enum { KEYS = 4, COMMANDS = 40 };
enum verb { GET, SET, DEL, COUNT, PING };

struct command {
    enum verb verb;
    unsigned key, value;
};

struct store {
    unsigned values[KEYS]; /* 0: not in memory */
};

static unsigned in_source(unsigned key) {
    return 1000 + key;
}

static void reply_number(struct rondo_buf *buf, unsigned n) {
    assert_int_equal(rondo_buf_printf(buf, "%u ", n), RONDO_OK);
}

/* What is answered at once; a load is done before this is called. */
static void run_at_once(struct store *store, const struct command *c, struct rondo_buf *buf) {
    unsigned n = 0;
    switch (c->verb) {
    case GET:
        reply_number(buf, store->values[c->key]);
        break;
    case SET:
        store->values[c->key] = c->value;
        reply_number(buf, 1);
        break;
    case DEL:
        reply_number(buf, store->values[c->key] != 0);
        store->values[c->key] = 0;
        break;
    case COUNT:
        for (unsigned k = 0; k < KEYS; k++) n += store->values[k] != 0;
        reply_number(buf, n);
        break;
    case PING:
        reply_number(buf, 7);
        break;
    }
}

static void run_serially(const struct command *commands, struct rondo_buf *out) {
    struct store store = {{0}};
    for (unsigned i = 0; i < COMMANDS; i++) {
        const struct command *c = &commands[i];
        if (c->verb == GET && !store.values[c->key]) store.values[c->key] = in_source(c->key);
        run_at_once(&store, c, out);
    }
}

struct waiting {
    uint64_t number;
    unsigned key;
};

struct pipeline {
    struct store store;
    struct rondo_slots slots;
    struct waiting waiting[COMMANDS];
    unsigned n_waiting, next;
};

static struct rondo_access access_of(const struct command *c, uint64_t *key) {
    static const enum rondo_access_kind kinds[] = {
        [GET] = RONDO_ACCESS_READ,  [SET] = RONDO_ACCESS_WRITE, [DEL] = RONDO_ACCESS_WRITE,
        [COUNT] = RONDO_ACCESS_ALL, [PING] = RONDO_ACCESS_NONE,
    };
    *key = c->key;
    return one_key(kinds[c->verb], key);
}

/* True if the next command was run. */
static bool step(struct pipeline *p, const struct command *commands) {
    uint64_t key;
    if (p->next == COMMANDS) return false;
    const struct command *c = &commands[p->next];
    struct rondo_access access = access_of(c, &key);
    if (!rondo_slots_may_run(&p->slots, &access)) return false;
    p->next++;
    if (c->verb != GET || p->store.values[c->key]) {
        run_at_once(&p->store, c, rondo_slots_direct(&p->slots));
        return true;
    }
    struct waiting *w = &p->waiting[p->n_waiting++];
    w->key = c->key;
    assert_int_equal(rondo_slots_reserve(&p->slots, &w->number), RONDO_OK);
    rondo_slots_open(&p->slots, &access, new_op());
    return true;
}

/* A load of any of those under way ends; the first of a key to end fills memory. */
static void land(struct pipeline *p, unsigned i) {
    struct waiting w = p->waiting[i];
    p->waiting[i] = p->waiting[--p->n_waiting];
    p->store.values[w.key] = in_source(w.key);
    reply_number(rondo_slots_reply(&p->slots, w.number), in_source(w.key));
    assert_int_equal(rondo_slots_complete(&p->slots, w.number), RONDO_OK);
}

static void run_pipelined(const struct command *commands, uint64_t *random, struct rondo_buf *out) {
    struct pipeline p = {.n_waiting = 0};
    rondo_slots_init(&p.slots, out, count_free);
    while (p.next < COMMANDS || p.n_waiting > 0) {
        bool lands = p.n_waiting > 0 && rondo_random_below(random, 4) == 0;
        if (!lands && step(&p, commands)) continue;
        if (p.n_waiting > 0) land(&p, (unsigned)rondo_random_below(random, p.n_waiting));
    }
    assert_int_equal(rondo_slots_count(&p.slots), 0);
    rondo_slots_fini(&p.slots);
}

static void a_pipeline_gives_the_answers_of_a_serial_run(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t random = seed;
        struct command commands[COMMANDS];
        for (unsigned i = 0; i < COMMANDS; i++)
            commands[i] = (struct command){(enum verb)rondo_random_below(&random, 5),
                                           (unsigned)rondo_random_below(&random, KEYS), 1 + i};
        struct rondo_buf serial = {0}, pipelined = {0};
        run_serially(commands, &serial);
        run_pipelined(commands, &random, &pipelined);
        if (serial.len != pipelined.len || memcmp(serial.data, pipelined.data, serial.len) != 0)
            fail_msg("seed %llu\nserial    %.*s\npipelined %.*s", (unsigned long long)seed,
                     (int)serial.len, serial.data, (int)pipelined.len, pipelined.data);
        rondo_buf_fini(&serial);
        rondo_buf_fini(&pipelined);
    }
}

static void test_it_knows_how_many_replies_wait(void **state) {
    (void)state;
    struct rondo_buf out = {0};
    struct rondo_slots s;
    struct rondo_access none = {RONDO_ACCESS_NONE, NULL, 0};
    uint64_t first, second;
    rondo_slots_init(&s, &out, NULL);
    rondo_slots_note_direct(&s); /* waits for nobody */
    assert_int_equal(s.n_ready, 0);
    assert_int_equal(rondo_slots_reserve(&s, &first), RONDO_OK);
    rondo_slots_open(&s, &none, NULL);
    rondo_slots_note_direct(&s);
    rondo_slots_note_direct(&s);
    assert_int_equal(rondo_slots_reserve(&s, &second), RONDO_OK);
    rondo_slots_open(&s, &none, NULL);
    rondo_slots_note_direct(&s);
    assert_int_equal(s.n_ready, 3);
    assert_int_equal(rondo_slots_complete(&s, second), RONDO_OK);
    assert_int_equal(s.n_ready, 4);
    assert_int_equal(rondo_slots_complete(&s, first), RONDO_OK);
    assert_int_equal(s.n_ready, 0);
    rondo_slots_fini(&s);
    rondo_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_leave_in_the_order_of_the_requests),
        cmocka_unit_test(a_command_passes_only_what_it_shares_no_key_with),
        cmocka_unit_test(several_keys_are_remembered),
        cmocka_unit_test(very_many_keys_are_not_compared),
        cmocka_unit_test(without_memory_for_its_keys_a_slot_holds_all_back),
        cmocka_unit_test(what_hangs_on_a_slot_is_freed_once),
        cmocka_unit_test(idle_slots_own_no_room),
        cmocka_unit_test(every_failed_allocation_is_told),
        cmocka_unit_test(a_pipeline_gives_the_answers_of_a_serial_run),
        cmocka_unit_test(test_it_knows_how_many_replies_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
