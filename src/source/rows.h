/* SPDX-License-Identifier: MIT */
/*
 * rows.h - answering a load of several keys from the rows of an SQL server.
 *
 * A row is for the key whose parameter its first column reads, byte for byte, never
 * for the key at its position.  A server may find equal what reads otherwise (042
 * and 42, or by a collation), so that "no row for this key" is believed only if
 * nothing contradicts it:
 *   - all rows went to keys, and either no key got one, or every key is a plain
 *     number, or the keys without a row were asked for again, without the others,
 *     and again got none: they are absent;
 *   - else each of them is asked for alone, by `load`.
 * So a batch never answers what a single load would not.
 *
 * Threads: one at a time.
 */
#ifndef RONDO_SOURCE_ROWS_H
#define RONDO_SOURCE_ROWS_H

#include "source/column.h"

struct rondo_rows {
    const struct rondo_load *load;
    size_t *asked; /* the keys that `many` asks for, by index */
    size_t n_asked;
    struct rondo_rows_key *keys; /* one per key of the load */
    bool has_strays;             /* a row came that is no key's, read as bytes */
};

/* What a driver does; `connection` is passed through.  Errors of all: LOAD,
 * CONNECT, TIMEOUT, NOMEM, with `why`. */
struct rondo_rows_driver {
    /* Asks for one key: its value, or that it is absent. */
    enum rondo_err (*one)(void *connection, const struct rondo_load_key *key,
                          struct rondo_buf *value, bool *is_absent, struct rondo_source_error *why);
    /* Asks for rows->asked and hands each row to rondo_rows_take; one that starts
     * over after it had rows calls rondo_rows_restart first. */
    enum rondo_err (*many)(void *connection, struct rondo_rows *rows,
                           struct rondo_source_error *why);
    /* Comes before the others; may say that there is no batch at all.  NULL: fine. */
    enum rondo_err (*prepare)(void *connection, struct rondo_source_error *why);
    /* Whether a key's parameter can stand in a batch without spoiling it for the
     * others.  NULL: any can. */
    bool (*fits)(void *connection, struct rondo_slice param);
};

/* Answers every key of the load, in one batch if `has_many` and there are several. */
void rondo_rows_load(const struct rondo_rows_driver *driver, void *connection,
                     const struct rondo_load *load, bool has_many);

/* The parameter of the kth key asked for. */
struct rondo_slice rondo_rows_asked(const struct rondo_rows *rows, size_t k);

/* Takes a row: its first column says which key it is for, the others (at least one)
 * are the value.  Errors: LOAD (with `why`), NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_rows_take(struct rondo_rows *rows,
                                               const struct rondo_column *columns, size_t n,
                                               struct rondo_source_error *why);
void rondo_rows_restart(struct rondo_rows *rows);

/* A whole number of at most 15 digits, written as everybody writes it: two such
 * that differ as text differ as numbers. */
bool rondo_rows_is_plain_number(struct rondo_slice s);

#endif
