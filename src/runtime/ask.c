/* SPDX-License-Identifier: MIT */
/*
 * A request and its reply share one block.  The reply message waits in a timer
 * for the deadline; whoever takes it out of there (the answer, or the end of the
 * request) sends it first, and if the timer has sent it, the answer is late.  So
 * exactness is that of rondo_timer_cancel and nothing else decides.
 */
#include "base/mem.h"
#include "runtime/delay.h"

struct rondo_ask {
    struct rondo_ask_reply reply;      /* in the timer, then under way to `from` */
    struct rondo_actor *from;          /* a reference */
    struct rondo_timer *timer;         /* whoever has the request */
    void (*fini)(struct rondo_msg *m); /* the request's own */
    unsigned refs;                     /* atomic: the reply and the request */
};

static void unref(struct rondo_ask *ask) {
    if (rondo_sub_acq_rel(&ask->refs, 1) > 1) return; /* pairs with itself */
    rondo_actor_unref(ask->from);
    rondo_free(ask);
}

static void reply_fini(struct rondo_msg *m) {
    struct rondo_ask *ask = RONDO_CONTAINER_OF(m, struct rondo_ask, reply.head);
    void *reply = ask->reply.reply;
    ask->reply.reply = NULL;
    rondo_msg_free(reply);
    unref(ask);
}

/* By whoever has the request: sends the reply, unless it is too late. */
static bool settle(struct rondo_ask *ask, enum rondo_err err, void *reply) {
    struct rondo_msg *m = rondo_delay_take(ask->timer);
    if (!m) return false;
    ask->reply.err = err;
    ask->reply.reply = reply;
    rondo_send(ask->from, m);
    return true;
}

/* Gives the request back its own fini. */
static struct rondo_ask *part(struct rondo_request *q) {
    struct rondo_ask *ask = q->ask_;
    q->ask_ = NULL;
    q->head.fini = ask->fini;
    return ask;
}

static void request_fini(struct rondo_msg *m) {
    struct rondo_ask *ask = part((struct rondo_request *)(void *)m);
    (void)settle(ask, RONDO_ERR_CLOSED, NULL);
    unref(ask);
    if (m->fini) m->fini(m);
}

enum rondo_err rondo_ask(rondo_actor *from, rondo_actor *to, void *request, uint64_t tag,
                         uint64_t timeout_ns) {
    struct rondo_request *q = request;
    struct rondo_ask *ask = rondo_zalloc(sizeof *ask);
    if (!ask) {
        rondo_msg_free(q);
        return RONDO_ERR_NOMEM;
    }
    ask->reply.head =
        (struct rondo_msg){.type = RONDO_MSG_REPLY, .flags_ = RONDO_MSG_STATIC, .fini = reply_fini};
    ask->reply.tag = tag;
    ask->reply.err = RONDO_ERR_TIMEOUT;
    ask->from = rondo_actor_ref(from);
    ask->refs = 2;
    enum rondo_err err = rondo_send_after(from, &ask->reply, timeout_ns, &ask->timer);
    if (err) { /* which has freed the reply */
        unref(ask);
        rondo_msg_free(q);
        return err;
    }
    ask->fini = q->head.fini;
    q->ask_ = ask;
    q->head.fini = request_fini;
    rondo_send(to, q);
    return RONDO_OK;
}

bool rondo_answer(void *request, void *reply) {
    struct rondo_request *q = request;
    RONDO_CHECK(q->ask_);
    struct rondo_ask *ask = part(q);
    bool sent = settle(ask, RONDO_OK, reply);
    if (!sent) {
        rondo_add_relaxed(&ask->from->registry->dropped, reply != NULL);
        rondo_msg_free(reply);
    }
    unref(ask);
    if (reply != request) rondo_msg_free(q);
    return sent;
}
