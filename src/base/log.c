/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/sync.h"
#include <stdarg.h>
#include <unistd.h>

enum { RING_LINES = 64 };

/* Set before anything else runs, see rondo_log_set. */
static struct {
    rondo_log_fn fn;
    void *arg;
    enum rondo_log_level max_level;
} sink;

static struct {
    struct rondo_mutex mu;
    uint64_t n; /* guarded by mu; lines ever, line i is in lines[i % RING_LINES] */
    char lines[RING_LINES][RONDO_LOG_LINE]; /* guarded by mu */
} ring = {.mu = RONDO_MUTEX_INIT};

void rondo_log_set(rondo_log_fn fn, void *arg, enum rondo_log_level max_level) {
    sink.fn = fn;
    sink.arg = arg;
    sink.max_level = max_level;
}

static void ring_put(const char *line) {
    rondo_mutex_lock(&ring.mu);
    char *slot = ring.lines[ring.n++ % RING_LINES];
    memcpy(slot, line, strlen(line) + 1);
    rondo_mutex_unlock(&ring.mu);
}

/* False once line i has been overwritten or does not exist yet. */
static bool ring_get(uint64_t i, char *out) {
    rondo_mutex_lock(&ring.mu);
    bool is_there = i < ring.n && ring.n - i <= RING_LINES;
    if (is_there) memcpy(out, ring.lines[i % RING_LINES], RONDO_LOG_LINE);
    rondo_mutex_unlock(&ring.mu);
    return is_there;
}

static uint64_t ring_count(void) {
    rondo_mutex_lock(&ring.mu);
    uint64_t n = ring.n;
    rondo_mutex_unlock(&ring.mu);
    return n;
}

void rondo_log_dump(void (*fn)(void *arg, const char *line), void *arg) {
    /* A copy a line: `fn` may log, and must not be called with the lock held. */
    char line[RONDO_LOG_LINE];
    uint64_t end = ring_count();
    for (uint64_t i = end > RING_LINES ? end - RING_LINES : 0; i < end; i++)
        if (ring_get(i, line)) fn(arg, line);
}

static void emit(enum rondo_log_level level, char *line) {
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    ring_put(line);
    if (sink.fn && level <= sink.max_level) sink.fn(sink.arg, level, line);
}

void rondo_log(enum rondo_log_level level, const char *fmt, ...) {
    char line[RONDO_LOG_LINE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    emit(level, line);
}

bool rondo_log_limit_pass(struct rondo_log_limit *limit, uint64_t now_ns, unsigned *left_out) {
    uint64_t now = now_ns / RONDO_SEC;
    uint64_t second = rondo_load_relaxed(&limit->second); /* partner: the CAS below */
    /* A thread that counts between the two writes may let a line too many
     * pass, or one too few: good enough for a limit. */
    if (second != now && rondo_cas_relaxed(&limit->second, &second, now))
        rondo_store_relaxed(&limit->used, 0); /* partner: the add below */
    if (rondo_add_relaxed(&limit->used, 1) >= limit->burst) {
        rondo_add_relaxed(&limit->left_out, 1); /* partner: the exchange below */
        return false;
    }
    /* A read-modify-write, so that no count is lost or told twice. */
    *left_out = rondo_exchange_acq_rel(&limit->left_out, 0);
    return true;
}

void rondo_log_limited(struct rondo_log_limit *limit, enum rondo_log_level level, const char *fmt,
                       ...) {
    unsigned left_out;
    if (!rondo_log_limit_pass(limit, rondo_clock_now(&rondo_clock_real), &left_out)) return;
    char line[RONDO_LOG_LINE], tail[64] = "";
    if (left_out) snprintf(tail, sizeof tail, " (%u more lines left out)", left_out);
    size_t tail_len = strlen(tail), room = sizeof line - tail_len;
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, room, fmt, args);
    va_end(args);
    memcpy(line + strlen(line), tail, tail_len + 1);
    emit(level, line);
}

static void say_error(void *arg, const char *line) {
    (void)arg;
    if (sink.fn) {
        sink.fn(sink.arg, RONDO_LOG_ERROR, line);
        return;
    }
    char out[RONDO_LOG_LINE + 1];
    size_t n = strnlen(line, RONDO_LOG_LINE);
    memcpy(out, line, n);
    out[n] = '\n';
    /* Nothing can be done about a failure: the process is about to abort. */
    ssize_t written = write(STDERR_FILENO, out, n + 1);
    (void)written;
}

static void say_trace(void *arg, const char *line) {
    char out[RONDO_LOG_LINE + 8];
    snprintf(out, sizeof out, "trace: %s", line);
    say_error(arg, out);
}

void rondo_check_report(const char *text) {
    /* A check that fails while one is reported (in the log function, or in the
     * ring's lock) cannot be reported the same way. */
    static _Thread_local bool is_reporting;
    if (is_reporting) {
        sink.fn = NULL;
        say_error(NULL, text);
        return;
    }
    is_reporting = true;
    say_error(NULL, text);
    rondo_log_dump(say_trace, NULL);
}
