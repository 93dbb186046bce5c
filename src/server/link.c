/* SPDX-License-Identifier: MIT */
#include "server/link.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/conn.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LAST_BYTES = 16 * 1024, LAST_ROUNDS = 64 };

struct link {
    struct rondo_conn conn;
    struct rondo_service *service;
    struct rondo_client *client;
    rondo_io *io;
    rondo_timer *idle;
    int fd; /* -1: the connection is over */
};

/* ---- the wire ------------------------------------------------------------------- */

static ssize_t wire_recv(void *self, void *data, size_t n) {
    ssize_t got = recv(((struct link *)self)->fd, data, n, MSG_DONTWAIT);
    return got < 0 ? -errno : got;
}

static ssize_t wire_send(void *self, const void *data, size_t n) {
    ssize_t sent = send(((struct link *)self)->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

/* ---- the actor ------------------------------------------------------------------ */

/* Closing a socket with unread bytes resets the connection, and the reset can
 * overtake the last replies: read what is there first. */
static void close_socket(int fd) {
    char bytes[LAST_BYTES];
    (void)shutdown(fd, SHUT_WR);
    for (int i = 0; i < LAST_ROUNDS; i++)
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) break;
    (void)close(fd);
}

/* After the last message, on any thread: the watch is gone by then. */
static void link_free(void *state) {
    struct link *l = state;
    rondo_conn_fini(&l->conn);
    if (l->fd >= 0) close_socket(l->fd);
    rondo_clients_free(&l->service->clients, l->client);
    rondo_free(l);
}

static void end(struct link *l, rondo_actor *self) {
    if (l->fd < 0) return;
    rondo_io_unwatch(l->io);
    if (l->idle) (void)rondo_timer_cancel(l->idle);
    l->io = NULL;
    l->idle = NULL;
    rondo_clients_leave(&l->service->clients, l->client);
    close_socket(l->fd);
    l->fd = -1;
    rondo_actor_stop(self);
}

static void start(struct link *l, rondo_actor *self) {
    uint64_t idle_ns = rondo_service_idle_ns(l->service);
    if (rondo_load_acquire(&l->service->is_stopping)) { /* partner: close_clients */
        end(l, self);
        return;
    }
    enum rondo_err err = rondo_io_watch(self, l->fd, &l->io);
    if (!err && idle_ns > 0) {
        uint64_t period = idle_ns / 4 > RONDO_MS ? idle_ns / 4 : RONDO_MS;
        err = rondo_send_every(self, RONDO_SESSION_IDLE, period, &l->idle);
    }
    if (!err) return;
    char peer[RONDO_CLIENT_ADDRESS];
    rondo_client_address_format(&l->client->peer, peer);
    rondo_log(RONDO_LOG_ERROR, "client %s: %s", peer, rondo_err_text(err));
    end(l, self);
}

static enum rondo_conn_next handle(struct link *l, struct rondo_msg *m) {
    uint64_t now_ns = rondo_runtime_now_ns(l->service->rt);
    switch (m->type) {
    case RONDO_MSG_IO:
        return rondo_conn_ready(&l->conn, ((struct rondo_io_ready *)(void *)m)->events, now_ns);
    case RONDO_SESSION_REPLY:
        return rondo_conn_complete(&l->conn, (struct rondo_reply *)(void *)m, now_ns);
    case RONDO_HUB_REPLY:
    case RONDO_HUB_PUSH:
        return rondo_conn_hub(&l->conn, m, now_ns);
    case RONDO_SESSION_CONTINUE:
        return rondo_conn_continue(&l->conn, now_ns);
    case RONDO_SESSION_DRAIN:
        return rondo_conn_drain(&l->conn, now_ns);
    case RONDO_SESSION_SHUT:
        return rondo_conn_shut(&l->conn, now_ns);
    case RONDO_SESSION_IDLE:
        return rondo_conn_idle(&l->conn, now_ns);
    default: /* KILL */
        return RONDO_CONN_END;
    }
}

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct link *l = state;
    if (l->fd < 0) {
        rondo_msg_free(m);
        return;
    }
    if (m->type == RONDO_SESSION_START) {
        start(l, self);
        rondo_msg_free(m);
        return;
    }
    enum rondo_conn_next next = handle(l, m);
    rondo_msg_free(m);
    if (next == RONDO_CONN_END) {
        end(l, self);
    } else if (next == RONDO_CONN_AGAIN) {
        void *again = rondo_msg_new(RONDO_SESSION_CONTINUE, sizeof(struct rondo_msg));
        if (again)
            rondo_send(self, again);
        else
            end(l, self);
    }
}

enum rondo_err rondo_link_start(struct rondo_service *service, unsigned worker, int fd,
                                struct rondo_client *client) {
    struct rondo_actor_options options = {
        .size = sizeof options, .name = "client", .receive = receive, .pin = worker + 1};
    rondo_actor *actor = NULL;
    enum rondo_err err = RONDO_ERR_NOMEM;
    struct link *l = rondo_zalloc(sizeof *l);
    void *first = rondo_msg_new(RONDO_SESSION_START, sizeof(struct rondo_msg));
    if (!l || !first) goto err_alloc;

    *l = (struct link){.service = service, .client = client, .fd = fd};
    client->fd = fd;
    client->since_ns = rondo_runtime_now_ns(service->rt);
    options.state = l;
    options.free_state = link_free;
    err = rondo_spawn(service->rt, &options, &actor);
    if (err) goto err_alloc;
    /* Whole before the registry's users and the first message can reach it. */
    const struct rondo_wire wire = {wire_recv, wire_send, l};
    rondo_conn_init(&l->conn, service, worker, client, actor, &wire);
    rondo_clients_enter(&service->clients, client, actor);
    rondo_send(actor, first);
    rondo_actor_unref(actor);
    return RONDO_OK;

err_alloc:
    rondo_free(l);
    rondo_msg_free(first);
    rondo_clients_free(&service->clients, client);
    (void)close(fd);
    return err;
}
