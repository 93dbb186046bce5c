/* SPDX-License-Identifier: MIT */
#include "source/suggest.h"

#include "base/check.h"
#include <stdbool.h>

enum { MAX_NAME = 63 };

void rondo_suggest_init(struct rondo_suggest *s, const char *typed) {
    s->typed = typed;
    s->best = NULL;
    size_t len = strlen(typed);
    s->distance = len >= 6 ? len / 3 + 1 : 2; /* the first that is too far */
}

void rondo_suggest_offer(struct rondo_suggest *s, const char *name) {
    size_t d = rondo_suggest_distance(s->typed, name);
    if (d >= s->distance) return;
    s->distance = d;
    s->best = name;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t rondo_suggest_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > MAX_NAME || m > MAX_NAME) return (size_t)-1;
    /* Three rows of the table: two above this one, the one above, this one. */
    size_t rows[3][MAX_NAME + 1];
    for (size_t j = 0; j <= m; j++) rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = up[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(replace, least(up[j], now[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) now[j] = least(now[j], up2[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}
