/* SPDX-License-Identifier: MIT */
/*
 * config.h - a configuration file, read, checked and with its sources opened.
 *
 * A configuration is right as a whole or it is not there: every mistake in it is
 * reported, one line each with file, line, what was found and what is allowed,
 * and nothing is returned.  Which options there are stands in one table
 * (option.h), which the manual is checked against.
 *
 * Relative paths inside a file start at the file's directory.
 *
 * Threads: one at a time per config.
 */
#ifndef RONDO_CONFIG_CONFIG_H
#define RONDO_CONFIG_CONFIG_H

#include "config/model.h"

/*
 * Reads a file.  Errors: CONFIG (every mistake was reported, unreadable file
 * included), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_config_load(const char *path, rondo_config_report_fn report,
                                                 void *arg, struct rondo_config **out);

/* The same from memory; `path` is what messages call it, `base_dir` (may be NULL)
 * where its relative paths start. */
RONDO_NODISCARD enum rondo_err rondo_config_parse(const char *text, size_t len, const char *path,
                                                  const char *base_dir,
                                                  rondo_config_report_fn report, void *arg,
                                                  struct rondo_config **out);

/* All defaults and no cache: what `rondo serve` alone runs with.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_config_default(struct rondo_config **out);

/*
 * One cache without a file: `rondo serve 'user:{id}' sqlite:users.db 'SELECT …'`.
 * `target` is "type:target", `statement` may be NULL.  Which settings they are is
 * the first and the second line of the source's table.  The cache is called what
 * the pattern begins with ("user").
 * Errors: CONFIG (reported), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_config_quick(const char *pattern, const char *target,
                                                  const char *statement,
                                                  rondo_config_report_fn report, void *arg,
                                                  struct rondo_config **out);

/* The cache of a name, NULL if there is none. */
struct rondo_config_cache *rondo_config_find(const struct rondo_config *config, const char *name);

/*
 * Sets one setting of a cache's source (value NULL: leaves it out) and opens the
 * source anew with it, e.g. for an option on the command line.  On an error the
 * cache stays as it was.  Errors: CONFIG (reported), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_config_set(struct rondo_config *config,
                                                struct rondo_config_cache *cache,
                                                const char *setting, const char *value,
                                                rondo_config_report_fn report, void *arg);

/* Frees it and closes the sources that no cache took.  NULL does nothing. */
void rondo_config_free(struct rondo_config *config);

#endif
