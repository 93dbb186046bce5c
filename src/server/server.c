/* SPDX-License-Identifier: MIT */
#include "server/server.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/admin.h"
#include "server/listener.h"
#include "server/session.h"
#include "server/systemd.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define DRAIN_NS (10 * RONDO_SEC)
#define SHUT_NS (2 * RONDO_SEC) /* for what needs no waiting: a turn of each connection */

enum { AUTO_THREADS = 16 };

struct rondo_server {
    struct rondo_config *config; /* lent */
    rondo_runtime *rt;
    rondo_keyspace *ks;
    rondo_actor *listener;
    struct rondo_admin *admin; /* NULL: none */
    struct rondo_service service;
    uint64_t drain_timeout_ns;
    bool has_service;
};

/* ---- up ------------------------------------------------------------------------- */

static void say(struct rondo_server_why *why, const char *fmt, ...) RONDO_PRINTF(2, 3);
static void say(struct rondo_server_why *why, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why->text, sizeof why->text, fmt, args);
    va_end(args);
}

static enum rondo_err check_exposure(const struct rondo_config *config,
                                     struct rondo_server_why *why) {
    if (config->listen.is_loopback || config->password || config->insecure) return RONDO_OK;
    say(why,
        "listen: %s can be reached from other machines: set `password`, or `insecure: yes` if "
        "that is meant",
        config->listen.host);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err open_caches(struct rondo_server *server, struct rondo_server_why *why) {
    for (size_t i = 0; i < server->config->n_caches; i++) {
        struct rondo_config_cache *c = &server->config->caches[i];
        rondo_cache *cache;
        c->options.keyspace = server->ks;
        enum rondo_err err = rondo_cache_open(server->rt, &c->options, &cache);
        if (err) {
            say(why, "cache %s: %s", c->name, rondo_err_text(err));
            return err;
        }
        c->options.source = (struct rondo_source){0}; /* the cache has it now */
    }
    return RONDO_OK;
}

static enum rondo_err open_engine(struct rondo_server *server, struct rondo_server_why *why) {
    const struct rondo_config *config = server->config;
    struct rondo_runtime_options rt = {.size = sizeof rt, .threads = config->workers};
    struct rondo_keyspace_options ks = {.size = sizeof ks,
                                        .memory_bytes = config->memory_bytes,
                                        .refuse_unmatched = config->refuse_unmatched};
    enum rondo_err err = rondo_runtime_new(&rt, &server->rt);
    if (err) {
        say(why, "cannot start the workers: %s", rondo_err_text(err));
        return err;
    }
    err = rondo_keyspace_new(server->rt, &ks, &server->ks);
    if (err) {
        say(why, "cannot make the keyspace: %s", rondo_err_text(err));
        return err;
    }
    return open_caches(server, why);
}

static enum rondo_err open_network(struct rondo_server *server,
                                   const struct rondo_server_options *options,
                                   struct rondo_server_why *why) {
    const struct rondo_config_address *at = &server->config->listen;
    int fd = options->listen_fd;
    uint16_t port = at->port;
    enum rondo_err err =
        fd > 0 ? RONDO_OK : rondo_listener_open(at, &fd, &port, why->text, sizeof why->text);
    if (err) return err;
    err = rondo_service_init(&server->service, server->rt, server->ks, server->config,
                             &options->limits);
    server->has_service = !err;
    server->service.port = port;
    if (!err)
        err = rondo_listener_start(&server->service, fd, &server->listener);
    else
        (void)close(fd);
    if (err) say(why, "cannot start the listener: %s", rondo_err_text(err));
    return err;
}

enum rondo_err rondo_server_start(struct rondo_config *config,
                                  const struct rondo_server_options *options,
                                  struct rondo_server_why *why, struct rondo_server **out) {
    static const struct rondo_server_options defaults;
    if (!options) options = &defaults;
    enum rondo_err err = check_exposure(config, why);
    if (err) return err;
    struct rondo_server *server = rondo_zalloc(sizeof *server);
    if (!server) {
        say(why, "out of memory");
        return RONDO_ERR_NOMEM;
    }
    server->config = config;
    server->drain_timeout_ns = options->drain_timeout_ns ? options->drain_timeout_ns : DRAIN_NS;
    /* First up and last down, so that it can say that the rest is not there. */
    if (config->admin.is_set)
        err = rondo_admin_start(&config->admin, why->text, sizeof why->text, &server->admin);
    if (!err) err = open_engine(server, why);
    if (!err) err = open_network(server, options, why);
    if (err) {
        rondo_server_stop(server);
        return err;
    }
    rondo_admin_show(server->admin, &server->service);
    *out = server;
    return RONDO_OK;
}

uint16_t rondo_server_port(const struct rondo_server *server) {
    return server->service.port;
}

/* ---- down ----------------------------------------------------------------------- */

static void close_clients(struct rondo_server *server) {
    struct rondo_clients *clients = &server->service.clients;
    const struct rondo_clock *clock = server->service.clock;
    /* The listener may accept one more: it enters the list after this, and its link
     * sees the flag; partner: start in link.c. */
    rondo_store_release(&server->service.is_stopping, true);
    rondo_clients_tell(clients, RONDO_SESSION_DRAIN, NULL, NULL, NULL);
    uint64_t deadline = rondo_deadline(rondo_clock_now(clock), server->drain_timeout_ns);
    if (rondo_clients_wait_none(clients, deadline)) return;
    rondo_log(RONDO_LOG_WARN, "%u clients still waited after the drain timeout",
              rondo_clients_count(clients));
    /* A command may run long, but it ends; until then it needs the keyspace.  Who was
     * not told, for want of memory, is told again. */
    do {
        rondo_clients_tell(clients, RONDO_SESSION_SHUT, NULL, NULL, NULL);
    } while (!rondo_clients_wait_none(clients, rondo_deadline(rondo_clock_now(clock), SHUT_NS)));
}

void rondo_server_stop(struct rondo_server *server) {
    if (!server) return;
    rondo_admin_drain(server->admin);
    if (server->listener) {
        rondo_actor_stop(server->listener);
        close_clients(server);
        rondo_actor_unref(server->listener);
    }
    rondo_admin_hide(server->admin);
    rondo_keyspace_free(server->ks);
    rondo_runtime_free(server->rt);
    if (server->has_service) rondo_service_fini(&server->service);
    rondo_admin_stop(server->admin);
    rondo_free(server);
}

/* ---- the line at the start -------------------------------------------------------- */

static unsigned most_threads(const struct rondo_threads *t) {
    switch (t->kind) {
    case RONDO_THREADS_FIXED:
    case RONDO_THREADS_RANGE:
        return t->max;
    case RONDO_THREADS_NONE:
        return 1;
    case RONDO_THREADS_AUTO:
    default:
        return AUTO_THREADS;
    }
}

static enum rondo_err describe_cache(const struct rondo_config_cache *c, bool is_first,
                                     struct rondo_buf *out) {
    unsigned n = most_threads(&c->options.threads);
    const char *how = c->options.threads.kind == RONDO_THREADS_FIXED ? "" : "up to ";
    const char *comma = is_first ? "" : ", ";
    if (c->options.threads.kind == RONDO_THREADS_NONE) how = "";
    if (!c->source_type) return rondo_buf_printf(out, "%s%s (no source)", comma, c->name);
    return rondo_buf_printf(out, "%s%s (%s, %s%u thread%s)", comma, c->name, c->source_type, how, n,
                            n == 1 ? "" : "s");
}

static enum rondo_err describe_caches(const struct rondo_config *config, struct rondo_buf *out) {
    unsigned sum = 0;
    if (config->n_caches == 0)
        return rondo_buf_append_str(out, "no cache has a source: a plain cache");
    enum rondo_err err = rondo_buf_append_str(out, "caches: ");
    for (size_t i = 0; !err && i < config->n_caches; i++) {
        const struct rondo_config_cache *c = &config->caches[i];
        if (c->source_type) sum += most_threads(&c->options.threads);
        err = describe_cache(c, i == 0, out);
    }
    if (!err) err = rondo_buf_printf(out, "; source threads: at most %u", sum);
    return err;
}

enum rondo_err rondo_server_describe(const struct rondo_server *server, struct rondo_buf *out) {
    const struct rondo_config *config = server->config;
    const struct rondo_config_address *admin = &config->admin;
    unsigned workers = server->service.n_workers;
    const char *open = config->listen.is_ipv6 ? "[" : "", *close = *open ? "]" : "";
    enum rondo_err err = rondo_buf_printf(out, "rondo %s listens on %s%s%s:%u, %u worker%s; ",
                                          rondo_version(), open, config->listen.host, close,
                                          server->service.port, workers, workers == 1 ? "" : "s");
    if (!err) err = describe_caches(config, out);
    if (!err && server->admin)
        err = rondo_buf_printf(out, "; admin on %s%s%s:%u", admin->is_ipv6 ? "[" : "", admin->host,
                               admin->is_ipv6 ? "]" : "", rondo_admin_port(server->admin));
    return err;
}

/* ---- a process of it -------------------------------------------------------------- */

static bool print_line(const struct rondo_server *server) {
    struct rondo_buf line = {0};
    bool is_printed = rondo_server_describe(server, &line) == RONDO_OK;
    if (is_printed) {
        (void)printf("%.*s\n", (int)line.len, line.data);
        is_printed = fflush(stdout) == 0;
    }
    rondo_buf_fini(&line);
    if (!is_printed) fprintf(stderr, "rondo: cannot write to stdout\n");
    return is_printed;
}

/* Blocked before any thread exists, so that none of them gets these signals. */
static void block_signals(sigset_t *set) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    RONDO_CHECK(pthread_sigmask(SIG_BLOCK, set, NULL) == 0);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

/* From the second signal on they do what they do by default: end the process. */
static void wait_for_signal(const sigset_t *set) {
    int sig = 0;
    while (sigwait(set, &sig) != 0) {
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGTERM, &usual, NULL);
    (void)sigaction(SIGINT, &usual, NULL);
    RONDO_CHECK(pthread_sigmask(SIG_UNBLOCK, set, NULL) == 0);
    rondo_log(RONDO_LOG_INFO, "%s: stopping", sig == SIGINT ? "SIGINT" : "SIGTERM");
}

int rondo_server_run(struct rondo_config *config, const struct rondo_server_options *options,
                     rondo_server_ready_fn ready, void *arg) {
    struct rondo_server *server = NULL;
    struct rondo_server_why why = {{0}};
    struct rondo_server_options given = {0};
    sigset_t set;
    int fd = -1;
    block_signals(&set);
    if (options) given = *options;
    enum rondo_err err = rondo_systemd_listener(&fd, &config->listen, why.text, sizeof why.text);
    if (fd > 0) given.listen_fd = fd;
    if (!err) err = rondo_server_start(config, &given, &why, &server);
    if (err) {
        fprintf(stderr, "rondo: %s\n", why.text);
        return 1;
    }
    bool is_ready = print_line(server) && (!ready || ready(arg, server));
    if (is_ready) rondo_systemd_notify("READY=1");
    if (is_ready) wait_for_signal(&set);
    rondo_systemd_notify("STOPPING=1");
    rondo_server_stop(server);
    return is_ready ? 0 : 1;
}
