/* SPDX-License-Identifier: MIT */
#include "server/info.h"
#include "base/mem.h"
#include "server/session.h"
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

struct info {
    struct rondo_service *s;
    uint64_t now_ns;
    struct rondo_service_counts counts;
    struct rondo_cache_stats caches; /* the sum of all */
    struct rondo_buf *out;
    enum rondo_err err;
};

static void line(struct info *i, const char *fmt, ...) RONDO_PRINTF(2, 3);
static void line(struct info *i, const char *fmt, ...) {
    if (i->err) return;
    va_list args;
    va_start(args, fmt);
    i->err = rondo_buf_vprintf(i->out, fmt, args);
    va_end(args);
    if (!i->err) i->err = rondo_buf_append(i->out, "\r\n", 2);
}

static void number(struct info *i, const char *name, uint64_t value) {
    line(i, "%s:%llu", name, (unsigned long long)value);
}

void rondo_info_sum_caches(rondo_keyspace *ks, struct rondo_cache_stats *out) {
    *out = (struct rondo_cache_stats){0};
    rondo_cache *cache;
    for (size_t i = 0; (cache = rondo_keyspace_cache(ks, i)); i++) {
        struct rondo_cache_stats one;
        rondo_cache_stats(cache, &one);
#define ADD(name, text) out->name += one.name;
        RONDO_CACHE_STATS(ADD)
#undef ADD
    }
}

static void write_server(struct info *i) {
    struct utsname os;
    if (uname(&os) != 0) os = (struct utsname){.sysname = "Linux"};
    uint64_t up = (i->now_ns - i->s->start_ns) / RONDO_SEC;
    line(i, "redis_version:%s", RONDO_SESSION_REDIS_VERSION);
    line(i, "rondo_version:%s", rondo_version());
    line(i, "redis_mode:standalone");
    line(i, "os:%s %s %s", os.sysname, os.release, os.machine);
    line(i, "arch_bits:%zu", 8 * sizeof(void *));
    line(i, "multiplexing_api:epoll");
    line(i, "process_id:%ld", (long)getpid());
    line(i, "run_id:%s", i->s->run_id);
    line(i, "tcp_port:%u", i->s->port);
    number(i, "server_time_usec", rondo_clock_wall(i->s->clock) / RONDO_US);
    number(i, "uptime_in_seconds", up);
    number(i, "uptime_in_days", up / 86400);
    line(i, "config_file:%s", i->s->config->path ? i->s->config->path : "");
    line(i, "io_threads_active:%u", i->s->n_workers);
}

static void write_clients(struct info *i) {
    number(i, "connected_clients", rondo_clients_count(&i->s->clients));
    number(i, "maxclients", rondo_clients_max(&i->s->clients));
    line(i, "blocked_clients:0");
}

static void write_memory(struct info *i) {
    number(i, "used_memory", i->caches.bytes);
    line(i, "used_memory_human:%.2fM", (double)i->caches.bytes / (1 << 20));
    number(i, "maxmemory", rondo_keyspace_limit(i->s->ks));
    line(i, "maxmemory_policy:allkeys-lfu");
}

static void write_persistence(struct info *i) {
    line(i, "loading:0");
    line(i, "async_loading:0");
    line(i, "rdb_bgsave_in_progress:0");
    line(i, "aof_enabled:0");
}

static void write_stats(struct info *i) {
    number(i, "total_connections_received", i->counts.connections);
    number(i, "total_commands_processed", i->counts.commands);
    /* partner: the listener's tick */
    number(i, "instantaneous_ops_per_sec", rondo_load_relaxed(&i->s->ops_per_sec));
    number(i, "total_net_input_bytes", i->counts.bytes_in);
    number(i, "total_net_output_bytes", i->counts.bytes_out);
    number(i, "rejected_connections", i->counts.rejected);
    number(i, "expired_keys", i->caches.expired);
    number(i, "evicted_keys", i->caches.evicted);
    number(i, "keyspace_hits", i->caches.hits + i->caches.stale_hits);
    number(i, "keyspace_misses", i->caches.misses);
    number(i, "total_error_replies", i->counts.error_replies);
    number(i, "client_output_buffer_limit_disconnections", i->counts.closed_output);
    number(i, "client_query_buffer_limit_disconnections", i->counts.closed_input);
    number(i, "rondo_protocol_errors", i->counts.protocol_errors);
    number(i, "rondo_waiting_commands", i->counts.slots);
    number(i, "rondo_held_commands", i->counts.held);
    number(i, "rondo_reply_wait_usec", i->counts.reply_wait_ns / RONDO_US);
    number(i, "rondo_output_stalls", i->counts.stalls);
    number(i, "rondo_idle_disconnections", i->counts.closed_idle);
}

static void write_replication(struct info *i) {
    line(i, "role:master");
    line(i, "connected_slaves:0");
    line(i, "master_failover_state:no-failover");
    line(i, "master_replid:%s", i->s->run_id);
    line(i, "master_repl_offset:0");
}

static double seconds(const struct timeval *t) {
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static void write_cpu(struct info *i) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return;
    line(i, "used_cpu_sys:%.6f", seconds(&usage.ru_stime));
    line(i, "used_cpu_user:%.6f", seconds(&usage.ru_utime));
}

static void write_cluster(struct info *i) {
    line(i, "cluster_enabled:0");
}

static void write_modules(struct info *i) {
    (void)i;
}

static void write_keyspace(struct info *i) {
    for (unsigned db = 0; db < RONDO_SESSION_DATABASES; db++) {
        uint64_t keys = rondo_keyspace_size(i->s->ks, db);
        if (keys > 0) line(i, "db%u:keys=%llu,expires=0,avg_ttl=0", db, (unsigned long long)keys);
    }
}

static void write_caches(struct info *i) {
    rondo_cache *cache;
    for (size_t n = 0; (cache = rondo_keyspace_cache(i->s->ks, n)); n++) {
        struct rondo_cache_stats stats;
        rondo_cache_stats(cache, &stats);
        line(i, "%s# Cache_%s", n ? "\r\n" : "", rondo_cache_name(cache));
#define FIELD(name, text)                                                                          \
    line(i, "cache_%s_" #name ":%llu", rondo_cache_name(cache), (unsigned long long)stats.name);
        RONDO_CACHE_STATS(FIELD)
#undef FIELD
    }
}

static const struct section {
    const char *name, *title; /* NULL: it writes titles of its own */
    void (*write)(struct info *i);
} sections[] = {
    {"server", "Server", write_server},
    {"clients", "Clients", write_clients},
    {"memory", "Memory", write_memory},
    {"persistence", "Persistence", write_persistence},
    {"stats", "Stats", write_stats},
    {"replication", "Replication", write_replication},
    {"cpu", "CPU", write_cpu},
    {"modules", "Modules", write_modules},
    {"cluster", "Cluster", write_cluster},
    {"keyspace", "Keyspace", write_keyspace},
    {"caches", NULL, write_caches},
};

enum rondo_err rondo_info_write(struct rondo_service *s, uint64_t now_ns,
                                bool (*wants)(void *arg, const char *section), void *arg,
                                struct rondo_buf *out) {
    struct info i = {.s = s, .now_ns = now_ns, .out = out};
    rondo_service_sum(s, &i.counts);
    rondo_info_sum_caches(s->ks, &i.caches);
    bool is_first = true;
    for (size_t n = 0; n < RONDO_COUNT_OF(sections); n++) {
        if (!wants(arg, sections[n].name)) continue;
        if (!is_first) line(&i, "%s", "");
        if (sections[n].title) line(&i, "# %s", sections[n].title);
        sections[n].write(&i);
        is_first = false;
    }
    return i.err;
}
