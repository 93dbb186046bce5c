/* SPDX-License-Identifier: MIT */
#include "server/systemd.h"
#include "base/log.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 }; /* SD_LISTEN_FDS_START */

/* ---- telling ---------------------------------------------------------------------- */

static bool send_state(const char *path, const char *state) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    errno = EINVAL;
    if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof to.sun_path) return false;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') to.sun_path[0] = '\0'; /* the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    socklen_t to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t n =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, to_len);
    int error = errno;
    (void)close(fd);
    errno = error;
    return n >= 0;
}

void rondo_systemd_notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    if (path && *path && !send_state(path, state))
        rondo_log(RONDO_LOG_WARN, "cannot tell the service manager %s: %s", state, strerror(errno));
}

/* ---- being given a socket --------------------------------------------------------- */

static long take_number(const char *name) {
    const char *text = getenv(name);
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;
    if (text && (end == text || *end)) n = -1;
    (void)unsetenv(name);
    return n;
}

/* By way of the text, so that what counts as loopback is decided in one place. */
static bool read_address(int fd, struct rondo_config_address *out) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a;
    socklen_t len = sizeof a;
    char host[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16];
    memset(&a, 0, sizeof a);
    if (getsockname(fd, &a.any, &len) != 0) return false;
    bool is_v6 = a.any.sa_family == AF_INET6;
    if (!is_v6 && a.any.sa_family != AF_INET) return false;
    const void *bytes = is_v6 ? (const void *)&a.v6.sin6_addr : (const void *)&a.v4.sin_addr;
    if (!inet_ntop(a.any.sa_family, bytes, host, sizeof host)) return false;
    (void)snprintf(text, sizeof text, is_v6 ? "[%s]:%u" : "%s:%u", host,
                   ntohs(is_v6 ? a.v6.sin6_port : a.v4.sin_port));
    return rondo_config_address_parse(text, out) == NULL;
}

static bool is_listening_stream(int fd) {
    int listens = 0, type = 0;
    socklen_t len = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || !listens) return false;
    len = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

static bool prepare(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

enum rondo_err rondo_systemd_listener(int *fd, struct rondo_config_address *address, char *why,
                                      size_t size) {
    long pid = take_number("LISTEN_PID"), n = take_number("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    *fd = -1;
    if (pid != (long)getpid() || n == 0) return RONDO_OK;
    if (n != 1) {
        (void)snprintf(why, size, "the service manager gave %ld sockets: one is allowed", n);
        return RONDO_ERR_CONFIG;
    }
    if (!is_listening_stream(FIRST_FD) || !read_address(FIRST_FD, address) || !prepare(FIRST_FD)) {
        (void)snprintf(why, size,
                       "the service manager gave something else than a listening TCP "
                       "socket (ListenStream=ADDRESS:PORT)");
        return RONDO_ERR_CONFIG;
    }
    *fd = FIRST_FD;
    return RONDO_OK;
}
