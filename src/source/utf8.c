/* SPDX-License-Identifier: MIT */
#include "source/utf8.h"

#include "base/check.h"

/* The lengths by first byte, and what the second byte may be: only there do the
 * longer forms exclude what has a shorter one, the surrogates, and the end. */
static size_t sequence(const unsigned char *p, unsigned char *lo, unsigned char *hi) {
    unsigned char c = p[0];
    *lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (c < 0x80) return 1;
    if (c >= 0xc2 && c <= 0xdf) return 2;
    if (c >= 0xe0 && c <= 0xef) return 3;
    return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

bool rondo_utf8_is_valid(struct rondo_slice s) {
    const unsigned char *p = s.data;
    size_t i = 0;
    while (i < s.len) {
        unsigned char lo, hi;
        size_t n = sequence(p + i, &lo, &hi);
        if (n == 0 || n > s.len - i) return false;
        if (n > 1 && (p[i + 1] < lo || p[i + 1] > hi)) return false;
        for (size_t k = 2; k < n; k++)
            if ((p[i + k] & 0xc0) != 0x80) return false;
        i += n;
    }
    return true;
}
