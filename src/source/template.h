/* SPDX-License-Identifier: MIT */
/*
 * template.h - text with `{parameter}` places.
 *
 * `{name}` stands for a value that is known later, `{{` for one brace; a `}`
 * that closes nothing is itself.  A name is a letter or `_`, then letters, digits
 * and `_`.  Which names may be used is given when the template is made.
 *
 * In SQL a value is never pasted: its place becomes a placeholder of the driver
 * and the value is bound.  Elsewhere it is inserted as it is.
 *
 * A template is immutable once made: any thread may use it.
 */
#ifndef RONDO_SOURCE_TEMPLATE_H
#define RONDO_SOURCE_TEMPLATE_H

#include "base/buf.h"
#include "rondo/source.h"

enum {
    RONDO_TEMPLATE_NAMES = 32, /* names that one template may choose from */
    RONDO_TEMPLATE_PARTS = 256 /* places that one template may have */
};

/* The names that may be used: first the parameters of the key pattern, then the
 * words that only make sense in this place, such as "value".  A name's index runs
 * through both. */
struct rondo_template_names {
    const char *const *params;
    size_t n_params;
    const char *const *words;
    size_t n_words;
};

/* Literal text, then (unless it is the end) a place for the value of names[name]. */
struct rondo_template_part {
    struct rondo_slice text; /* braces already undoubled; points into the template */
    int name;                /* -1: none, the template ends here */
};

struct rondo_template {
    const struct rondo_template_part *parts;
    size_t n_parts; /* at least 1 */
    uint32_t used;  /* bit i: names[i] occurs */
};

/*
 * Parses a text.  Errors: CONFIG (`why` says what was found and which names are
 * allowed), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_template_new(const char *text,
                                                  const struct rondo_template_names *names,
                                                  struct rondo_source_error *why,
                                                  struct rondo_template **out);
void rondo_template_free(struct rondo_template *t);

/* Appends the text with values[i] in place of names[i].  Errors: NOMEM (nothing
 * of `out` is to be used). */
RONDO_NODISCARD enum rondo_err rondo_template_render(const struct rondo_template *t,
                                                     const struct rondo_slice *values,
                                                     struct rondo_buf *out);

/* The same with every value percent-encoded (RFC 3986: all but letters, digits and
 * "-._~"), so that it stays within its place in a URL.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_template_render_url(const struct rondo_template *t,
                                                         const struct rondo_slice *values,
                                                         struct rondo_buf *out);

/* A statement with numbered placeholders: number k + 1 is to be bound to the
 * value of names[bind[k]].  A name that occurs twice has one number. */
struct rondo_template_sql {
    char *text;
    unsigned bind[RONDO_TEMPLATE_NAMES];
    unsigned n_bind;
};

/*
 * Makes the statement; `sign` is what the driver writes before the number, '?' or
 * '$'.  A place inside a string, a quoted name or a comment could not be bound:
 * that is a mistake.
 * Errors: CONFIG (with `why`), NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_template_to_sql(const struct rondo_template *t, char sign,
                                                     struct rondo_source_error *why,
                                                     struct rondo_template_sql *out);
void rondo_template_sql_fini(struct rondo_template_sql *sql);

#endif
