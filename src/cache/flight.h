/* SPDX-License-Identifier: MIT */
/*
 * flight.h - single-flight: the loads that are under way and who waits for them.
 *
 * Plain data without a lock of its own; whoever keeps the keyspace guards a
 * table of flights with the lock that guards the keys, so that looking up and
 * joining are one critical section.  Knows nothing of where values are kept.
 *
 * A flight is *current* while a read may join it.  A write *supersedes* it: it
 * answers those who already wait, its value is not stored, and the next read
 * starts afresh.  A superseded flight is found by no read any more but stays
 * listed until its call ends, because beside a current call of a key at most one
 * superseded call of it may run; a flight that must wait for that is HELD.
 *
 *     HELD ◀──▶ QUEUED ◀──▶ RUNNING ──▶ LATE
 *       └────────┴────────────┴──────────┴───▶ LANDED
 *
 * LATE: its time is up, its waiters have been told, its call still runs.
 *
 * A flight's memory belongs to whoever moves it on: the keyspace while HELD, the
 * loader from QUEUED on, and the keyspace again when it lands.
 */
#ifndef RONDO_CACHE_FLIGHT_H
#define RONDO_CACHE_FLIGHT_H

#include "cache/waiter.h"

enum rondo_flight_state {
    RONDO_FLIGHT_HELD,
    RONDO_FLIGHT_QUEUED,
    RONDO_FLIGHT_RUNNING,
    RONDO_FLIGHT_LATE,
    RONDO_FLIGHT_LANDED
};

/* What its call does.  A write (STORE, ERASE, UPDATE) is joined by nobody; those
 * of one key run one at a time, in the order in which they took off.  An UPDATE
 * becomes one of the other two once its value is computed. */
enum rondo_flight_kind {
    RONDO_FLIGHT_LOAD,
    RONDO_FLIGHT_STORE,
    RONDO_FLIGHT_ERASE,
    RONDO_FLIGHT_UPDATE
};

struct rondo_flight {
    struct rondo_list
        chain; /* of a table's bucket; guarded by the keyspace's lock, as all is but: */
    struct rondo_list queue; /* of the loader; guarded by its lock */
    uint64_t hash;
    void *home;  /* const: the keyspace's; where it lands */
    void *owner; /* const: the keyspace's; which cache */
    struct rondo_list waiters;
    uint32_t n_waiters;
    uint32_t epoch; /* const: of its space when it took off; see rondo_flights_find */
    uint8_t state;
    uint8_t kind; /* const, but of an UPDATE */
    bool is_late; /* atomic, relaxed: it has been LATE; for those who may not look at `state` */
    bool superseded;
    bool is_private;                /* const: nobody may join (single-flight is off) */
    bool is_background;             /* wanted even when nobody waits */
    bool is_retry;                  /* loader's: alone in its call, after its batch had failed */
    struct rondo_deadline deadline; /* of its call */
    rondo_blob *value;              /* of a STORE: a reference */
    rondo_update_fn update;         /* const: of an UPDATE; lent while somebody waits */
    void *update_arg;
    bool loads_first; /* const: an UPDATE asks the source for what memory has not */
    unsigned write_flags;
    uint64_t write_ttl_ns;
    unsigned space;
    uint32_t key_len, client_len; /* const */
    char bytes[];                 /* key, client */
};

static inline struct rondo_slice rondo_flight_key(const struct rondo_flight *f) {
    return (struct rondo_slice){f->bytes, f->key_len};
}
static inline struct rondo_key rondo_flight_full_key(const struct rondo_flight *f) {
    return (struct rondo_key){f->bytes, f->key_len, f->space};
}
static inline struct rondo_slice rondo_flight_client(const struct rondo_flight *f) {
    return (struct rondo_slice){f->bytes + f->key_len, f->client_len};
}

bool rondo_flight_is_of(const struct rondo_flight *f, uint64_t hash, const struct rondo_key *key);

/* A flight that nobody waits for, on no table; NULL when out of memory. */
struct rondo_flight *rondo_flight_new(uint64_t hash, const struct rondo_key *key,
                                      struct rondo_slice client);
/* Frees one that has no waiters and is on no table. */
void rondo_flight_free(struct rondo_flight *f);

/* Moves it along the diagram above; anything else is a failed check. */
void rondo_flight_move(struct rondo_flight *f, enum rondo_flight_state to);

/* The waiter (given) joins; leaves. */
void rondo_flight_join(struct rondo_flight *f, struct rondo_waiter *w);
void rondo_flight_leave(struct rondo_flight *f, struct rondo_waiter *w);
/* All waiters leave, in the order in which they came, onto `out`; their
 * deadlines are cleared. */
void rondo_flight_leave_all(struct rondo_flight *f, struct rondo_list *out);

enum { RONDO_FLIGHTS_BUCKETS = 64 };

struct rondo_flights {
    struct rondo_list *buckets; /* NULL until the first flight */
    uint32_t count;
};

/* Zeroed memory is an empty table; fini wants it empty again. */
void rondo_flights_fini(struct rondo_flights *t);

/* Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_flights_add(struct rondo_flights *t, struct rondo_flight *f);
void rondo_flights_remove(struct rondo_flights *t, struct rondo_flight *f);

/* The current flight of a key, or NULL.  `epoch` is the space's: a flight of an
 * earlier one took off before a flush and is superseded by it. */
struct rondo_flight *rondo_flights_find(const struct rondo_flights *t, uint64_t hash,
                                        const struct rondo_key *key, uint32_t epoch);

/* Supersedes the flights of a key; how many there were. */
unsigned rondo_flights_supersede(struct rondo_flights *t, uint64_t hash,
                                 const struct rondo_key *key);

/* Calls of a key that run, private ones apart; at most RONDO_FLIGHT_CALLS_MAX may. */
enum { RONDO_FLIGHT_CALLS_MAX = 2 };
unsigned rondo_flights_running(const struct rondo_flights *t, uint64_t hash,
                               const struct rondo_key *key);

/* The flight of a key that has been HELD for longest, or NULL. */
struct rondo_flight *rondo_flights_held(const struct rondo_flights *t, uint64_t hash,
                                        const struct rondo_key *key);

/* The first write of a key that has not landed, or NULL. */
struct rondo_flight *rondo_flights_first_write(const struct rondo_flights *t, uint64_t hash,
                                               const struct rondo_key *key);

/* The waiter of a key whose call takes `arg`, or NULL. */
struct rondo_waiter *rondo_flights_waiter(const struct rondo_flights *t, uint64_t hash,
                                          const struct rondo_key *key, const void *arg);

/* Visits every flight; `fn` adds and removes none. */
void rondo_flights_each(const struct rondo_flights *t,
                        void (*fn)(void *arg, struct rondo_flight *f), void *arg);

/* Whether its value is out of date before it is there. */
static inline bool rondo_flight_is_superseded(const struct rondo_flight *f, uint32_t epoch) {
    return f->superseded || f->epoch != epoch;
}

#endif
