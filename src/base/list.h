/* SPDX-License-Identifier: MIT */
/* list.h - an intrusive, doubly linked, circular list.  A node that is on no
 * list points at itself; removing it again does nothing. */
#ifndef RONDO_BASE_LIST_H
#define RONDO_BASE_LIST_H

#include "base/check.h"
#include <stdbool.h>
#include <stddef.h>

struct rondo_list {
    struct rondo_list *next, *prev;
};

static inline void rondo_list_init(struct rondo_list *l) {
    l->next = l->prev = l;
}

static inline bool rondo_list_is_empty(const struct rondo_list *l) {
    return l->next == l;
}

static inline void rondo_list_push_back(struct rondo_list *l, struct rondo_list *node) {
    node->prev = l->prev;
    node->next = l;
    l->prev->next = node;
    l->prev = node;
}

static inline void rondo_list_push_front(struct rondo_list *l, struct rondo_list *node) {
    rondo_list_push_back(l->next, node);
}

static inline void rondo_list_remove(struct rondo_list *node) {
    node->prev->next = node->next;
    node->next->prev = node->prev;
    rondo_list_init(node);
}

/* The first node, taken off; NULL if there is none. */
static inline struct rondo_list *rondo_list_pop_front(struct rondo_list *l) {
    struct rondo_list *node = l->next;
    if (node == l) return NULL;
    rondo_list_remove(node);
    return node;
}

/* Moves all of `from` behind what `to` has. */
static inline void rondo_list_splice_back(struct rondo_list *to, struct rondo_list *from) {
    if (rondo_list_is_empty(from)) return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    rondo_list_init(from);
}

#define RONDO_LIST_ENTRY(node, type, member) RONDO_CONTAINER_OF(node, type, member)

/* Safe against removal of the current node. */
#define RONDO_LIST_FOREACH(l, node)                                                                \
    for (struct rondo_list *node = (l)->next, *node##_next = node->next; node != (l);              \
         node = node##_next, node##_next = node->next)

#endif
