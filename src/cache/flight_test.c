/* SPDX-License-Identifier: MIT */
/*
 * Flights by themselves, and a swarm: clients that read, write, remove and flush
 * at random on a simulated runtime, over a source that is slow, fails, answers
 * twice or not at all.  Held against the invariants: every wait ends exactly
 * once; at most one current flight and two calls of a key; nothing that was
 * loaded before a write is ever seen after it.
 */
#include "cache/fixture.h"

#include "base/hash.h"
#include "cache/keyspace.h"

/* ------------------------------------------------------------------- alone --- */

static struct rondo_flights flights;
static const struct rondo_completion nobody = {.fn = test_collect};

static struct rondo_flight *take_off(const char *key, uint64_t hash, uint32_t epoch) {
    struct rondo_key k = test_key(key);
    struct rondo_flight *f = rondo_flight_new(hash, &k, rondo_slice_str("me"));
    f->epoch = epoch;
    assert_int_equal(rondo_flights_add(&flights, f), RONDO_OK);
    return f;
}

static void take_down(struct rondo_flight *f) {
    rondo_flights_remove(&flights, f);
    rondo_flight_free(f);
}

static struct rondo_flight *find(const char *key, uint64_t hash, uint32_t epoch) {
    struct rondo_key k = test_key(key);
    return rondo_flights_find(&flights, hash, &k, epoch);
}

static void test_a_flight_is_found_until_it_is_superseded(void **state) {
    (void)state;
    struct rondo_key a = test_key("a");
    struct rondo_flight *one = take_off("a", 1, 0), *other = take_off("b", 1, 0);
    assert_ptr_equal(find("a", 1, 0), one);
    assert_ptr_equal(find("b", 1, 0), other);
    assert_null(find("a", 2, 0));
    assert_null(find("a", 1, 1)); /* a flush came in between */
    assert_int_equal(rondo_flights_supersede(&flights, 1, &a), 1);
    assert_int_equal(rondo_flights_supersede(&flights, 1, &a), 0);
    assert_null(find("a", 1, 0));
    struct rondo_flight *next = take_off("a", 1, 0);
    assert_ptr_equal(find("a", 1, 0), next);
    take_down(one);
    take_down(other);
    take_down(next);
    rondo_flights_fini(&flights);
}

static void test_running_and_held_flights_are_counted(void **state) {
    (void)state;
    struct rondo_key a = test_key("a");
    struct rondo_flight *f[3];
    for (int i = 0; i < 3; i++) f[i] = take_off("a", 1, 0);
    assert_ptr_equal(rondo_flights_held(&flights, 1, &a), f[0]);
    rondo_flight_move(f[0], RONDO_FLIGHT_QUEUED);
    rondo_flight_move(f[1], RONDO_FLIGHT_QUEUED);
    assert_ptr_equal(rondo_flights_held(&flights, 1, &a), f[2]);
    assert_int_equal(rondo_flights_running(&flights, 1, &a), 0);
    rondo_flight_move(f[0], RONDO_FLIGHT_RUNNING);
    rondo_flight_move(f[0], RONDO_FLIGHT_LATE);
    rondo_flight_move(f[1], RONDO_FLIGHT_RUNNING);
    assert_int_equal(rondo_flights_running(&flights, 1, &a), 2);
    f[1]->is_private = true;
    assert_int_equal(rondo_flights_running(&flights, 1, &a), 1);
    for (int i = 0; i < 3; i++) take_down(f[i]);
    rondo_flights_fini(&flights);
}

static void test_waiters_leave_in_order(void **state) {
    (void)state;
    struct rondo_flight *f = take_off("a", 1, 0);
    struct rondo_waiter *w[3];
    for (uint32_t i = 0; i < 3; i++) {
        w[i] = rondo_waiter_new(&nobody, i, 0);
        rondo_flight_join(f, w[i]);
    }
    assert_int_equal(f->n_waiters, 3);
    rondo_flight_leave(f, w[1]);
    rondo_waiter_free(w[1]);
    struct rondo_list out;
    rondo_list_init(&out);
    rondo_flight_leave_all(f, &out);
    assert_int_equal(f->n_waiters, 0);
    for (uint32_t i = 0; i < 3; i += 2) {
        assert_ptr_equal(rondo_list_pop_front(&out), &w[i]->link);
        assert_null(w[i]->flight);
        rondo_waiter_free(w[i]);
    }
    take_down(f);
    rondo_flights_fini(&flights);
}

/* ------------------------------------------------------------------- swarm --- */

enum { KEYS = 4, CLIENTS = 5, OPS = 60, SEEDS = 200, READS = CLIENTS * OPS };

static struct test_cache t;

static struct {
    uint64_t random, seed;
    uint64_t event;               /* counts what happens, in order */
    uint64_t written[KEYS];       /* the event of a key's last write, removal or flush */
    uint64_t put[KEYS];           /* the same if that was a put, else 0 */
    uint64_t started[TEST_LOG];   /* of a load, by its number */
    uint64_t joined_after[READS]; /* the key's last write when a read began to wait */
    unsigned key_of[READS];
    unsigned pending[READS], ended[READS];
    unsigned n_reads, n_loads, clients_left;
} swarm;

#define SWARM_CHECK(x)                                                                             \
    do {                                                                                           \
        if (!(x)) fail_msg("seed %llu: %s", (unsigned long long)swarm.seed, #x);                   \
    } while (0)

static uint64_t draw(uint64_t n) {
    return rondo_random_below(&swarm.random, n);
}

/* A value says where it comes from: "L<load>" or "P<event>". */
static void check_value(unsigned key, const char *text, uint64_t not_before) {
    unsigned long long n = strtoull(text + 1, NULL, 10);
    if (text[0] == 'L')
        SWARM_CHECK(swarm.started[n] > not_before);
    else
        SWARM_CHECK(text[0] == 'P' && n == swarm.put[key]);
}

static void swarm_load_key(const struct rondo_load *load, size_t i) {
    char text[32];
    unsigned number = swarm.n_loads++;
    RONDO_CHECK(number < TEST_LOG);
    swarm.started[number] = ++swarm.event;
    int len = snprintf(text, sizeof text, "L%u", number);
    switch (draw(8)) {
    case 0:
        rondo_load_absent(load, i);
        break;
    case 1:
        rondo_load_fail(load, i, RONDO_ERR_LOAD, "no");
        break;
    case 2:
        break; /* no answer */
    case 3:
        rondo_load_value(load, i, text, (size_t)len, 0);
        rondo_load_value(load, i, "twice", 5, 0);
        rondo_load_value(load, load->n + 3, "nobody asked", 12, 0);
        break;
    default:
        rondo_load_value(load, i, text, (size_t)len, 0);
        break;
    }
}

static void swarm_load(struct test_source *s, const struct rondo_load *load) {
    (void)s;
    (void)rondo_job_sleep(draw(10) == 0 ? 50 * RONDO_MS : draw(6) * RONDO_MS);
    if (draw(12) == 0) {
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, draw(2) ? RONDO_ERR_LOAD : RONDO_ERR_CONNECT,
                        "down");
        return;
    }
    for (size_t i = 0; i < load->n; i++) swarm_load_key(load, i);
}

static void swarm_collect(void *arg, uint64_t id, struct rondo_answer *answer) {
    (void)arg;
    struct test_answer a = test_note(answer);
    swarm.ended[id]++;
    if (a.outcome != RONDO_VALUE) return;
    SWARM_CHECK(a.text[0] == 'L'); /* a wait is ended by a load */
    check_value(swarm.key_of[id], a.text, swarm.joined_after[id]);
}

static void swarm_read(unsigned key, const struct rondo_key *k) {
    unsigned id = swarm.n_reads++;
    swarm.key_of[id] = key;
    swarm.joined_after[id] = swarm.written[key];
    struct rondo_read read = {.done = {.fn = swarm_collect, .arg = &t, .id = id}};
    if (draw(4) == 0) read.wait_ns = (1 + draw(8)) * RONDO_MS;
    struct rondo_answer a;
    enum rondo_outcome outcome = rondo_cache_get(t.cache, k, &read, &a);
    swarm.pending[id] = outcome == RONDO_PENDING;
    if (outcome == RONDO_PENDING) return;
    struct test_answer note = test_note(&a);
    if (outcome == RONDO_VALUE) check_value(key, note.text, swarm.written[key]);
}

static void swarm_write(unsigned key, const struct rondo_key *k) {
    char text[32];
    struct rondo_answer a;
    uint64_t event = ++swarm.event;
    int len = snprintf(text, sizeof text, "P%llu", (unsigned long long)event);
    (void)rondo_cache_put(t.cache, k, rondo_slice_of(text, (size_t)len), NULL, &a);
    swarm.written[key] = swarm.put[key] = event;
}

static void swarm_forget(unsigned key, const struct rondo_key *k) {
    (void)rondo_cache_invalidate(t.cache, k);
    swarm.written[key] = ++swarm.event;
    swarm.put[key] = 0;
}

static void swarm_flush(void) {
    rondo_keyspace_flush(t.cache->ks, draw(2) ? 0 : RONDO_ALL_SPACES);
    for (unsigned i = 0; i < KEYS; i++) {
        swarm.written[i] = ++swarm.event;
        swarm.put[i] = 0;
    }
}

struct census {
    const struct rondo_spot *at;
    unsigned current, calls;
};

static void count_flight(void *arg, struct rondo_flight *f) {
    struct census *c = arg;
    if (f->hash != c->at->hash) return;
    c->calls += f->state == RONDO_FLIGHT_RUNNING || f->state == RONDO_FLIGHT_LATE;
    c->current += !rondo_flight_is_superseded(f, c->at->shard->epochs[0]);
}

static void check_flights(const struct rondo_key *k) {
    struct rondo_spot at;
    rondo_keyspace_spot(t.cache->ks, &t.cache->policy, k, 0, &at);
    struct census c = {.at = &at};
    rondo_flights_each(&at.shard->flights, count_flight, &c);
    SWARM_CHECK(c.current <= 1 && c.calls <= RONDO_FLIGHT_CALLS_MAX);
}

static void act(void) {
    char text[2] = {(char)('a' + draw(KEYS)), 0};
    unsigned key = (unsigned)(text[0] - 'a');
    struct rondo_key k = test_key(text);
    switch (draw(12)) {
    case 0:
        swarm_write(key, &k);
        break;
    case 1:
    case 2:
        swarm_forget(key, &k);
        break;
    case 3:
        if (draw(4) == 0) swarm_flush();
        break;
    case 4:
        (void)!rondo_cache_refresh(t.cache, &k);
        break;
    default:
        swarm_read(key, &k);
        break;
    }
    check_flights(&k);
}

static void client_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    unsigned *left = state;
    act();
    if (--*left == 0) {
        rondo_msg_free(m);
        rondo_actor_stop(self);
        swarm.clients_left--;
        return;
    }
    RONDO_CHECK(rondo_send_after(self, m, draw(4) * RONDO_MS, NULL) == RONDO_OK);
}

static struct rondo_cache_options swarm_options(void) {
    struct rondo_cache_options o = test_options(&t);
    o.threads = (struct rondo_threads){.kind = RONDO_THREADS_FIXED, .max = 1 + (unsigned)draw(4)};
    t.source.batch = 1 + draw(4);
    if (draw(2)) o.load_timeout_ns = (2 + draw(20)) * RONDO_MS;
    if (draw(3) == 0) o.queue = 2;
    if (draw(3) == 0) o.waiters = 2;
    if (draw(3) == 0) o.miss_ttl_ns = 10 * RONDO_MS;
    if (draw(3) == 0) o.error_ttl_ns = 10 * RONDO_MS;
    if (draw(3) == 0) o.ttl_ns = 10 * RONDO_MS;
    return o;
}

static void swarm_run(uint64_t seed) {
    memset(&swarm, 0, sizeof swarm);
    memset(&t, 0, sizeof t);
    swarm.seed = swarm.random = seed;
    swarm.clients_left = CLIENTS;
    struct rondo_cache_options o = swarm_options();
    test_begin(&t, seed, &o);
    t.source.script = swarm_load;
    unsigned left[CLIENTS];
    for (unsigned i = 0; i < CLIENTS; i++) {
        rondo_actor *client;
        left[i] = OPS;
        struct rondo_actor_options a = {
            .size = sizeof a, .receive = client_receive, .state = &left[i]};
        assert_int_equal(rondo_spawn(t.rt, &a, &client), RONDO_OK);
        rondo_send(client, rondo_msg_new(1, sizeof(struct rondo_msg)));
        rondo_actor_unref(client);
    }
    bool is_cut_short = draw(8) == 0; /* closed while clients wait and calls run */
    test_advance(&t, is_cut_short ? 50 * RONDO_MS : 60 * RONDO_SEC);
    struct rondo_cache_stats s = test_stats(&t);
    if (!is_cut_short)
        SWARM_CHECK(swarm.clients_left == 0 && s.waiting == 0 && s.flights == 0 && s.queued == 0);
    rondo_cache_close(t.cache);
    for (unsigned i = 0; i < swarm.n_reads; i++) SWARM_CHECK(swarm.ended[i] == swarm.pending[i]);
    rondo_runtime_free(t.rt);
}

static void test_the_invariants_hold_for_many_seeds(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) swarm_run(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_flight_is_found_until_it_is_superseded),
        cmocka_unit_test(test_running_and_held_flights_are_counted),
        cmocka_unit_test(test_waiters_leave_in_order),
        cmocka_unit_test(test_the_invariants_hold_for_many_seeds),
    };
    return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
