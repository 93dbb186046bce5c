/* SPDX-License-Identifier: MIT */
/*
 * yaml.h - a YAML text as a tree that remembers its lines.
 *
 * The part of YAML that a configuration needs: maps, lists and scalars.  Anchors,
 * aliases, tags and second documents are refused, and size, depth and entries are
 * bounded, so that no text can make more of itself than it is.
 */
#ifndef RONDO_CONFIG_YAML_H
#define RONDO_CONFIG_YAML_H

#include "rondo/rondo.h"

enum {
    RONDO_YAML_BYTES_MAX = 1 << 20,
    RONDO_YAML_DEPTH_MAX = 8,
    RONDO_YAML_ENTRIES_MAX = 10000 /* of one map or list */
};

enum rondo_yaml_kind { RONDO_YAML_SCALAR, RONDO_YAML_MAP, RONDO_YAML_LIST };

struct rondo_yaml {
    enum rondo_yaml_kind kind;
    unsigned line; /* from 1 */
    char *key;     /* in a map: its name there, else NULL */
    unsigned key_line;
    char *text;               /* of a scalar, NUL-terminated; NULL: nothing was written */
    struct rondo_yaml *child; /* the first of a map's or list's */
    struct rondo_yaml *next;  /* its sibling */
    struct rondo_yaml *parent;
};

/* Gets each mistake. `line` is 0 if it has none. */
typedef void (*rondo_yaml_mistake_fn)(void *arg, unsigned line, const char *text);

/*
 * Reads a text; *out is NULL if there is nothing in it.  What can be read in spite
 * of a mistake (a key given twice) is, so that a caller can look for more.
 * Errors: CONFIG (it cannot be read on; the mistakes were told), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_yaml_parse(const char *text, size_t len,
                                                rondo_yaml_mistake_fn mistake, void *arg,
                                                struct rondo_yaml **out);
void rondo_yaml_free(struct rondo_yaml *root);

/* The entry of a map, NULL if it has none. */
const struct rondo_yaml *rondo_yaml_get(const struct rondo_yaml *map, const char *key);

#endif
