/* SPDX-License-Identifier: MIT */
#include "client.h"

#include "actors/job.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

void client_need_files(unsigned n) {
    struct rlimit l;
    rlim_t want = (rlim_t)n + 64;
    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= want) return;
    l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

static int dial(uint16_t port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
        fprintf(stderr, "cannot connect: %s\n", strerror(errno));
        exit(2);
    }
    return fd;
}

void client_connect(struct client_conn *c, int epoll, uint16_t port, bool is_edge) {
    c->fd = dial(port);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    if (is_edge) ev.events |= EPOLLET;
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev)) {
        fprintf(stderr, "cannot watch a connection: %s\n", strerror(errno));
        exit(2);
    }
}

void client_close(struct client_conn *c) {
    close(c->fd);
}

bool client_ask(struct client_conn *c) {
    char text[64];
    int n =
        snprintf(text, sizeof text, "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n", c->key.len, c->key.text);
    c->is_waiting = true;
    c->n_in = 0;
    c->start_ns = bench_now_ns();
    return write(c->fd, text, (size_t)n) == n;
}

static enum client_reply judge(const struct client_conn *c, const char *value) {
    char right[64];
    if (c->n_in == 0 || c->in[c->n_in - 1] != '\n') return CLIENT_PART;
    if (c->in[0] == '-') return CLIENT_ERROR;
    int n = snprintf(right, sizeof right, "$%zu\r\n%s\r\n", strlen(value), value);
    if (c->n_in < (size_t)n && memcmp(c->in, right, c->n_in) == 0) return CLIENT_PART;
    return c->n_in == (size_t)n && memcmp(c->in, right, c->n_in) == 0 ? CLIENT_VALUE : CLIENT_OTHER;
}

enum client_reply client_read(struct client_conn *c, const char *value) {
    ssize_t n = read(c->fd, c->in + c->n_in, sizeof c->in - c->n_in);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return CLIENT_PART;
    if (n <= 0) return CLIENT_LOST;
    c->n_in += (size_t)n;
    enum client_reply reply = judge(c, value ? value : c->key.text);
    if (reply != CLIENT_PART) c->is_waiting = false;
    return reply;
}

static bool receive_stored(int fd, size_t n) {
    char in[5];
    for (; n > 0; n--)
        for (size_t got = 0; got < sizeof in;) {
            ssize_t part = read(fd, in + got, sizeof in - got);
            if (part <= 0) return false;
            got += (size_t)part;
            if (got == sizeof in && memcmp(in, "+OK\r\n", sizeof in) != 0) return false;
        }
    return true;
}

bool client_store_hot(uint16_t port) {
    enum { BATCH = 100, COMMAND = 96 };
    char text[BATCH * COMMAND];
    int fd = dial(port);
    bool is_fine = true;
    for (uint64_t i = 0; i < HERD_HOT && is_fine; i += BATCH) {
        size_t len = 0;
        for (uint64_t k = i; k < i + BATCH; k++) {
            struct herd_key key;
            herd_key_make(&key, false, k);
            len += (size_t)snprintf(text + len, COMMAND,
                                    "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", key.len,
                                    key.text, key.len, key.text);
        }
        is_fine = write(fd, text, len) == (ssize_t)len && receive_stored(fd, BATCH);
    }
    close(fd);
    return is_fine;
}

static uint64_t counter(const char *text, const char *name) {
    char label[64];
    (void)snprintf(label, sizeof label, "cache_herd_%s:", name);
    const char *at = strstr(text, label);
    if (!at) {
        fprintf(stderr, "INFO does not say %s\n", label);
        exit(2);
    }
    return strtoul(at + strlen(label), NULL, 10);
}

static struct client_counters read_counters(uint16_t port) {
    static const char ask[] = "*1\r\n$4\r\nINFO\r\n*1\r\n$4\r\nQUIT\r\n";
    static char text[1 << 16];
    size_t got = 0;
    int fd = dial(port);
    ssize_t n = write(fd, ask, sizeof ask - 1);
    while (n > 0 && got < sizeof text - 1 && (n = read(fd, text + got, sizeof text - 1 - got)) > 0)
        got += (size_t)n;
    close(fd);
    text[got] = 0;
    return (struct client_counters){counter(text, "loads"), counter(text, "misses"),
                                    counter(text, "flights")};
}

struct client_counters client_counters(uint16_t port) {
    enum { TRIES = 1000 };
    struct client_counters now = read_counters(port), before;
    int i = 0;
    do {
        before = now;
        now = read_counters(port);
    } while (memcmp(&now, &before, sizeof now) != 0 && ++i < TRIES);
    return now;
}
