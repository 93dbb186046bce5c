/* SPDX-License-Identifier: MIT */
/*
 * script.h - when something happens to a key: a rule such as "every 3", and how
 * often each key was asked for.
 *
 * A rule is read from
 *   off | always | P% | every N | turn N | turns A..B | turns A..
 * and depends on the key, the number of the load and the seed alone, so that a
 * run can be repeated whatever the threads do.
 */
#ifndef RONDO_SOURCE_SCRIPT_H
#define RONDO_SOURCE_SCRIPT_H

#include "base/sync.h"
#include "rondo/source.h"

enum rondo_script_kind {
    RONDO_SCRIPT_OFF = 0,
    RONDO_SCRIPT_CHANCE, /* in a percent of all loads, by seed */
    RONDO_SCRIPT_EVERY,  /* in loads a, 2a, 3a … of a key */
    RONDO_SCRIPT_TURNS   /* in loads a to b of a key, counted from 1 */
};

struct rondo_script_rule {
    enum rondo_script_kind kind;
    uint64_t a, b;
};

/* NULL and *rule written, or a phrase that says what is allowed (static). */
const char *rondo_script_parse(const char *text, struct rondo_script_rule *rule);

/* Whether it happens in load number `turn` (from 1) of a key; `draw` is a random
 * number of that load and rule. */
bool rondo_script_applies(const struct rondo_script_rule *rule, uint64_t turn, uint64_t draw);

/*
 * How often each key was loaded, by the key's 64-bit hash: two keys of one hash
 * (one pair in four thousand million keys) would share a count.  Any thread.
 */
struct rondo_script_turns {
    struct rondo_mutex mu;
    struct rondo_script_count *slots; /* guarded by mu, as all below */
    size_t n_slots, n_used;
};

void rondo_script_turns_init(struct rondo_script_turns *t);
void rondo_script_turns_fini(struct rondo_script_turns *t);

/* Counts a load of a key and writes its number, from 1.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_script_turns_next(struct rondo_script_turns *t, uint64_t hash,
                                                       uint64_t *turn);

#endif
