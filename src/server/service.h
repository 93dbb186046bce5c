/* SPDX-License-Identifier: MIT */
/*
 * service.h - what a command can see of the server it runs in: the keyspace, the
 * clients, the counters, the settings.  No socket and no listener: a test builds
 * one around a keyspace and needs no network.
 *
 * Everything is constant once connections exist, but for the counters and what
 * guards itself.
 */
#ifndef RONDO_SERVER_SERVICE_H
#define RONDO_SERVER_SERVICE_H

#include "base/atomic.h"
#include "base/clock.h"
#include "config/config.h"
#include "rondo/cache.h"
#include "server/clients.h"
#include "server/commands.h"
#include "server/slots.h"

/* X(name, what it counts), all since the start or the last CONFIG RESETSTAT. */
#define RONDO_SERVICE_COUNTS(X)                                                                    \
    X(connections, "connections accepted")                                                         \
    X(rejected, "connections refused because `max_connections` were there")                        \
    X(commands, "commands run")                                                                    \
    X(error_replies, "error replies")                                                              \
    X(bytes_in, "bytes received")                                                                  \
    X(bytes_out, "bytes sent")                                                                     \
    X(protocol_errors, "connections closed because of what they sent")                             \
    X(slots, "commands that had to wait for a load or a store")                                    \
    X(held, "commands that had to wait for an earlier one of their connection")                    \
    X(reply_wait_ns, "nanoseconds that replies waited for earlier ones of their connection")       \
    X(stalls, "times that a connection was not read because its answers were not taken")           \
    X(closed_output, "connections closed because too many answers were waiting")                   \
    X(closed_input, "connections closed because a command grew too large")                         \
    X(closed_idle, "connections closed because they were idle")

struct rondo_service_counts {
#define RONDO_SERVICE_COUNT_FIELD_(name, text) uint64_t name;
    RONDO_SERVICE_COUNTS(RONDO_SERVICE_COUNT_FIELD_)
#undef RONDO_SERVICE_COUNT_FIELD_
};

/* One per worker of the runtime: written by that worker alone, read by all
 * (relaxed).  The spare buffers are the worker's own: a connection that has read
 * and answered everything keeps no buffer. */
struct rondo_service_worker {
    struct rondo_service_counts counts;
    struct rondo_buf spare_in, spare_out;
    struct rondo_slots_room spare_room;
    struct rondo_op *spare_op;  /* session.h: of the next command that reads or writes */
    char pad[RONDO_CACHE_LINE]; /* the next worker's counters lie elsewhere */
};

/* Limits of a connection; zero: the default in brackets. */
struct rondo_service_limits {
    size_t slots;       /* that wait at the same time [1,024]; then it stops reading */
    size_t output_soft; /* bytes of answers not yet taken [1 MiB]; then it stops reading */
    size_t output_hard; /* the same [1 GiB]; then it is closed */
    size_t output_push; /* the same for messages of channels [32 MiB] */
    size_t input;       /* bytes of one command before it is complete [1 GiB] */
    size_t argument;    /* bytes of one argument [512 MiB] */
    uint64_t idle_ns;   /* without a command [off]; atomic, relaxed: CONFIG SET changes it */
};

struct rondo_service {
    rondo_runtime *rt;                 /* borrowed */
    rondo_keyspace *ks;                /* borrowed */
    const struct rondo_config *config; /* borrowed; its caches say what the sources are */
    const struct rondo_clock *clock;
    struct rondo_service_limits limits;
    struct rondo_commands commands;
    struct rondo_clients clients;
    rondo_actor *hub; /* of the channels */
    struct rondo_service_worker *workers;
    unsigned n_workers;
    uint16_t port;   /* that the kernel gave */
    char run_id[41]; /* 40 hexadecimal digits, drawn at the start */
    uint64_t start_ns, start_wall_ns;
    uint64_t ops_per_sec;    /* atomic, relaxed: written by the listener's tick */
    uint64_t wall_offset_ns; /* atomic, relaxed: wall clock minus the runtime's, see ttl.c */
    bool is_stopping;        /* atomic: set before the clients are told, read by new ones */
    /* guarded by mu: what CONFIG RESETSTAT subtracts from the sums */
    struct rondo_mutex mu;
    struct rondo_service_counts base;
};

/* Errors: NOMEM.  `limits` may be NULL. */
RONDO_NODISCARD enum rondo_err rondo_service_init(struct rondo_service *s, rondo_runtime *rt,
                                                  rondo_keyspace *ks,
                                                  const struct rondo_config *config,
                                                  const struct rondo_service_limits *limits);
/* No client may be left.  Zeroed memory is fine. */
void rondo_service_fini(struct rondo_service *s);

/* Sums over all workers since the last reset. Any thread. */
void rondo_service_sum(struct rondo_service *s, struct rondo_service_counts *out);
void rondo_service_reset_counts(struct rondo_service *s);

/* How long a connection may be idle, 0: for ever.  Partner: CONFIG SET. */
static inline uint64_t rondo_service_idle_ns(const struct rondo_service *s) {
    return rondo_load_relaxed(&s->limits.idle_ns);
}

/* The config's entry of a cache, NULL for the default cache. */
const struct rondo_config_cache *rondo_service_cache_config(const struct rondo_service *s,
                                                            const rondo_cache *cache);

/* Counts up on a worker's own counters; partners: rondo_service_sum. */
#define rondo_service_count(worker, name, n) rondo_count_up(&(worker)->counts.name, (n))

#endif
