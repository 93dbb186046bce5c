/* SPDX-License-Identifier: MIT */
/*
 * ritual.h - the ritual: cultists who all ask for a few keys at once.
 *
 * For each Ancient One some cultists are scheduled for the same moment, 100 ms
 * after the start; each asks the cache `fhtagn` for its Ancient One's answer and
 * counts a latch down.  The source takes its time.  How long all of it takes
 * says which thread does the work: loads that queue for one thread add up,
 * loads on threads of their own do not, and one load a key needs two in all.
 *
 * The same is done in this process, on a cache of its own, or by clients of a
 * running `rondo serve` (or anything that speaks as it does).
 */
#ifndef RONDO_CLI_RITUAL_H
#define RONDO_CLI_RITUAL_H

#include "cli/progress.h"
#include "rondo/rondo.h"
#include <stdbool.h>
#include <stdint.h>

#define RONDO_RITUAL_CACHE "fhtagn"

enum { RONDO_RITUAL_START_MS = 100, RONDO_RITUAL_MAX_CALLERS = 10000 };

struct rondo_ritual_options {
    const char *const *ancient_ones;
    size_t n_ancient_ones;
    uint64_t cultists;            /* for each */
    uint64_t delay_ns;            /* of the source; 0: what the configuration says */
    struct rondo_threads threads; /* that call the source, if has_threads */
    bool has_threads;
    bool no_single_flight, has_single_flight;
    const char *config;  /* a file, or NULL: the built-in configuration */
    const char *connect; /* HOST:PORT, or NULL: in this process */
    bool is_silent;      /* the source announces nothing */
    struct rondo_progress *progress;
};

struct rondo_ritual_result {
    unsigned threads;       /* pool threads at the end; 0 for `threads: 0` and over a connection */
    bool is_service_thread; /* `threads: 0` */
    uint64_t callers, hits, misses, joined, loads;
    uint64_t answers, absent, failed; /* what the callers got */
    uint64_t elapsed_ns;
    char failure[256]; /* the first failure's text */
};

/* Errors are said on stderr in one line. */
RONDO_NODISCARD enum rondo_err rondo_ritual_run_local(const struct rondo_ritual_options *options,
                                                      struct rondo_ritual_result *out);
RONDO_NODISCARD enum rondo_err rondo_ritual_run_remote(const struct rondo_ritual_options *options,
                                                       struct rondo_ritual_result *out);

#endif
