/* SPDX-License-Identifier: MIT */
/* glob.h - Redis's glob patterns: `*`, `?`, `[a-z]`, `[^a-z]`, and `\` before a
 * character that means itself.  Runs in time proportional to the product of both
 * lengths at worst, and never recurses. */
#ifndef RONDO_SERVER_GLOB_H
#define RONDO_SERVER_GLOB_H

#include "rondo/rondo.h"

bool rondo_glob_match(struct rondo_slice pattern, struct rondo_slice text, bool ignore_case);

/* True if the pattern can match one text only, itself: no special characters. */
bool rondo_glob_is_literal(struct rondo_slice pattern);

#endif
