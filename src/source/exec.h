/* SPDX-License-Identifier: MIT */
/*
 * exec.h - a source that runs a program for each key: its output is the value, its
 * exit code says whether there is one.
 *
 * docs/sources.md has its settings.
 */
#ifndef RONDO_SOURCE_EXEC_H
#define RONDO_SOURCE_EXEC_H

#include "rondo/source.h"

/* Static. */
const struct rondo_source_ops *rondo_exec_ops(void);

#endif
