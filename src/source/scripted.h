/* SPDX-License-Identifier: MIT */
/*
 * scripted.h - a source that does what it is told, for demonstrations and tests:
 * waits, answers from a text or a table, fails, hangs, by turn or by chance.
 *
 * Everything that happens to a key depends on the key, on how often it was asked
 * for before and on the seed, never on time or on which thread asks: the same
 * questions get the same answers in every run.  docs/sources.md has the settings.
 */
#ifndef RONDO_SOURCE_SCRIPTED_H
#define RONDO_SOURCE_SCRIPTED_H

#include "rondo/source.h"

/* Static. */
const struct rondo_source_ops *rondo_scripted_ops(void);

/* When something happens, read from a text:
 *   off | always | P% | every N | turn N | turns A..B | turns A.. */
enum rondo_script_kind {
    RONDO_SCRIPT_OFF = 0,
    RONDO_SCRIPT_CHANCE, /* a percent in a hundred of all loads, by seed */
    RONDO_SCRIPT_EVERY,  /* loads a, 2a, 3a … of a key */
    RONDO_SCRIPT_TURNS   /* loads a to b of a key, counted from 1 */
};

struct rondo_script_rule {
    enum rondo_script_kind kind;
    uint64_t a, b;
};

/* NULL and *rule written, or a phrase that says what is allowed (static). */
const char *rondo_script_rule_parse(const char *text, struct rondo_script_rule *rule);

/* Whether it happens in load number `turn` (from 1) of a key; `draw` is a random
 * number of that load. */
bool rondo_script_rule_applies(const struct rondo_script_rule *rule, uint64_t turn, uint64_t draw);

#endif
