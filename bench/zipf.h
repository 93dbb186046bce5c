/* SPDX-License-Identifier: MIT */
/*
 * zipf.h - numbers as skewed as what is asked of caches: of n things the k-th
 * most popular is drawn with a probability in proportion to 1 / k^theta.
 *
 * Which number is how popular is shuffled, so that neighbours have nothing in
 * common.  The same seed gives the same numbers.
 */
#ifndef BENCH_ZIPF_H
#define BENCH_ZIPF_H

#include <stdint.h>

struct bench_zipf {
    uint32_t n;
    uint64_t random;
    double *below;    /* [k]: sum of the weights up to and with rank k */
    uint32_t *number; /* [rank] */
};

/* n > 0.  Ends the program when out of memory. */
void bench_zipf_init(struct bench_zipf *z, uint32_t n, double theta, uint64_t seed);
void bench_zipf_fini(struct bench_zipf *z);

/* 0 .. n-1 */
uint32_t bench_zipf_next(struct bench_zipf *z);

#endif
