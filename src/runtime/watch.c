/* SPDX-License-Identifier: MIT */
#include "runtime/watch.h"
#include "base/mem.h"

enum { BEGIN = 1, END = 2 }; /* types of the control messages */

enum state { WATCHING, TOLD, ENDED };

struct rondo_watch {
    struct rondo_down down;      /* control message on the way there, DOWN on the way back */
    struct rondo_msg end;        /* control message */
    struct rondo_actor *watcher; /* a reference; so is down.actor */
    struct rondo_list node;      /* the target's turns only */
    unsigned state;              /* atomic: enum state */
    unsigned refs;               /* atomic: `down`, `end` when sent, the handle */
};

static void unref(struct rondo_watch *w) {
    if (rondo_sub_acq_rel(&w->refs, 1) > 1) return; /* pairs with itself */
    rondo_actor_unref(w->watcher);
    rondo_actor_unref(w->down.actor);
    rondo_free(w);
}

/* True for the one that decides how the watch goes on. */
static bool move(struct rondo_watch *w, enum state to) {
    unsigned expected = WATCHING;
    return rondo_cas_acq_rel(&w->state, &expected, (unsigned)to); /* pairs with itself */
}

static void tell(struct rondo_watch *w, enum rondo_down_reason reason) {
    if (!move(w, TOLD)) {
        unref(w); /* ended; `down` is not needed any more */
        return;
    }
    w->down.head.type = RONDO_MSG_DOWN;
    w->down.head.flags_ = RONDO_MSG_STATIC;
    w->down.reason = reason;
    rondo_send(w->watcher, &w->down);
}

/* `down` is freed: by the watcher, or on its way to a target that has stopped. */
static void down_fini(struct rondo_msg *m) {
    struct rondo_watch *w = RONDO_CONTAINER_OF(m, struct rondo_watch, down.head);
    if (m->flags_ & RONDO_MSG_CONTROL)
        tell(w, RONDO_DOWN_GONE);
    else
        unref(w);
}

static void end_fini(struct rondo_msg *m) {
    unref(RONDO_CONTAINER_OF(m, struct rondo_watch, end));
}

/* The two may come in any order, if different threads have sent them. */
void rondo_watch_control(struct rondo_actor *a, struct rondo_msg *m) {
    if (m->type == BEGIN) {
        struct rondo_watch *w = RONDO_CONTAINER_OF(m, struct rondo_watch, down.head);
        if (rondo_load_acquire(&w->state) == ENDED) /* pairs with move */
            unref(w);
        else
            rondo_list_push_back(&a->watches, &w->node);
        return;
    }
    struct rondo_watch *w = RONDO_CONTAINER_OF(m, struct rondo_watch, end);
    if (!rondo_list_is_empty(&w->node)) {
        rondo_list_remove(&w->node);
        unref(w); /* `down`, which was on the list */
    }
    unref(w);
}

void rondo_watch_tell(struct rondo_actor *a, enum rondo_down_reason reason) {
    for (struct rondo_list *node; (node = rondo_list_pop_front(&a->watches));)
        tell(RONDO_LIST_ENTRY(node, struct rondo_watch, node), reason);
}

enum rondo_err rondo_actor_monitor(rondo_actor *watcher, rondo_actor *target, rondo_watch **out) {
    struct rondo_watch *w = rondo_zalloc(sizeof *w);
    if (!w) return RONDO_ERR_NOMEM;
    w->down.head = (struct rondo_msg){
        .type = BEGIN, .flags_ = RONDO_MSG_STATIC | RONDO_MSG_CONTROL, .fini = down_fini};
    w->end = (struct rondo_msg){
        .type = END, .flags_ = RONDO_MSG_STATIC | RONDO_MSG_CONTROL, .fini = end_fini};
    w->down.actor = rondo_actor_ref(target);
    w->watcher = rondo_actor_ref(watcher);
    w->refs = out ? 2 : 1;
    rondo_list_init(&w->node);
    if (out) *out = w;
    rondo_send(target, &w->down);
    return RONDO_OK;
}

bool rondo_actor_demonitor(rondo_watch *w) {
    bool ended = move(w, ENDED);
    /* Our reference goes with the message, which follows `down` to the target. */
    if (ended)
        rondo_send(w->down.actor, &w->end);
    else
        unref(w);
    return ended;
}

void rondo_watch_free(rondo_watch *w) {
    if (w) unref(w);
}
