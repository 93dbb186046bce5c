/* SPDX-License-Identifier: MIT */
#include "server/metrics.h"
#include "base/mem.h"
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct metrics {
    struct rondo_service *s;
    struct rondo_buf *out;
    enum rondo_err err; /* the first; nothing is written after it */
};

static void print(struct metrics *m, const char *fmt, ...) RONDO_PRINTF(2, 3);
static void print(struct metrics *m, const char *fmt, ...) {
    if (m->err) return;
    va_list args;
    va_start(args, fmt);
    m->err = rondo_buf_vprintf(m->out, fmt, args);
    va_end(args);
}

static void head(struct metrics *m, const char *name, bool is_counter, const char *help) {
    print(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, is_counter ? "counter" : "gauge");
}

static void number(struct metrics *m, const char *name, bool is_counter, const char *help,
                   uint64_t value) {
    head(m, name, is_counter, help);
    print(m, "%s %llu\n", name, (unsigned long long)value);
}

static void seconds(struct metrics *m, const char *name, bool is_counter, const char *help,
                    uint64_t ns) {
    head(m, name, is_counter, help);
    print(m, "%s %llu.%09llu\n", name, (unsigned long long)(ns / RONDO_SEC),
          (unsigned long long)(ns % RONDO_SEC));
}

/* ---- the process ------------------------------------------------------------------ */

static uint64_t nanoseconds(const struct timeval *t) {
    return (uint64_t)t->tv_sec * RONDO_SEC + (uint64_t)t->tv_usec * RONDO_US;
}

static void write_cpu(struct metrics *m) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return;
    seconds(m, "process_cpu_seconds_total", true, "processor time, user and system",
            nanoseconds(&usage.ru_utime) + nanoseconds(&usage.ru_stime));
}

static void write_memory(struct metrics *m) {
    unsigned long long pages, resident;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f) return;
    int n = fscanf(f, "%20llu %20llu", &pages, &resident);
    (void)fclose(f);
    if (n != 2) return;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    number(m, "process_virtual_memory_bytes", false, "memory mapped", pages * page);
    number(m, "process_resident_memory_bytes", false, "memory resident", resident * page);
}

/* What a directory of /proc/self holds, without the descriptor that reads it. */
static bool count_entries(const char *path, bool is_fds, uint64_t *out) {
    DIR *dir = opendir(path);
    if (!dir) return false;
    uint64_t n = 0;
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') n++;
    (void)closedir(dir);
    *out = is_fds && n > 0 ? n - 1 : n;
    return true;
}

static void write_descriptors(struct metrics *m) {
    uint64_t n;
    struct rlimit limit;
    if (count_entries("/proc/self/fd", true, &n))
        number(m, "process_open_fds", false, "file descriptors open", n);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        number(m, "process_max_fds", false, "file descriptors that may be open", limit.rlim_cur);
    if (count_entries("/proc/self/task", false, &n))
        number(m, "process_threads", false, "threads", n);
}

/* ---- the server ------------------------------------------------------------------- */

#define STAT(name, text) {#name, text, offsetof(struct rondo_cache_stats, name)},
#define COUNT(name, text) {#name, text, offsetof(struct rondo_service_counts, name)},

struct column {
    const char *name, *help;
    size_t offset;
};

static const struct column cache_columns[] = {RONDO_CACHE_STATS(STAT)};
static const struct column service_columns[] = {RONDO_SERVICE_COUNTS(COUNT)};

static uint64_t field(const void *base, const struct column *c) {
    return *(const uint64_t *)(const void *)((const char *)base + c->offset);
}

static bool is_gauge(const struct column *c) {
    return strstr(c->help, " now") || strstr(c->help, " while ");
}

/* Prometheus wants the unit at the end of the name. */
static const char *with_unit(const char *name) {
    if (strcmp(name, "bytes_in") == 0) return "received_bytes";
    if (strcmp(name, "bytes_out") == 0) return "sent_bytes";
    return name;
}

static void write_counts(struct metrics *m) {
    struct rondo_service_counts counts;
    rondo_service_sum(m->s, &counts);
    for (size_t i = 0; i < RONDO_COUNT_OF(service_columns); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "rondo_%s_total", with_unit(service_columns[i].name));
        number(m, name, true, service_columns[i].help, field(&counts, &service_columns[i]));
    }
}

static void write_server(struct metrics *m) {
    struct rondo_service *s = m->s;
    uint64_t now_ns = rondo_clock_now(s->clock);
    head(m, "rondo_build_info", false, "1; the label says what runs");
    print(m, "rondo_build_info{version=\"%s\"} 1\n", rondo_version());
    seconds(m, "process_start_time_seconds", false, "start of the server, since 1970",
            s->start_wall_ns);
    seconds(m, "rondo_uptime_seconds", false, "since the start of the server",
            now_ns - s->start_ns);
    number(m, "rondo_clients", false, "connections now", rondo_clients_count(&s->clients));
    number(m, "rondo_max_clients", false, "connections that there may be", s->clients.max);
    number(m, "rondo_workers", false, "threads that serve connections", s->n_workers);
    write_counts(m);
}

static void write_column(struct metrics *m, const struct column *c,
                         const struct rondo_cache_stats *stats, size_t n) {
    char name[64];
    bool is_counter = !is_gauge(c);
    (void)snprintf(name, sizeof name, "rondo_cache_%s%s", c->name, is_counter ? "_total" : "");
    head(m, name, is_counter, c->help);
    for (size_t i = 0; i < n; i++)
        print(m, "%s{cache=\"%s\"} %llu\n", name,
              rondo_cache_name(rondo_keyspace_cache(m->s->ks, i)),
              (unsigned long long)field(&stats[i], c));
}

static void write_caches(struct metrics *m) {
    size_t n = 0;
    while (rondo_keyspace_cache(m->s->ks, n)) n++;
    struct rondo_cache_stats *stats = rondo_alloc((n ? n : 1) * sizeof *stats);
    if (!stats) {
        m->err = RONDO_ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) rondo_cache_stats(rondo_keyspace_cache(m->s->ks, i), &stats[i]);
    for (size_t i = 0; i < RONDO_COUNT_OF(cache_columns); i++)
        write_column(m, &cache_columns[i], stats, n);
    rondo_free(stats);
}

enum rondo_err rondo_metrics_write(struct rondo_service *s, struct rondo_buf *out) {
    struct metrics m = {.s = s, .out = out};
    write_cpu(&m);
    write_memory(&m);
    write_descriptors(&m);
    if (s) write_server(&m);
    if (s && !m.err) write_caches(&m);
    return m.err;
}
