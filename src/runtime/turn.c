/* SPDX-License-Identifier: MIT */
#include "runtime/turn.h"
#include "runtime/io.h"
#include <inttypes.h>
#include <sched.h>

enum { SPINS = 200, CHAIN_SLOTS = 128, NO_CHAIN = 255 };

struct chain {
    struct rondo_actor *to;
    struct rondo_msg *first, *last;
};

static void push_chain(struct rondo_actor *to, struct rondo_msg *first, struct rondo_msg *last,
                       bool use_next) {
    enum rondo_push push = rondo_mailbox_push(&to->mailbox, first, last);
    if (push == RONDO_PUSH_SCHEDULE)
        rondo_schedule(to, use_next);
    else if (RONDO_UNLIKELY(push == RONDO_PUSH_DEAD))
        rondo_actor_drop(to, first);
}

static unsigned slot_of(const struct rondo_actor *a) {
    return (unsigned)(((uintptr_t)a * UINT64_C(0x9e3779b97f4a7c15)) >> 57);
}

/* Links the outbox into one chain per receiver, in order; returns how many. */
static unsigned make_chains(struct rondo_worker *w, struct chain *chains) {
    uint8_t slots[CHAIN_SLOTS];
    unsigned n = 0, last = NO_CHAIN;
    memset(slots, NO_CHAIN, sizeof slots);
    for (unsigned i = 0; i < w->n_sends; i++) {
        struct rondo_actor *to = w->sends[i].to;
        struct rondo_msg *m = w->sends[i].msg;
        if (last == NO_CHAIN || chains[last].to != to) {
            unsigned s = slot_of(to);
            while (slots[s] != NO_CHAIN && chains[slots[s]].to != to) s = (s + 1) % CHAIN_SLOTS;
            if (slots[s] == NO_CHAIN) {
                chains[n] = (struct chain){to, m, m};
                slots[s] = (uint8_t)n;
                last = n++;
                continue;
            }
            last = slots[s];
        }
        /* published by the exchange of the whole chain */
        rondo_store_relaxed(&chains[last].last->link_, m);
        chains[last].last = m;
    }
    w->n_sends = 0;
    return n;
}

static void publish_many(struct rondo_worker *w, bool use_next) {
    struct chain chains[RONDO_OUTBOX_CAP];
    unsigned n = make_chains(w, chains);
    for (unsigned i = 0; i < n; i++)
        push_chain(chains[i].to, chains[i].first, chains[i].last, use_next);
}

/* Dropping a message may send others. */
static void publish(struct rondo_worker *w, bool use_next) {
    while (w->n_sends) {
        if (RONDO_LIKELY(w->n_sends == 1)) {
            struct rondo_send s = w->sends[0];
            w->n_sends = 0;
            push_chain(s.to, s.msg, s.msg, use_next);
        } else {
            publish_many(w, use_next);
        }
    }
}

/* The held message is off the mailbox: it is like any other from now on. */
static inline void let_go(struct rondo_worker *w, struct rondo_msg *m) {
    w->held = NULL;
    rondo_store_release(&m->held_, 0); /* pairs with rondo_msg_await_unheld */
    if (!w->is_held_freed) return;
    w->is_held_freed = false;
    rondo_msg_release(m);
}

static void detach(struct rondo_worker *w) {
    struct rondo_msg *m = w->held;
    if (!m) return;
    rondo_mailbox_detach(&w->current->mailbox, m);
    let_go(w, m);
}

void rondo_flush(void) {
    struct rondo_worker *w = rondo_this_worker;
    if (!rondo_worker_is_in_turn(w)) return;
    detach(w);
    publish(w, false);
}

void rondo_send(rondo_actor *to, void *message) {
    struct rondo_worker *w = rondo_this_worker;
    struct rondo_msg *m = message;
    if (RONDO_UNLIKELY(!rondo_worker_is_in_turn(w))) {
        rondo_post(to, m);
        return;
    }
    /* Another thread's turn may hold it, if it came to us by other ways than a send. */
    if (m != w->held) rondo_msg_await_unheld(m);
    if (RONDO_UNLIKELY(w->n_sends == RONDO_OUTBOX_CAP)) rondo_flush();
    w->sends[w->n_sends++] = (struct rondo_send){to, m};
}

void rondo_msg_free(void *message) {
    struct rondo_worker *w = rondo_this_worker;
    struct rondo_msg *m = message;
    if (!m) return;
    if (w && m == w->held) {
        RONDO_DEBUG_CHECK(!w->is_held_freed);
        if (!m->fini) {
            w->is_held_freed = true;
            return;
        }
        /* fini belongs to this turn: later, another worker may run the actor. */
        detach(w);
    }
    rondo_msg_release(m);
}

void rondo_actor_unref(rondo_actor *a) {
    struct rondo_worker *w = rondo_this_worker;
    if (!a) return;
    if (rondo_worker_is_in_turn(w)) {
        /* A send needs the reference until it is published. */
        for (unsigned i = 0; i < w->n_sends; i++) {
            if (w->sends[i].to != a) continue;
            rondo_flush();
            break;
        }
    }
    rondo_actor_release(a);
}

void rondo_actor_stop(rondo_actor *a) {
    struct rondo_worker *w = rondo_this_worker;
    if (w && w->current == a) {
        w->is_stopping = true;
        return;
    }
    if (rondo_exchange_acq_rel(&a->is_stop_sent, 1)) return; /* pairs with itself */
    rondo_send(a, &a->stop);
}

static void die(struct rondo_worker *w, struct rondo_actor *a) {
    struct rondo_registry *registry = a->registry;
    detach(w);
    publish(w, false);
    rondo_io_forget(a);
    rondo_actor_close(a);
    if (a->free_state) a->free_state(a->state);
    publish(w, false);
    w->is_stopping = false;
    rondo_store_relaxed(&w->current, NULL);
    rondo_registry_remove(registry, a->home, &a->node);
    rondo_actor_release(a);
}

static void await_flush(const struct rondo_actor *a) {
    for (unsigned i = 0; rondo_load_acquire(&a->is_flushing); i++) { /* pairs with go_idle */
        if (i < SPINS)
            rondo_cpu_relax();
        else
            sched_yield();
    }
}

/* After the last message: false if more has come meanwhile. */
static bool go_idle(struct rondo_worker *w, struct rondo_actor *a) {
    struct rondo_msg *m = w->held;
    bool sends = w->n_sends != 0;
    /* published by the swap that makes the mailbox idle; pairs with await_flush */
    if (sends) rondo_store_relaxed(&a->is_flushing, 1);
    bool idle = m ? rondo_mailbox_finish(&a->mailbox, m) : !rondo_mailbox_first(&a->mailbox);
    if (m) let_go(w, m);
    if (!idle) {
        if (sends) rondo_store_relaxed(&a->is_flushing, 0);
        return false;
    }
    rondo_store_relaxed(&w->current, NULL);
    if (sends) {
        publish(w, true);
        rondo_store_release(&a->is_flushing, 0); /* pairs with await_flush */
    }
    return true;
}

static void report_slow(struct rondo_worker *w, const struct rondo_actor *a) {
    uint64_t since = rondo_load_relaxed(&w->slow_since_ns);
    uint64_t took = rondo_clock_now(w->rt->clock) - since;
    rondo_store_relaxed(&w->slow_since_ns, 0);
    rondo_store_relaxed(&w->is_stalled, false);
    if (took < w->rt->slow_turn_ns) return;
    rondo_count_up(&w->slow_turns, 1);
    rondo_log_limited(&w->rt->slow_limit, RONDO_LOG_WARN,
                      "actor '%s' ran for %" PRIu64 " ms in one turn; work that blocks belongs "
                      "on a pool",
                      a->name, took / RONDO_MS);
}

/* Handles messages until the batch is used up (*more), the mailbox is idle and no
 * longer ours, or the actor wants to stop.  Returns how many. */
static unsigned handle(struct rondo_worker *w, struct rondo_actor *a, unsigned batch, bool *more) {
    unsigned n = 0;
    for (;;) {
        struct rondo_msg *m = rondo_load_acquire(&a->mailbox.tail); /* pairs with push */
        struct rondo_msg *next = rondo_mailbox_next(m);
        if (next) {
            rondo_mailbox_step(&a->mailbox, next);
        } else {
            w->held = m;
            rondo_store_relaxed(&m->held_, 1);
        }
        if (RONDO_UNLIKELY(m == &a->stop)) {
            w->is_stopping = true;
            return n;
        }
        a->receive(a, a->state, m);
        n++;
        if (RONDO_UNLIKELY(w->is_stopping)) return n;
        if (RONDO_UNLIKELY(rondo_load_relaxed(&w->slow_since_ns))) report_slow(w, a);
        if (!next && go_idle(w, a)) return n;
        if (n >= batch) break;
    }
    *more = true;
    return n;
}

void rondo_turn_run(struct rondo_worker *w, struct rondo_actor *a, unsigned batch) {
    bool more = false;
    if (RONDO_UNLIKELY(rondo_load_acquire(&a->is_flushing))) await_flush(a);
    rondo_store_relaxed(&w->current, a);
    unsigned n = handle(w, a, batch, &more);
    rondo_count_up(&w->turns, 1);
    rondo_count_up(&w->handled, n);
    if (RONDO_UNLIKELY(w->is_stopping)) {
        die(w, a);
    } else if (more) {
        publish(w, false);
        rondo_store_relaxed(&w->current, NULL);
        rondo_schedule(a, false);
    }
}

void rondo_turn_kill(struct rondo_worker *w, struct rondo_actor *a) {
    await_flush(a);
    w->current = a;
    die(w, a);
}

rondo_actor *rondo_self(void) {
    struct rondo_worker *w = rondo_this_worker;
    return w ? w->current : NULL;
}

int rondo_worker_index(void) {
    struct rondo_worker *w = rondo_this_worker;
    return w ? (int)w->index : -1;
}
