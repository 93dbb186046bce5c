/* SPDX-License-Identifier: MIT */
/*
 * resp.h - the Redis protocol (RESP2 and RESP3), both directions.
 *
 * Four parts, none of which ever touches a socket, a clock or a lock:
 *
 *   rondo_resp_request   bytes of a client   -> one command at a time   (server)
 *   rondo_resp_writer    values              -> bytes of replies        (server)
 *   rondo_resp_reply     bytes of a server   -> one reply at a time     (client)
 *   rondo_resp_write_command  arguments      -> bytes of a command      (client)
 *
 * Both parsers are incremental over a contiguous buffer that grows at its end
 * (a connection's rondo_buf), and are called the same way:
 *
 *     for (;;) {
 *         size_t used;
 *         status = rondo_resp_request_parse(&p, buf.data + pos, buf.len - pos, &used);
 *         pos += used;
 *         switch (status) {
 *         case RONDO_RESP_READY: run p.args, p.n_args; continue;
 *         case RONDO_RESP_MORE:  read, at least p.need bytes; ...
 *         case RONDO_RESP_BAD:   reply "-ERR " and p.error, then close
 *         case RONDO_RESP_NOMEM: close, or free memory and call again
 *         }
 *     }
 *
 * The first byte passed is always the first one that no call has consumed; the
 * last one may only move away from it.  Between calls the buffer may be
 * reallocated and the consumed bytes dropped.  `*used` is written, and counts,
 * whatever the status; it is never more than what was given (without READY it
 * is input that means nothing, like empty lines).  No byte is searched twice, so a large value that
 * arrives in pieces costs what it costs whole.  The result does not depend on
 * how the input was cut.
 *
 * What a parser returns points into the buffer (nothing is copied): arguments
 * and nodes are valid until the bytes move or change, the arrays that hold them
 * until the next call on the same parser.  To run a pipeline as a batch, copy
 * the slices, not the bytes.
 *
 * Memory: one array per parser, grown as items arrive (never for what a header
 * only announces), reused, and given back when a command or reply was unusually
 * long.  Steady state allocates nothing.  Not synchronised: one thread at a
 * time.  The protocol: https://github.com/redis/redis-specifications.
 */
#ifndef RONDO_PROTO_RESP_H
#define RONDO_PROTO_RESP_H

#include "base/buf.h"
#include "rondo/rondo.h"

enum rondo_resp_status {
    RONDO_RESP_READY, /* one command or reply */
    RONDO_RESP_MORE,  /* incomplete; see `need` */
    RONDO_RESP_BAD,   /* not the protocol, or over a limit; see `error`; for good */
    RONDO_RESP_NOMEM  /* nothing is lost: the same call may be made again */
};

/* Checked as soon as a header announces the size.  May be changed between calls;
 * the change counts from the next header on. */
struct rondo_resp_limits {
    size_t max_args;       /* arguments of a command; elements of one aggregate */
    size_t max_bulk_bytes; /* one argument; one string of a reply */
    size_t max_line_bytes; /* an inline command, a simple string, a header */
    /* Requests only: at most 10 arguments of 16,384 bytes, refused with the texts
     * that Redis has for clients that have yet to authenticate. */
    bool is_unauthenticated;
};

/* 1,048,576 arguments, 512 MiB, 64 KiB, authenticated. */
static inline struct rondo_resp_limits rondo_resp_limits_default(void) {
    struct rondo_resp_limits l = {1024 * 1024, (size_t)512 * 1024 * 1024, 64 * 1024, false};
    return l;
}

/* ---- requests, as a server reads them --------------------------------------- */

struct rondo_resp_request {
    struct rondo_resp_limits limits;

    /* After READY: the command, n_args >= 1. */
    struct rondo_slice *args;
    size_t n_args;
    /* After MORE: at least so many bytes are missing, >= 1.  A client can make
     * this as large as max_bulk_bytes with one line, so reserve with care. */
    size_t need;
    /* After BAD: Redis's own text, "Protocol error: ...", without "ERR ". */
    const char *error;

    /* private */
    size_t cap_args;
    size_t pos;      /* parsed of the current command */
    size_t searched; /* bytes behind pos that hold no end of line */
    size_t args_left;
    size_t bulk_len;
    bool is_in_bulk;
    char error_text[40];
};

void rondo_resp_request_init(struct rondo_resp_request *p, const struct rondo_resp_limits *limits);
void rondo_resp_request_fini(struct rondo_resp_request *p);
/* Gives the array of arguments back (for a connection that has gone idle), unless
 * a command is partly there. */
void rondo_resp_request_shrink(struct rondo_resp_request *p);

/*
 * The next command: an array of bulk strings, or an inline command with Redis's
 * rules for quotes.  Empty ones ("\r\n", "*0", "*-1") are skipped.  As in Redis,
 * the two bytes behind a bulk are skipped unseen, and so is the one behind a
 * header's CR.  `data` is written to in one case: quoted arguments of an inline
 * command are decoded in place once the line is complete.
 */
RONDO_NODISCARD enum rondo_resp_status
rondo_resp_request_parse(struct rondo_resp_request *p, char *data, size_t len, size_t *used);

/* True in the middle of a command: a close now cuts one off. */
static inline bool rondo_resp_request_is_partial(const struct rondo_resp_request *p) {
    return p->pos + p->searched > 0;
}

/* ---- replies, as a server writes them --------------------------------------- */

/*
 * Appends to a buffer that it does not own.  Functions return nothing: the
 * first failure (NOMEM) is kept in `err` and makes the rest do nothing, so that
 * a handler writes its reply straight down and its caller looks at `err` once.
 * A reply of several calls is then incomplete: cut the buffer back to where the
 * reply began (buf->len) or close the connection.
 */
struct rondo_resp_writer {
    struct rondo_buf *buf;
    unsigned proto; /* 2 or 3 */
    enum rondo_err err;
};

static inline struct rondo_resp_writer rondo_resp_writer_of(struct rondo_buf *buf, unsigned proto) {
    struct rondo_resp_writer w = {buf, proto, RONDO_OK};
    return w;
}

/* Bytes that are already in the protocol. */
void rondo_resp_write_raw(struct rondo_resp_writer *w, const void *data, size_t len);
/* "+OK"; and "-ERR text", where `text` begins with its word (no '-').  CR and LF
 * inside become spaces. */
void rondo_resp_write_simple(struct rondo_resp_writer *w, const char *text);
void rondo_resp_write_error(struct rondo_resp_writer *w, const char *text);
void rondo_resp_write_errorf(struct rondo_resp_writer *w, const char *fmt, ...) RONDO_PRINTF(2, 3);
void rondo_resp_write_int(struct rondo_resp_writer *w, int64_t v);
void rondo_resp_write_bulk(struct rondo_resp_writer *w, const void *data, size_t len);
void rondo_resp_write_bulk_str(struct rondo_resp_writer *w, const char *s);
/* A bulk whose `len` bytes the caller fills in: where they go, or NULL after a
 * failure.  The rest of it is written already; valid until the next write. */
char *rondo_resp_write_bulk_space(struct rondo_resp_writer *w, size_t len);
/* Only "$len\r\n": the caller sends the bytes and "\r\n" from elsewhere. */
void rondo_resp_write_bulk_header(struct rondo_resp_writer *w, size_t len);
/* "_" in RESP3; "$-1" (null) or "*-1" (null_array) in RESP2. */
void rondo_resp_write_null(struct rondo_resp_writer *w);
void rondo_resp_write_null_array(struct rondo_resp_writer *w);
/* Headers; the elements follow.  In RESP2 all are arrays: a map of n pairs one
 * of 2n.  A map has n pairs to follow, the others n elements. */
void rondo_resp_write_array(struct rondo_resp_writer *w, size_t n);
void rondo_resp_write_map(struct rondo_resp_writer *w, size_t n_pairs);
void rondo_resp_write_set(struct rondo_resp_writer *w, size_t n);
void rondo_resp_write_push(struct rondo_resp_writer *w, size_t n);
/* In RESP2: a bulk of up to 17 digits, "inf", "-inf", "nan"; :1 or :0; bulks. */
void rondo_resp_write_double(struct rondo_resp_writer *w, double v);
void rondo_resp_write_bool(struct rondo_resp_writer *w, bool v);
void rondo_resp_write_big_number(struct rondo_resp_writer *w, const char *digits);
/* `format`: three letters, "txt" or "mkd". */
void rondo_resp_write_verbatim(struct rondo_resp_writer *w, const char *format, const void *data,
                               size_t len);

/* ---- replies, as a client reads them ---------------------------------------- */

enum rondo_resp_type {
    RONDO_RESP_SIMPLE,     /* text */
    RONDO_RESP_ERROR,      /* text, with its word; '-' or '!' on the wire */
    RONDO_RESP_BULK,       /* text */
    RONDO_RESP_VERBATIM,   /* text, without its format; format */
    RONDO_RESP_BIG_NUMBER, /* text: digits with an optional sign */
    RONDO_RESP_DOUBLE,     /* text as it came; real */
    RONDO_RESP_INT,        /* integer */
    RONDO_RESP_BOOL,       /* integer: 0 or 1 */
    RONDO_RESP_NULL,       /* '_', "$-1" and "*-1" */
    RONDO_RESP_ARRAY,      /* n_children */
    RONDO_RESP_SET,        /* n_children */
    RONDO_RESP_PUSH,       /* n_children */
    RONDO_RESP_MAP,        /* n_children: key, value, key, value, ... */
    RONDO_RESP_ATTRIBUTE   /* n_children: keys and values, then the reply they are about */
};

/*
 * A reply is an array of nodes in the order in which they came: a node's first
 * child is the next node, its next sibling is n_nodes further on.
 *
 *     const struct rondo_resp_node *child = rondo_resp_node_first(node);
 *     for (size_t i = 0; i < node->n_children; i++, child = rondo_resp_node_next(child))
 */
struct rondo_resp_node {
    uint8_t type; /* enum rondo_resp_type */
    char format[3];
    uint32_t n_children;
    size_t n_nodes; /* this one and all below it */
    struct rondo_slice text;
    union {
        int64_t integer;
        double real;
    };
};

static inline const struct rondo_resp_node *
rondo_resp_node_first(const struct rondo_resp_node *node) {
    return node + 1;
}
static inline const struct rondo_resp_node *
rondo_resp_node_next(const struct rondo_resp_node *node) {
    return node + node->n_nodes;
}
/* The reply itself: `node`, or what its attributes are about. */
const struct rondo_resp_node *rondo_resp_node_plain(const struct rondo_resp_node *node);
/* The value of `key` (a simple or bulk string) in a map, or in an array of pairs
 * as RESP2 has it; NULL if there is none. */
const struct rondo_resp_node *rondo_resp_node_lookup(const struct rondo_resp_node *node,
                                                     const char *key);

enum { RONDO_RESP_MAX_DEPTH = 32 };

struct rondo_resp_reply {
    struct rondo_resp_limits limits;

    /* After READY: nodes[0] is the reply (or push), with all below it. */
    struct rondo_resp_node *nodes;
    size_t n_nodes;
    size_t need;       /* after MORE, as above */
    const char *error; /* after BAD: static, "Protocol error: ..." */

    /* private */
    size_t cap_nodes;
    size_t pos, searched, bulk_len;
    bool is_in_bulk;
    char bulk_mark;
    unsigned depth;
    struct {
        size_t node, children_left;
    } open[RONDO_RESP_MAX_DEPTH];
};

void rondo_resp_reply_init(struct rondo_resp_reply *p, const struct rondo_resp_limits *limits);
void rondo_resp_reply_fini(struct rondo_resp_reply *p);

/* The next reply or push.  All types of RESP2 and RESP3 but streamed ones;
 * aggregates nested at most RONDO_RESP_MAX_DEPTH deep. */
RONDO_NODISCARD enum rondo_resp_status
rondo_resp_reply_parse(struct rondo_resp_reply *p, const char *data, size_t len, size_t *used);

/* Writes a reply that was parsed, with all below it, in the writer's protocol
 * (attributes are left out in RESP2). */
void rondo_resp_write_node(struct rondo_resp_writer *w, const struct rondo_resp_node *node);

/* ---- requests, as a client writes them -------------------------------------- */

/* Appends one command, an array of bulks, whole or not at all.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err
rondo_resp_write_command(struct rondo_buf *buf, const struct rondo_slice *args, size_t n_args);

#endif
