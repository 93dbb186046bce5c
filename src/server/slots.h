/* SPDX-License-Identifier: MIT */
/*
 * slots.h - the order of one connection's replies.
 *
 * Replies leave in the order of the requests, but a command whose key is being
 * loaded must not hold up those behind it.  So a command that cannot be answered
 * at once opens a *slot*; what is answered meanwhile waits behind the slot; and
 * when a slot is complete the ready prefix moves to the output:
 *
 *     requests   GET a (hit)  GET b (miss)  GET c (hit)  PING  GET d (miss) GET e
 *     out        [a]
 *     slots                   #0 b: waits   [c PONG]           #1 d: waits  [e]
 *
 * A command that is answered at once costs no slot: it is written to the output,
 * or behind the last slot.  The rule for running ahead (rondo_slots_may_run): a
 * command runs while slots wait only if it shares no key with them, or both only
 * read; so a pipeline gives the answers of a serial run.
 *
 * Slots are named by numbers that are never used twice: a completion of a slot
 * that is gone is told apart from all others.  Pure: no socket, no clock, no
 * lock; one thread at a time.
 */
#ifndef RONDO_SERVER_SLOTS_H
#define RONDO_SERVER_SLOTS_H

#include "base/buf.h"
#include "rondo/rondo.h"

enum rondo_access_kind {
    RONDO_ACCESS_NONE = 0, /* touches no key */
    RONDO_ACCESS_READ,     /* reads its keys; a load is part of reading */
    RONDO_ACCESS_WRITE,    /* changes its keys, or may */
    RONDO_ACCESS_ALL       /* sees or changes the whole keyspace */
};

/* What a command touches.  Keys are given as hashes; equal hashes count as equal
 * keys, so that a collision costs a wait and never an answer. */
struct rondo_access {
    enum rondo_access_kind kind;
    const uint64_t *keys;
    size_t n_keys;
};

/* Frees what the caller hung on a slot. */
typedef void (*rondo_slot_free_fn)(void *op);

struct rondo_slot {
    struct rondo_buf reply;  /* complete, but a slot before it is not */
    struct rondo_buf behind; /* replies of the commands after it, up to the next slot */
    void *op;                /* the caller's; NULL once complete */
    uint64_t *keys;          /* NULL: `key` is the only one, or none is needed */
    uint64_t key;
    uint32_t n_keys;
    uint32_t n_behind; /* replies in `behind` */
    uint8_t kind;      /* enum rondo_access_kind */
    bool is_complete;
};

/* Zeroed memory with `out` and `free_op` set is valid and empty. */
struct rondo_slots {
    struct rondo_buf *out; /* lent for the life of the slots */
    rondo_slot_free_fn free_op;
    struct rondo_slot *ring;
    uint32_t cap;        /* of the ring, a power of two or 0 */
    uint64_t head, tail; /* numbers of the oldest slot and of the next one */
    uint64_t n_ready;    /* replies that are there and wait for an earlier one */
};

void rondo_slots_init(struct rondo_slots *s, struct rondo_buf *out, rondo_slot_free_fn free_op);
/* Frees all slots with what hangs on them; the output stays. */
void rondo_slots_fini(struct rondo_slots *s);

/* Slots that are open (waiting, or complete behind one that waits). */
static inline size_t rondo_slots_count(const struct rondo_slots *s) {
    return (size_t)(s->tail - s->head);
}

/* An empty `s` leaves its room to the next that needs some, or takes it from there:
 * what is idle owns nothing.  `room` is zeroed or what was left there; of two one is
 * freed. */
struct rondo_slots_room {
    struct rondo_slot *ring;
    uint32_t cap;
};
void rondo_slots_take_room(struct rondo_slots *s, struct rondo_slots_room *room);
void rondo_slots_leave_room(struct rondo_slots *s, struct rondo_slots_room *room);

/* Bytes of replies that wait for an earlier one. */
size_t rondo_slots_bytes(const struct rondo_slots *s);

/* May a command with this access run now, ahead of those that wait?  Where finding
 * out would take long, because of very many keys, the answer is no. */
bool rondo_slots_may_run(const struct rondo_slots *s, const struct rondo_access *access);

/* Where the reply of a command goes that is answered at once.  Valid until the
 * next call on `s`. */
static inline struct rondo_buf *rondo_slots_direct(struct rondo_slots *s) {
    if (s->head == s->tail) return s->out;
    return &s->ring[(s->tail - 1) & (s->cap - 1)].behind;
}

/* A reply was written there. */
static inline void rondo_slots_note_direct(struct rondo_slots *s) {
    if (s->head == s->tail) return;
    s->ring[(s->tail - 1) & (s->cap - 1)].n_behind++;
    s->n_ready++;
}

/* Makes sure that the next rondo_slots_open succeeds and says its number.
 * Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_slots_reserve(struct rondo_slots *s, uint64_t *number);

/* Opens the reserved slot for a command that waits: `op` (given) comes back by
 * rondo_slots_op.  Of several keys the hashes are copied; without memory for
 * that the slot counts as one that touches the whole keyspace. */
void rondo_slots_open(struct rondo_slots *s, const struct rondo_access *access, void *op);

/* What hangs on a slot; NULL if it is complete or gone. */
void *rondo_slots_op(const struct rondo_slots *s, uint64_t number);

/* Completing a slot: write its reply to the buffer that rondo_slots_reply names,
 * then call rondo_slots_complete, which frees what hangs on it and moves the
 * ready prefix to the output.  Errors: NOMEM; replies are then missing from the
 * output for good, so the connection must be closed. */
struct rondo_buf *rondo_slots_reply(struct rondo_slots *s, uint64_t number);
RONDO_NODISCARD enum rondo_err rondo_slots_complete(struct rondo_slots *s, uint64_t number);

#endif
