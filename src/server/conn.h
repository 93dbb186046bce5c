/* SPDX-License-Identifier: MIT */
/*
 * conn.h - one connection: bytes in, commands run in order, bytes out, limits.
 *
 * The socket is behind a *wire* of two functions, so that a test decides what
 * every recv and send returns.  The owner (link.h) says what happened; each call
 * does all that can be done now and returns whether the connection still lives:
 *
 *     recv into one buffer -> parse and run until the input is used up, a command
 *     must wait, or too much output waits -> one send
 *
 * Memory: while a connection is idle it owns no buffer; both come from its
 * worker's spare ones and go back when they are empty.
 *
 * A connection is
 *   OPEN      reads and answers
 *   CLOSING   runs no more commands; what was asked is answered, then it closes
 *   CLOSED    for good; the owner gives back the socket
 *
 * What a client that does not take its answers can cost: when `output_soft`
 * bytes wait, no further command is run and nothing is read; more can come only
 * from the one command that went over it and from commands that waited for a load;
 * at `output_hard` the connection is closed.  Messages of channels come unasked and
 * to many: of them `output_push` may wait.
 */
#ifndef RONDO_SERVER_CONN_H
#define RONDO_SERVER_CONN_H

#include "server/session.h"
#include <sys/types.h>

/* Both return as recv(2) and send(2), but an error as -errno. */
struct rondo_wire {
    ssize_t (*recv)(void *self, void *data, size_t n);
    ssize_t (*send)(void *self, const void *data, size_t n);
    void *self;
};

enum rondo_conn_state { RONDO_CONN_OPEN = 0, RONDO_CONN_CLOSING, RONDO_CONN_CLOSED };

/* What the owner does next. */
enum rondo_conn_next {
    RONDO_CONN_WAIT,  /* nothing until the next event */
    RONDO_CONN_AGAIN, /* call rondo_conn_continue soon: others had to have their turn */
    RONDO_CONN_END    /* CLOSED */
};

struct rondo_conn {
    struct rondo_session session;
    struct rondo_resp_request parser;
    struct rondo_wire wire;
    struct rondo_buf in;
    size_t in_used; /* bytes of `in` that are done with */
    size_t ahead;   /* bytes of `in` whose keys have been asked for */
    struct rondo_buf out;
    size_t out_sent; /* bytes of `out` that the socket took */
    size_t pushed;   /* bytes of messages since nothing waited */
    uint64_t now_ns; /* of this wake-up */
    uint8_t state;
    bool may_recv;   /* the socket may have something */
    bool may_send;   /* the socket may take something */
    bool is_ending;  /* the end is among what there is to receive */
    bool is_ended;   /* it was received: the client sends no more */
    bool is_held;    /* parser.args is a command that waits for a slot */
    bool is_stalled; /* counted as one that does not take its answers */
};

void rondo_conn_init(struct rondo_conn *c, struct rondo_service *service, unsigned worker,
                     struct rondo_client *client, rondo_actor *actor,
                     const struct rondo_wire *wire);
void rondo_conn_fini(struct rondo_conn *c);

/* The socket became ready: `events` of RONDO_IO_READ, WRITE and HANGUP. */
enum rondo_conn_next rondo_conn_ready(struct rondo_conn *c, unsigned events, uint64_t now_ns);
enum rondo_conn_next rondo_conn_continue(struct rondo_conn *c, uint64_t now_ns);

/* A completion came; its answer is taken, the message stays the caller's. */
enum rondo_conn_next rondo_conn_complete(struct rondo_conn *c, struct rondo_reply *reply,
                                         uint64_t now_ns);

/* The hub has answered or has a message (RONDO_HUB_REPLY, RONDO_HUB_PUSH), which
 * stays the caller's. */
enum rondo_conn_next rondo_conn_hub(struct rondo_conn *c, struct rondo_msg *m, uint64_t now_ns);

/* The server stops: no more commands; answers what runs, then closes. */
enum rondo_conn_next rondo_conn_drain(struct rondo_conn *c, uint64_t now_ns);
/* Its patience is over: what waits is answered with an error. */
enum rondo_conn_next rondo_conn_shut(struct rondo_conn *c, uint64_t now_ns);

/* Closes it if it has been idle for the limit. */
enum rondo_conn_next rondo_conn_idle(struct rondo_conn *c, uint64_t now_ns);

#endif
