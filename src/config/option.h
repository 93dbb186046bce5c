/* SPDX-License-Identifier: MIT */
/*
 * option.h - the one table of what a configuration may say, with units, defaults
 * and limits.
 *
 * What is not in it is refused, so nothing is ever accepted and then ignored.  A
 * new option is one line in option.c; the manual is checked against the table.
 */
#ifndef RONDO_CONFIG_OPTION_H
#define RONDO_CONFIG_OPTION_H

#include "config/model.h"

enum rondo_config_scope {
    RONDO_CONFIG_SERVER, /* at the top of the file; kept in struct rondo_config */
    RONDO_CONFIG_CACHE   /* of a cache; kept in struct rondo_cache_options */
};

struct rondo_config_option {
    const char *name;
    enum rondo_config_scope scope;
    /* Reads a text into *at: NULL, or what is allowed (static).  NULL for the words
     * that are no single value ("caches", "keys", "source"). */
    const char *(*read)(const char *text, void *at);
    size_t offset;        /* of `at` in the scope's struct */
    const char *allowed;  /* for the manual */
    const char *standard; /* the default, for the manual */
    const char *help;     /* what it is, one line */
};

/* In the order of the manual; *n is how many. */
const struct rondo_config_option *rondo_config_options(size_t *n);

/* NULL if there is none of that name. */
const struct rondo_config_option *rondo_config_option(enum rondo_config_scope scope,
                                                      const char *name);

/* The known name nearest to one that is not; NULL if none is near. */
const char *rondo_config_option_near(enum rondo_config_scope scope, const char *name);

/* All names of a scope, with a space between; NUL-terminated, cut at `size`. */
void rondo_config_option_list(enum rondo_config_scope scope, char *out, size_t size);

#endif
