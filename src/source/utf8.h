/* SPDX-License-Identifier: MIT */
/* utf8.h - whether bytes are valid UTF-8 (RFC 3629: shortest forms, no surrogates,
 * at most U+10FFFF).  NUL is valid. */
#ifndef RONDO_SOURCE_UTF8_H
#define RONDO_SOURCE_UTF8_H

#include "rondo/rondo.h"

bool rondo_utf8_is_valid(struct rondo_slice s);

#endif
