/* SPDX-License-Identifier: MIT */
/* fuzz.h - the function that each fuzzer defines: run by libFuzzer in the fuzz
 * preset, and by replay.c over a corpus in every other build.  Returns 0; a
 * property that does not hold fails a RONDO_CHECK. */
#ifndef RONDO_FUZZ_FUZZ_H
#define RONDO_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A place to cut the input at, 0..size, that the input itself decides. */
static inline size_t fuzz_cut(const uint8_t *data, size_t size) {
    size_t h = size;
    for (size_t i = 0; i < size; i++) h = h * 31 + data[i];
    return h % (size + 1);
}

#endif
