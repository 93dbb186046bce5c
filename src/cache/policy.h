/* SPDX-License-Identifier: MIT */
/*
 * policy.h - what a cache wants: its options with every default filled in, and
 * the texts of the failures that must not need memory.
 *
 * Immutable once the cache is open, but for the two counters.  Times are in
 * milliseconds where entries and deadlines are; RONDO_OFF stays RONDO_OFF.
 */
#ifndef RONDO_CACHE_POLICY_H
#define RONDO_CACHE_POLICY_H

#include "cache/blob.h"
#include "cache/pattern.h"

struct rondo_loader;

/* Bytes used against a limit.  `used` is atomic, relaxed: a bound, no hand-over. */
struct rondo_budget {
    uint64_t used;
    uint64_t limit;
};

enum rondo_policy_text {
    RONDO_TEXT_TIMEOUT, /* a load or a wait took too long */
    RONDO_TEXT_QUEUE,   /* too many loads wait */
    RONDO_TEXT_WAITERS, /* too many wait for this key */
    RONDO_TEXT_CLOSED,
    RONDO_TEXT_DEADLOCK, /* the source asks for what it is loading */
    RONDO_TEXT_BREAKER,  /* the source is spared for a while */
    RONDO_TEXT_NOMEM,
    RONDO_TEXT_NO_MATCH, /* the key is not of this cache's pattern */
    RONDO_TEXT_KEY,      /* the key is too long */
    RONDO_TEXT_VALUE,    /* the value is too large */
    RONDO_TEXT_REFUSED,  /* writes are refused */
    RONDO_TEXT_COUNT_
};

struct rondo_policy {
    char *name;
    uint16_t id; /* number in the keyspace */
    struct rondo_pattern pattern;
    struct rondo_cache_options opt; /* defaults filled in; name, pattern, keyspace unset */
    bool can_erase;                 /* write-through: the source can remove a key */
    struct rondo_loader *loader;    /* NULL: no source; borrowed, set before use */
    struct rondo_budget budget;     /* of the cache; limit UINT64_MAX: none of its own */
    struct rondo_budget negative;   /* of remembered absences and errors */
    rondo_blob *texts[RONDO_TEXT_COUNT_];
};

/* Checks the options and fills in the defaults; `total_bytes` is the keyspace's
 * budget.  Errors: INVALID, CONFIG (both logged, with the option's name), NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_policy_init(struct rondo_policy *p,
                                                 const struct rondo_cache_options *options,
                                                 uint64_t total_bytes);
void rondo_policy_fini(struct rondo_policy *p);

/* A failure with one of the prepared texts. */
struct rondo_answer rondo_policy_failure(const struct rondo_policy *p, enum rondo_err err,
                                         enum rondo_policy_text text);

/* The moment at which a value stored now expires: `ttl_ns` as a write gives it (0:
 * the cache's own, with jitter drawn from `seed`).  RONDO_ENTRY_NEVER: never. */
uint64_t rondo_policy_expiry_ms(const struct rondo_policy *p, uint64_t ttl_ns, uint64_t now_ns,
                                uint64_t seed);

/* How long a loaded value serves past its time, in ms: while a fresh one is
 * fetched, when that fails, and in all. */
struct rondo_stale {
    uint64_t revalidate_ms, error_ms, keep_ms;
};
struct rondo_stale rondo_policy_stale(const struct rondo_policy *p);

#endif
