/* SPDX-License-Identifier: MIT */
/*
 * delay.h - timers as messages: sends what is due on a worker's timers.
 */
#ifndef RONDO_RUNTIME_DELAY_H
#define RONDO_RUNTIME_DELAY_H

#include "runtime/executor.h"

/* Sends the next message that is due by `now_ns`.  False: none. */
bool rondo_delay_fire_one(struct rondo_timers *ts, uint64_t now_ns);

/* Takes the message out of a one-shot timer and frees the handle (given); NULL:
 * the message was sent. */
struct rondo_msg *rondo_delay_take(struct rondo_timer *t);

/* Cancels everything and refuses more. */
void rondo_delay_close(struct rondo_timers *ts);

#endif
