/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/sync.h"
#include "rondo/runtime.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* An actor that sends back what it reads until the other side closes. */
struct echo {
    int fd;
    rondo_io *io;
    enum rondo_err err, err_unpinned;
    rondo_actor *other;
    size_t bytes;
    char pending[4096];
    size_t n_pending;
};

enum { START = 1 };

/* True when the other side has closed. */
static bool pump(struct echo *e) {
    for (;;) {
        if (e->n_pending == 0) {
            ssize_t n = read(e->fd, e->pending, sizeof e->pending);
            if (n <= 0) return n == 0 || errno != EAGAIN;
            e->n_pending = (size_t)n;
        }
        ssize_t put = write(e->fd, e->pending, e->n_pending);
        if (put < 0) return errno != EAGAIN;
        memmove(e->pending, e->pending + put, e->n_pending - (size_t)put);
        e->n_pending -= (size_t)put;
        e->bytes += (size_t)put;
    }
}

static void receive_echo(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct echo *e = state;
    if (m->type == START) {
        if (e->other) e->err_unpinned = rondo_io_watch(e->other, e->fd, &e->io);
        e->err = rondo_io_watch(self, e->fd, &e->io);
        if (e->err) rondo_actor_stop(self);
    } else if (pump(e)) {
        rondo_actor_stop(self); /* which unwatches */
    }
    rondo_msg_free(m);
}

static void close_fd(void *state) {
    close(((struct echo *)state)->fd);
}

static rondo_runtime *new_runtime(enum rondo_threads_kind kind, unsigned n) {
    struct rondo_runtime_options o = {.size = sizeof o, .threads = {.kind = kind, .max = n}};
    rondo_runtime *rt = NULL;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    return rt;
}

static rondo_actor *spawn(rondo_runtime *rt, unsigned pin, rondo_receive_fn receive, void *state,
                          void (*free_state)(void *)) {
    struct rondo_actor_options o = {
        .size = sizeof o, .receive = receive, .state = state, .free_state = free_state, .pin = pin};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send_plain(rondo_actor *a, uint32_t type) {
    void *m = rondo_msg_new(type, sizeof(struct rondo_msg));
    assert_non_null(m);
    rondo_send(a, m);
}

enum { BYTES = 200000 };

static size_t echoed;

/* Writes and reads back, blocking; then closes. */
static void talk(void *arg) {
    int fd = *(int *)arg;
    static char out[1000], in[1000];
    echoed = 0;
    for (size_t sent = 0; sent < BYTES; sent += sizeof out) {
        if (write(fd, out, sizeof out) != sizeof out) break;
        for (size_t got = 0; got < sizeof in;) {
            ssize_t n = read(fd, in, sizeof in - got);
            if (n <= 0) break;
            got += (size_t)n;
            echoed += (size_t)n;
        }
    }
    close(fd);
}

static void make_pair(int *nonblocking, int *blocking) {
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
    *nonblocking = fd[0];
    *blocking = fd[1];
}

static void run_echo(enum rondo_threads_kind kind, unsigned n, unsigned pin) {
    rondo_runtime *rt = new_runtime(kind, n);
    struct echo e = {.err = RONDO_ERR_STALLED};
    struct rondo_thread t;
    int fd;
    make_pair(&e.fd, &fd);
    rondo_actor *a = spawn(rt, pin, receive_echo, &e, close_fd);
    send_plain(a, START);
    assert_int_equal(rondo_thread_start(&t, "client", talk, &fd), 0);
    assert_int_equal(rondo_runtime_run(rt), 0);
    rondo_thread_join(&t);
    assert_int_equal(e.err, 0);
    assert_int_equal(e.bytes, BYTES);
    assert_int_equal(echoed, BYTES);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
}

static void an_actor_echoes(void **state) {
    (void)state;
    run_echo(RONDO_THREADS_NONE, 0, 1);
    run_echo(RONDO_THREADS_FIXED, 1, 1);
    run_echo(RONDO_THREADS_FIXED, 2, 2);
}

static void watching_asks_for_a_pinned_actor_in_its_turn(void **state) {
    (void)state;
    rondo_runtime *rt = new_runtime(RONDO_THREADS_NONE, 0);
    struct echo e = {.err = RONDO_OK}, unused = {.fd = -1};
    rondo_io *io = NULL;
    int fd;
    make_pair(&e.fd, &fd);
    rondo_actor *a = spawn(rt, 0, receive_echo, &e, close_fd);
    e.other = spawn(rt, 1, receive_echo, &unused, NULL);
    assert_int_equal(rondo_io_watch(a, e.fd, &io), RONDO_ERR_INVALID); /* not in a turn */
    send_plain(a, START);
    rondo_actor_stop(e.other);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(e.err_unpinned, RONDO_ERR_INVALID); /* pinned, but not its turn */
    assert_int_equal(e.err, RONDO_ERR_INVALID);          /* its turn, but not pinned */
    assert_null(io);
    rondo_actor_unref(a);
    rondo_actor_unref(e.other);
    close(fd);
    rondo_runtime_free(rt);
}

/* Ends the watch while its message is in the mailbox. */
struct fickle {
    int fd, peer;
    rondo_io *io;
    unsigned with_io, without_io;
    enum rondo_err err, err_again;
};

static void receive_fickle(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct fickle *f = state;
    if (m->type == START) {
        f->err = rondo_io_watch(self, f->fd, &f->io);
    } else if (m->type == RONDO_MSG_IO) {
        if (((struct rondo_io_ready *)(void *)m)->io)
            f->with_io++;
        else
            f->without_io++;
        if (f->without_io) rondo_actor_stop(self);
    }
    if (f->with_io == 1 && f->io && !f->err) {
        rondo_io_unwatch(f->io); /* `m` is its message and still under way */
        f->io = NULL;
        /* The descriptor can be watched anew at once. */
        f->err_again = rondo_io_watch(self, f->fd, &f->io);
        if (!f->err_again) rondo_io_unwatch(f->io);
        f->io = NULL;
        rondo_send(self, m); /* handled once more, without its watch */
        return;
    }
    rondo_msg_free(m);
}

static void a_watch_may_end_while_its_message_is_under_way(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    rondo_runtime *rt = new_runtime(RONDO_THREADS_NONE, 0);
    struct fickle f = {.err = RONDO_ERR_STALLED};
    make_pair(&f.fd, &f.peer);
    rondo_actor *a = spawn(rt, 1, receive_fickle, &f, NULL);
    send_plain(a, START);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(f.err, 0);
    assert_int_equal(f.err_again, 0);
    assert_int_equal(f.with_io, 1);
    assert_int_equal(f.without_io, 1);
    rondo_actor_unref(a);
    rondo_runtime_free(rt);
    close(f.fd);
    close(f.peer);
    assert_int_equal(rondo_mem_live(), live);
}

static void a_simulation_has_no_sockets(void **state) {
    (void)state;
    struct rondo_runtime_options o = {.size = sizeof o, .simulate = true};
    rondo_runtime *rt = NULL;
    struct echo e = {.err = RONDO_OK};
    int fd;
    assert_int_equal(rondo_runtime_new(&o, &rt), 0);
    make_pair(&e.fd, &fd);
    rondo_actor *a = spawn(rt, 1, receive_echo, &e, close_fd);
    send_plain(a, START);
    assert_int_equal(rondo_runtime_run(rt), 0);
    assert_int_equal(e.err, RONDO_ERR_UNSUPPORTED);
    rondo_actor_unref(a);
    close(fd);
    rondo_runtime_free(rt);
}

static void a_runtime_that_goes_ends_its_watches(void **state) {
    (void)state;
    uint64_t live = rondo_mem_live();
    rondo_runtime *rt = new_runtime(RONDO_THREADS_FIXED, 2);
    enum { N = 20 };
    static struct echo e[N];
    int fd[N];
    for (unsigned i = 0; i < N; i++) {
        make_pair(&e[i].fd, &fd[i]);
        rondo_actor *a = spawn(rt, 1 + i % 2, receive_echo, &e[i], close_fd);
        send_plain(a, START);
        rondo_actor_unref(a);
        assert_int_equal(write(fd[i], "x", 1), 1);
    }
    char c;
    assert_int_equal(read(fd[N - 1], &c, 1), 1); /* at least one is at work */
    rondo_runtime_free(rt);
    for (unsigned i = 0; i < N; i++) close(fd[i]);
    assert_int_equal(rondo_mem_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_actor_echoes),
        cmocka_unit_test(watching_asks_for_a_pinned_actor_in_its_turn),
        cmocka_unit_test(a_watch_may_end_while_its_message_is_under_way),
        cmocka_unit_test(a_simulation_has_no_sockets),
        cmocka_unit_test(a_runtime_that_goes_ends_its_watches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
