/* SPDX-License-Identifier: MIT */
/*
 * blob.h - bytes with a reference count, immutable once shared.
 *
 * A new blob belongs to its maker, who fills it and then hands out references;
 * from then on nobody writes.  Any thread may hold, ref and unref.
 */
#ifndef RONDO_CACHE_BLOB_H
#define RONDO_CACHE_BLOB_H

#include "rondo/cache.h"

struct rondo_blob {
    uint32_t refs; /* atomic */
    size_t len;
    char data[];
};

/* A blob of `len` unset bytes with one reference, or NULL. */
rondo_blob *rondo_blob_new(size_t len);
/* The same, filled. */
rondo_blob *rondo_blob_copy(const void *data, size_t len);

/* Returns b; NULL stays NULL. */
rondo_blob *rondo_blob_ref(rondo_blob *b);
void rondo_blob_unref(rondo_blob *b);

/* The bytes that a blob of this length takes from the allocator. */
size_t rondo_blob_cost(size_t len);

/* A value that holds a reference of its own to b. */
struct rondo_value rondo_blob_value(rondo_blob *b);

#endif
