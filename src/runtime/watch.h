/* SPDX-License-Identifier: MIT */
/*
 * watch.h - monitors: one actor hears when another has stopped.
 *
 * A watch is one block that travels.  As a control message it goes to the
 * target, whose turn puts it on the actor's list; when the target stops, the
 * same block goes to the watcher as the DOWN message.  So telling cannot fail.
 * A control message that meets a stopped target turns round at once (GONE).
 * Ending a watch sends a second control message, which is also part of the block
 * and takes it off the list; the two race on `state`.
 */
#ifndef RONDO_RUNTIME_WATCH_H
#define RONDO_RUNTIME_WATCH_H

#include "runtime/executor.h"

/* In a turn of `a`: a control message other than its stop; not held. */
void rondo_watch_control(struct rondo_actor *a, struct rondo_msg *m);

/* In the last turn of `a`, whose mailbox is closed: sends the DOWN messages. */
void rondo_watch_tell(struct rondo_actor *a, enum rondo_down_reason reason);

#endif
