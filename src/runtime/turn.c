/* SPDX-License-Identifier: MIT */
#include "runtime/turn.h"
#include "runtime/bound.h"
#include "runtime/io.h"
#include "runtime/monitor.h"
#include "runtime/watch.h"
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
    else if (push == RONDO_PUSH_DEAD)
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
static __attribute__((noinline)) void publish(struct rondo_worker *w, bool use_next) {
    while (w->n_sends) publish_many(w, use_next);
}

/* The end of a turn: returns the actor that this worker is to run next, if it is
 * the only one that was made runnable, NULL otherwise. */
static inline struct rondo_actor *publish_last(struct rondo_worker *w) {
    struct rondo_actor *next = NULL;
    if (RONDO_UNLIKELY(w->n_sends != 1)) {
        publish(w, true);
        return NULL;
    }
    struct rondo_send s = w->sends[0];
    w->n_sends = 0;
    enum rondo_push push = rondo_mailbox_push(&s.to->mailbox, s.msg, s.msg);
    if (RONDO_LIKELY(push == RONDO_PUSH_SCHEDULE)) {
        if (RONDO_LIKELY(rondo_worker_may_run_next(w, s.to)))
            next = s.to;
        else
            rondo_schedule(s.to, true);
    } else if (RONDO_UNLIKELY(push == RONDO_PUSH_DEAD)) {
        rondo_actor_drop(s.to, s.msg);
        publish(w, true);
    }
    return next;
}

/* The message that an actor is handling, if its mailbox still holds it: then it is
 * the oldest there; others in our mailbox are held by nobody. */
static inline struct rondo_msg *held_message(const struct rondo_actor *a) {
    struct rondo_msg *m = rondo_load_acquire(&a->mailbox.tail); /* pairs with push */
    return RONDO_LIKELY(m && rondo_load_relaxed(&m->held_)) ? m : NULL;
}

/* The held message is off the mailbox: it is like any other from now on. */
static inline void let_go(struct rondo_worker *w, struct rondo_msg *m) {
    rondo_store_release(&m->held_, 0); /* pairs with rondo_msg_await_unheld */
    if (!w->is_held_freed) return;
    w->is_held_freed = false;
    rondo_msg_release(m);
}

static void detach(struct rondo_worker *w) {
    struct rondo_msg *m = held_message(w->current);
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

/* Not in a turn, or nowhere to put it. */
static __attribute__((noinline)) void send_slowly(struct rondo_actor *to, struct rondo_msg *m) {
    struct rondo_worker *w = rondo_this_worker;
    if (!rondo_worker_is_in_turn(w)) {
        rondo_post(to, m);
        return;
    }
    /* Another thread's turn may hold it, if it came to us by other ways than a send. */
    if (m != held_message(w->current)) rondo_msg_await_unheld(m);
    if (w->n_sends == RONDO_OUTBOX_CAP) rondo_flush();
    w->sends[w->n_sends++] = (struct rondo_send){to, m};
}

void rondo_send(rondo_actor *to, void *message) {
    struct rondo_worker *w = rondo_this_worker;
    struct rondo_msg *m = message;
    if (RONDO_LIKELY(rondo_worker_is_in_turn(w) && w->n_sends < RONDO_OUTBOX_CAP &&
                     (!rondo_load_acquire(&m->held_) || /* pairs with let_go */
                      m == rondo_load_relaxed(&w->current->mailbox.tail))))
        w->sends[w->n_sends++] = (struct rondo_send){to, m};
    else
        send_slowly(to, m);
}

enum rondo_err rondo_try_send(rondo_actor *to, void *message) {
    struct rondo_msg *m = message;
    if (rondo_mailbox_is_dead(&to->mailbox)) return RONDO_ERR_CLOSED;
    if (to->bound) {
        enum rondo_err err = rondo_bound_admit(to);
        if (err) return err;
        m->flags_ |= RONDO_MSG_COUNTED;
    }
    rondo_send(to, m);
    return RONDO_OK;
}

void rondo_msg_free(void *message) {
    struct rondo_worker *w = rondo_this_worker;
    struct rondo_msg *m = message;
    if (!m) return;
    if (rondo_worker_is_in_turn(w) && m == held_message(w->current)) {
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
        w->leaving |= RONDO_LEAVE_STOP;
        return;
    }
    if (rondo_exchange_acq_rel(&a->is_stop_sent, 1)) return; /* pairs with itself */
    rondo_send(a, &a->stop);
}

static void forget_leaving(struct rondo_worker *w) {
    struct rondo_actor *on = w->pause_on;
    w->leaving = 0;
    w->pause_on = NULL;
    if (on) rondo_actor_release(on);
}

/* A send of this turn has met a full mailbox. */
static __attribute__((noinline)) void pause_turn(struct rondo_worker *w, struct rondo_actor *a) {
    struct rondo_actor *on = w->pause_on;
    detach(w);
    publish(w, false);
    rondo_store_relaxed(&w->current, NULL);
    w->leaving = 0;
    w->pause_on = NULL;
    if (!rondo_bound_pause(a, on)) rondo_bound_resume(a);
    rondo_actor_release(on);
}

static __attribute__((noinline)) void die(struct rondo_worker *w, struct rondo_actor *a,
                                          enum rondo_down_reason reason) {
    struct rondo_registry *registry = a->registry;
    detach(w);
    publish(w, false);
    rondo_io_forget(a);
    rondo_actor_close(a);
    rondo_bound_close(a);
    if (a->free_state) a->free_state(a->state);
    rondo_watch_tell(a, reason);
    publish(w, false);
    forget_leaving(w);
    rondo_store_relaxed(&w->current, NULL);
    rondo_registry_remove(registry, a->home, &a->node);
    rondo_actor_release(a);
}

static __attribute__((noinline)) void await_flush(const struct rondo_actor *a) {
    for (unsigned i = 0; rondo_load_acquire(&a->is_flushing); i++) { /* pairs with go_idle */
        if (i < SPINS)
            rondo_cpu_relax();
        else
            sched_yield();
    }
}

/* After the last message.  False: more has come meanwhile. */
static inline __attribute__((always_inline)) bool
go_idle(struct rondo_worker *w, struct rondo_actor *a, struct rondo_actor **next) {
    struct rondo_msg *m = held_message(a);
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
        *next = publish_last(w);
        rondo_store_release(&a->is_flushing, 0); /* pairs with await_flush */
    }
    return true;
}

static void report_slow(struct rondo_worker *w, const struct rondo_actor *a) {
    uint64_t since = rondo_load_acquire(&w->slow_since_ns); /* pairs with the monitor's store */
    uint64_t took = rondo_clock_now(w->rt->clock) - since;
    rondo_store_relaxed(&w->slow_since_ns, 0);
    rondo_store_relaxed(&w->is_stalled, false);
    if (took < w->rt->slow_turn_ns) return;
    /* Opens a file, but only now: a processor that others wanted is no fault of ours. */
    uint64_t waited_ns = rondo_load_relaxed(&w->slow_waited_ns); /* published by slow_since_ns */
    took = rondo_turn_own_ns(took, waited_ns, rondo_worker_waited(w));
    if (took < w->rt->slow_turn_ns) return;
    rondo_count_up(&w->slow_turns, 1);
    rondo_log_limited(&w->rt->slow_limit, RONDO_LOG_WARN,
                      "actor '%s' ran for %" PRIu64 " ms in one turn; work that blocks belongs "
                      "on a pool",
                      a->name, took / RONDO_MS);
}

static __attribute__((noinline)) void uncount(struct rondo_actor *a, struct rondo_msg *m) {
    m->flags_ &= (uint8_t)~RONDO_MSG_COUNTED;
    rondo_bound_uncount(a);
}

/* A millisecond has passed, and maybe one turn has lasted all of it: the turn ends
 * and the worker looks at its timers and sockets, however few turns it was. */
static __attribute__((noinline)) void attend(struct rondo_worker *w, const struct rondo_actor *a) {
    rondo_store_relaxed(&w->wants_attention, false);
    w->service_at = w->poll_at = w->turns;
    if (rondo_load_relaxed(&w->slow_since_ns)) report_slow(w, a);
}

/* How a turn ended. */
enum end { END_IDLE, END_MORE, END_STOP, END_SELF, END_PAUSE };

/* A message for the runtime. */
static __attribute__((noinline)) enum end control(struct rondo_worker *w, struct rondo_actor *a,
                                                  struct rondo_msg *m) {
    detach(w);
    if (m == &a->stop) return END_STOP;
    rondo_watch_control(a, m);
    return END_MORE;
}

/* Handles messages until the mailbox is idle and no longer ours, the batch is
 * used up, or the actor wants to stop. */
static inline __attribute__((always_inline)) enum end handle(struct rondo_worker *w,
                                                             struct rondo_actor *a, unsigned batch,
                                                             struct rondo_actor **next_actor) {
    for (unsigned n = 0;;) {
        struct rondo_msg *m = rondo_load_acquire(&a->mailbox.tail); /* pairs with push */
        struct rondo_msg *next = rondo_mailbox_next(m);
        enum end end = END_MORE;
        if (next)
            rondo_mailbox_step(&a->mailbox, next);
        else
            rondo_store_relaxed(&m->held_, 1);
        unsigned flags = m->flags_ & (RONDO_MSG_CONTROL | RONDO_MSG_COUNTED);
        if (RONDO_UNLIKELY(flags == RONDO_MSG_CONTROL)) {
            end = control(w, a, m);
        } else {
            if (RONDO_UNLIKELY(flags)) uncount(a, m);
            a->receive(a, a->state, m);
            n++;
            if (RONDO_UNLIKELY(rondo_load_relaxed(&w->wants_attention))) { /* a hint */
                attend(w, a);
                batch = n;
            }
            if (RONDO_UNLIKELY(w->leaving))
                end = w->leaving & RONDO_LEAVE_STOP ? END_SELF : END_PAUSE;
        }
        if (RONDO_LIKELY(end == END_MORE)) {
            if (!next && go_idle(w, a, next_actor))
                end = END_IDLE;
            else if (n < batch)
                continue;
        }
        if (RONDO_UNLIKELY(n != 1)) rondo_count_up(&w->more_handled, (uint64_t)n - 1);
        return end;
    }
}

/* Returns the actor to run next, if the turn made just one runnable. */
static inline __attribute__((always_inline)) struct rondo_actor *
run(struct rondo_worker *w, struct rondo_actor *a, unsigned batch) {
    struct rondo_actor *next = NULL;
    if (RONDO_UNLIKELY(rondo_load_acquire(&a->is_flushing))) await_flush(a);
    rondo_store_relaxed(&w->current, a);
    enum end end = handle(w, a, batch, &next);
    rondo_count_up(&w->turns, 1);
    if (RONDO_LIKELY(end == END_IDLE)) return next;
    if (end == END_PAUSE) {
        pause_turn(w, a);
    } else if (end != END_MORE) {
        die(w, a, end == END_SELF ? RONDO_DOWN_SELF : RONDO_DOWN_STOPPED);
    } else {
        publish(w, false);
        if (w->pause_on) forget_leaving(w); /* by a message that was dropped */
        rondo_store_relaxed(&w->current, NULL);
        rondo_schedule(a, false);
    }
    return NULL;
}

void rondo_turn_run(struct rondo_worker *w, struct rondo_actor *a, unsigned batch) {
    struct rondo_actor *next = run(w, a, batch);
    if (next) rondo_schedule(next, true);
}

void rondo_turn_run_chain(struct rondo_worker *w, struct rondo_actor *a) {
    for (;;) {
        struct rondo_actor *next = run(w, a, RONDO_TURN_BATCH);
        if (RONDO_UNLIKELY(!next || w->turns >= w->service_at)) {
            if (next) rondo_schedule(next, true);
            return;
        }
        a = next;
    }
}

void rondo_turn_kill(struct rondo_worker *w, struct rondo_actor *a) {
    await_flush(a);
    w->current = a;
    die(w, a, RONDO_DOWN_CLOSED);
}

rondo_actor *rondo_self(void) {
    struct rondo_worker *w = rondo_this_worker;
    return w ? w->current : NULL;
}

int rondo_worker_index(void) {
    struct rondo_worker *w = rondo_this_worker;
    return w ? (int)w->index : -1;
}
