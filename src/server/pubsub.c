/* SPDX-License-Identifier: MIT */
#include "server/pubsub.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "server/glob.h"

enum { FIRST_CAP = 16 };

/* ---- chained tables --------------------------------------------------------------- */

static struct rondo_pubsub_link **bucket(const struct rondo_pubsub_table *t, uint64_t hash) {
    return &t->buckets[hash & (t->cap - 1)];
}

static enum rondo_err reserve(struct rondo_pubsub_table *t) {
    if (t->n < t->cap) return RONDO_OK;
    size_t cap = t->cap ? t->cap * 2 : FIRST_CAP;
    struct rondo_pubsub_table bigger = {rondo_zalloc(cap * sizeof *t->buckets), cap, t->n};
    if (!bigger.buckets) return RONDO_ERR_NOMEM;
    for (size_t i = 0; i < t->cap; i++) {
        for (struct rondo_pubsub_link *l = t->buckets[i], *next; l; l = next) {
            next = l->next;
            l->next = *bucket(&bigger, l->hash);
            *bucket(&bigger, l->hash) = l;
        }
    }
    rondo_free(t->buckets);
    *t = bigger;
    return RONDO_OK;
}

static void insert(struct rondo_pubsub_table *t, struct rondo_pubsub_link *l) {
    l->next = *bucket(t, l->hash);
    *bucket(t, l->hash) = l;
    t->n++;
}

static void take_out(struct rondo_pubsub_table *t, struct rondo_pubsub_link *l) {
    struct rondo_pubsub_link **at = bucket(t, l->hash);
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    t->n--;
}

static struct rondo_pubsub_link *first(const struct rondo_pubsub_table *t, uint64_t hash) {
    return t->cap ? *bucket(t, hash) : NULL;
}

/* ---- topics and subscribers ------------------------------------------------------- */

static uint64_t hash_id(const struct rondo_pubsub *ps, uint64_t id) {
    return rondo_hash(&id, sizeof id, ps->seed);
}

static uint64_t hash_topic(const struct rondo_pubsub *ps, enum rondo_topic_kind kind,
                           struct rondo_slice name) {
    return rondo_hash(name.data, name.len, ps->seed + (uint64_t)kind);
}

static struct rondo_subscriber *find_subscriber(const struct rondo_pubsub *ps, uint64_t id) {
    struct rondo_pubsub_link *l = first(&ps->subscribers, hash_id(ps, id));
    for (; l; l = l->next) {
        struct rondo_subscriber *s = RONDO_CONTAINER_OF(l, struct rondo_subscriber, link);
        if (s->id == id) return s;
    }
    return NULL;
}

static struct rondo_topic *find_topic(const struct rondo_pubsub *ps, enum rondo_topic_kind kind,
                                      struct rondo_slice name) {
    struct rondo_pubsub_link *l = first(&ps->topics, hash_topic(ps, kind, name));
    for (; l; l = l->next) {
        struct rondo_topic *t = RONDO_CONTAINER_OF(l, struct rondo_topic, link);
        if (t->kind == kind && rondo_slice_eq(name, rondo_slice_of(t->name, t->len))) return t;
    }
    return NULL;
}

static struct rondo_subscriber *new_subscriber(struct rondo_pubsub *ps, uint64_t id) {
    if (reserve(&ps->subscribers)) return NULL;
    struct rondo_subscriber *s = rondo_zalloc(sizeof *s);
    if (!s) return NULL;
    s->id = id;
    s->link.hash = hash_id(ps, id);
    rondo_list_init(&s->topics[RONDO_TOPIC_CHANNEL]);
    rondo_list_init(&s->topics[RONDO_TOPIC_PATTERN]);
    insert(&ps->subscribers, &s->link);
    return s;
}

static struct rondo_topic *new_topic(struct rondo_pubsub *ps, enum rondo_topic_kind kind,
                                     struct rondo_slice name) {
    size_t size;
    if (reserve(&ps->topics) || !rondo_size_add(sizeof(struct rondo_topic), name.len, &size))
        return NULL;
    struct rondo_topic *t = rondo_zalloc(size);
    if (!t) return NULL;
    t->kind = kind;
    t->len = name.len;
    if (name.len) memcpy(t->name, name.data, name.len);
    t->link.hash = hash_topic(ps, kind, name);
    rondo_list_init(&t->pattern);
    rondo_list_init(&t->subscribers);
    insert(&ps->topics, &t->link);
    if (kind == RONDO_TOPIC_PATTERN) {
        rondo_list_push_back(&ps->patterns, &t->pattern);
        ps->n_patterns++;
    }
    return t;
}

static void drop_topic_if_unused(struct rondo_pubsub *ps, struct rondo_topic *t) {
    if (t->n > 0) return;
    take_out(&ps->topics, &t->link);
    if (t->kind == RONDO_TOPIC_PATTERN) ps->n_patterns--;
    rondo_list_remove(&t->pattern);
    rondo_free(t);
}

static void drop_subscriber_if_unused(struct rondo_pubsub *ps, struct rondo_subscriber *s) {
    if (s->n > 0) return;
    take_out(&ps->subscribers, &s->link);
    if (s->arg) ps->forget(s->arg);
    rondo_free(s);
}

/* ---- who has what ----------------------------------------------------------------- */

static uint64_t hash_pair(const struct rondo_pubsub *ps, const struct rondo_subscriber *s,
                          const struct rondo_topic *t) {
    const void *pair[] = {s, t};
    return rondo_hash(pair, sizeof pair, ps->seed);
}

static struct rondo_subscription *find_subscription(const struct rondo_pubsub *ps,
                                                    const struct rondo_subscriber *s,
                                                    const struct rondo_topic *t) {
    struct rondo_pubsub_link *l = first(&ps->subscriptions, hash_pair(ps, s, t));
    for (; l; l = l->next) {
        struct rondo_subscription *u = RONDO_CONTAINER_OF(l, struct rondo_subscription, link);
        if (u->subscriber == s && u->topic == t) return u;
    }
    return NULL;
}

static enum rondo_err subscribe(struct rondo_pubsub *ps, struct rondo_subscriber *s,
                                struct rondo_topic *t) {
    if (reserve(&ps->subscriptions)) return RONDO_ERR_NOMEM;
    struct rondo_subscription *u = rondo_zalloc(sizeof *u);
    if (!u) return RONDO_ERR_NOMEM;
    u->link.hash = hash_pair(ps, s, t);
    u->subscriber = s;
    u->topic = t;
    insert(&ps->subscriptions, &u->link);
    rondo_list_push_back(&s->topics[t->kind], &u->of_subscriber);
    rondo_list_push_back(&t->subscribers, &u->of_topic);
    s->n++;
    s->n_of[t->kind]++;
    t->n++;
    return RONDO_OK;
}

/* The topic goes with its last subscriber; the subscriber is the caller's matter. */
static void unsubscribe(struct rondo_pubsub *ps, struct rondo_subscription *u) {
    take_out(&ps->subscriptions, &u->link);
    rondo_list_remove(&u->of_subscriber);
    rondo_list_remove(&u->of_topic);
    u->subscriber->n--;
    u->subscriber->n_of[u->topic->kind]--;
    u->topic->n--;
    drop_topic_if_unused(ps, u->topic);
    rondo_free(u);
}

static struct rondo_subscription *oldest(const struct rondo_subscriber *s,
                                         enum rondo_topic_kind kind) {
    if (rondo_list_is_empty(&s->topics[kind])) return NULL;
    return RONDO_LIST_ENTRY(s->topics[kind].next, struct rondo_subscription, of_subscriber);
}

/* ---- the interface ---------------------------------------------------------------- */

void rondo_pubsub_init(struct rondo_pubsub *ps, void (*forget)(void *arg)) {
    *ps = (struct rondo_pubsub){.seed = rondo_hash_seed(), .forget = forget};
    rondo_list_init(&ps->patterns);
}

void rondo_pubsub_fini(struct rondo_pubsub *ps) {
    for (size_t i = 0; i < ps->subscribers.cap; i++) {
        while (ps->subscribers.buckets[i])
            rondo_pubsub_leave(
                ps,
                RONDO_CONTAINER_OF(ps->subscribers.buckets[i], struct rondo_subscriber, link)->id);
    }
    rondo_free(ps->subscribers.buckets);
    rondo_free(ps->topics.buckets);
    rondo_free(ps->subscriptions.buckets);
    ps->subscribers = ps->topics = ps->subscriptions = (struct rondo_pubsub_table){0};
}

enum rondo_err rondo_pubsub_add(struct rondo_pubsub *ps, uint64_t id, void *arg, bool *took_arg,
                                enum rondo_topic_kind kind, struct rondo_slice name) {
    *took_arg = false;
    struct rondo_subscriber *s = find_subscriber(ps, id);
    struct rondo_topic *t = find_topic(ps, kind, name);
    if (s && t && find_subscription(ps, s, t)) return RONDO_OK;
    enum rondo_err err = RONDO_ERR_NOMEM;
    if (!s && !(s = new_subscriber(ps, id))) return err;
    if (!t && !(t = new_topic(ps, kind, name))) goto err_subscriber;
    err = subscribe(ps, s, t);
    if (err) goto err_topic;
    if (!s->arg) {
        s->arg = arg;
        *took_arg = true;
    }
    return RONDO_OK;

err_topic:
    drop_topic_if_unused(ps, t);
err_subscriber:
    drop_subscriber_if_unused(ps, s);
    return err;
}

bool rondo_pubsub_remove(struct rondo_pubsub *ps, uint64_t id, enum rondo_topic_kind kind,
                         struct rondo_slice name) {
    struct rondo_subscriber *s = find_subscriber(ps, id);
    struct rondo_topic *t = find_topic(ps, kind, name);
    struct rondo_subscription *u = s && t ? find_subscription(ps, s, t) : NULL;
    if (!u) return false;
    unsubscribe(ps, u);
    drop_subscriber_if_unused(ps, s);
    return true;
}

void rondo_pubsub_leave(struct rondo_pubsub *ps, uint64_t id) {
    struct rondo_subscriber *s = find_subscriber(ps, id);
    if (!s) return;
    for (struct rondo_subscription *u; (u = oldest(s, RONDO_TOPIC_CHANNEL));) unsubscribe(ps, u);
    for (struct rondo_subscription *u; (u = oldest(s, RONDO_TOPIC_PATTERN));) unsubscribe(ps, u);
    drop_subscriber_if_unused(ps, s);
}

const struct rondo_subscriber *rondo_pubsub_subscriber(const struct rondo_pubsub *ps, uint64_t id) {
    return find_subscriber(ps, id);
}

const struct rondo_topic *rondo_pubsub_first(const struct rondo_subscriber *s,
                                             enum rondo_topic_kind kind) {
    const struct rondo_subscription *u = oldest(s, kind);
    return u ? u->topic : NULL;
}

size_t rondo_pubsub_count(const struct rondo_pubsub *ps, struct rondo_slice channel) {
    const struct rondo_topic *t = find_topic(ps, RONDO_TOPIC_CHANNEL, channel);
    return t ? t->n : 0;
}

static void call_all(const struct rondo_topic *t, rondo_pubsub_fn fn, void *arg) {
    RONDO_LIST_FOREACH(&t->subscribers, node)
    fn(arg, t, RONDO_LIST_ENTRY(node, struct rondo_subscription, of_topic)->subscriber);
}

void rondo_pubsub_match(const struct rondo_pubsub *ps, struct rondo_slice channel,
                        rondo_pubsub_fn fn, void *arg) {
    const struct rondo_topic *exact = find_topic(ps, RONDO_TOPIC_CHANNEL, channel);
    if (exact) call_all(exact, fn, arg);
    RONDO_LIST_FOREACH(&ps->patterns, node) {
        const struct rondo_topic *t = RONDO_LIST_ENTRY(node, struct rondo_topic, pattern);
        if (rondo_glob_match(rondo_slice_of(t->name, t->len), channel, false)) call_all(t, fn, arg);
    }
}

void rondo_pubsub_channels(const struct rondo_pubsub *ps,
                           void (*fn)(void *arg, const struct rondo_topic *topic), void *arg) {
    for (size_t i = 0; i < ps->topics.cap; i++) {
        for (struct rondo_pubsub_link *l = ps->topics.buckets[i]; l; l = l->next) {
            const struct rondo_topic *t = RONDO_CONTAINER_OF(l, struct rondo_topic, link);
            if (t->kind == RONDO_TOPIC_CHANNEL) fn(arg, t);
        }
    }
}
