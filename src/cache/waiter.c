/* SPDX-License-Identifier: MIT */
#include "cache/waiter.h"

#include "base/buf.h"
#include "cache/blob.h"

static void reply_fini(struct rondo_msg *m) {
    struct rondo_reply *reply = (struct rondo_reply *)(void *)m;
    rondo_answer_release(&reply->answer);
}

struct rondo_waiter *rondo_waiter_new(const struct rondo_completion *done, uint32_t index,
                                      uint64_t now_ns) {
    struct rondo_waiter *w = rondo_msg_new(done->type, sizeof *w);
    if (!w) return NULL;
    w->reply.head.fini = reply_fini;
    w->reply.id = done->id;
    w->reply.index = index;
    w->fn = done->fn;
    w->arg = done->arg;
    if (!done->fn && done->to) w->to = rondo_actor_ref(done->to);
    rondo_list_init(&w->link);
    rondo_deadline_init(&w->deadline);
    w->joined_ns = now_ns;
    return w;
}

void rondo_waiter_free(struct rondo_waiter *w) {
    if (!w) return;
    if (w->to) rondo_actor_unref(w->to);
    rondo_msg_free(w);
}

void rondo_waiter_complete_ready(struct rondo_waiter *w) {
    if (w->fn) {
        struct rondo_answer answer = w->reply.answer;
        w->reply.answer = (struct rondo_answer){0};
        w->fn(w->arg, w->reply.id, &answer);
        rondo_msg_free(w);
        return;
    }
    rondo_actor *to = w->to;
    if (!to) { /* nobody asked to be told */
        rondo_msg_free(w);
        return;
    }
    rondo_send(to, w);
    rondo_actor_unref(to);
}

void rondo_waiter_complete(struct rondo_waiter *w, const struct rondo_answer *answer) {
    w->reply.answer = *answer;
    rondo_waiter_complete_ready(w);
}

struct rondo_answer rondo_answer_failed(enum rondo_err err, rondo_blob *text,
                                        const char *static_text) {
    struct rondo_answer a = {.outcome = RONDO_FAILED, .err = err};
    if (text)
        a.value = rondo_blob_value(text);
    else
        a.value = (struct rondo_value){static_text, strlen(static_text), NULL};
    return a;
}

struct rondo_answer rondo_answer_absent(void) {
    return (struct rondo_answer){.outcome = RONDO_ABSENT};
}

struct rondo_answer rondo_answer_of(rondo_blob *value) {
    return (struct rondo_answer){.outcome = RONDO_VALUE, .value = rondo_blob_value(value)};
}

struct rondo_answer rondo_answer_share(const struct rondo_answer *a) {
    struct rondo_answer copy = *a;
    rondo_blob_ref(copy.value.blob);
    return copy;
}
