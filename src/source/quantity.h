/* SPDX-License-Identifier: MIT */
/*
 * quantity.h - durations, sizes, percentages, counts, switches and thread counts
 * as people write them.
 *
 * One whole number and one unit, without a space and in lower case: "10m",
 * "64kb".  Zero is never a quantity: what can be switched off says "off".
 *
 * Each function returns NULL and writes *out, or leaves it alone and returns a
 * phrase (static) that says what is allowed, to follow `found "10x": `.
 */
#ifndef RONDO_SOURCE_QUANTITY_H
#define RONDO_SOURCE_QUANTITY_H

#include "rondo/rondo.h"

/* ns us ms s m h d; 1ns to 3650d. */
const char *rondo_quantity_duration(const char *text, uint64_t *ns);

/* b kb mb gb tb, in steps of 1024; 1b to 8191tb. */
const char *rondo_quantity_size(const char *text, uint64_t *bytes);

/* "20%", 1% to 100%. */
const char *rondo_quantity_percent(const char *text, unsigned *percent);

/* A whole number without a unit; digits only, 0 to 2^63 - 1. */
const char *rondo_quantity_count(const char *text, uint64_t *n);

/* yes no on off true false. */
const char *rondo_quantity_bool(const char *text, bool *b);

/* auto, N, MIN..MAX (1 to 1024), or 0 (RONDO_THREADS_NONE). */
const char *rondo_quantity_threads(const char *text, struct rondo_threads *threads);

/* Whether the text is "off". */
bool rondo_quantity_is_off(const char *text);

/* A duration as one would write it ("1500ms"), for messages; `out` has room for
 * 24 bytes. */
void rondo_quantity_print_duration(uint64_t ns, char *out);

#endif
