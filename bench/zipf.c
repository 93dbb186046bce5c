/* SPDX-License-Identifier: MIT */
#include "zipf.h"

#include "actors/job.h"
#include "base/hash.h"
#include <math.h>
#include <stdlib.h>

static void shuffle(uint32_t *number, uint32_t n, uint64_t *random) {
    for (uint32_t i = 0; i < n; i++) number[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = (uint32_t)rondo_random_below(random, (uint64_t)i + 1), kept = number[i];
        number[i] = number[j];
        number[j] = kept;
    }
}

void bench_zipf_init(struct bench_zipf *z, uint32_t n, double theta, uint64_t seed) {
    z->n = n;
    z->random = seed;
    z->below = bench_need(malloc(n * sizeof *z->below));
    z->number = bench_need(malloc(n * sizeof *z->number));
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) z->below[k] = sum += pow(k + 1.0, -theta);
    shuffle(z->number, n, &z->random);
}

void bench_zipf_fini(struct bench_zipf *z) {
    free(z->below);
    free(z->number);
}

uint32_t bench_zipf_next(struct bench_zipf *z) {
    double x = (double)(rondo_random_next(&z->random) >> 11) * 0x1p-53 * z->below[z->n - 1];
    uint32_t low = 0, high = z->n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (z->below[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return z->number[low];
}
