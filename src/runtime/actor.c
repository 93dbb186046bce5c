/* SPDX-License-Identifier: MIT */
#include "runtime/actor.h"
#include "base/mem.h"
#include "runtime/msg.h"

struct rondo_actor *rondo_actor_new(struct rondo_runtime *rt, struct rondo_registry *registry,
                                    const struct rondo_actor_options *o) {
    struct rondo_actor *a = rondo_alloc(sizeof *a);
    if (!a) return NULL;
    *a = (struct rondo_actor){
        .receive = o->receive,
        .state = o->state,
        .rt = rt,
        .pin = (uint16_t)o->pin,
        .registry = registry,
        .free_state = o->free_state,
        .name = o->name ? o->name : "",
        .refs = 2,
        .stop = {.type = RONDO_MSG_STOP, .flags_ = RONDO_MSG_STATIC | RONDO_MSG_CONTROL},
    };
    rondo_mailbox_init(&a->mailbox);
    rondo_list_init(&a->node);
    rondo_list_init(&a->watches);
    rondo_registry_ref(registry);
    return a;
}

rondo_actor *rondo_actor_ref(rondo_actor *a) {
    RONDO_DEBUG_CHECK(rondo_load_relaxed(&a->refs) > 0);
    rondo_add_relaxed(&a->refs, 1);
    return a;
}

void rondo_actor_release(struct rondo_actor *a) {
    size_t before = rondo_sub_acq_rel(&a->refs, 1); /* pairs with itself */
    RONDO_DEBUG_CHECK(before > 0);
    if (before > 1) return;
    struct rondo_registry *registry = a->registry;
    rondo_free(a->bound);
    rondo_free(a);
    rondo_registry_unref(registry);
}

static void drop_one(void *arg, struct rondo_msg *m) {
    struct rondo_actor *a = arg;
    m->flags_ &= (uint8_t)~RONDO_MSG_COUNTED;
    if (!(m->flags_ & RONDO_MSG_CONTROL)) {
        struct rondo_registry *r = a->registry;
        rondo_add_relaxed(&r->dropped, 1);
        /* pairs with the end of rondo_runtime_free */
        if (r->on_drop && !rondo_load_acquire(&r->is_quiet)) r->on_drop(r->drop_arg, a, m);
    }
    rondo_msg_release(m);
}

void rondo_actor_drop(struct rondo_actor *a, struct rondo_msg *first) {
    /* A message may hold the last reference to the very actor it was sent to. */
    rondo_actor_ref(a);
    rondo_mailbox_drain(&a->mailbox, first, drop_one, a);
    rondo_actor_release(a);
}

void rondo_actor_close(struct rondo_actor *a) {
    rondo_mailbox_drain(&a->mailbox, NULL, drop_one, a);
}

rondo_runtime *rondo_actor_runtime(const rondo_actor *a) {
    return a->rt;
}

const char *rondo_actor_name(const rondo_actor *a) {
    return a->name;
}
