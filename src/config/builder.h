/* SPDX-License-Identifier: MIT */
/*
 * builder.h - from a YAML tree to a configuration: every option is looked up, read
 * and checked, and sources are opened.
 *
 * Internal to config.c.
 */
#ifndef RONDO_CONFIG_BUILDER_H
#define RONDO_CONFIG_BUILDER_H

#include "config/report.h"
#include "config/yaml.h"

/* Fills a config that holds the defaults; root NULL: an empty file.  Mistakes are
 * told and counted in `report`, not returned.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_builder_run(struct rondo_config *config,
                                                 const struct rondo_yaml *root,
                                                 struct rondo_report *report);

#endif
