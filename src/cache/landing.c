/* SPDX-License-Identifier: MIT */
#include "cache/landing.h"

#include "base/check.h"
#include "cache/blob.h"

enum { TEXT_MAX = 256 };

struct rondo_landing rondo_landing_failure(const char *name, enum rondo_err err, const char *text) {
    struct rondo_landing landing = {.outcome = RONDO_FAILED, .err = err};
    size_t name_len = strlen(name), text_len = strnlen(text, TEXT_MAX);
    landing.blob = rondo_blob_new(name_len + 1 + text_len);
    if (!landing.blob) return landing;
    char *to = landing.blob->data;
    memcpy(to, name, name_len);
    to[name_len] = ' ';
    memcpy(to + name_len + 1, text, text_len);
    for (char *c = to; c < to + landing.blob->len; c++)
        if (*c == '\r' || *c == '\n') *c = ' ';
    return landing;
}

void rondo_landing_release(struct rondo_landing *landing) {
    rondo_blob_unref(landing->blob);
    *landing = (struct rondo_landing){0};
}
