/* SPDX-License-Identifier: MIT */
#include "cli/client.h"

#include "base/check.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_WORDS = 16, READ_BYTES = 16384 };

static enum rondo_err fail(struct rondo_client *c, enum rondo_err err, const char *what,
                           const char *detail) {
    snprintf(c->error, sizeof c->error, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
    return err;
}

/* "host:port" or "[v6]:port" into two strings. */
static bool split_address(const char *address, char *host, size_t host_size, const char **port) {
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon[1] == 0) return false;
    const char *from = address;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && from[0] == '[' && from[len - 1] == ']') {
        from++;
        len -= 2;
    }
    if (len == 0 || len >= host_size) return false;
    memcpy(host, from, len);
    host[len] = 0;
    *port = colon + 1;
    return true;
}

static int connect_any(const struct addrinfo *list) {
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0) continue;
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) return fd;
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return -1;
}

static enum rondo_err open_socket(struct rondo_client *c, const char *address) {
    char host[256];
    const char *port;
    if (!split_address(address, host, sizeof host, &port))
        return fail(c, RONDO_ERR_INVALID, "an address is HOST:PORT, not", address);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0) return fail(c, RONDO_ERR_CONNECT, address, gai_strerror(rc));
    c->fd = connect_any(list);
    int saved = errno;
    freeaddrinfo(list);
    if (c->fd < 0) {
        char text[128];
        return fail(c, RONDO_ERR_CONNECT, address, strerror_r(saved, text, sizeof text));
    }
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return RONDO_OK;
}

enum rondo_err rondo_client_connect(struct rondo_client *c, const char *address) {
    memset(c, 0, sizeof *c);
    c->fd = -1;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    rondo_resp_reply_init(&c->reply, &limits);
    enum rondo_err err = open_socket(c, address);
    const struct rondo_resp_node *hello = NULL;
    if (!err) err = rondo_client_say(c, &hello, "HELLO", "3", (char *)NULL);
    if (!err && hello->type != RONDO_RESP_MAP)
        err = fail(c, RONDO_ERR_PROTOCOL, address, "no answer to HELLO 3 as Redis 6 gives it");
    return err;
}

void rondo_client_close(struct rondo_client *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    rondo_resp_reply_fini(&c->reply);
    rondo_buf_fini(&c->in);
    rondo_buf_fini(&c->out);
}

static enum rondo_err send_all(struct rondo_client *c) {
    for (size_t sent = 0; sent < c->out.len;) {
        ssize_t n = send(c->fd, c->out.data + sent, c->out.len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail(c, RONDO_ERR_CONNECT, "connection lost", NULL);
        sent += (size_t)n;
    }
    c->out.len = 0;
    return RONDO_OK;
}

static enum rondo_err read_more(struct rondo_client *c, size_t need) {
    rondo_buf_consume(&c->in, c->in_pos);
    c->in_pos = 0;
    if (rondo_buf_reserve(&c->in, need > READ_BYTES ? need : READ_BYTES))
        return fail(c, RONDO_ERR_NOMEM, "out of memory", NULL);
    ssize_t n;
    do n = recv(c->fd, c->in.data + c->in.len, c->in.cap - c->in.len, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0) return fail(c, RONDO_ERR_CONNECT, "connection lost", NULL);
    c->in.len += (size_t)n;
    return RONDO_OK;
}

static enum rondo_err receive(struct rondo_client *c, const struct rondo_resp_node **out) {
    for (;;) {
        size_t used = 0;
        const char *data = c->in.data ? c->in.data + c->in_pos : "";
        enum rondo_resp_status status =
            rondo_resp_reply_parse(&c->reply, data, c->in.len - c->in_pos, &used);
        c->in_pos += used;
        if (status == RONDO_RESP_BAD) return fail(c, RONDO_ERR_PROTOCOL, c->reply.error, NULL);
        if (status == RONDO_RESP_NOMEM) return fail(c, RONDO_ERR_NOMEM, "out of memory", NULL);
        if (status == RONDO_RESP_MORE) {
            enum rondo_err err = read_more(c, c->reply.need);
            if (err) return err;
            continue;
        }
        *out = rondo_resp_node_plain(c->reply.nodes);
        if ((*out)->type != RONDO_RESP_PUSH) return RONDO_OK;
    }
}

enum rondo_err rondo_client_call(struct rondo_client *c, const struct rondo_slice *args, size_t n,
                                 const struct rondo_resp_node **out) {
    c->out.len = 0;
    enum rondo_err err = rondo_resp_write_command(&c->out, args, n);
    if (err) return fail(c, err, "out of memory", NULL);
    err = send_all(c);
    return err ? err : receive(c, out);
}

enum rondo_err rondo_client_say(struct rondo_client *c, const struct rondo_resp_node **out, ...) {
    struct rondo_slice words[MAX_WORDS];
    size_t n = 0;
    va_list args;
    va_start(args, out);
    for (const char *w; (w = va_arg(args, const char *)) != NULL; n++) {
        RONDO_CHECK(n < MAX_WORDS);
        words[n] = rondo_slice_str(w);
    }
    va_end(args);
    return rondo_client_call(c, words, n, out);
}
