/* SPDX-License-Identifier: MIT */
/*
 * backoff.h - when a server that could not be reached may be asked again.
 *
 * All connections of a source share one.  While nothing fails every thread may
 * connect when it likes.  After a failure nobody tries for a while, then one thread
 * at a time, and the while grows from 20 ms to 1 s until a connection stands.
 *
 * Threads: any.
 */
#ifndef RONDO_SOURCE_BACKOFF_H
#define RONDO_SOURCE_BACKOFF_H

#include "base/sync.h"
#include "rondo/source.h"

struct rondo_backoff {
    struct rondo_mutex mu;
    uint64_t delay_ns;              /* guarded by mu, as all below; 0: nothing failed */
    uint64_t next_ns;               /* monotonic: no try before */
    bool is_probing;                /* one thread tries, the others wait for its luck */
    struct rondo_source_error last; /* why the last try failed */
};

void rondo_backoff_init(struct rondo_backoff *b);
void rondo_backoff_fini(struct rondo_backoff *b);

/* Whether the caller may try now; if so it tells how that ended by one of the two
 * below.  If not, `why` says what went wrong last. */
bool rondo_backoff_may_try(struct rondo_backoff *b, uint64_t now_ns,
                           struct rondo_source_error *why);
void rondo_backoff_failed(struct rondo_backoff *b, uint64_t now_ns,
                          const struct rondo_source_error *why);
void rondo_backoff_worked(struct rondo_backoff *b);

#endif
