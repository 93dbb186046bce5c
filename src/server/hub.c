/* SPDX-License-Identifier: MIT */
#include "server/hub.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/mem.h"
#include "proto/resp.h"
#include "server/glob.h"
#include "server/pubsub.h"

struct request {
    struct rondo_msg head;
    struct rondo_hub_question q; /* its args point behind it */
};

struct rondo_hub_payload {
    uint32_t refs; /* atomic */
    struct rondo_buf bytes;
};

struct hub {
    struct rondo_pubsub table;
    struct rondo_log_limit limit;
};

/* ---- payloads --------------------------------------------------------------------- */

static void payload_unref(struct rondo_hub_payload *p) {
    /* acquire and release: the last one frees what others have read */
    if (!p || rondo_sub_acq_rel(&p->refs, 1) > 1) return;
    rondo_buf_fini(&p->bytes);
    rondo_free(p);
}

static void push_fini(struct rondo_msg *m) {
    payload_unref(((struct rondo_hub_push *)(void *)m)->payload);
}

struct rondo_slice rondo_hub_push_bytes(const struct rondo_hub_push *push) {
    return rondo_slice_of(push->payload->bytes.data + 1, push->payload->bytes.len - 1);
}

/* "message channel text", or "pmessage pattern channel text". */
static struct rondo_hub_payload *payload_new(const struct rondo_topic *topic,
                                             const struct rondo_slice *args) {
    struct rondo_hub_payload *p = rondo_zalloc(sizeof *p);
    if (!p) return NULL;
    bool is_pattern = topic->kind == RONDO_TOPIC_PATTERN;
    struct rondo_resp_writer w = rondo_resp_writer_of(&p->bytes, 2);
    p->refs = 1;
    rondo_resp_write_array(&w, is_pattern ? 4 : 3);
    rondo_resp_write_bulk_str(&w, is_pattern ? "pmessage" : "message");
    if (is_pattern) rondo_resp_write_bulk(&w, topic->name, topic->len);
    rondo_resp_write_bulk(&w, args[0].data, args[0].len);
    rondo_resp_write_bulk(&w, args[1].data, args[1].len);
    if (!w.err) return p;
    payload_unref(p);
    return NULL;
}

/* ---- publishing ------------------------------------------------------------------- */

struct publishing {
    const struct rondo_slice *args;
    const struct rondo_topic *topic; /* that `payload` is for */
    struct rondo_hub_payload *payload;
    int64_t sent, lost;
};

static void send_one(void *arg, const struct rondo_topic *topic,
                     const struct rondo_subscriber *subscriber) {
    struct publishing *p = arg;
    if (p->topic != topic) {
        payload_unref(p->payload);
        p->payload = payload_new(topic, p->args);
        p->topic = topic;
    }
    struct rondo_hub_push *push = p->payload ? rondo_msg_new(RONDO_HUB_PUSH, sizeof *push) : NULL;
    if (!push) {
        p->lost++;
        return;
    }
    rondo_add_relaxed(&p->payload->refs, 1); /* with payload_unref; the send publishes it */
    push->payload = p->payload;
    push->head.fini = push_fini;
    rondo_send(subscriber->arg, push);
    p->sent++;
}

static void publish(struct hub *h, const struct rondo_hub_question *q,
                    struct rondo_resp_writer *w) {
    struct publishing p = {.args = q->args};
    rondo_pubsub_match(&h->table, q->args[0], send_one, &p);
    payload_unref(p.payload);
    if (p.lost)
        rondo_log_limited(&h->limit, RONDO_LOG_ERROR, "out of memory: %lld messages were lost",
                          (long long)p.lost);
    rondo_resp_write_int(w, p.sent);
}

/* ---- subscribing ------------------------------------------------------------------ */

static void forget_actor(void *arg) {
    rondo_actor_unref(arg);
}

static void write_confirmation(struct hub *h, const struct rondo_hub_question *q,
                               const struct rondo_slice *name, struct rondo_resp_writer *w) {
    static const char *const words[] = {"subscribe", "psubscribe", "unsubscribe", "punsubscribe"};
    const struct rondo_subscriber *s = rondo_pubsub_subscriber(&h->table, q->client);
    rondo_resp_write_push(w, 3);
    rondo_resp_write_bulk_str(w, words[q->verb]);
    if (name)
        rondo_resp_write_bulk(w, name->data, name->len);
    else
        rondo_resp_write_null(w);
    rondo_resp_write_int(w, s ? (int64_t)s->n : 0);
}

static void subscribe(struct hub *h, const struct rondo_hub_question *q, enum rondo_topic_kind kind,
                      struct rondo_resp_writer *w) {
    for (size_t i = 0; i < q->n_args; i++) {
        bool took = false;
        rondo_actor *actor = rondo_actor_ref(q->from);
        enum rondo_err err = rondo_pubsub_add(&h->table, q->client, actor, &took, kind, q->args[i]);
        if (!took) rondo_actor_unref(actor);
        if (err)
            rondo_resp_write_error(w, "OOM out of memory");
        else
            write_confirmation(h, q, &q->args[i], w);
    }
}

static const struct rondo_topic *any_topic(const struct hub *h, uint64_t client,
                                           enum rondo_topic_kind kind) {
    const struct rondo_subscriber *s = rondo_pubsub_subscriber(&h->table, client);
    return s ? rondo_pubsub_first(s, kind) : NULL;
}

/* The name belongs to the topic, which may go with its last subscriber. */
static bool unsubscribe_any(struct hub *h, const struct rondo_hub_question *q,
                            enum rondo_topic_kind kind, struct rondo_resp_writer *w) {
    const struct rondo_topic *t = any_topic(h, q->client, kind);
    if (!t) return false;
    struct rondo_buf name = {0};
    if (rondo_buf_append(&name, t->name, t->len)) {
        w->err = RONDO_ERR_NOMEM;
        return false;
    }
    struct rondo_slice slice = {name.data, name.len};
    (void)rondo_pubsub_remove(&h->table, q->client, kind, slice);
    write_confirmation(h, q, &slice, w);
    rondo_buf_fini(&name);
    return true;
}

static void unsubscribe(struct hub *h, const struct rondo_hub_question *q,
                        enum rondo_topic_kind kind, struct rondo_resp_writer *w) {
    for (size_t i = 0; i < q->n_args; i++) {
        (void)rondo_pubsub_remove(&h->table, q->client, kind, q->args[i]);
        write_confirmation(h, q, &q->args[i], w);
    }
    if (q->n_args > 0) return;
    if (!any_topic(h, q->client, kind)) write_confirmation(h, q, NULL, w);
    while (unsubscribe_any(h, q, kind, w)) {
    }
}

/* ---- asking ----------------------------------------------------------------------- */

struct listing {
    const struct rondo_slice *pattern;
    struct rondo_resp_writer *w; /* NULL: only count */
    size_t n;
};

static void list_one(void *arg, const struct rondo_topic *topic) {
    struct listing *l = arg;
    struct rondo_slice name = rondo_slice_of(topic->name, topic->len);
    if (l->pattern && !rondo_glob_match(*l->pattern, name, false)) return;
    l->n++;
    if (l->w) rondo_resp_write_bulk(l->w, name.data, name.len);
}

static void list_channels(struct hub *h, const struct rondo_hub_question *q,
                          struct rondo_resp_writer *w) {
    struct listing l = {.pattern = q->n_args ? &q->args[0] : NULL};
    rondo_pubsub_channels(&h->table, list_one, &l);
    rondo_resp_write_array(w, l.n);
    l.w = w;
    rondo_pubsub_channels(&h->table, list_one, &l);
}

static void count_subscribers(struct hub *h, const struct rondo_hub_question *q,
                              struct rondo_resp_writer *w) {
    rondo_resp_write_array(w, 2 * q->n_args);
    for (size_t i = 0; i < q->n_args; i++) {
        rondo_resp_write_bulk(w, q->args[i].data, q->args[i].len);
        rondo_resp_write_int(w, (int64_t)rondo_pubsub_count(&h->table, q->args[i]));
    }
}

/* ---- the actor -------------------------------------------------------------------- */

static void handle(struct hub *h, const struct rondo_hub_question *q, struct rondo_resp_writer *w) {
    switch (q->verb) {
    case RONDO_HUB_SUBSCRIBE:
        subscribe(h, q, RONDO_TOPIC_CHANNEL, w);
        break;
    case RONDO_HUB_PSUBSCRIBE:
        subscribe(h, q, RONDO_TOPIC_PATTERN, w);
        break;
    case RONDO_HUB_UNSUBSCRIBE:
        unsubscribe(h, q, RONDO_TOPIC_CHANNEL, w);
        break;
    case RONDO_HUB_PUNSUBSCRIBE:
        unsubscribe(h, q, RONDO_TOPIC_PATTERN, w);
        break;
    case RONDO_HUB_PUBLISH:
        publish(h, q, w);
        break;
    case RONDO_HUB_CHANNELS:
        list_channels(h, q, w);
        break;
    case RONDO_HUB_NUMSUB:
        count_subscribers(h, q, w);
        break;
    case RONDO_HUB_NUMPAT:
        rondo_resp_write_int(w, (int64_t)h->table.n_patterns);
        break;
    case RONDO_HUB_LEAVE:
        rondo_pubsub_leave(&h->table, q->client);
        break;
    }
}

static void count_topics(const struct hub *h, uint64_t client, struct rondo_hub_reply *reply) {
    const struct rondo_subscriber *s = rondo_pubsub_subscriber(&h->table, client);
    if (!s) return;
    reply->channels = (uint32_t)s->n_of[RONDO_TOPIC_CHANNEL];
    reply->patterns = (uint32_t)s->n_of[RONDO_TOPIC_PATTERN];
}

static void reply_fini(struct rondo_msg *m) {
    rondo_buf_fini(&((struct rondo_hub_reply *)(void *)m)->text);
}

/* A reply is made before anything is done: an asker that never hears again would
 * wait for ever.  Without memory for it the asker's connection ends with the
 * server. */
static void answer(struct hub *h, const struct rondo_hub_question *q) {
    struct rondo_hub_reply *reply = rondo_msg_new(RONDO_HUB_REPLY, sizeof *reply);
    if (!reply) {
        rondo_log_limited(&h->limit, RONDO_LOG_ERROR, "out of memory: a client was stopped");
        rondo_actor_stop(q->from);
        return;
    }
    struct rondo_resp_writer w = rondo_resp_writer_of(&reply->text, q->proto);
    reply->id = q->id;
    reply->head.fini = reply_fini;
    handle(h, q, &w);
    if (w.err) reply->text.len = 0; /* an empty text: the asker says that memory is out */
    count_topics(h, q->client, reply);
    rondo_send(q->from, reply);
}

static void receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    (void)self;
    struct request *r = (struct request *)(void *)m;
    struct hub *h = state;
    if (r->q.verb == RONDO_HUB_LEAVE)
        handle(h, &r->q, NULL);
    else
        answer(h, &r->q);
    rondo_msg_free(m);
}

static void hub_free(void *state) {
    struct hub *h = state;
    rondo_pubsub_fini(&h->table);
    rondo_free(h);
}

enum rondo_err rondo_hub_start(rondo_runtime *rt, rondo_actor **out) {
    struct hub *h = rondo_zalloc(sizeof *h);
    if (!h) return RONDO_ERR_NOMEM;
    h->limit.burst = 2;
    rondo_pubsub_init(&h->table, forget_actor);
    struct rondo_actor_options options = {.size = sizeof options,
                                          .name = "hub",
                                          .receive = receive,
                                          .state = h,
                                          .free_state = hub_free};
    enum rondo_err err = rondo_spawn(rt, &options, out);
    if (err) hub_free(h);
    return err;
}

/* ---- requests --------------------------------------------------------------------- */

static void request_fini(struct rondo_msg *m) {
    rondo_actor *from = ((struct request *)(void *)m)->q.from;
    if (from) rondo_actor_unref(from);
}

enum rondo_err rondo_hub_ask(rondo_actor *hub, const struct rondo_hub_question *question) {
    size_t size;
    bool fits = rondo_size_mul(question->n_args, sizeof(struct rondo_slice), &size) &&
                rondo_size_add(size, sizeof(struct request), &size);
    for (size_t i = 0; fits && i < question->n_args; i++)
        fits = rondo_size_add(size, question->args[i].len, &size);
    struct request *r = fits ? rondo_msg_new(0, size) : NULL;
    if (!r) return RONDO_ERR_NOMEM;

    struct rondo_slice *args = (struct rondo_slice *)(void *)(r + 1);
    char *bytes = (char *)(args + question->n_args);
    for (size_t i = 0; i < question->n_args; i++) {
        struct rondo_slice from = question->args[i];
        if (from.len) memcpy(bytes, from.data, from.len);
        args[i] = rondo_slice_of(bytes, from.len);
        bytes += from.len;
    }
    r->q = *question;
    r->q.args = args;
    rondo_actor_ref(r->q.from);
    r->head.fini = request_fini;
    rondo_send(hub, r);
    return RONDO_OK;
}

void *rondo_hub_leave_new(uint64_t client) {
    struct request *r = rondo_msg_new(0, sizeof *r);
    if (r) r->q = (struct rondo_hub_question){.verb = RONDO_HUB_LEAVE, .client = client};
    return r;
}
