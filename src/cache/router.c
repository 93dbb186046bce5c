/* SPDX-License-Identifier: MIT */
#include "cache/router.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"

/* Children hang in a list of at most 256; prefixes of real configurations branch
 * in a handful of places, so a list beats a table of 256 pointers. */
struct rondo_router_node {
    struct rondo_router_node *child, *sibling, *parent;
    struct rondo_slice label; /* of a pattern's text; empty in the root only */
    const struct rondo_pattern *pattern;
    void *value; /* NULL: no pattern ends here */
};

static struct rondo_router_node *node_new(struct rondo_slice label) {
    struct rondo_router_node *n = rondo_zalloc(sizeof *n);
    if (n) n->label = label;
    return n;
}

void rondo_router_fini(struct rondo_router *r) {
    struct rondo_router_node *n = r->root;
    while (n) {
        if (n->child) {
            n = n->child;
            continue;
        }
        struct rondo_router_node *up = n->parent;
        if (up) up->child = n->sibling;
        rondo_free(n);
        n = up;
    }
    r->root = NULL;
}

static size_t common(struct rondo_slice a, struct rondo_slice b) {
    const char *x = a.data, *y = b.data;
    size_t max = a.len < b.len ? a.len : b.len, n = 0;
    while (n < max && x[n] == y[n]) n++;
    return n;
}

static struct rondo_slice skip(struct rondo_slice s, size_t n) {
    return rondo_slice_of((const char *)s.data + n, s.len - n);
}

/* The place where the child that begins like `rest` hangs, or would hang. */
static struct rondo_router_node **child_link(struct rondo_router_node *n, struct rondo_slice rest) {
    struct rondo_router_node **link = &n->child;
    while (*link && *(const char *)(*link)->label.data != *(const char *)rest.data)
        link = &(*link)->sibling;
    return link;
}

/* Puts a new node for the first `len` bytes of (*link)'s label above it. */
static struct rondo_router_node *split(struct rondo_router_node **link, size_t len) {
    struct rondo_router_node *low = *link;
    struct rondo_router_node *top = node_new(rondo_slice_of(low->label.data, len));
    if (!top) return NULL;
    top->sibling = low->sibling;
    top->parent = low->parent;
    top->child = low;
    low->sibling = NULL;
    low->parent = top;
    low->label = skip(low->label, len);
    *link = top;
    return top;
}

static struct rondo_router_node *hang(struct rondo_router_node *up, struct rondo_slice label) {
    struct rondo_router_node *n = node_new(label);
    if (!n) return NULL;
    n->parent = up;
    n->sibling = up->child;
    up->child = n;
    return n;
}

/* The node at which `prefix` ends, made if need be; NULL when out of memory. */
static struct rondo_router_node *reach(struct rondo_router *r, struct rondo_slice prefix) {
    if (!r->root) r->root = node_new(rondo_slice_of("", 0));
    struct rondo_router_node *n = r->root;
    while (n && prefix.len > 0) {
        struct rondo_router_node **link = child_link(n, prefix);
        if (!*link) return hang(n, prefix);
        size_t len = common((*link)->label, prefix);
        n = len < (*link)->label.len ? split(link, len) : *link;
        prefix = skip(prefix, len);
    }
    return n;
}

enum rondo_err rondo_router_add(struct rondo_router *r, const struct rondo_pattern *pattern,
                                void *value) {
    struct rondo_router_node *n = reach(r, rondo_pattern_prefix(pattern));
    if (!n) return RONDO_ERR_NOMEM;
    if (n->value) return RONDO_ERR_EXISTS;
    n->pattern = pattern;
    n->value = value;
    return RONDO_OK;
}

/* Its node stays: it routes nothing and goes with the rest. */
void rondo_router_remove(struct rondo_router *r, const struct rondo_pattern *pattern) {
    struct rondo_router_node *n = reach(r, rondo_pattern_prefix(pattern));
    RONDO_CHECK(n && n->pattern == pattern);
    n->pattern = NULL;
    n->value = NULL;
}

void *rondo_router_route(const struct rondo_router *r, struct rondo_slice key) {
    struct rondo_router_node *n = r->root, *deepest = n;
    struct rondo_slice rest = key;
    while (n && rest.len > 0) {
        n = *child_link(n, rest);
        if (!n || common(n->label, rest) < n->label.len) break;
        rest = skip(rest, n->label.len);
        deepest = n;
    }
    for (n = deepest; n; n = n->parent)
        if (n->value && rondo_pattern_match(n->pattern, key, NULL)) return n->value;
    return NULL;
}
