/* SPDX-License-Identifier: MIT */
/*
 * pubsub.h - who listens to which channels and patterns.
 *
 * A pure table: subscribers are numbers with a pointer of the caller's, topics are
 * channels (exact names) and patterns (Redis globs).  Finding the subscribers of a
 * channel costs one look-up and one match per pattern that anybody has; taking and
 * leaving a topic costs the same however many there are.  One thread at a time.
 */
#ifndef RONDO_SERVER_PUBSUB_H
#define RONDO_SERVER_PUBSUB_H

#include "base/list.h"
#include "rondo/rondo.h"

enum rondo_topic_kind { RONDO_TOPIC_CHANNEL = 0, RONDO_TOPIC_PATTERN = 1 };

struct rondo_pubsub_link {
    struct rondo_pubsub_link *next;
    uint64_t hash;
};

struct rondo_pubsub_table {
    struct rondo_pubsub_link **buckets;
    size_t cap, n;
};

struct rondo_subscriber {
    struct rondo_pubsub_link link;
    uint64_t id;
    void *arg;
    struct rondo_list topics[2]; /* its subscriptions, by kind, in their order */
    size_t n, n_of[2];           /* of both, by kind */
};

struct rondo_topic {
    struct rondo_pubsub_link link;
    struct rondo_list pattern;     /* on the list of all patterns, if it is one */
    struct rondo_list subscribers; /* its subscriptions, in their order */
    size_t n;
    enum rondo_topic_kind kind;
    size_t len;
    char name[];
};

/* One subscriber of one topic. */
struct rondo_subscription {
    struct rondo_pubsub_link link;
    struct rondo_subscriber *subscriber;
    struct rondo_topic *topic;
    struct rondo_list of_subscriber, of_topic; /* on the lists of both */
};

/* Made by rondo_pubsub_init. */
struct rondo_pubsub {
    struct rondo_pubsub_table topics, subscribers, subscriptions;
    struct rondo_list patterns;
    size_t n_patterns;
    uint64_t seed;
    void (*forget)(void *arg); /* called with a subscriber's arg when it has no topic left */
};

void rondo_pubsub_init(struct rondo_pubsub *ps, void (*forget)(void *arg));
void rondo_pubsub_fini(struct rondo_pubsub *ps);

/*
 * Adds a topic to subscriber `id`; subscribing twice is once.  `arg` is given with
 * the subscriber's first topic (*took_arg); later ones are not taken.  Errors:
 * NOMEM, nothing changed.
 */
RONDO_NODISCARD enum rondo_err rondo_pubsub_add(struct rondo_pubsub *ps, uint64_t id, void *arg,
                                                bool *took_arg, enum rondo_topic_kind kind,
                                                struct rondo_slice name);

/* Takes a topic away; false if it was not there. */
bool rondo_pubsub_remove(struct rondo_pubsub *ps, uint64_t id, enum rondo_topic_kind kind,
                         struct rondo_slice name);
/* Takes all away. */
void rondo_pubsub_leave(struct rondo_pubsub *ps, uint64_t id);

/* NULL if it has no topic. */
const struct rondo_subscriber *rondo_pubsub_subscriber(const struct rondo_pubsub *ps, uint64_t id);
/* Its oldest topic of a kind; NULL if it has none. */
const struct rondo_topic *rondo_pubsub_first(const struct rondo_subscriber *s,
                                             enum rondo_topic_kind kind);
/* Subscribers of exactly this channel. */
size_t rondo_pubsub_count(const struct rondo_pubsub *ps, struct rondo_slice channel);

/* Calls `fn` for each subscriber of the channel, and for each pattern that matches
 * it (`topic` says which).  `fn` must not change the table. */
typedef void (*rondo_pubsub_fn)(void *arg, const struct rondo_topic *topic,
                                const struct rondo_subscriber *subscriber);
void rondo_pubsub_match(const struct rondo_pubsub *ps, struct rondo_slice channel,
                        rondo_pubsub_fn fn, void *arg);

/* Calls `fn` for each channel that has subscribers. */
void rondo_pubsub_channels(const struct rondo_pubsub *ps,
                           void (*fn)(void *arg, const struct rondo_topic *topic), void *arg);

#endif
