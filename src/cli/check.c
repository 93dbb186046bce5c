/* SPDX-License-Identifier: MIT */
/* rondo check - reports all mistakes of a configuration file and does nothing
 * else. */
#include "cli/args.h"
#include "cli/cli.h"
#include "config/config.h"
#include <stdio.h>

static void print_mistake(void *arg, const char *line) {
    unsigned *n = arg;
    ++*n;
    fprintf(stderr, "%s\n", line);
}

static int check(const char *path) {
    struct rondo_config *config = NULL;
    unsigned n = 0;
    enum rondo_err err = rondo_config_load(path, print_mistake, &n, &config);
    if (err == RONDO_ERR_CONFIG) {
        fprintf(stderr, "rondo: %u mistake%s in %s\n", n, n == 1 ? "" : "s", path);
        return RONDO_EXIT_FAILED;
    }
    if (err) {
        fprintf(stderr, "rondo: %s\n", rondo_err_text(err));
        return RONDO_EXIT_FAILED;
    }
    printf("%s: no mistakes; %zu cache%s\n", path, config->n_caches,
           config->n_caches == 1 ? "" : "s");
    rondo_config_free(config);
    return RONDO_EXIT_DONE;
}

int rondo_cli_check(int argc, char **argv) {
    const struct rondo_args args = {
        .command = "check",
        .synopsis = "FILE",
        .about = "Reports every mistake in a configuration file, with its line and what is "
                 "allowed.",
        .examples = "  rondo check examples/users.yaml\n",
        .options = NULL,
        .n_options = 0,
        .max_operands = 1};
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
    if (argc - first != 1) {
        (void)rondo_args_mistake(&args, "no file was given");
        return RONDO_EXIT_USAGE;
    }
    return check(argv[first]);
}
