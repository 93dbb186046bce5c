/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the table of commands: names, arity, keys, documentation and who
 * answers them.
 *
 * The table is the one place that says what a command is; arity errors, the
 * ordering of pipelines, COMMAND and COMMAND DOCS are all read from it.  Each
 * family has its file (command_string.c, ...) with one constant table and the
 * handlers, which call cache.h and nothing below it.
 */
#ifndef RONDO_SERVER_COMMANDS_H
#define RONDO_SERVER_COMMANDS_H

#include "rondo/rondo.h"

struct rondo_cmd;

/* What became of a call. */
enum rondo_run {
    RONDO_RUN_DONE, /* the reply is written */
    RONDO_RUN_WAIT  /* the call's op waits for answers; nothing is written */
};

typedef enum rondo_run (*rondo_command_fn)(struct rondo_cmd *call);

enum rondo_command_flags {
    RONDO_COMMAND_READ = 1,          /* reads its keys */
    RONDO_COMMAND_WRITE = 2,         /* changes its keys */
    RONDO_COMMAND_WHOLE = 4,         /* waits for all that its connection waits for */
    RONDO_COMMAND_NO_AUTH = 8,       /* allowed before AUTH */
    RONDO_COMMAND_ADMIN = 16,        /* shown as such */
    RONDO_COMMAND_FAST = 32,         /* shown as such */
    RONDO_COMMAND_DENY_OOM = 64,     /* shown as such */
    RONDO_COMMAND_LOOK = 128,        /* with READ: looks at memory alone, so that a load that its
                                        connection waits for comes first */
    RONDO_COMMAND_ASKS = 256,        /* may wait, though it touches no key */
    RONDO_COMMAND_LISTENING = 512,   /* allowed to a RESP2 client that listens to channels */
    RONDO_COMMAND_LOADS = 1024,      /* with WRITE: loads what memory does not have */
    RONDO_COMMAND_OVERWRITES = 2048, /* with WRITE: whatever was there (SET: unless NX, XX, GET) */
    RONDO_COMMAND_NO_MULTI = 4096,   /* refused between MULTI and EXEC */
    RONDO_COMMAND_AT_ONCE = 8192     /* between MULTI and EXEC: run, not queued */
};

/* Where the keys stand among the arguments: 0 is the command's name, `last` is
 * counted from the end if negative, `first` 0 means none. */
struct rondo_command_keys {
    int first, last, step;
};

struct rondo_command {
    const char *name; /* lower case; of a sub-command with its parent, "client|id" */
    int arity;        /* the name included; negative: at least so many */
    unsigned flags;
    struct rondo_command_keys keys;
    const char *group, *since, *summary; /* for COMMAND DOCS */
    rondo_command_fn run;
    const struct rondo_command_family *subs; /* NULL: none */
};

/* A family's table. */
struct rondo_command_family {
    const struct rondo_command *commands;
    size_t n;
};

/* All commands, and an index by name. Constant after init. */
struct rondo_commands {
    const struct rondo_command **index; /* open addressing, power of two */
    size_t cap, n;
};

/* Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_commands_init(struct rondo_commands *c);
void rondo_commands_fini(struct rondo_commands *c);

/* By name, whatever its case; NULL if there is none. */
const struct rondo_command *rondo_commands_find(const struct rondo_commands *c,
                                                struct rondo_slice name);
/* A sub-command by its own name ("id"), NULL if there is none. */
const struct rondo_command *rondo_command_sub(const struct rondo_command *command,
                                              struct rondo_slice name);

/* Commands in the order of their families; NULL past the end. */
const struct rondo_command *rondo_commands_at(size_t i);

/* Is this a right number of arguments, the name included? */
bool rondo_command_fits(const struct rondo_command *command, size_t argc);

/* The argument numbers of the keys: first, step and how many (0: none).  `argc`
 * must fit. */
size_t rondo_command_key_range(const struct rondo_command *command, size_t argc, size_t *first,
                               size_t *step);

extern const struct rondo_command_family rondo_commands_string, rondo_commands_update,
    rondo_commands_key, rondo_commands_expire, rondo_commands_scan, rondo_commands_move,
    rondo_commands_multi, rondo_commands_object, rondo_commands_connection, rondo_commands_server,
    rondo_commands_pubsub, rondo_commands_rondo;
/* SET key value GET: answers the old value. */
struct rondo_write;
enum rondo_run rondo_command_set_get(struct rondo_cmd *call, const struct rondo_write *write);

/* RESET, QUIT of a client that listened: answers once the hub has forgotten it. */
enum rondo_run rondo_command_leave(struct rondo_cmd *call);

/* COMMAND without a sub-command. */
enum rondo_run rondo_command_run_command(struct rondo_cmd *call);

/* Of containers. */
extern const struct rondo_command_family rondo_commands_client, rondo_commands_config,
    rondo_commands_command;

#endif
