/* SPDX-License-Identifier: MIT */
/*
 * exec.h - a block of commands while EXEC runs it.
 *
 *     gather   the keys of all commands and of all watches, in one view
 *     load     those that a command reads and memory does not have
 *     run      with all their shards locked: have watched keys changed?  If not, the
 *              commands in order, their replies written one after another
 *     ask      what went to the hub of the channels (PUBLISH), once unlocked; its
 *              answers fill the holes that were left in the replies
 *
 * Belongs to the op of EXEC; nothing else of its connection runs meanwhile.
 */
#ifndef RONDO_SERVER_EXEC_H
#define RONDO_SERVER_EXEC_H

#include "server/block.h"
#include "server/session.h"

struct rondo_exec;

/* `block` is given, on errors too.  NULL: out of memory, or too many keys. */
struct rondo_exec *rondo_exec_new(struct rondo_session *s, struct rondo_block *block);
void rondo_exec_free(struct rondo_exec *e);

/* EXEC: loads, runs and answers. `e` is given. */
enum rondo_run rondo_exec_start(struct rondo_cmd *call, struct rondo_exec *e);

/* A command of the block asks the hub: the reply follows.  `question->args` stay
 * until the block is over. */
enum rondo_run rondo_exec_ask(struct rondo_cmd *call, const struct rondo_hub_question *question);

#endif
