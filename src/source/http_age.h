/* SPDX-License-Identifier: MIT */
/*
 * http_age.h - how long an HTTP answer says that it may be kept (RFC 9111).
 */
#ifndef RONDO_SOURCE_HTTP_AGE_H
#define RONDO_SOURCE_HTTP_AGE_H

#include "rondo/rondo.h"

/* A life of 1 ns: the answer is for those who wait and for nobody later. */
#define RONDO_HTTP_AT_ONCE UINT64_C(1)

/*
 * Reads one Cache-Control header into *ttl_ns, which holds what the headers before
 * it said (0: nothing): `s-maxage` counts before `max-age`, `no-store` and
 * `no-cache` before both (RONDO_HTTP_AT_ONCE).  What cannot be read says nothing.
 */
void rondo_http_age_control(const char *value, uint64_t *ttl_ns, bool *is_shared);

/* Takes off what an Age header says was spent on the way; never below
 * RONDO_HTTP_AT_ONCE, and 0 stays 0. */
uint64_t rondo_http_age_spent(uint64_t ttl_ns, const char *age);

#endif
