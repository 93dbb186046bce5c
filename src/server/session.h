/* SPDX-License-Identifier: MIT */
/*
 * session.h - one connection as commands see it: its database, protocol, name and
 * the order of its replies.  No bytes of requests and no socket here; that is
 * conn.h.
 *
 * A command is a *call*.  Its handler either writes the reply and returns DONE, or
 * prepares the call's *op* (what is needed to answer later, never a pointer into
 * the request) and returns WAIT; the session then opens a slot, and when the last
 * of the op's answers has come its `finish` writes the reply.  Completions come to
 * the session's actor as struct rondo_reply of type RONDO_SESSION_REPLY, whose id
 * names the slot and the part of the op.
 *
 * One thread at a time: the worker of the connection.
 */
#ifndef RONDO_SERVER_SESSION_H
#define RONDO_SERVER_SESSION_H

#include "proto/resp.h"
#include "server/block.h"
#include "server/hub.h"
#include "server/service.h"
#include "server/slots.h"
#include "server/view.h"

/* What HELLO and INFO call this server: the version whose answers it gives. */
#define RONDO_SESSION_REDIS_VERSION "7.0.15"
enum { RONDO_SESSION_DATABASES = 16 };

/* Types of the messages that a connection's actor gets. */
enum {
    RONDO_SESSION_REPLY = 1, /* struct rondo_reply */
    RONDO_SESSION_START,     /* the first: watch the socket */
    RONDO_SESSION_CONTINUE,  /* there is more to read */
    RONDO_SESSION_DRAIN,     /* answer what is there, then close */
    RONDO_SESSION_SHUT,      /* fail what waits, then close */
    RONDO_SESSION_KILL,      /* close */
    RONDO_SESSION_IDLE       /* tick: close if idle */
};

struct rondo_session;
struct rondo_op;
struct rondo_exec;

/* Writes the reply of an op whose answers are all there. */
typedef void (*rondo_finish_fn)(struct rondo_op *op, struct rondo_resp_writer *w);
/* What EXEC adds to its op: exec.h. */
typedef void (*rondo_exec_free_fn)(struct rondo_exec *e);
typedef void (*rondo_hub_take_fn)(struct rondo_op *op, size_t part, struct rondo_hub_reply *reply);
/* Takes more than the answer out of a message that is larger than a reply. */
typedef void (*rondo_take_fn)(struct rondo_op *op, struct rondo_reply *reply);

/* What a call needs to be answered later. */
struct rondo_op {
    rondo_finish_fn finish;
    rondo_take_fn take;           /* may be NULL */
    struct rondo_answer *answers; /* n of them: &one, or an array of its own */
    struct rondo_answer one;
    uint32_t *places; /* NULL, or: part + index -> number of the answer */
    uint32_t n, waiting;
    int64_t a, b; /* what finish needs beside */
    struct rondo_buf text;
    const char *error; /* static */
    rondo_cache *cache;
    struct rondo_view *view;       /* borrowed: of the block that the call is part of, or NULL */
    struct rondo_session *session; /* of WATCH */
    struct rondo_exec *exec;       /* of EXEC */
    rondo_exec_free_fn free_exec;  /* with exec */
    rondo_hub_take_fn take_hub;    /* with exec: takes the text of a reply of the hub */
    uint8_t proto;                 /* the protocol of the reply: HELLO may change it meanwhile */
    bool is_silent;                /* CLIENT REPLY OFF or SKIP */
};

enum rondo_reply_mode { RONDO_REPLY_ON, RONDO_REPLY_OFF, RONDO_REPLY_SKIP_NEXT, RONDO_REPLY_SKIP };

struct rondo_session {
    struct rondo_service *service;       /* borrowed */
    struct rondo_service_worker *worker; /* borrowed: of the thread that runs this */
    struct rondo_client *client;         /* borrowed */
    rondo_actor *actor;                  /* borrowed: where completions go */
    uint64_t counted_ns;                 /* until when the waits of replies are counted */
    struct rondo_slots slots;
    void *leave; /* hub.h: the message that ends all subscriptions; NULL: never had any */
    struct rondo_block *block; /* NULL: in no MULTI, nothing watched */
    uint8_t proto;             /* 2 or 3 */
    uint8_t db;
    uint8_t reply_mode; /* enum rondo_reply_mode */
    bool is_authenticated;
    bool is_listening;   /* to a channel or a pattern */
    bool is_subscribing; /* the hub was asked: nothing is run before it answers */
    bool is_exclusive;   /* WATCH or EXEC waits: nothing is run before it is answered */
    bool is_quitting;    /* no more commands: close once all is answered */
};

/* A command that is being run.  All of it is the handler's until it returns. */
struct rondo_cmd {
    struct rondo_session *session;
    const struct rondo_command *command;
    const struct rondo_slice *argv;
    size_t argc;
    uint64_t now_ns;
    struct rondo_resp_writer w;
    struct rondo_op *op;     /* of commands that read or write keys */
    struct rondo_view *view; /* of the block that this is part of; NULL: of none */
    struct rondo_exec *exec; /* the same */
    uint64_t number;         /* of the slot that would be opened */
};

/* `out` is lent: where the replies go. */
void rondo_session_init(struct rondo_session *s, struct rondo_service *service, unsigned worker,
                        struct rondo_client *client, rondo_actor *actor, struct rondo_buf *out);
void rondo_session_fini(struct rondo_session *s);

enum rondo_session_status {
    RONDO_SESSION_RAN,   /* the command was run, or refused by a reply */
    RONDO_SESSION_HELD,  /* it must wait for a slot: call again after a completion */
    RONDO_SESSION_BROKEN /* out of memory: close the connection */
};

/* Runs a command.  `argv` is borrowed; n >= 1. */
enum rondo_session_status rondo_session_run(struct rondo_session *s, const struct rondo_slice *argv,
                                            size_t argc, uint64_t now_ns);

/* Takes the answer out of a reply (which stays the caller's).  False: out of
 * memory, close the connection. */
RONDO_NODISCARD bool rondo_session_complete(struct rondo_session *s, struct rondo_reply *reply);

/* Takes what the hub has to say: a reply, or a message to a channel. */
RONDO_NODISCARD bool rondo_session_hub_reply(struct rondo_session *s,
                                             struct rondo_hub_reply *reply);
RONDO_NODISCARD bool rondo_session_push(struct rondo_session *s, const struct rondo_hub_push *push);

/* Answers all that wait with an error.  False: out of memory. */
RONDO_NODISCARD bool rondo_session_fail_all(struct rondo_session *s, const char *error);

/* Ends the block, and forgets what is watched. */
void rondo_session_discard(struct rondo_session *s);

/* The state of a new connection again (RESET). */
void rondo_session_reset(struct rondo_session *s);

/* What CLIENT LIST shows follows. */
void rondo_session_set_proto(struct rondo_session *s, uint8_t proto);
void rondo_session_set_db(struct rondo_session *s, uint8_t db);

/* ---- for handlers ---------------------------------------------------------- */

/* The key at argv[i], in the session's database. */
struct rondo_key rondo_cmd_key(const struct rondo_cmd *call, size_t i);

/* The cache of a key; NULL after an error reply was written (no cache claims it). */
rondo_cache *rondo_cmd_route(struct rondo_cmd *call, const struct rondo_key *key);

/* A completion for part `part` of the call's op (part < 2^20). */
struct rondo_completion rondo_cmd_completion(const struct rondo_cmd *call, size_t part);

/* What a read and a write of this call have in common. */
struct rondo_read rondo_cmd_read(const struct rondo_cmd *call, size_t part);
struct rondo_write rondo_cmd_write(const struct rondo_cmd *call, size_t part);

/* Ends a call with one answer (given; it may lie in scratch space): replies at
 * once by `finish`, or waits if the outcome is PENDING. */
enum rondo_run rondo_cmd_answer(struct rondo_cmd *call, rondo_finish_fn finish,
                                struct rondo_answer *answer);

/* Zeroes an op and frees what it holds. */
void rondo_op_clear(struct rondo_op *op);

/* Room for n answers in the call's op; false after an error reply was written. */
bool rondo_cmd_reserve(struct rondo_cmd *call, size_t n);
/* Ends a call whose op's answers are partly there: `waiting` are to come. */
enum rondo_run rondo_cmd_answers(struct rondo_cmd *call, rondo_finish_fn finish, size_t waiting);

/* Writes an error reply and returns DONE. */
enum rondo_run rondo_cmd_error(struct rondo_cmd *call, const char *fmt, ...) RONDO_PRINTF(2, 3);
enum rondo_run rondo_cmd_ok(struct rondo_cmd *call);
/* An array of lines. */
enum rondo_run rondo_cmd_help(struct rondo_cmd *call, const char *const *lines, size_t n);
enum rondo_run rondo_cmd_arity_error(struct rondo_cmd *call);
enum rondo_run rondo_cmd_syntax_error(struct rondo_cmd *call);

/* Sets a text of the client's after checking it; false after an error reply. */
bool rondo_cmd_set_text(struct rondo_cmd *call, enum rondo_client_text which,
                        struct rondo_slice text);

/* Is argv[i] this word, whatever its case? */
bool rondo_cmd_is(const struct rondo_cmd *call, size_t i, const char *word);
/* A 64-bit number, strictly as Redis reads it; false after no reply. */
bool rondo_slice_to_int(struct rondo_slice s, int64_t *out);

/* "-WORD text" of a failed answer. */
void rondo_write_failed(struct rondo_resp_writer *w, const struct rondo_answer *answer);

#endif
