/* SPDX-License-Identifier: MIT */
/*
 * args.h - command-line options of a subcommand as one table.
 *
 * The table serves parsing, checking and `--help`, so the three cannot differ.
 * Every mistake is one line on stderr that says what was found and what is
 * allowed; the caller then exits with 2.  Main thread only.
 */
#ifndef RONDO_CLI_ARGS_H
#define RONDO_CLI_ARGS_H

#include "rondo/rondo.h"
#include <stddef.h>
#include <stdint.h>

enum rondo_arg_kind {
    RONDO_ARG_FLAG,     /* out: bool */
    RONDO_ARG_TEXT,     /* out: const char * (borrowed from argv) */
    RONDO_ARG_COUNT,    /* out: uint64_t, between min and max */
    RONDO_ARG_DURATION, /* out: uint64_t, nanoseconds; a unit is required */
    RONDO_ARG_THREADS,  /* out: struct rondo_threads; auto, N, or 0 (RONDO_THREADS_NONE) */
    RONDO_ARG_CHOICE    /* out: unsigned, index into choices */
};

struct rondo_arg {
    const char *name; /* long, without the dashes */
    char letter;      /* short form or 0 */
    enum rondo_arg_kind kind;
    void *out;
    const char *value;          /* what the help calls the value, e.g. "N"; NULL for flags */
    const char *help;           /* one line, with the default */
    uint64_t min, max;          /* COUNT; max 0: no upper limit */
    const char *const *choices; /* CHOICE; ends with NULL */
    bool *given;                /* set to true when the option was there; may be NULL */
};

struct rondo_args {
    const char *command;  /* "ring" */
    const char *synopsis; /* "[options]" */
    const char *about;    /* a paragraph for --help */
    const char *examples; /* lines for --help */
    const struct rondo_arg *options;
    size_t n_options;
    unsigned max_operands;
};

enum rondo_args_outcome {
    RONDO_ARGS_RUN,  /* go on */
    RONDO_ARGS_HELP, /* help was printed to stdout: exit 0 */
    RONDO_ARGS_USAGE /* a mistake was printed to stderr: exit 2 */
};

/* Parses argv[1..]; *first_operand is the index of the first operand (operands
 * are moved to the end). */
enum rondo_args_outcome rondo_args_parse(const struct rondo_args *args, int argc, char **argv,
                                         int *first_operand);

/* Prints "rondo <command>: <text>" and the hint at --help to stderr; returns
 * RONDO_EXIT_USAGE. */
int rondo_args_mistake(const struct rondo_args *args, const char *fmt, ...) RONDO_PRINTF(2, 3);

#endif
