/* SPDX-License-Identifier: MIT */
/*
 * info.h - the text of INFO: Redis's sections with what is true of this server,
 * and one section of our own for each cache.
 *
 *     # Cache_users
 *     cache_users:hits=12,stale_hits=0,misses=3,...
 */
#ifndef RONDO_SERVER_INFO_H
#define RONDO_SERVER_INFO_H

#include "server/service.h"

/* Appends the sections that `wants` picks (by Redis's names, in lower case;
 * "caches" is ours).  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_info_write(struct rondo_service *s, uint64_t now_ns,
                                                bool (*wants)(void *arg, const char *section),
                                                void *arg, struct rondo_buf *out);

/* All caches' counters added up. */
void rondo_info_sum_caches(rondo_keyspace *ks, struct rondo_cache_stats *out);

#endif
