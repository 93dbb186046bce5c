/* SPDX-License-Identifier: MIT */
/* Writes a trace: `bench_cache_trace FILE KEYS READS THETA SEED`. */
#include "actors/job.h"
#include "zipf.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s FILE KEYS READS THETA SEED\n", argv[0]);
        return 2;
    }
    unsigned long keys = strtoul(argv[2], NULL, 10), reads = strtoul(argv[3], NULL, 10);
    if (keys < 1 || keys > UINT32_MAX || reads < 1) {
        fprintf(stderr, "%s: KEYS and READS are numbers above 0\n", argv[0]);
        return 2;
    }
    struct bench_zipf zipf;
    bench_zipf_init(&zipf, (uint32_t)keys, strtod(argv[4], NULL), strtoul(argv[5], NULL, 10));
    FILE *f = fopen(argv[1], "wb");
    bool is_written = f != NULL;
    for (unsigned long i = 0; i < reads && is_written; i++) {
        uint32_t number = bench_zipf_next(&zipf);
        is_written = fwrite(&number, sizeof number, 1, f) == 1;
    }
    if (f && fclose(f) != 0) is_written = false;
    bench_zipf_fini(&zipf);
    if (!is_written) fprintf(stderr, "%s: cannot write %s\n", argv[0], argv[1]);
    return is_written ? 0 : 1;
}
