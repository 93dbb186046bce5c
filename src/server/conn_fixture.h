/* SPDX-License-Identifier: MIT */
/*
 * conn_fixture.h - a connection on a scripted wire, over a simulated runtime with
 * a plain cache, a cache "slow:{id}" whose source takes a while, and a cache
 * "none:{id}" whose source has nothing.
 */
#ifndef RONDO_SERVER_CONN_FIXTURE_H
#define RONDO_SERVER_CONN_FIXTURE_H

#include "base/hash.h"
#include "base/mem.h"
#include "server/conn.h"
#include <errno.h>

#include "base/test.h"

struct test_wire {
    struct rondo_buf in; /* what the client has sent and the server not received */
    size_t in_used;
    struct rondo_buf out; /* what the server has sent */
    size_t recv_most;     /* bytes of one recv; 0: any */
    size_t send_room;     /* bytes until a send would block */
    bool is_ended;        /* after `in` comes the end */
    unsigned recvs, sends;
    unsigned fail_recv, fail_send; /* the nth call fails for good; 0: none */
};

struct test_server {
    rondo_runtime *rt;
    rondo_keyspace *ks;
    rondo_actor *actor;
    struct rondo_config config;
    struct rondo_service service;
    struct rondo_client *client;
    struct rondo_conn conn;
    struct test_wire wire;
    enum rondo_conn_next next;
    bool steps; /* one completion ends a run of the simulation */
    bool has_conn;
    uint64_t random; /* of the source's delays */
};

static inline ssize_t test_recv(void *self, void *data, size_t n) {
    struct test_wire *w = self;
    if (++w->recvs == w->fail_recv) return -ECONNRESET;
    size_t left = w->in.len - w->in_used;
    if (left == 0) return w->is_ended ? 0 : -EAGAIN;
    if (n > left) n = left;
    if (w->recv_most && n > w->recv_most) n = w->recv_most;
    memcpy(data, w->in.data + w->in_used, n);
    w->in_used += n;
    return (ssize_t)n;
}

static inline ssize_t test_send(void *self, const void *data, size_t n) {
    struct test_wire *w = self;
    if (++w->sends == w->fail_send) return -EPIPE;
    if (n > w->send_room) n = w->send_room;
    if (n == 0) return -EAGAIN;
    RONDO_CHECK(rondo_buf_append(&w->out, data, n) == RONDO_OK);
    w->send_room -= n;
    return (ssize_t)n;
}

/* "<key>", after up to 2 ms */
static inline void test_load(void *connection, const struct rondo_load *load) {
    struct test_server *t = connection;
    (void)rondo_job_sleep(rondo_random_below(&t->random, 2 * RONDO_MS));
    for (size_t i = 0; i < load->n; i++) {
        struct rondo_slice key = load->keys[i].key;
        if (key.len > 4 && memcmp(key.data, "none", 4) == 0)
            rondo_load_absent(load, i);
        else
            rondo_load_value(load, i, key.data, key.len, 0);
    }
}

static const struct rondo_source_ops test_source = {
    .abi = RONDO_SOURCE_ABI, .type = "test", .load = test_load};

static inline void test_open_cache(struct test_server *t, const char *name, const char *pattern) {
    struct rondo_cache_options o = {.size = sizeof o,
                                    .name = name,
                                    .pattern = pattern,
                                    .source = {&test_source, t},
                                    .keyspace = t->ks,
                                    .ttl_ns = RONDO_OFF};
    rondo_cache *cache;
    assert_int_equal(rondo_cache_open(t->rt, &o, &cache), RONDO_OK);
}

static inline void test_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct test_server *t = state;
    (void)self;
    if (m->type == RONDO_SESSION_REPLY && t->has_conn)
        t->next = rondo_conn_complete(&t->conn, (struct rondo_reply *)(void *)m,
                                      rondo_runtime_now_ns(t->rt));
    if ((m->type == RONDO_HUB_REPLY || m->type == RONDO_HUB_PUSH) && t->has_conn)
        t->next = rondo_conn_hub(&t->conn, m, rondo_runtime_now_ns(t->rt));
    rondo_msg_free(m);
    if (t->steps) rondo_runtime_stop(t->rt);
}

static inline void test_connect(struct test_server *t) {
    const struct rondo_wire wire = {test_recv, test_send, &t->wire};
    struct rondo_actor_options o = {.size = sizeof o, .receive = test_receive, .state = t};
    t->wire = (struct test_wire){.send_room = SIZE_MAX};
    assert_int_equal(rondo_clients_new(&t->service.clients, &t->client), RONDO_OK);
    assert_int_equal(rondo_spawn(t->rt, &o, &t->actor), RONDO_OK);
    rondo_clients_enter(&t->service.clients, t->client, t->actor);
    rondo_conn_init(&t->conn, &t->service, 0, t->client, t->actor, &wire);
    t->has_conn = true;
    t->next = RONDO_CONN_WAIT;
}

static inline void test_disconnect(struct test_server *t) {
    if (!t->has_conn) return;
    t->has_conn = false;
    rondo_conn_fini(&t->conn);
    rondo_actor_stop(t->actor);
    rondo_actor_unref(t->actor);
    rondo_clients_free(&t->service.clients, t->client);
    rondo_buf_fini(&t->wire.in);
    rondo_buf_fini(&t->wire.out);
}

static inline void test_begin(struct test_server *t, uint64_t seed,
                              const struct rondo_service_limits *limits) {
    *t = (struct test_server){.random = seed};
    struct rondo_runtime_options rt = {.size = sizeof rt, .simulate = true, .seed = seed};
    struct rondo_keyspace_options ks = {.size = sizeof ks, .memory_bytes = 64 << 20};
    assert_int_equal(rondo_runtime_new(&rt, &t->rt), RONDO_OK);
    assert_int_equal(rondo_keyspace_new(t->rt, &ks, &t->ks), RONDO_OK);
    test_open_cache(t, "slow", "slow:{id}");
    test_open_cache(t, "none", "none:{id}");
    assert_int_equal(rondo_service_init(&t->service, t->rt, t->ks, &t->config, limits), RONDO_OK);
    test_connect(t);
}

static inline void test_end(struct test_server *t) {
    test_disconnect(t);
    rondo_keyspace_free(t->ks);
    rondo_runtime_free(t->rt);
    rondo_service_fini(&t->service);
}

static inline uint64_t test_now(const struct test_server *t) {
    return rondo_runtime_now_ns(t->rt);
}

/* Everything that can happen without the client happens. */
static inline void test_settle(struct test_server *t) {
    t->steps = false;
    enum rondo_err err = rondo_runtime_run(t->rt);
    assert_true(err == RONDO_OK || err == RONDO_ERR_STALLED);
    while (t->next == RONDO_CONN_AGAIN) t->next = rondo_conn_continue(&t->conn, test_now(t));
}

/* At most one completion happens. */
static inline void test_step(struct test_server *t) {
    t->steps = true;
    enum rondo_err err = rondo_runtime_run(t->rt);
    assert_true(err == RONDO_OK || err == RONDO_ERR_STALLED);
}

static inline void test_sends(struct test_server *t, const void *data, size_t n) {
    assert_int_equal(rondo_buf_append(&t->wire.in, data, n), RONDO_OK);
}

/* The client sends text, with \n for \r\n. */
static inline void test_says(struct test_server *t, const char *text) {
    for (; *text; text++)
        if (*text == '\n')
            test_sends(t, "\r\n", 2);
        else
            test_sends(t, text, 1);
}

static inline void test_readable(struct test_server *t) {
    t->next = rondo_conn_ready(&t->conn, RONDO_IO_READ, test_now(t));
    while (t->next == RONDO_CONN_AGAIN) t->next = rondo_conn_continue(&t->conn, test_now(t));
}

/* The server has sent this and no more, with \n for \r\n. */
static inline void assert_sent(const struct test_server *t, const char *text) {
    struct rondo_buf want = {0};
    for (; *text; text++)
        assert_int_equal(*text == '\n' ? rondo_buf_append(&want, "\r\n", 2)
                                       : rondo_buf_append(&want, text, 1),
                         RONDO_OK);
    if (want.len != t->wire.out.len ||
        (want.len && memcmp(want.data, t->wire.out.data, want.len) != 0))
        fail_msg("sent   %.*s\nwanted %.*s", (int)t->wire.out.len,
                 t->wire.out.data ? t->wire.out.data : "", (int)want.len,
                 want.data ? want.data : "");
    rondo_buf_fini(&want);
}

#endif
