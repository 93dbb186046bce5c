/* SPDX-License-Identifier: MIT */
/*
 * death_test.h - tests of what must abort.
 *
 * rondo_dies_saying runs `fn` in a forked child and tells how it ended: true if
 * SIGABRT killed it; what it wrote to stderr is in `out`.  Call it from a
 * process that has one thread.
 */
#ifndef RONDO_BASE_DEATH_TEST_H
#define RONDO_BASE_DEATH_TEST_H

#include "base/check.h"
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool rondo_dies_saying(void (*fn)(void), char *out, size_t size) {
    int ends[2];
    RONDO_CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    RONDO_CHECK(pid >= 0);
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        fn();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    char rest[256];
    for (;;) {
        bool has_room = len < size - 1;
        ssize_t n =
            has_room ? read(ends[0], out + len, size - 1 - len) : read(ends[0], rest, sizeof rest);
        if (n <= 0) break;
        if (has_room) len += (size_t)n;
    }
    out[len] = '\0';
    close(ends[0]);
    int status = 0;
    RONDO_CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
