/* SPDX-License-Identifier: MIT */
/*
 * block.h - what a client has said between MULTI and EXEC, and what it watches.
 *
 * Plain data of one connection: the commands with copies of their arguments, the
 * watched keys with the version that each had.  A connection that is in no block
 * and watches nothing has none.
 */
#ifndef RONDO_SERVER_BLOCK_H
#define RONDO_SERVER_BLOCK_H

#include "rondo/cache.h"
#include "server/commands.h"

struct rondo_queued {
    struct rondo_queued *next;
    const struct rondo_command *command;
    size_t argc;
    struct rondo_slice argv[]; /* their bytes lie behind */
};

struct rondo_watch {
    struct rondo_watch *next;
    struct rondo_watch *chain; /* the next in its bucket */
    uint64_t hash;
    struct rondo_key key; /* its bytes lie behind */
    uint64_t version;
    bool is_set; /* `version` is */
};

struct rondo_block {
    struct rondo_queued *first, *last;
    struct rondo_watch *watches;  /* the newest first */
    struct rondo_watch **buckets; /* the same by their keys; NULL: there was none */
    size_t n_buckets, n_watches;
    size_t n;      /* commands */
    size_t bytes;  /* that they take */
    bool is_open;  /* after MULTI */
    bool is_dirty; /* a command could not be queued: EXEC will refuse */
};

/* NULL: out of memory. */
struct rondo_block *rondo_block_new(void);
void rondo_block_free(struct rondo_block *b);

/* Errors: NOMEM, TOO_LARGE (all commands together would take more than `limit`
 * bytes). */
RONDO_NODISCARD enum rondo_err rondo_block_add(struct rondo_block *b,
                                               const struct rondo_command *command,
                                               const struct rondo_slice *argv, size_t argc,
                                               size_t limit);

/* Watches a key, whose version is to be set; one that is watched stays as it is.
 * Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_block_watch(struct rondo_block *b,
                                                 const struct rondo_key *key);
/* Forgets all watches, or those without a version. */
void rondo_block_unwatch(struct rondo_block *b);
void rondo_block_unwatch_unset(struct rondo_block *b);

#endif
