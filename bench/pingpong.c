/* SPDX-License-Identifier: MIT */
/*
 * Two pinned threads hand one cache line to and fro: what the distance between
 * two cores costs at this moment.  Prints one line of JSON with the nanoseconds
 * of a one-way hand-over.  On a virtual machine the figure moves by a factor of
 * five while one measures, and every figure that needs two cores moves with it.
 */
#include "actors/job.h"
#include "base/atomic.h"
#include "base/sync.h"
#include <stdio.h>

enum { HANDOVERS = 200000 };

struct line {
    char before[BENCH_LINE];
    uint64_t turn; /* atomic: even, the first thread's; odd, the second's */
    char behind[BENCH_LINE];
};

struct side {
    struct line *line;
    unsigned index;
    bool is_pinned;
};

static void play(void *arg) {
    struct side *side = arg;
    side->is_pinned = bench_pin(side->index);
    unsigned spins = 0;
    for (uint64_t mine = side->index; mine < HANDOVERS; mine += 2) {
        while (rondo_load_acquire(&side->line->turn) != mine) /* pairs with the store */
            bench_back_off(&spins);
        rondo_store_release(&side->line->turn, mine + 1); /* pairs with the load */
    }
}

int main(void) {
    struct line line = {.turn = HANDOVERS};
    struct side sides[2] = {{.line = &line, .index = 0}, {.line = &line, .index = 1}};
    struct rondo_thread threads[2];
    for (int i = 0; i < 2; i++)
        if (rondo_thread_start(&threads[i], "side", play, &sides[i])) return 2;
    uint64_t start_ns = bench_now_ns();
    rondo_store_release(&line.turn, (uint64_t)0); /* pairs with the load in play */
    for (int i = 0; i < 2; i++) rondo_thread_join(&threads[i]);
    uint64_t ns = bench_now_ns() - start_ns;
    bool is_apart = sides[0].is_pinned && sides[1].is_pinned;
    printf("{\"handover_ns\": %.1f, \"two_cores\": %s}\n", (double)ns / HANDOVERS,
           is_apart ? "true" : "false");
    return line.turn == HANDOVERS ? 0 : 1;
}
