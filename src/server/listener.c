/* SPDX-License-Identifier: MIT */
#include "server/listener.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/link.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096, ACCEPTS = 64 };
enum { MSG_START = 1, MSG_AGAIN, MSG_TICK };

#define RETRY_NS (100 * RONDO_MS)

struct listener {
    struct rondo_service *service;
    rondo_io *io;
    rondo_timer *tick;
    int fd;
    unsigned next_worker;
    bool waits; /* a MSG_AGAIN is under way */
    uint64_t last_commands, last_ns;
    struct rondo_log_limit limit;
};

/* ---- opening -------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t fill_address(const struct rondo_config_address *from, union address *out) {
    memset(out, 0, sizeof *out);
    if (from->is_ipv6) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(from->port);
        RONDO_CHECK(inet_pton(AF_INET6, from->host, &out->v6.sin6_addr) == 1);
        return sizeof out->v6;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(from->port);
    RONDO_CHECK(inet_pton(AF_INET, from->host, &out->v4.sin_addr) == 1);
    return sizeof out->v4;
}

static uint16_t port_of(const union address *a) {
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

enum rondo_err rondo_listener_open(const struct rondo_config_address *address, int *fd,
                                   uint16_t *port, char *why, size_t size) {
    union address a;
    socklen_t len = fill_address(address, &a);
    const int yes = 1;
    const char *step = "socket";
    int s = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s < 0) goto err_socket;
    step = "setsockopt";
    if (setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0) goto err_open;
    step = "bind";
    if (bind(s, &a.any, len) < 0) goto err_open;
    step = "listen";
    if (listen(s, BACKLOG) < 0) goto err_open;
    step = "getsockname";
    if (getsockname(s, &a.any, &len) < 0) goto err_open;
    *fd = s;
    *port = port_of(&a);
    return RONDO_OK;

err_open:
    len = (socklen_t)errno;
    (void)close(s);
    errno = (int)len;
err_socket:
    (void)snprintf(why, size, "cannot listen on %s%s%s:%u: %s (%s)", address->is_ipv6 ? "[" : "",
                   address->host, address->is_ipv6 ? "]" : "", address->port, strerror(errno),
                   step);
    return RONDO_ERR_SYSTEM;
}

/* ---- accepting ------------------------------------------------------------------ */

static struct rondo_client_address short_address(const union address *a) {
    struct rondo_client_address out = {.port = port_of(a), .is_ipv6 = a->any.sa_family == AF_INET6};
    if (out.is_ipv6)
        memcpy(out.bytes, &a->v6.sin6_addr, 16);
    else
        memcpy(out.bytes, &a->v4.sin_addr, 4);
    return out;
}

static void refuse(struct listener *l, int fd, enum rondo_err err) {
    static const char full[] = "-ERR max number of clients reached\r\n";
    static const char memory[] = "-OOM out of memory\r\n";
    struct rondo_service_worker *worker = &l->service->workers[0];
    rondo_service_count(worker, rejected, 1);
    if (err == RONDO_ERR_FULL)
        (void)send(fd, full, sizeof full - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    else
        (void)send(fd, memory, sizeof memory - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)close(fd);
}

static void welcome(struct listener *l, int fd, const union address *peer) {
    struct rondo_client *client = NULL;
    enum rondo_err err = rondo_clients_new(&l->service->clients, &client);
    if (err) {
        refuse(l, fd, err);
        return;
    }
    const int yes = 1;
    union address local;
    socklen_t len = sizeof local;
    memset(&local, 0, sizeof local);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void)getsockname(fd, &local.any, &len);
    client->peer = short_address(peer);
    client->local = short_address(&local);
    rondo_service_count(&l->service->workers[0], connections, 1);
    unsigned worker = l->next_worker++ % l->service->n_workers;
    err = rondo_link_start(l->service, worker, fd, client);
    if (err)
        rondo_log_limited(&l->limit, RONDO_LOG_ERROR, "a connection was dropped: %s",
                          rondo_err_text(err));
}

static void call_again(struct listener *l, rondo_actor *self, uint64_t delay_ns) {
    if (l->waits) return;
    void *m = rondo_msg_new(MSG_AGAIN, sizeof(struct rondo_msg));
    l->waits = m && rondo_send_after(self, m, delay_ns, NULL) == RONDO_OK;
    /* Without memory for that the next tick tries. */
}

/* False if accept must be tried again later. */
static bool is_over(struct listener *l, int error) {
    switch (error) {
    case EAGAIN:
        return true;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        rondo_log_limited(&l->limit, RONDO_LOG_WARN, "cannot accept connections: %s",
                          strerror(error));
        return false;
    default:
        rondo_log_limited(&l->limit, RONDO_LOG_ERROR, "accept: %s", strerror(error));
        return false;
    }
}

static bool is_of_one_client(int error) {
    return error == ECONNABORTED || error == EINTR || error == EPERM || error == EPROTO;
}

static void accept_all(struct listener *l, rondo_actor *self) {
    for (int i = 0; i < ACCEPTS; i++) {
        union address peer;
        socklen_t len = sizeof peer;
        memset(&peer, 0, sizeof peer);
        int fd = accept4(l->fd, &peer.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            welcome(l, fd, &peer);
        } else if (!is_of_one_client(errno)) {
            if (!is_over(l, errno)) call_again(l, self, RETRY_NS);
            return;
        }
    }
    call_again(l, self, 0);
}

/* ---- the actor ------------------------------------------------------------------ */

static void tick(struct listener *l) {
    struct rondo_service_counts counts;
    uint64_t now_ns = rondo_runtime_now_ns(l->service->rt);
    rondo_service_sum(l->service, &counts);
    uint64_t elapsed_ns = now_ns - l->last_ns;
    if (counts.commands >= l->last_commands && elapsed_ns > 0) {
        double rate = (double)(counts.commands - l->last_commands) * 1e9 / (double)elapsed_ns;
        rondo_store_relaxed(&l->service->ops_per_sec, (uint64_t)rate); /* read by INFO */
    }
    l->last_commands = counts.commands;
    l->last_ns = now_ns;
}

static void start(struct listener *l, rondo_actor *self) {
    enum rondo_err err = rondo_io_watch(self, l->fd, &l->io);
    if (!err) err = rondo_send_every(self, MSG_TICK, RONDO_SEC, &l->tick);
    if (err) rondo_log(RONDO_LOG_ERROR, "the listener cannot start: %s", rondo_err_text(err));
    l->last_ns = rondo_runtime_now_ns(l->service->rt);
    accept_all(l, self); /* who came before the watch */
}

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct listener *l = state;
    uint32_t type = m->type;
    rondo_msg_free(m);
    if (type == MSG_START) start(l, self);
    if (type == MSG_AGAIN) l->waits = false;
    if (type == MSG_TICK) tick(l);
    if (type != MSG_START && !l->waits) accept_all(l, self);
}

static void listener_free(void *state) {
    struct listener *l = state;
    (void)close(l->fd);
    rondo_timer_free(l->tick);
    rondo_free(l);
}

enum rondo_err rondo_listener_start(struct rondo_service *service, int fd, rondo_actor **out) {
    struct listener *l = rondo_zalloc(sizeof *l);
    void *first = rondo_msg_new(MSG_START, sizeof(struct rondo_msg));
    enum rondo_err err = RONDO_ERR_NOMEM;
    if (!l || !first) goto err_alloc;
    *l = (struct listener){.service = service, .fd = fd, .limit = {.burst = 2}};
    struct rondo_actor_options options = {.size = sizeof options,
                                          .name = "listener",
                                          .receive = receive,
                                          .state = l,
                                          .free_state = listener_free,
                                          .pin = 1};
    err = rondo_spawn(service->rt, &options, out);
    if (err) goto err_alloc;
    rondo_send(*out, first);
    return RONDO_OK;

err_alloc:
    rondo_free(l);
    rondo_msg_free(first);
    (void)close(fd);
    return err;
}
