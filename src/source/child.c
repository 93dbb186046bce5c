/* SPDX-License-Identifier: MIT */
/*
 * The child's end is seen by a pidfd, together with its output and the cancel, in
 * one poll.  It is reaped only after its group was killed: until then its number
 * cannot be another's.  After its end nothing more is waited for: all that it wrote
 * is in the pipes by then, and whoever else holds them open is not its output.
 */
#include "source/child.h"

#include "base/clock.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT, ERR, EXIT, CANCEL, FDS };
enum { CHUNK_BYTES = 65536, COMPLAINT_BYTES = 1024 };

struct child {
    const struct rondo_child_spec *spec;
    struct rondo_child_result *result;
    pid_t pid;
    int out, err, exit; /* pipes' read ends and the pidfd; -1: closed */
    uint64_t deadline_ns;
    char complaint[COMPLAINT_BYTES]; /* what came on standard error, as far as it fits */
    size_t complaint_len;
};

static enum rondo_err fail(struct rondo_source_error *why, const char *what, int error) {
    if (error == ENOMEM) return RONDO_ERR_NOMEM;
    snprintf(why->text, sizeof why->text, "%.120s: %s", what, strerror(error));
    return RONDO_ERR_LOAD;
}

static void shut(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ------------------------------------------------------------------- start --- */

/* The first error of a row of calls that return one. */
static void first(int *error, int result) {
    if (!*error) *error = result;
}

static int spawn_with(const struct rondo_child_spec *spec, posix_spawn_file_actions_t *files,
                      posix_spawnattr_t *attr, int out, int err, pid_t *pid) {
    sigset_t none, all;
    int error = 0;
    sigemptyset(&none);
    sigfillset(&all);
    first(&error, posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSIGDEF));
    first(&error, posix_spawnattr_setpgroup(attr, 0));
    first(&error, posix_spawnattr_setsigmask(attr, &none));
    first(&error, posix_spawnattr_setsigdefault(attr, &all));
    first(&error, posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    first(&error, posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO));
    first(&error, posix_spawn_file_actions_adddup2(files, err, STDERR_FILENO));
    first(&error, posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1));
    if (spec->directory)
        first(&error, posix_spawn_file_actions_addchdir_np(files, spec->directory));
    if (!error) error = posix_spawnp(pid, spec->argv[0], files, attr, spec->argv, environ);
    return error;
}

static int spawn(const struct rondo_child_spec *spec, int out, int err, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int error = posix_spawn_file_actions_init(&files);
    if (error) return error;
    error = posix_spawnattr_init(&attr);
    if (!error) {
        error = spawn_with(spec, &files, &attr, out, err, pid);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* The child's ends stay above its standard descriptors even if ours are closed, so
 * that dup2 in the child never meets itself and leaves close-on-exec set. */
static int make_pipe(int fds[2]) {
    if (pipe2(fds, O_CLOEXEC) != 0) return errno;
    if (fds[1] <= STDERR_FILENO) {
        int high = fcntl(fds[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (high < 0) return errno;
        close(fds[1]);
        fds[1] = high;
    }
    return fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

static enum rondo_err start(struct child *c, struct rondo_source_error *why) {
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    enum rondo_err result = RONDO_OK;
    int error = make_pipe(out);
    if (!error) error = make_pipe(err);
    if (error) result = fail(why, "pipe", error);
    if (!error) error = spawn(c->spec, out[1], err[1], &c->pid);
    if (!result && error) result = fail(why, c->spec->argv[0], error);
    shut(&out[1]);
    shut(&err[1]);
    c->out = out[0];
    c->err = err[0];
    if (result) return result;
    c->exit = pidfd_open(c->pid, 0);
    return c->exit >= 0 ? RONDO_OK : fail(why, "pidfd_open", errno);
}

/* -------------------------------------------------------------------- read --- */

/* Everything that is there; false if there is too much, or no memory for it. */
static enum rondo_err read_out(struct child *c) {
    struct rondo_buf *out = &c->result->out;
    while (c->out >= 0) {
        enum rondo_err err = rondo_buf_reserve(out, CHUNK_BYTES);
        if (err) return err;
        ssize_t n = read(c->out, out->data + out->len, CHUNK_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return RONDO_OK;
        if (n <= 0) shut(&c->out);
        if (n <= 0) return RONDO_OK;
        out->len += (size_t)n;
        if (out->len > c->spec->max_output) return RONDO_ERR_TOO_LARGE;
    }
    return RONDO_OK;
}

/* What does not fit is read and forgotten, or the child would wait for room. */
static void read_err(struct child *c) {
    while (c->err >= 0) {
        char rest[4096];
        size_t room = sizeof c->complaint - c->complaint_len;
        ssize_t n = room ? read(c->err, c->complaint + c->complaint_len, room)
                         : read(c->err, rest, sizeof rest);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) shut(&c->err);
        if (n > 0 && room) c->complaint_len += (size_t)n;
    }
}

static void keep_first_line(struct child *c) {
    size_t n = 0;
    char *line = c->result->complaint;
    while (n < c->complaint_len && c->complaint[n] != '\n' && n < sizeof c->result->complaint - 1) {
        unsigned char byte = (unsigned char)c->complaint[n];
        line[n++] = (char)(byte < 0x20 || byte == 0x7f ? '?' : byte);
    }
    line[n] = '\0';
}

/* --------------------------------------------------------------------- end --- */

/* Milliseconds to the deadline, rounded up; -1: for ever. */
static int wait_ms(const struct child *c) {
    if (c->deadline_ns == UINT64_MAX) return -1;
    uint64_t now = rondo_clock_now(&rondo_clock_real);
    if (now >= c->deadline_ns) return 0;
    uint64_t ms = (c->deadline_ns - now + RONDO_MS - 1) / RONDO_MS;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

/* Reads until the child has ended or has to. */
static enum rondo_err attend(struct child *c) {
    for (;;) {
        struct pollfd fds[FDS] = {{c->out, POLLIN, 0},
                                  {c->err, POLLIN, 0},
                                  {c->exit, POLLIN, 0},
                                  {c->spec->cancel_fd, POLLIN, 0}};
        int ready = poll(fds, FDS, wait_ms(c));
        if (ready < 0 && errno != EINTR) return RONDO_ERR_SYSTEM;
        if (ready < 0) continue;
        enum rondo_err err = read_out(c);
        if (err) return err;
        read_err(c);
        if (fds[EXIT].revents) return read_out(c);
        if (fds[CANCEL].revents || wait_ms(c) == 0) return RONDO_ERR_TIMEOUT;
    }
}

/* Kills the group, whose leader is not reaped yet, and reaps it. */
static void finish(struct child *c) {
    int status = 0;
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0) {
        if (errno == EINTR) continue;
        /* The host ignores SIGCHLD: how it ended cannot be known. */
        snprintf(c->complaint, sizeof c->complaint, "its exit code is lost: SIGCHLD is ignored");
        c->complaint_len = strlen(c->complaint);
        status = 255 << 8;
        break;
    }
    c->result->end = WIFSIGNALED(status) ? RONDO_CHILD_SIGNALLED : RONDO_CHILD_EXITED;
    c->result->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

enum rondo_err rondo_child_run(const struct rondo_child_spec *spec, struct rondo_source_error *why,
                               struct rondo_child_result *out) {
    struct child c = {.spec = spec, .result = out, .pid = -1, .out = -1, .err = -1, .exit = -1};
    *out = (struct rondo_child_result){0};
    c.deadline_ns = spec->timeout_ns
                        ? rondo_deadline(rondo_clock_now(&rondo_clock_real), spec->timeout_ns)
                        : UINT64_MAX;
    enum rondo_err err = start(&c, why);
    if (!err) err = attend(&c);
    if (c.pid > 0) finish(&c);
    read_err(&c);
    keep_first_line(&c);
    shut(&c.out);
    shut(&c.err);
    shut(&c.exit);
    if (err == RONDO_ERR_TIMEOUT || err == RONDO_ERR_TOO_LARGE) {
        out->end = err == RONDO_ERR_TIMEOUT ? RONDO_CHILD_TIMED_OUT : RONDO_CHILD_TOO_MUCH;
        err = RONDO_OK;
    }
    if (err == RONDO_ERR_SYSTEM) err = fail(why, "poll", errno);
    if (err) rondo_buf_fini(&out->out);
    return err;
}
