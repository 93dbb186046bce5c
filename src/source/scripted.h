/* SPDX-License-Identifier: MIT */
/*
 * scripted.h - a source that does what it is told, for demonstrations and tests:
 * waits, answers from a text or a table, fails, hangs, by turn or by chance.
 *
 * docs/sources.md has its settings; script.h the grammar of its rules.
 */
#ifndef RONDO_SOURCE_SCRIPTED_H
#define RONDO_SOURCE_SCRIPTED_H

#include "rondo/source.h"

/* Static. */
const struct rondo_source_ops *rondo_scripted_ops(void);

#endif
