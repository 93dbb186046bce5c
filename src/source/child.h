/* SPDX-License-Identifier: MIT */
/*
 * child.h - runs one program to its end: without a shell, with a time limit, and
 * with everything that it started.
 *
 * The child leads a process group of its own, has /dev/null as its input, no
 * descriptor of ours, no blocked signal and default actions.  When it ends, in
 * time or not, whatever is left of its group is killed.
 *
 * Threads: any; the call blocks.
 */
#ifndef RONDO_SOURCE_CHILD_H
#define RONDO_SOURCE_CHILD_H

#include "base/buf.h"
#include "rondo/source.h"

struct rondo_child_spec {
    char *const *argv;     /* argv[0] is looked for in PATH unless it has a slash */
    const char *directory; /* it starts there; NULL: where we are */
    uint64_t timeout_ns;   /* 0: none */
    size_t max_output;     /* bytes of its output */
    int cancel_fd;         /* readable: end it; -1: none */
};

enum rondo_child_end {
    RONDO_CHILD_EXITED,    /* with `code` */
    RONDO_CHILD_SIGNALLED, /* by signal `code` */
    RONDO_CHILD_TIMED_OUT, /* at its time limit, or cancelled */
    RONDO_CHILD_TOO_MUCH   /* it wrote more than max_output */
};

struct rondo_child_result {
    enum rondo_child_end end;
    int code;
    struct rondo_buf out; /* what it wrote; the caller's to free */
    char complaint[160];  /* the first line that it wrote to standard error */
};

/* Errors: LOAD (it could not be started, with `why`), NOMEM.  On an error there is
 * nothing to free. */
RONDO_NODISCARD enum rondo_err rondo_child_run(const struct rondo_child_spec *spec,
                                               struct rondo_source_error *why,
                                               struct rondo_child_result *out);

#endif
