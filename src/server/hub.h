/* SPDX-License-Identifier: MIT */
/*
 * hub.h - the actor that knows who listens to what.
 *
 * One actor for all channels: what it sends, it sends in one order, so that all
 * subscribers of a channel see its messages in the same order, a confirmation comes
 * before the first message, and the count that PUBLISH returns is exact.  Nothing
 * that reads or writes a key passes through it.
 */
#ifndef RONDO_SERVER_HUB_H
#define RONDO_SERVER_HUB_H

#include "base/buf.h"
#include "rondo/runtime.h"

enum rondo_hub_verb {
    RONDO_HUB_SUBSCRIBE,    /* to the arguments */
    RONDO_HUB_PSUBSCRIBE,   /* patterns */
    RONDO_HUB_UNSUBSCRIBE,  /* no argument: from all channels */
    RONDO_HUB_PUNSUBSCRIBE, /* no argument: from all patterns */
    RONDO_HUB_PUBLISH,      /* channel, message */
    RONDO_HUB_CHANNELS,     /* a pattern, or nothing */
    RONDO_HUB_NUMSUB,       /* channels */
    RONDO_HUB_NUMPAT,
    RONDO_HUB_LEAVE /* from everything; no reply */
};

/* Types of what the asker and the subscribers receive. */
enum { RONDO_HUB_REPLY = 100, RONDO_HUB_PUSH };

/* Exactly one per request but LEAVE.  Its fini frees `text`: take it out or leave it. */
struct rondo_hub_reply {
    struct rondo_msg head;
    uint64_t id;                 /* as asked */
    struct rondo_buf text;       /* in the protocol, whole */
    uint32_t channels, patterns; /* that the asker listens to now */
};

/* A message to a subscriber: bytes of the protocol without the first character,
 * which is '>' in RESP3 and '*' in RESP2.  Shared by all who receive it. */
struct rondo_hub_push {
    struct rondo_msg head;
    struct rondo_hub_payload *payload;
};
struct rondo_slice rondo_hub_push_bytes(const struct rondo_hub_push *push);

/* Starts a hub; the caller gets a reference.  Errors: NOMEM, CLOSED. */
RONDO_NODISCARD enum rondo_err rondo_hub_start(rondo_runtime *rt, rondo_actor **out);

struct rondo_hub_question {
    enum rondo_hub_verb verb;
    rondo_actor *from;              /* shared: gets the reply, and is what subscribes */
    uint64_t client;                /* its number */
    uint64_t id;                    /* comes back with the reply */
    unsigned proto;                 /* of the reply */
    const struct rondo_slice *args; /* copied */
    size_t n_args;
};

/* Errors: NOMEM.  Any thread; a hub that is gone drops what it is asked. */
RONDO_NODISCARD enum rondo_err rondo_hub_ask(rondo_actor *hub,
                                             const struct rondo_hub_question *question);

/* A message that makes `client` leave, for who may not fail later: it is sent by
 * rondo_send, or freed.  NULL: out of memory. */
void *rondo_hub_leave_new(uint64_t client);

#endif
