/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the ring: N nodes pass K tokens round, R times each.
 *
 * Node 0 is told START; it tells the timer, an actor that takes START, STOP and
 * CANCEL, and the origins of the tokens.  An origin sends TOKEN(origin, 0), the
 * others forward it; each time a token is back its origin counts a round.  When
 * the last token has made its rounds, node 0 sends STOP and CANCEL to the timer
 * and STOP round the ring, at which every node deactivates.  The last STOP
 * reaches node 0, which is inactive already: the one message that is dropped.
 *
 * The plain design, for comparison, runs the same program with a thread and a
 * blocking queue per node.
 */
#ifndef RONDO_CLI_RING_H
#define RONDO_CLI_RING_H

#include "cli/progress.h"
#include "rondo/rondo.h"
#include <stdint.h>
#include <stdio.h>

/* What a test does to a ring to see that the ring notices. */
enum rondo_ring_fault {
    RONDO_RING_NO_FAULT,
    RONDO_RING_LOSE,  /* a node forgets a token */
    RONDO_RING_DOUBLE /* a node sends a token twice */
};

struct rondo_ring_options {
    uint64_t nodes, rounds, tokens; /* 1 <= tokens <= nodes */
    struct rondo_threads threads;   /* workers; NONE: the calling thread */
    bool is_spread; /* nodes are pinned to the workers in turn: every hop changes the worker */
    bool simulate;
    uint64_t seed;                   /* of the simulation */
    FILE *out;                       /* the article's lines; NULL: none */
    struct rondo_progress *progress; /* NULL: none */
    uint64_t stall_ns;               /* no token moved for this long: it is lost (at least 1 s) */
    enum rondo_ring_fault fault;
};

struct rondo_ring_result {
    uint64_t messages; /* TOKEN deliveries: nodes x rounds x tokens */
    uint64_t control;  /* all other deliveries */
    uint64_t dropped;  /* 1: the last STOP */
    unsigned threads;  /* that ran the nodes */
    double construct_ms, elapsed_ms, ns_per_message;
};

/* Runs a ring of actors on the calling thread and the workers it starts.
 * Errors: INVALID, NOMEM, SYSTEM, and STALLED or PROTOCOL with one line on
 * stderr when a token was lost or came twice. */
RONDO_NODISCARD enum rondo_err rondo_ring_run(const struct rondo_ring_options *options,
                                              struct rondo_ring_result *out);

/* The same with a thread and a blocking queue per node; `threads`, `simulate`
 * and `fault` are not looked at.  Errors: SYSTEM when no more threads can be
 * had. */
RONDO_NODISCARD enum rondo_err rondo_ring_run_plain(const struct rondo_ring_options *options,
                                                    struct rondo_ring_result *out);

/* Runs the article's five rows as far as they are ours and prints them beside the
 * article's, as a table or as JSON.  `budget_ns`: about how long the thread per
 * node may take; 0: all rounds.  Errors: as the two above. */
RONDO_NODISCARD enum rondo_err rondo_ring_compare(const struct rondo_ring_options *options,
                                                  uint64_t budget_ns, bool json);

/* The lines that both print. */
void rondo_ring_log(FILE *out, uint64_t node, const char *fmt, ...) RONDO_PRINTF(3, 4);
uint64_t rondo_ring_wall_ms(void);

enum { RONDO_RING_LOG_EVERY = 10000 };

#endif
