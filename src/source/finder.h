/* SPDX-License-Identifier: MIT */
/*
 * finder.h - finding and loading the shared object of a source.
 *
 * Where it looks stands in source/source.h.  Threads: any.
 */
#ifndef RONDO_SOURCE_FINDER_H
#define RONDO_SOURCE_FINDER_H

#include "base/buf.h"
#include "rondo/source.h"

/* The path of rondo-source-<type>.so in the first place that has one, into *out
 * (NUL-terminated; freed by rondo_free); `search_dir` NULL: the usual places.
 * Errors: NOT_FOUND, NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_finder_path(const char *type, const char *search_dir,
                                                 char **out);

/* Loads the object and returns its table; `type` (may be NULL) is what the table
 * must be called.  Errors: NOT_FOUND (it cannot be loaded), ABI, CONFIG (it is
 * no source of that type), each with `why`. */
RONDO_NODISCARD enum rondo_err rondo_finder_load(const char *path, const char *type,
                                                 struct rondo_source_error *why,
                                                 const struct rondo_source_ops **out);

#endif
