/* SPDX-License-Identifier: MIT */
#include "server/ahead.h"

enum { DIGITS = 5 };

/* "<mark>123\r\n" at *at, which moves behind it; false: it is something else. */
static bool number(const char *data, size_t len, char mark, size_t *at, size_t *out) {
    size_t i = *at, n = 0;
    if (i >= len || data[i++] != mark) return false;
    size_t first = i;
    for (; i < len && data[i] >= '0' && data[i] <= '9' && i < first + DIGITS; i++)
        n = n * 10 + (size_t)(data[i] - '0');
    if (i == first || i + 2 > len || data[i] != '\r' || data[i + 1] != '\n') return false;
    *at = i + 2;
    *out = n;
    return true;
}

/* One command; false: it is not whole, or not of the kind. */
static bool command(const char *data, size_t len, size_t *at, struct rondo_key *key,
                    bool *has_key) {
    size_t n_args, size;
    if (!number(data, len, '*', at, &n_args)) return false;
    *has_key = n_args >= 2;
    for (size_t i = 0; i < n_args; i++) {
        if (!number(data, len, '$', at, &size) || size + 2 > len - *at) return false;
        if (i == 1) {
            key->data = data + *at;
            key->len = size;
        }
        *at += size + 2;
    }
    return true;
}

size_t rondo_ahead(const char *data, size_t len, unsigned space, struct rondo_key *keys, size_t max,
                   size_t *used) {
    size_t n = 0, at = 0;
    *used = 0;
    while (n < max) {
        struct rondo_key key = {NULL, 0, space};
        bool has_key;
        if (!command(data, len, &at, &key, &has_key)) break;
        if (has_key && key.len <= 65536) keys[n++] = key;
        *used = at;
    }
    return n;
}
