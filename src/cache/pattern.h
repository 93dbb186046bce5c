/* SPDX-License-Identifier: MIT */
/*
 * pattern.h - which keys a cache claims: literal text and named parameters, as
 * in `price:{sku}:{currency}`.
 *
 * A parameter matches one or more bytes up to the first place where the literal
 * behind it fits; the last one takes the rest, or what lies before a literal
 * that ends the pattern.  Two parameters need a literal between them.  A name is
 * a letter or `_`, then letters, digits and `_`; no name twice.  There is no
 * escape: `{` and `}` cannot be literal text.
 *
 * Immutable after init, so any thread may match.
 */
#ifndef RONDO_CACHE_PATTERN_H
#define RONDO_CACHE_PATTERN_H

#include "rondo/rondo.h"

enum { RONDO_PATTERN_PARAMS_MAX = 16 };

struct rondo_pattern {
    char *text; /* the copy that all slices point into */
    struct rondo_slice literals[RONDO_PATTERN_PARAMS_MAX + 1]; /* [i] precedes param i */
    const char *params[RONDO_PATTERN_PARAMS_MAX];              /* NUL-terminated names */
    size_t n_params;
    bool takes_all; /* made from NULL: every key, the empty one too */
};

/* Why a pattern was refused: where, what was found and what is allowed. */
struct rondo_pattern_error {
    char text[160]; /* NUL-terminated, one line */
};

/* Parses `text` (copied).  NULL is the pattern `{key}` that also takes the empty
 * key.  Errors: CONFIG (with `why`), NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_pattern_init(struct rondo_pattern *p, const char *text,
                                                  struct rondo_pattern_error *why);
void rondo_pattern_fini(struct rondo_pattern *p);

/* Whether the pattern claims `key`; if so captures[0..n_params) are its
 * parameters, slices of `key`.  `captures` may be NULL. */
bool rondo_pattern_match(const struct rondo_pattern *p, struct rondo_slice key,
                         struct rondo_slice *captures);

/* The literal text in front of the first parameter. */
static inline struct rondo_slice rondo_pattern_prefix(const struct rondo_pattern *p) {
    return p->literals[0];
}

#endif
