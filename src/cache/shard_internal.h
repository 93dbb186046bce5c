/* SPDX-License-Identifier: MIT */
/*
 * shard_internal.h - between the parts of a shard; the life of a load as it sees
 * it:
 *
 *   get ─▶ miss   (shard_load.c)  join a current flight, or take off: HELD ─▶ QUEUED
 *   loader ─▶ start (shard_land.c)  RUNNING, its deadline set; or held, or dropped
 *   loader ─▶ land  (shard_land.c)  stored unless superseded, waiters completed
 *   timer ─▶ tick   (shard_time.c)  waiters whose time is up leave; a call whose time
 *                                   is up is LATE: all are told, it is awaited still
 */
#ifndef RONDO_CACHE_SHARD_INTERNAL_H
#define RONDO_CACHE_SHARD_INTERNAL_H

#include "cache/loader.h"
#include "cache/shard.h"

/* What is to be done once the lock is released. */
enum { RONDO_AFTER_LATE_MAX = 16 };

struct rondo_after {
    struct rondo_dead dead;
    struct rondo_list waiters; /* whose answers are ready */
    struct rondo_list flights; /* to be submitted, all of one loader */
    struct rondo_loader *loader;
    const struct rondo_flight *promoted; /* joined while it waited in the background; not
                                            dereferenced */
    struct {
        struct rondo_loader *loader;
        const struct rondo_flight *flight; /* not dereferenced */
    } late[RONDO_AFTER_LATE_MAX];          /* whose calls are to be cancelled */
    unsigned n_late;
    bool is_short; /* of memory: other shards must help */
    uint64_t arm_ms;
};

void rondo_after_init(struct rondo_after *after);
/* No lock held. */
void rondo_after_run(struct rondo_after *after, struct rondo_shard *s, uint64_t now_ms);

struct rondo_entry *rondo_shard_find_locked(const struct rondo_spot *at)
    RONDO_REQUIRES(at->shard->mu);
static inline bool rondo_is_fresh_value(const struct rondo_entry *e, uint64_t now_ms) {
    return rondo_entry_is_value(e) && rondo_entry_expiry_ms(e) > now_ms;
}
/* Of a write: IF_ABSENT, IF_PRESENT. */
bool rondo_shard_condition_holds(unsigned flags, bool is_there);
/* A new entry for a value that a caller writes; NULL when out of memory. */
struct rondo_entry *rondo_shard_entry_for(const struct rondo_spot *at, struct rondo_slice value,
                                          const struct rondo_write *write);
/* Stores `e` (given).  Errors: NOT_FOUND (a condition was not met), NOMEM, TOO_LARGE. */
enum rondo_err rondo_shard_put_locked(const struct rondo_spot *at, struct rondo_entry *e,
                                      const struct rondo_write *write, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu);
/* Removes; whether there was a fresh value. */
bool rondo_shard_delete_locked(const struct rondo_spot *at, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu);
/* As the functions of shard.h without _locked. */
uint64_t rondo_shard_expiry_locked(const struct rondo_spot *at) RONDO_REQUIRES(at->shard->mu);
bool rondo_shard_expire_locked(const struct rondo_spot *at, uint64_t expiry_ns,
                               struct rondo_after *after) RONDO_REQUIRES(at->shard->mu);
uint64_t rondo_shard_version_locked(const struct rondo_spot *at) RONDO_REQUIRES(at->shard->mu);
/* What a put that ended with `err` is answered with. */
struct rondo_answer rondo_shard_put_answer(const struct rondo_policy *policy, enum rondo_err err);

/* Copies a value out; the answer is VALUE, or FAILED when out of memory. */
enum rondo_outcome
rondo_shard_answer_locked(const struct rondo_spot *at, const struct rondo_entry *e,
                          const struct rondo_read *read, struct rondo_answer *answer)
    RONDO_REQUIRES(at->shard->mu);

/* A fresh value was read late in its life: starts a load for the next one. */
void rondo_shard_refresh_ahead_locked(const struct rondo_spot *at, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu);

/* A read that found no fresh value: `e` is what there is, or NULL. */
enum rondo_outcome rondo_shard_miss_locked(const struct rondo_spot *at, struct rondo_entry *e,
                                           const struct rondo_read *read,
                                           struct rondo_answer *answer, struct rondo_after *after)
    RONDO_REQUIRES(at->shard->mu);

/* Sees to it that a timer is set for the next deadline. */
void rondo_shard_arm_locked(struct rondo_shard *s, struct rondo_after *after) RONDO_REQUIRES(s->mu);

/* Counts the bytes of flights and waiters that come (n) or go (0 - n). */
static inline void rondo_shard_account_locked(struct rondo_shard *s, struct rondo_part *part,
                                              size_t size, bool comes) {
    rondo_memory_account(&s->memory, part, comes ? size : 0 - (uint64_t)size);
}
static inline size_t rondo_flight_size(const struct rondo_flight *f) {
    size_t value = f->value ? rondo_blob_cost(f->value->len) : 0;
    return sizeof *f + f->key_len + f->client_len + value;
}

/* `n` waiters have left the flights of a part. */
void rondo_shard_note_left_locked(struct rondo_shard *s, struct rondo_part *part, uint64_t n);
void rondo_shard_leave_all_locked(struct rondo_shard *s, struct rondo_flight *f,
                                  struct rondo_list *out);

/* Queues a HELD flight once the lock is released. */
void rondo_shard_submit_later_locked(struct rondo_flight *f, struct rondo_after *after);

/* What a failure is answered with: the old value if the cache allows it, else the
 * failure (given). */
struct rondo_answer rondo_shard_or_stale_locked(struct rondo_shard *s, struct rondo_part *part,
                                                uint64_t hash, const struct rondo_key *key,
                                                uint64_t now_ms, struct rondo_answer failure)
    RONDO_REQUIRES(s->mu);

/* A flight as a spot, for what is done to its key. */
static inline struct rondo_spot rondo_flight_spot(const struct rondo_flight *f,
                                                  const struct rondo_key *key, uint64_t now_ns) {
    const struct rondo_part *part = f->owner;
    return (struct rondo_spot){
        .shard = f->home, .policy = part->policy, .key = key, .hash = f->hash, .now_ns = now_ns};
}

/* Off the table, for good. */
void rondo_shard_take_down_locked(struct rondo_shard *s, struct rondo_flight *f);
/* A call of the key less runs or waits to run: those that were HELD try again. */
void rondo_shard_release_held_locked(struct rondo_shard *s, const struct rondo_flight *f,
                                     struct rondo_after *after) RONDO_REQUIRES(s->mu);

/* A write's turn has come; false: its condition is not met, and it has ended. */
bool rondo_shard_start_write_locked(struct rondo_shard *s, struct rondo_flight *f, uint64_t now_ns,
                                    struct rondo_after *after) RONDO_REQUIRES(s->mu);
/* Of rondo_shard_host. */
enum rondo_update_step rondo_shard_host_compute(void *host, struct rondo_flight *f,
                                                const struct rondo_landing *loaded,
                                                struct rondo_landing *end);
/* A write has ended; both are given. */
void rondo_shard_land_write(struct rondo_flight *f, struct rondo_landing *landing, uint64_t now_ns);

/* What a load came to, in the counters. */
void rondo_shard_count_landing(struct rondo_part *part, const struct rondo_landing *landing);

/* What all waiters of a flight get. */
struct rondo_answer rondo_shard_landing_answer_locked(struct rondo_shard *s,
                                                      const struct rondo_flight *f,
                                                      const struct rondo_landing *landing,
                                                      uint64_t now_ms) RONDO_REQUIRES(s->mu);

#endif
