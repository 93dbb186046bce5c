/* SPDX-License-Identifier: MIT */
/*
 * settings.h - what every source does with its settings: look one up, tell a
 * mistake, check them all against a table.
 *
 * Nothing here is kept; all pointers are borrowed from the config.
 */
#ifndef RONDO_SOURCE_SETTINGS_H
#define RONDO_SOURCE_SETTINGS_H

#include "rondo/source.h"

/* The value of a setting, NULL if it was not given. */
const char *rondo_settings_get(const struct rondo_source_config *config, const char *name);

/* Tells a mistake in a setting (NULL: in none in particular), at most 1,023
 * bytes. */
void rondo_settings_mistake(const struct rondo_source_config *config, const char *setting,
                            const char *fmt, ...) RONDO_PRINTF(3, 4);

/* Reads a duration into *ns (ns stays as it is if the setting was not given, and
 * is 0 for "off").  False: a mistake was told. */
bool rondo_settings_duration(const struct rondo_source_config *config, const char *name,
                             uint64_t *ns);

/* Reads a whole number between lo and hi; else as rondo_settings_duration. */
bool rondo_settings_count(const struct rondo_source_config *config, const char *name, uint64_t lo,
                          uint64_t hi, uint64_t *n);

/* Checks all settings against a table: unknown names (with the nearest one),
 * names given twice, required ones that are missing, values of the wrong kind.
 * Each mistake is told.  The right ones are copied to `good` (room for all of
 * them); *n_good is how many.  Returns the number of mistakes; *can_open says
 * whether what is required is there and right, so that open may look for more. */
size_t rondo_settings_check(const struct rondo_source_config *config,
                            const struct rondo_source_option *options,
                            struct rondo_source_setting *good, size_t *n_good, bool *can_open);

/* The option that a setting's name belongs to, NULL if none. */
const struct rondo_source_option *rondo_settings_option(const struct rondo_source_option *options,
                                                        const char *setting);

#endif
