/* SPDX-License-Identifier: MIT */
/*
 * cache_source.h - the key pattern and the source of one configured cache.
 *
 * Internal to config.c and builder.c.
 */
#ifndef RONDO_CONFIG_CACHE_SOURCE_H
#define RONDO_CONFIG_CACHE_SOURCE_H

#include "config/report.h"

/* Checks a pattern and keeps it with its parameters' names.  Errors: CONFIG
 * (told), NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_cache_source_pattern(struct rondo_config_cache *cache,
                                                          const char *pattern, unsigned line,
                                                          struct rondo_report *report);

/* Adds a setting; name and value are copied.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_cache_source_add(struct rondo_config_cache *cache,
                                                      const char *name, const char *value,
                                                      unsigned line);

/*
 * Opens the source from cache->source_type and ->settings into options.source,
 * whose former content must be none.  `line` is where the source stands,
 * `type_line` its type.  Errors: CONFIG (told), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_cache_source_open(struct rondo_config_cache *cache,
                                                       const char *base_dir, unsigned line,
                                                       unsigned type_line,
                                                       struct rondo_report *report);

/* Frees what the functions above made, and closes the source. */
void rondo_cache_source_fini(struct rondo_config_cache *cache);

#endif
