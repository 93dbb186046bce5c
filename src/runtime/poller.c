/* SPDX-License-Identifier: MIT */
#include "runtime/poller.h"
#include "base/check.h"
#include "base/clock.h"
#include "rondo/runtime.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum rondo_err rondo_poller_init(struct rondo_poller *p) {
    p->is_coarse = false;
    p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll_fd < 0) return RONDO_ERR_SYSTEM;
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->wake_fd < 0) goto err_epoll;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->wake_fd, &ev) < 0) goto err_eventfd;
    return RONDO_OK;

err_eventfd:
    close(p->wake_fd);
err_epoll:
    close(p->epoll_fd);
    return RONDO_ERR_SYSTEM;
}

void rondo_poller_fini(struct rondo_poller *p) {
    close(p->wake_fd);
    close(p->epoll_fd);
}

enum rondo_err rondo_poller_add(struct rondo_poller *p, int fd, void *data) {
    struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = data};
    return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? RONDO_ERR_SYSTEM : RONDO_OK;
}

void rondo_poller_remove(struct rondo_poller *p, int fd) {
    struct epoll_event unused = {.events = 0};
    epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, &unused);
}

static int wait_once(struct rondo_poller *p, uint64_t timeout_ns, struct epoll_event *ev) {
    if (timeout_ns == UINT64_MAX) return epoll_wait(p->epoll_fd, ev, RONDO_POLLER_BATCH, -1);
    if (timeout_ns == 0) return epoll_wait(p->epoll_fd, ev, RONDO_POLLER_BATCH, 0);
    if (!p->is_coarse) {
        struct timespec ts = {.tv_sec = (time_t)(timeout_ns / RONDO_SEC),
                              .tv_nsec = (long)(timeout_ns % RONDO_SEC)};
        int n = epoll_pwait2(p->epoll_fd, ev, RONDO_POLLER_BATCH, &ts, NULL);
        if (n >= 0 || errno == EINTR) return n;
        p->is_coarse = true; /* Linux 5.10 */
    }
    uint64_t ms = timeout_ns / RONDO_MS + (timeout_ns % RONDO_MS != 0);
    return epoll_wait(p->epoll_fd, ev, RONDO_POLLER_BATCH, ms > 3600000 ? 3600000 : (int)ms);
}

static unsigned events_of(uint32_t e) {
    unsigned events = 0;
    if (e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) events |= RONDO_IO_READ;
    if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR)) events |= RONDO_IO_WRITE;
    if (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) events |= RONDO_IO_HANGUP;
    return events;
}

unsigned rondo_poller_wait(struct rondo_poller *p, uint64_t timeout_ns,
                           struct rondo_poller_event *events) {
    struct epoll_event ev[RONDO_POLLER_BATCH];
    int n = wait_once(p, timeout_ns, ev);
    RONDO_CHECK(n >= 0 || errno == EINTR);
    unsigned used = 0;
    for (int i = 0; i < n; i++) {
        if (ev[i].data.ptr) {
            events[used].data = ev[i].data.ptr;
            events[used++].events = events_of(ev[i].events);
            continue;
        }
        uint64_t count;
        ssize_t got = read(p->wake_fd, &count, sizeof count);
        RONDO_CHECK(got == sizeof count || errno == EAGAIN || errno == EINTR);
    }
    return used;
}

void rondo_poller_wake(struct rondo_poller *p) {
    uint64_t one = 1;
    ssize_t put;
    do {
        put = write(p->wake_fd, &one, sizeof one);
    } while (put < 0 && errno == EINTR);
    RONDO_CHECK(put == sizeof one || errno == EAGAIN);
}
