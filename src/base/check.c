/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/log.h"
#include "base/sm.h"
#include <unistd.h>

static void write_stderr(void *arg, const char *line) {
    (void)arg;
    char out[RONDO_LOG_LINE + 1];
    size_t n = strnlen(line, RONDO_LOG_LINE);
    memcpy(out, line, n);
    out[n] = '\n';
    /* Nothing can be done about a failure: the process is about to abort. */
    ssize_t written = write(STDERR_FILENO, out, n + 1);
    (void)written;
}

static void write_trace(void *arg, const char *line) {
    void (*say)(void *, const char *) = *(void (**)(void *, const char *))arg;
    char out[RONDO_LOG_LINE];
    snprintf(out, sizeof out, "trace: %s", line);
    say(NULL, out);
}

static _Noreturn void die(const char *line) {
    /* A check that fails while this one is reported (in the log function, or in
     * the ring's lock) cannot be reported the same way. */
    static _Thread_local bool is_dying;
    if (is_dying) {
        write_stderr(NULL, line);
        abort();
    }
    is_dying = true;
    void (*say)(void *, const char *) = rondo_log_is_set() ? rondo_log_always : write_stderr;
    say(NULL, line);
    rondo_log_dump(write_trace, &say);
    abort();
}

void rondo_check_failed(const char *file, int line, const char *what) {
    char text[RONDO_LOG_LINE];
    snprintf(text, sizeof text, "check failed: %s:%d: %s", file, line, what);
    die(text);
}

static const char *state_name(const struct rondo_sm *sm, unsigned state) {
    return state < sm->n_states ? sm->state_names[state] : "(no state)";
}

void rondo_sm_illegal(const struct rondo_sm *sm, unsigned from, unsigned to) {
    char text[RONDO_LOG_LINE];
    snprintf(text, sizeof text, "check failed: %s: illegal move from %s (%u) to %s (%u)", sm->name,
             state_name(sm, from), from, state_name(sm, to), to);
    die(text);
}
