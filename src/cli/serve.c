/* SPDX-License-Identifier: MIT */
/* rondo serve - from arguments to a configuration, then to the server. */
#include "base/buf.h"
#include "base/mem.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/logger.h"
#include "config/config.h"
#include "server/server.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct serve {
    struct rondo_logger *logger;
    const char *file, *listen, *port_file;
    struct rondo_threads workers;
    uint64_t ready_fd, drain_ns, idle_ns;
    bool has_workers, has_ready_fd;
};

static void print_mistake(void *arg, const char *line) {
    (void)arg;
    fprintf(stderr, "rondo: %s\n", line);
}

/* ---- telling the port ------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t n) {
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        text += done;
        n -= (size_t)done;
    }
    return true;
}

/* By a rename: a reader sees no file or the whole number. */
static bool write_port_file(const char *path, const char *text) {
    struct rondo_buf name = {0};
    bool is_written = false;
    if (rondo_buf_printf(&name, "%s.%ld", path, (long)getpid()) == RONDO_OK &&
        rondo_buf_cstr(&name)) {
        FILE *f = fopen(name.data, "w");
        is_written = f && fputs(text, f) >= 0;
        if (f && fclose(f) != 0) is_written = false;
        if (is_written) is_written = rename(name.data, path) == 0;
        if (f && !is_written) (void)unlink(name.data);
    }
    rondo_buf_fini(&name);
    return is_written;
}

static bool tell_port(void *arg, const struct rondo_server *server) {
    const struct serve *s = arg;
    char text[16];
    int n = snprintf(text, sizeof text, "%u\n", rondo_server_port(server));
    if (s->port_file && !write_port_file(s->port_file, text)) {
        fprintf(stderr, "rondo: cannot write %s: %s\n", s->port_file, strerror(errno));
        return false;
    }
    if (!s->has_ready_fd) return true;
    bool is_told = write_all((int)s->ready_fd, text, (size_t)n);
    if (is_told) (void)close((int)s->ready_fd);
    if (!is_told) fprintf(stderr, "rondo: cannot write to --ready-fd: %s\n", strerror(errno));
    return is_told;
}

/* ---- the configuration ------------------------------------------------------------ */

static enum rondo_err read_config(const struct serve *s, int n_operands, char **operands,
                                  struct rondo_config **out) {
    if (s->file) return rondo_config_load(s->file, print_mistake, NULL, out);
    if (n_operands == 0) return rondo_config_default(out);
    return rondo_config_quick(operands[0], operands[1], n_operands > 2 ? operands[2] : NULL,
                              print_mistake, NULL, out);
}

static uint64_t idle_limit(const struct serve *s, const struct rondo_config *config) {
    if (s->idle_ns) return s->idle_ns;
    return config->idle_timeout_ns == RONDO_OFF ? 0 : config->idle_timeout_ns;
}

static int run(struct serve *s, const struct rondo_config_address *listen, int n_operands,
               char **operands) {
    struct rondo_config *config = NULL;
    enum rondo_err err = read_config(s, n_operands, operands, &config);
    if (err == RONDO_ERR_CONFIG) return RONDO_EXIT_FAILED;
    if (err) {
        fprintf(stderr, "rondo: %s\n", rondo_err_text(err));
        return RONDO_EXIT_FAILED;
    }
    rondo_logger_set(s->logger, config->log_level, config->log_json);
    if (listen->is_set) config->listen = *listen;
    if (s->has_workers) config->workers = s->workers;
    struct rondo_server_options options = {
        .limits = {.idle_ns = idle_limit(s, config)},
        .drain_timeout_ns = s->drain_ns ? s->drain_ns : config->drain_timeout_ns};
    int code = rondo_server_run(config, &options, tell_port, s);
    rondo_config_free(config);
    return code;
}

static int check_usage(const struct rondo_args *args, const struct serve *s, int n_operands,
                       struct rondo_config_address *listen) {
    if (s->file && n_operands > 0)
        return rondo_args_mistake(args, "give a file or a pattern, not both");
    if (n_operands == 1)
        return rondo_args_mistake(args, "a pattern needs a source: sqlite:FILE, scripted:…");
    const char *allowed = s->listen ? rondo_config_address_parse(s->listen, listen) : NULL;
    if (allowed) return rondo_args_mistake(args, "--listen %s: %s", s->listen, allowed);
    if (s->has_workers && s->workers.kind == RONDO_THREADS_NONE)
        return rondo_args_mistake(args, "--workers 0: the server needs at least one");
    return RONDO_EXIT_DONE;
}

int rondo_cli_serve(int argc, char **argv) {
    static struct rondo_logger logger; /* as long as the threads that log */
    struct serve s = {.logger = &logger};
    struct rondo_config_address listen = {0};
    const struct rondo_arg options[] = {
        {.name = "config",
         .letter = 'c',
         .kind = RONDO_ARG_TEXT,
         .out = &s.file,
         .value = "FILE",
         .help = "the configuration; without it, what the operands say"},
        {.name = "listen",
         .kind = RONDO_ARG_TEXT,
         .out = &s.listen,
         .value = "ADDR:PORT",
         .help = "where to listen [127.0.0.1:6380]; port 0: the kernel chooses"},
        {.name = "workers",
         .kind = RONDO_ARG_THREADS,
         .out = &s.workers,
         .value = "N",
         .given = &s.has_workers,
         .help = "threads that serve connections [auto: one a core]"},
        {.name = "drain-timeout",
         .kind = RONDO_ARG_DURATION,
         .out = &s.drain_ns,
         .value = "TIME",
         .help = "how long a stop waits for loads under way [the file's; 10s]"},
        {.name = "idle-timeout",
         .kind = RONDO_ARG_DURATION,
         .out = &s.idle_ns,
         .value = "TIME",
         .help = "close connections that are idle so long [never]"},
        {.name = "port-file",
         .kind = RONDO_ARG_TEXT,
         .out = &s.port_file,
         .value = "FILE",
         .help = "write the port to this file once connections are accepted"},
        {.name = "ready-fd",
         .kind = RONDO_ARG_COUNT,
         .out = &s.ready_fd,
         .value = "N",
         .max = 65535,
         .given = &s.has_ready_fd,
         .help = "the same to a descriptor"},
    };
    const struct rondo_args args = {
        .command = "serve",
        .synopsis = "[options] [PATTERN TYPE:TARGET [STATEMENT]]",
        .about = "Answers Redis clients (RESP2 and RESP3); what a cache does not have is loaded "
                 "from its\nsource, once however many ask.  Alone it is a plain cache.",
        .examples = "  rondo serve -c examples/users.yaml\n"
                    "  rondo serve 'user:{id}' sqlite:users.db "
                    "'SELECT name FROM users WHERE id = {id}'\n"
                    "  rondo serve --listen 127.0.0.1:0 --port-file port.txt\n",
        .options = options,
        .n_options = RONDO_COUNT_OF(options),
        .max_operands = 3};
    int first = 0;
    switch (rondo_args_parse(&args, argc, argv, &first)) {
    case RONDO_ARGS_HELP:
        return RONDO_EXIT_DONE;
    case RONDO_ARGS_USAGE:
        return RONDO_EXIT_USAGE;
    case RONDO_ARGS_RUN:
    default:
        break;
    }
    if (check_usage(&args, &s, argc - first, &listen)) return RONDO_EXIT_USAGE;
    rondo_logger_start(&logger);
    return run(&s, &listen, argc - first, argv + first);
}
