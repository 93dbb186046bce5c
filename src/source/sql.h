/* SPDX-License-Identifier: MIT */
/*
 * sql.h - the statements that the source of an SQL server is configured with.
 *
 * `load`, `load_many`, `store` and `erase` are templates; their places become
 * parameters of the driver and are never pasted.  Immutable once opened: any
 * thread may use it.
 */
#ifndef RONDO_SOURCE_SQL_H
#define RONDO_SOURCE_SQL_H

#include "rondo/source.h"
#include "source/template.h"

enum rondo_sql_statement {
    RONDO_SQL_LOAD,
    RONDO_SQL_LOAD_MANY,
    RONDO_SQL_STORE,
    RONDO_SQL_ERASE,
    RONDO_SQL_STATEMENTS
};

enum { RONDO_SQL_PARAMS = 16 }; /* parameters that a key may have */

/* "load", "load_many", "store", "erase": the names of the settings. */
extern const char *const rondo_sql_names[RONDO_SQL_STATEMENTS];

struct rondo_sql {
    struct rondo_template *templates[RONDO_SQL_STATEMENTS]; /* NULL: not given */
    struct rondo_template_sql sql[RONDO_SQL_STATEMENTS];    /* text NULL: not given */
    size_t n_params;
};

/*
 * Reads the four settings; `sign` is the driver's, as for rondo_template_to_sql.
 * Every mistake is told.  `out` is to be finished whatever comes back.
 * Errors: CONFIG, NOMEM.
 */
RONDO_NODISCARD enum rondo_err rondo_sql_open(const struct rondo_source_config *config, char sign,
                                              struct rondo_sql *out);
void rondo_sql_fini(struct rondo_sql *sql);

/* enum rondo_source_writes. */
unsigned rondo_sql_writes(const struct rondo_sql *sql);

/* The values of the names of a statement: the key's parameters, then `word` (the
 * client of a load, the value of a store).  `out` has room for RONDO_SQL_PARAMS + 1. */
void rondo_sql_values(const struct rondo_sql *sql, const struct rondo_load_key *key,
                      struct rondo_slice word, struct rondo_slice *out);

/* Whether a statement only reads and may be repeated on a new connection. */
static inline bool rondo_sql_reads(enum rondo_sql_statement which) {
    return which == RONDO_SQL_LOAD || which == RONDO_SQL_LOAD_MANY;
}

#endif
