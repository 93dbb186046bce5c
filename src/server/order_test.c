/* SPDX-License-Identifier: MIT */
/* One connection, one order: a pipeline over a source that takes its time gives the
 * answers of a serial run, for every interleaving that a seed finds of loads,
 * reads of the socket and short sends. */
#include "server/conn_fixture.h"

enum { KEYS = 5, COMMANDS = 60, SEEDS = 300, VALUE = 512 };

static const char *const keys[KEYS] = {"slow:a", "slow:b", "none:c", "d", "e"};

/* The serial run: what the keyspace is after each command, and what is answered. */
struct model {
    char values[KEYS][VALUE]; /* "": not in memory */
    struct rondo_buf out;
};

static void answer(struct model *m, const char *value) {
    enum rondo_err err = *value ? rondo_buf_printf(&m->out, "$%zu\r\n%s\r\n", strlen(value), value)
                                : rondo_buf_append_str(&m->out, "$-1\r\n");
    assert_int_equal(err, RONDO_OK);
}

static void answer_int(struct model *m, int n) {
    assert_int_equal(rondo_buf_printf(&m->out, ":%d\r\n", n), RONDO_OK);
}

static void load(struct model *m, unsigned k) {
    if (!m->values[k][0] && k < 2) (void)snprintf(m->values[k], VALUE, "%s", keys[k]);
}

static int count(const struct model *m) {
    int n = 0;
    for (unsigned k = 0; k < KEYS; k++) n += m->values[k][0] != '\0';
    return n;
}

static void forget(struct model *m, unsigned k, int *n) {
    *n += m->values[k][0] != '\0';
    m->values[k][0] = '\0';
}

/* One random command: to the connection, and to the model. */
static void add_command(struct test_server *t, struct model *m, uint64_t *random, unsigned i) {
    unsigned k = (unsigned)rondo_random_below(random, KEYS);
    unsigned j = (unsigned)rondo_random_below(random, KEYS);
    char line[128];
    int n = 0;
    switch (rondo_random_below(random, 12)) {
    case 0:
    case 1:
    case 2:
        (void)snprintf(line, sizeof line, "GET %s\n", keys[k]);
        load(m, k);
        answer(m, m->values[k]);
        break;
    case 3:
        (void)snprintf(line, sizeof line, "SET %s v%u\n", keys[k], i);
        (void)snprintf(m->values[k], VALUE, "v%u", i);
        assert_int_equal(rondo_buf_append_str(&m->out, "+OK\r\n"), RONDO_OK);
        break;
    case 4:
        (void)snprintf(line, sizeof line, "DEL %s %s\n", keys[k], keys[j]);
        forget(m, k, &n);
        forget(m, j, &n);
        answer_int(m, n);
        break;
    case 5:
        (void)snprintf(line, sizeof line, "MGET %s %s\n", keys[k], keys[j]);
        load(m, k);
        load(m, j);
        assert_int_equal(rondo_buf_append_str(&m->out, "*2\r\n"), RONDO_OK);
        answer(m, m->values[k]);
        answer(m, m->values[j]);
        break;
    case 6:
        (void)snprintf(line, sizeof line, "EXISTS %s %s\n", keys[k], keys[j]);
        answer_int(m, (m->values[k][0] != '\0') + (m->values[j][0] != '\0'));
        break;
    case 7:
        (void)snprintf(line, sizeof line, "DBSIZE\n");
        answer_int(m, count(m));
        break;
    case 8:
        (void)snprintf(line, sizeof line, "APPEND %s +%u\n", keys[k], i);
        load(m, k);
        (void)snprintf(m->values[k] + strlen(m->values[k]), 8, "+%u", i);
        answer_int(m, (int)strlen(m->values[k]));
        break;
    case 9:
        (void)snprintf(line, sizeof line, "SET %s w%u GET\n", keys[k], i);
        load(m, k);
        answer(m, m->values[k]);
        (void)snprintf(m->values[k], VALUE, "w%u", i);
        break;
    case 10:
        (void)snprintf(line, sizeof line, "GETDEL %s\n", keys[k]);
        load(m, k);
        answer(m, m->values[k]);
        m->values[k][0] = '\0';
        break;
    default:
        (void)snprintf(line, sizeof line, "PING\n");
        assert_int_equal(rondo_buf_append_str(&m->out, "+PONG\r\n"), RONDO_OK);
    }
    test_says(t, line);
}

static void run_seed(uint64_t seed) {
    struct test_server t;
    struct model m = {{{0}}, {0}};
    uint64_t random = seed;
    test_begin(&t, seed, NULL);
    for (unsigned i = 0; i < COMMANDS; i++) add_command(&t, &m, &random, i);
    struct rondo_buf all = t.wire.in;
    t.wire.in = (struct rondo_buf){0};

    size_t told = 0;
    t.wire.send_room = 0;
    for (int i = 0; i < 20000 && t.wire.out.len < m.out.len; i++) {
        size_t part;
        switch (rondo_random_below(&random, 3)) {
        case 0:
            part = (size_t)rondo_random_below(&random, 80);
            if (part > all.len - told) part = all.len - told;
            test_sends(&t, all.data + told, part);
            told += part;
            test_readable(&t);
            break;
        case 1:
            t.wire.send_room = (size_t)rondo_random_below(&random, 60);
            t.next = rondo_conn_ready(&t.conn, RONDO_IO_WRITE, test_now(&t));
            break;
        default:
            test_step(&t);
        }
        assert_int_not_equal(t.next, RONDO_CONN_END);
    }
    if (m.out.len != t.wire.out.len || memcmp(m.out.data, t.wire.out.data, m.out.len) != 0)
        fail_msg("seed %llu\nserial %.*s\nsent   %.*s", (unsigned long long)seed, (int)m.out.len,
                 m.out.data, (int)t.wire.out.len, t.wire.out.data);
    rondo_buf_fini(&all);
    rondo_buf_fini(&m.out);
    test_end(&t);
}

static void a_pipeline_gives_the_answers_of_a_serial_run(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) run_seed(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_gives_the_answers_of_a_serial_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
