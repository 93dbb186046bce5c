/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "server/pubsub.h"

static unsigned forgotten;

static void count_forgotten(void *arg) {
    (void)arg;
    forgotten++;
}

static enum rondo_err add(struct rondo_pubsub *ps, uint64_t id, enum rondo_topic_kind kind,
                          const char *name) {
    bool took;
    return rondo_pubsub_add(ps, id, &forgotten, &took, kind, rondo_slice_str(name));
}

static bool take(struct rondo_pubsub *ps, uint64_t id, enum rondo_topic_kind kind,
                 const char *name) {
    return rondo_pubsub_remove(ps, id, kind, rondo_slice_str(name));
}

static void count_match(void *arg, const struct rondo_topic *topic,
                        const struct rondo_subscriber *subscriber) {
    (void)topic;
    *(uint64_t *)arg += subscriber->id;
}

static uint64_t sum_of_matches(const struct rondo_pubsub *ps, const char *channel) {
    uint64_t sum = 0;
    rondo_pubsub_match(ps, rondo_slice_str(channel), count_match, &sum);
    return sum;
}

static void channels_and_patterns_match(void **state) {
    (void)state;
    struct rondo_pubsub ps;
    rondo_pubsub_init(&ps, count_forgotten);
    assert_int_equal(add(&ps, 1, RONDO_TOPIC_CHANNEL, "news"), RONDO_OK);
    assert_int_equal(add(&ps, 10, RONDO_TOPIC_PATTERN, "n*"), RONDO_OK);
    assert_int_equal(add(&ps, 100, RONDO_TOPIC_CHANNEL, "n*"), RONDO_OK);
    assert_int_equal(sum_of_matches(&ps, "news"), 11);
    assert_int_equal(sum_of_matches(&ps, "n*"), 110);
    assert_int_equal(sum_of_matches(&ps, "other"), 0);
    assert_int_equal(rondo_pubsub_count(&ps, rondo_slice_str("news")), 1);
    assert_int_equal(ps.n_patterns, 1);
    rondo_pubsub_fini(&ps);
}

static void subscribing_twice_is_once(void **state) {
    (void)state;
    struct rondo_pubsub ps;
    rondo_pubsub_init(&ps, count_forgotten);
    forgotten = 0;
    assert_int_equal(add(&ps, 1, RONDO_TOPIC_CHANNEL, "a"), RONDO_OK);
    assert_int_equal(add(&ps, 1, RONDO_TOPIC_CHANNEL, "a"), RONDO_OK);
    assert_int_equal(sum_of_matches(&ps, "a"), 1);
    assert_int_equal(rondo_pubsub_subscriber(&ps, 1)->n, 1);
    assert_true(take(&ps, 1, RONDO_TOPIC_CHANNEL, "a"));
    assert_false(take(&ps, 1, RONDO_TOPIC_CHANNEL, "a"));
    assert_null(rondo_pubsub_subscriber(&ps, 1));
    assert_int_equal(forgotten, 1);
    assert_int_equal(ps.topics.n, 0);
    rondo_pubsub_fini(&ps);
}

static void who_leaves_is_gone_everywhere(void **state) {
    (void)state;
    struct rondo_pubsub ps;
    rondo_pubsub_init(&ps, count_forgotten);
    forgotten = 0;
    assert_int_equal(add(&ps, 1, RONDO_TOPIC_CHANNEL, "a"), RONDO_OK);
    assert_int_equal(add(&ps, 1, RONDO_TOPIC_PATTERN, "*"), RONDO_OK);
    assert_int_equal(add(&ps, 2, RONDO_TOPIC_CHANNEL, "a"), RONDO_OK);
    rondo_pubsub_leave(&ps, 1);
    rondo_pubsub_leave(&ps, 3);
    assert_int_equal(sum_of_matches(&ps, "a"), 2);
    assert_int_equal(ps.n_patterns, 0);
    assert_int_equal(forgotten, 1);
    rondo_pubsub_fini(&ps);
    assert_int_equal(forgotten, 2);
}

static void a_failed_allocation_changes_nothing(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct rondo_pubsub ps;
        rondo_pubsub_init(&ps, count_forgotten);
        rondo_mem_fail_nth(n);
        enum rondo_err err = add(&ps, 1, RONDO_TOPIC_PATTERN, "a*");
        bool has_failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, has_failed ? RONDO_ERR_NOMEM : RONDO_OK);
        assert_int_equal(ps.topics.n, !has_failed);
        assert_int_equal(ps.subscribers.n, !has_failed);
        assert_int_equal(ps.n_patterns, !has_failed);
        rondo_pubsub_fini(&ps);
        if (!has_failed) break;
    }
}

enum { IDS = 6, NAMES = 40 };

static void a_random_run_agrees_with_a_model(void **state) {
    (void)state;
    struct rondo_pubsub ps;
    bool model[IDS][NAMES] = {{false}};
    uint64_t random = 7;
    rondo_pubsub_init(&ps, count_forgotten);
    for (int step = 0; step < 20000; step++) {
        uint64_t id = rondo_random_below(&random, IDS), name = rondo_random_below(&random, NAMES);
        char text[24];
        (void)snprintf(text, sizeof text, "c%llu", (unsigned long long)name);
        switch (rondo_random_below(&random, 8)) {
        case 0:
            rondo_pubsub_leave(&ps, id + 1);
            memset(model[id], 0, sizeof model[id]);
            break;
        case 1:
        case 2:
        case 3:
            assert_int_equal(take(&ps, id + 1, RONDO_TOPIC_CHANNEL, text), model[id][name]);
            model[id][name] = false;
            break;
        default:
            assert_int_equal(add(&ps, id + 1, RONDO_TOPIC_CHANNEL, text), RONDO_OK);
            model[id][name] = true;
        }
        uint64_t sum = 0;
        for (uint64_t i = 0; i < IDS; i++) sum += model[i][name] ? i + 1 : 0;
        assert_int_equal(sum_of_matches(&ps, text), sum);
    }
    rondo_pubsub_fini(&ps);
}

enum { MANY = 300000 };

static struct rondo_slice name_of(size_t i, char room[16]) {
    return rondo_slice_of(room, (size_t)snprintf(room, 16, "%zu", i));
}

/* The hub serves all connections: its time must not grow with the square of what
 * one of them has.  This would be minutes. */
static void very_many_topics_come_and_go(void **state) {
    (void)state;
    struct rondo_pubsub ps;
    char room[16];
    bool took;
    rondo_pubsub_init(&ps, count_forgotten);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(rondo_pubsub_add(&ps, 1, &forgotten, &took,
                                          i % 2 ? RONDO_TOPIC_CHANNEL : RONDO_TOPIC_PATTERN,
                                          name_of(i, room)),
                         RONDO_OK);
    for (size_t i = 0; i < MANY; i += 2)
        assert_true(rondo_pubsub_remove(&ps, 1, RONDO_TOPIC_PATTERN, name_of(i, room)));
    const struct rondo_subscriber *s = rondo_pubsub_subscriber(&ps, 1);
    assert_int_equal(s->n, MANY / 2);
    assert_null(rondo_pubsub_first(s, RONDO_TOPIC_PATTERN));
    const struct rondo_topic *t = rondo_pubsub_first(s, RONDO_TOPIC_CHANNEL);
    assert_true(rondo_slice_is(rondo_slice_of(t->name, t->len), "1"));
    for (uint64_t id = 2; id < MANY; id++)
        assert_int_equal(add(&ps, id, RONDO_TOPIC_CHANNEL, "1"), RONDO_OK);
    for (uint64_t id = MANY; id-- > 1;) rondo_pubsub_leave(&ps, id);
    assert_int_equal(ps.topics.n, 0);
    assert_int_equal(ps.subscriptions.n, 0);
    rondo_pubsub_fini(&ps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_and_patterns_match),
        cmocka_unit_test(subscribing_twice_is_once),
        cmocka_unit_test(very_many_topics_come_and_go),
        cmocka_unit_test(who_leaves_is_gone_everywhere),
        cmocka_unit_test(a_failed_allocation_changes_nothing),
        cmocka_unit_test(a_random_run_agrees_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
