/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - all counters as text for Prometheus, format 0.0.4.
 *
 *     # HELP rondo_cache_hits_total reads answered by memory
 *     # TYPE rondo_cache_hits_total counter
 *     rondo_cache_hits_total{cache="users"} 12
 *
 * Names, help and kinds come from RONDO_CACHE_STATS and RONDO_SERVICE_COUNTS, so
 * that a counter that is added there is seen here too: what counts up is called
 * _total, what is true "now" (or "while") is a gauge.
 */
#ifndef RONDO_SERVER_METRICS_H
#define RONDO_SERVER_METRICS_H

#include "server/service.h"

/* Appends what the process uses, then what the server counts (NULL: it is not up,
 * only the process is shown).  Any thread.  Errors: NOMEM; `out` may hold a part. */
RONDO_NODISCARD enum rondo_err rondo_metrics_write(struct rondo_service *s, struct rondo_buf *out);

#endif
