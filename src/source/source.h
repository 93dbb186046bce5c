/* SPDX-License-Identifier: MIT */
/*
 * source.h - which sources there are, and opening one by its type.
 *
 * `scripted` is built in.  Every other type is a loadable object called
 * rondo-source-<type>.so, looked for in this order:
 *   1. $RONDO_SOURCE_DIR, if set, and nowhere else then;
 *   2. lib/rondo of the build tree that the running program lies in, if it does;
 *   3. ../<libdir>/rondo beside the directory of the running program;
 *   4. the directory that rondo was configured to be installed to.
 * An object stays loaded for the life of the process: its code may be on the
 * stack of a thread that hangs in it.
 *
 * Conventions of a table of settings (struct rondo_source_ops.options): the first
 * is what `type:target` on the command line sets, the second what the statement
 * after it sets.
 *
 * Threads: every function on any thread.
 */
#ifndef RONDO_SOURCE_SOURCE_H
#define RONDO_SOURCE_SOURCE_H

#include "base/buf.h"
#include "rondo/source.h"

/* Where settings come from, beside what the source itself is told. */
struct rondo_source_context {
    const char *base_dir;   /* relative paths start here; NULL: the working directory */
    const char *search_dir; /* look for loadable objects here alone; NULL: as above */
};

/*
 * Opens a source of `type`: finds it, checks the settings against its table
 * (unknown, twice, missing, of the wrong kind), makes paths absolute, and calls
 * its open.  Mistakes go to config->mistake, all of them; one that concerns the
 * type itself names the setting "type".  `context` may be NULL.
 * Errors: CONFIG (mistakes were told), NOMEM, UNSUPPORTED.
 */
RONDO_NODISCARD enum rondo_err rondo_source_open(const char *type,
                                                 const struct rondo_source_config *config,
                                                 const struct rondo_source_context *context,
                                                 struct rondo_source *out);

/* Closes an opened source and zeroes it; zeroed memory does nothing.  Only if no
 * cache took it. */
void rondo_source_close(struct rondo_source *source);

/* The table of a type without opening it.  On an error `text` is one line that
 * says what is known or missing.  Errors: INVALID (no such name), NOT_FOUND (not
 * built or not installed), ABI, NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_source_find(const char *type, const char *search_dir,
                                                 struct rondo_source_error *why,
                                                 const struct rondo_source_ops **out);

/* What this version knows, in the order of the manual; NULL past the end. */
struct rondo_source_type {
    const char *name;
    const char *needs; /* the packages that its driver is built from; NULL: built in */
};
const struct rondo_source_type *rondo_source_type_at(size_t i);

/* For `rondo --version`: one line a type, each with a newline, such as
 *   scripted   built in
 *   sqlite     /usr/lib/rondo/rondo-source-sqlite.so
 *   sqlite     missing (building it takes libsqlite3-dev and libjansson-dev)
 * Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_source_describe(struct rondo_buf *out);

#endif
