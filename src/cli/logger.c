/* SPDX-License-Identifier: MIT */
#include "cli/logger.h"
#include "base/atomic.h"
#include "base/mem.h"
#include "source/utf8.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES_A_SECOND = 1000, JSON_BYTES = 8 * RONDO_LOG_LINE };

static const char *level_name(enum rondo_log_level level) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    return names[level];
}

static size_t format_text(enum rondo_log_level level, const char *line, unsigned left_out,
                          char *out, size_t size) {
    char tail[64] = "";
    if (left_out) (void)snprintf(tail, sizeof tail, " (%u more lines left out)", left_out);
    int n = snprintf(out, size, "rondo: %s: %s%s\n", level_name(level), line, tail);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void format_time(uint64_t wall_ns, char *out, size_t size) {
    struct tm tm;
    time_t seconds = (time_t)(wall_ns / RONDO_SEC);
    char day[32] = "";
    if (gmtime_r(&seconds, &tm)) (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, size, "%s.%03uZ", day, (unsigned)(wall_ns / RONDO_MS % 1000));
}

/* JSON is UTF-8, and a key in a message may be anything. */
static void copy_valid(const char *line, char *out, size_t size) {
    (void)snprintf(out, size, "%s", line);
    if (rondo_utf8_is_valid((struct rondo_slice){out, strlen(out)})) return;
    for (char *c = out; *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
}

static size_t format_json(enum rondo_log_level level, const char *line, uint64_t wall_ns,
                          unsigned left_out, char *out, size_t size) {
    char message[RONDO_LOG_LINE], when[64];
    copy_valid(line, message, sizeof message);
    format_time(wall_ns, when, sizeof when);
    json_t *event =
        json_pack("{s:s, s:s, s:s}", "time", when, "level", level_name(level), "message", message);
    if (event && left_out) (void)json_object_set_new(event, "left_out", json_integer(left_out));
    size_t n = event ? json_dumpb(event, out, size - 2, JSON_COMPACT) : 0;
    json_decref(event);
    if (n == 0 || n > size - 2) return 0;
    out[n] = '\n';
    out[n + 1] = '\0';
    return n + 1;
}

size_t rondo_logger_format(bool is_json, enum rondo_log_level level, const char *line,
                           uint64_t wall_ns, unsigned left_out, char *out, size_t size) {
    size_t n = is_json ? format_json(level, line, wall_ns, left_out, out, size) : 0;
    /* Out of memory: better a line in the wrong form than none. */
    return n ? n : format_text(level, line, left_out, out, size);
}

static void write_line(void *arg, enum rondo_log_level level, const char *line) {
    struct rondo_logger *l = arg;
    unsigned left_out;
    /* partners: the stores in rondo_logger_set */
    if (level > rondo_load_relaxed(&l->level)) return;
    if (!rondo_log_limit_pass(&l->limit, rondo_clock_now(&rondo_clock_real), &left_out)) return;
    char out[JSON_BYTES];
    size_t n = rondo_logger_format(rondo_load_relaxed(&l->is_json), level, line,
                                   rondo_clock_wall(&rondo_clock_real), left_out, out, sizeof out);
    ssize_t written = write(STDERR_FILENO, out, n);
    (void)written;
}

void rondo_logger_start(struct rondo_logger *logger) {
    *logger = (struct rondo_logger){.limit = {.burst = LINES_A_SECOND}, .level = RONDO_LOG_INFO};
    rondo_log_set(write_line, logger, RONDO_LOG_DEBUG);
}

void rondo_logger_set(struct rondo_logger *logger, enum rondo_log_level level, bool is_json) {
    rondo_store_relaxed(&logger->level, (unsigned)level); /* partner: the load in write_line */
    rondo_store_relaxed(&logger->is_json, is_json);       /* the same */
}
