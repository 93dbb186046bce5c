/* SPDX-License-Identifier: MIT */
/* rondo - one program, a subcommand for each job. */
#include "base/check.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "rondo/rondo.h"
#include "server/admin.h"
#include "source/source.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"serve", rondo_cli_serve, "answer Redis clients, loading what is missing"},
    {"check", rondo_cli_check, "report all mistakes in a configuration file"},
    {"ring", rondo_cli_ring, "pass tokens round a ring of actors; what a message costs"},
    {"ritual", rondo_cli_ritual, "many callers, few keys, a slow source; how long it takes"},
};

static void print_usage(FILE *to) {
    fprintf(to, "usage: rondo COMMAND [options]\n\n"
                "A cache that fetches what it does not have.\n\ncommands:\n");
    for (size_t i = 0; i < RONDO_COUNT_OF(commands); i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n  --version  print the version and the sources that it has\n"
                "  --help     print this\n\n"
                "examples:\n"
                "  rondo serve 'user:{id}' sqlite:users.db "
                "'SELECT name FROM users WHERE id = {id}'\n"
                "  rondo serve -c examples/users.yaml\n"
                "  rondo COMMAND --help\n");
}

static int print_version(void) {
    struct rondo_buf sources = {0};
    if (rondo_source_describe(&sources) != RONDO_OK) {
        fprintf(stderr, "rondo: out of memory\n");
        return RONDO_EXIT_FAILED;
    }
    const char *admin = rondo_admin_library();
    printf("rondo %s\nsources:\n%.*sadmin port: %s\n", rondo_version(), (int)sources.len,
           sources.data, admin ? admin : "no (built without libmicrohttpd)");
    rondo_buf_fini(&sources);
    return RONDO_EXIT_DONE;
}

/* A full disk or a closed pipe is a failure even if the job went well. */
static int finish(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    fprintf(stderr, "rondo: cannot write the output\n");
    return code ? code : RONDO_EXIT_FAILED;
}

static int run(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return print_version();
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return RONDO_EXIT_DONE;
    }
    for (size_t i = 0; i < RONDO_COUNT_OF(commands); i++)
        if (strcmp(word, commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    if (*word) fprintf(stderr, "rondo: unknown command '%s'\n", word);
    print_usage(stderr);
    return RONDO_EXIT_USAGE;
}

/* Else a socket or a database would be given the number of a closed one, and what is
 * printed would go there.  Opened for reading, so that printing fails as before. */
static void hold_standard_descriptors(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) (void)close(fd);
}

int main(int argc, char **argv) {
    hold_standard_descriptors();
    return finish(run(argc, argv));
}
