/* SPDX-License-Identifier: MIT */
/*
 * cli.h - the subcommands of `rondo`.
 *
 * Each takes its arguments with its own name as argv[0] and returns the exit
 * code of the process: 0 done, 1 failed (said on stderr in one line), 2 usage.
 */
#ifndef RONDO_CLI_CLI_H
#define RONDO_CLI_CLI_H

enum { RONDO_EXIT_DONE = 0, RONDO_EXIT_FAILED = 1, RONDO_EXIT_USAGE = 2 };

int rondo_cli_serve(int argc, char **argv);
int rondo_cli_check(int argc, char **argv);
int rondo_cli_ring(int argc, char **argv);
int rondo_cli_ritual(int argc, char **argv);

#endif
