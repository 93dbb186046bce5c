/* SPDX-License-Identifier: MIT */
#include "cache/blob.h"

#include "base/atomic.h"
#include "base/check.h"
#include "base/mem.h"
#include "cache/cost.h"

rondo_blob *rondo_blob_new(size_t len) {
    size_t size;
    if (!rondo_size_add(len, sizeof(rondo_blob), &size)) return NULL;
    rondo_blob *b = rondo_alloc(size);
    if (!b) return NULL;
    b->refs = 1;
    b->len = len;
    return b;
}

rondo_blob *rondo_blob_copy(const void *data, size_t len) {
    rondo_blob *b = rondo_blob_new(len);
    if (b && len) memcpy(b->data, data, len);
    return b;
}

rondo_blob *rondo_blob_ref(rondo_blob *b) {
    /* Relaxed: whoever refs holds a reference, or the lock that guards one. */
    if (b) rondo_add_relaxed(&b->refs, 1);
    return b;
}

void rondo_blob_unref(rondo_blob *b) {
    /* Partner: the other unrefs; the last one must see what all holders read. */
    if (b && rondo_sub_acq_rel(&b->refs, 1) == 1) rondo_free(b);
}

size_t rondo_blob_cost(size_t len) {
    return rondo_cost_of(sizeof(rondo_blob) + len);
}

struct rondo_value rondo_blob_value(rondo_blob *b) {
    struct rondo_value v = {b->data, b->len, rondo_blob_ref(b)};
    return v;
}

void rondo_value_release(struct rondo_value *v) {
    rondo_blob_unref(v->blob);
    *v = (struct rondo_value){0};
}

void rondo_answer_release(struct rondo_answer *answer) {
    rondo_value_release(&answer->value);
    *answer = (struct rondo_answer){0};
}
