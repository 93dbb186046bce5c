/* SPDX-License-Identifier: MIT */
#include "runtime/registry.h"
#include "base/atomic.h"
#include "base/mem.h"

enum rondo_err rondo_registry_init(struct rondo_registry *r, unsigned n_lists) {
    struct rondo_registry_list *lists = rondo_zalloc(n_lists * sizeof *lists);
    if (!lists) return RONDO_ERR_NOMEM;
    for (unsigned i = 0; i < n_lists; i++) {
        rondo_mutex_init(&lists[i].mu);
        rondo_list_init(&lists[i].actors);
    }
    *r = (struct rondo_registry){.refs = 1, .n_lists = n_lists, .lists = lists};
    return RONDO_OK;
}

void rondo_registry_fini(struct rondo_registry *r) {
    for (unsigned i = 0; r->lists && i < r->n_lists; i++) rondo_mutex_fini(&r->lists[i].mu);
    rondo_free(r->lists);
    r->lists = NULL;
}

bool rondo_registry_add(struct rondo_registry *r, unsigned i, struct rondo_list *node) {
    struct rondo_registry_list *l = &r->lists[i];
    rondo_mutex_lock(&l->mu);
    bool ok = !l->is_closed;
    if (ok) {
        rondo_list_push_back(&l->actors, node);
        rondo_add_seq_cst(&r->n_live, 1); /* pairs with the load in rondo_runtime_run */
        rondo_add_relaxed(&r->spawned, 1);
    }
    rondo_mutex_unlock(&l->mu);
    return ok;
}

void rondo_registry_remove(struct rondo_registry *r, unsigned i, struct rondo_list *node) {
    struct rondo_registry_list *l = &r->lists[i];
    rondo_mutex_lock(&l->mu);
    rondo_list_remove(node);
    rondo_mutex_unlock(&l->mu);
    /* pairs with the load in rondo_runtime_run */
    if (rondo_sub_seq_cst(&r->n_live, 1) == 1) r->on_empty(r);
}

void rondo_registry_close(struct rondo_registry *r) {
    for (unsigned i = 0; i < r->n_lists; i++) {
        rondo_mutex_lock(&r->lists[i].mu);
        r->lists[i].is_closed = true;
        rondo_mutex_unlock(&r->lists[i].mu);
    }
}

struct rondo_list *rondo_registry_pop(struct rondo_registry *r) {
    struct rondo_list *node = NULL;
    for (unsigned i = 0; i < r->n_lists && !node; i++) {
        rondo_mutex_lock(&r->lists[i].mu);
        node = rondo_list_pop_front(&r->lists[i].actors);
        rondo_mutex_unlock(&r->lists[i].mu);
    }
    return node;
}

void rondo_registry_ref(struct rondo_registry *r) {
    rondo_add_relaxed(&r->refs, 1);
}

void rondo_registry_unref(struct rondo_registry *r) {
    if (rondo_sub_acq_rel(&r->refs, 1) == 1) r->release(r); /* pairs with itself */
}
