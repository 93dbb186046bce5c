/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/clock.h"
#include "base/sync.h"
#include "rondo/runtime.h"
#include "runtime/poller.h"
#include <sys/socket.h>
#include <unistd.h>

static void it_says_what_is_ready_once(void **state) {
    (void)state;
    struct rondo_poller p;
    struct rondo_poller_event ev[RONDO_POLLER_BATCH];
    int fd[2], tag;
    assert_int_equal(rondo_poller_init(&p), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    assert_int_equal(rondo_poller_add(&p, fd[0], &tag), 0);
    assert_int_equal(rondo_poller_add(&p, fd[0], &tag), RONDO_ERR_SYSTEM);
    assert_int_equal(rondo_poller_wait(&p, 0, ev), 1);
    assert_ptr_equal(ev[0].data, &tag);
    assert_int_equal(ev[0].events, RONDO_IO_WRITE);
    assert_int_equal(rondo_poller_wait(&p, 0, ev), 0); /* an edge */
    assert_int_equal(write(fd[1], "x", 1), 1);
    assert_int_equal(rondo_poller_wait(&p, UINT64_MAX, ev), 1);
    assert_true(ev[0].events & RONDO_IO_READ);
    close(fd[1]);
    assert_int_equal(rondo_poller_wait(&p, UINT64_MAX, ev), 1);
    assert_true(ev[0].events & RONDO_IO_HANGUP);
    rondo_poller_remove(&p, fd[0]);
    assert_int_equal(rondo_poller_wait(&p, 0, ev), 0);
    close(fd[0]);
    rondo_poller_fini(&p);
}

static void a_timeout_is_never_short(void **state) {
    (void)state;
    struct rondo_poller p;
    struct rondo_poller_event ev[RONDO_POLLER_BATCH];
    assert_int_equal(rondo_poller_init(&p), 0);
    for (int coarse = 0; coarse < 2; coarse++) {
        p.is_coarse = coarse;
        uint64_t start_ns = rondo_clock_now(&rondo_clock_real);
        assert_int_equal(rondo_poller_wait(&p, 1300 * RONDO_US, ev), 0);
        assert_true(rondo_clock_now(&rondo_clock_real) - start_ns >= 1300 * RONDO_US);
    }
    rondo_poller_fini(&p);
}

static void wake(void *arg) {
    rondo_poller_wake(arg);
}

static void another_thread_wakes_it(void **state) {
    (void)state;
    struct rondo_poller p;
    struct rondo_poller_event ev[RONDO_POLLER_BATCH];
    struct rondo_thread t;
    assert_int_equal(rondo_poller_init(&p), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(rondo_thread_start(&t, "waker", wake, &p), 0);
        assert_int_equal(rondo_poller_wait(&p, UINT64_MAX, ev), 0); /* returns: woken */
        rondo_thread_join(&t);
        assert_int_equal(rondo_poller_wait(&p, 0, ev), 0);
    }
    rondo_poller_fini(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_is_ready_once),
        cmocka_unit_test(a_timeout_is_never_short),
        cmocka_unit_test(another_thread_wakes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
