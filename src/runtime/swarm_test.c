/* SPDX-License-Identifier: MIT */
/*
 * Swarm: a program drawn from a seed (how many actors, which of them are bounded
 * and how, who knows whom, what each does with a message, when somebody stops
 * whom), run under the simulation and on threads.  The oracle counts the messages:
 * each has a fini, so every one that was made is handled or dropped, once, and the
 * runtime's own count of drops agrees.
 *
 * `swarm_test SEED` runs one seed, which a failure names.
 */
#include "base/test.h"

#include "base/atomic.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtime/sim.h"
#include <stdlib.h>

enum {
    MAX_ACTORS = 12,
    MAX_STARTS = 30,
    HOPS = 12,
    WORK = 1,
    SIM_SEEDS = 10000,
    THREAD_SEEDS = 150
};

struct swarm {
    rondo_runtime *rt;
    unsigned n;
    uint64_t random;
    struct member {
        struct swarm *swarm;
        rondo_actor *actor;
        uint64_t random; /* its turns only */
    } members[MAX_ACTORS];
    /* atomic counters, compared at rest */
    uint64_t made, ended, handled, refused, system, letters;
};

struct work {
    struct rondo_msg head;
    struct swarm *swarm;
    unsigned hops;
};

static void end_work(struct rondo_msg *m) {
    struct work *w = (struct work *)(void *)m;
    rondo_add_relaxed(&w->swarm->ended, 1);
}

static struct work *new_work(struct swarm *s, unsigned hops) {
    struct work *w = rondo_msg_new(WORK, sizeof *w);
    RONDO_CHECK(w);
    w->head.fini = end_work;
    w->swarm = s;
    w->hops = hops;
    rondo_add_relaxed(&s->made, 1);
    return w;
}

static void on_drop(void *arg, const rondo_actor *to, const struct rondo_msg *m) {
    struct swarm *s = arg;
    RONDO_CHECK(rondo_actor_runtime(to) == s->rt && strcmp(rondo_actor_name(to), "member") == 0);
    RONDO_CHECK(m->type == WORK || m->type >= RONDO_MSG_SYSTEM);
    rondo_add_relaxed(&s->letters, 1);
}

static void send_somehow(struct swarm *s, uint64_t *random, struct work *w) {
    rondo_actor *to = s->members[rondo_random_below(random, s->n)].actor;
    switch (rondo_random_below(random, 4)) {
    case 0:
    case 1:
        if (rondo_try_send(to, w) == RONDO_OK) return;
        rondo_add_relaxed(&s->refused, 1);
        rondo_msg_free(w);
        return;
    case 2:
        if (rondo_send_after(to, w, rondo_random_below(random, RONDO_MS), NULL))
            rondo_add_relaxed(&s->refused, 1); /* it has stopped; the message is freed */
        return;
    default:
        rondo_send(to, w);
    }
}

static void act(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct member *me = state;
    struct swarm *s = me->swarm;
    struct work *w = (struct work *)(void *)m;
    if (m->type != WORK) {
        rondo_add_relaxed(&s->system, 1);
        rondo_msg_free(m);
        return;
    }
    rondo_add_relaxed(&s->handled, 1);
    rondo_actor *other = s->members[rondo_random_below(&me->random, s->n)].actor;
    switch (rondo_random_below(&me->random, 24)) {
    case 0:
        rondo_actor_stop(other);
        break;
    case 1:
        (void)!rondo_actor_monitor(self, other, NULL);
        break;
    case 2:
        rondo_flush();
        break;
    case 3:
        send_somehow(s, &me->random, new_work(s, w->hops / 2));
        break;
    default:
        break;
    }
    if (w->hops == 0) {
        rondo_msg_free(m);
        return;
    }
    w->hops--;
    send_somehow(s, &me->random, w);
}

static void spawn_all(struct swarm *s) {
    unsigned workers = rondo_runtime_workers(s->rt);
    for (unsigned i = 0; i < s->n; i++) {
        struct member *me = &s->members[i];
        *me = (struct member){.swarm = s, .random = rondo_random_next(&s->random)};
        struct rondo_actor_options o = {
            .size = sizeof o, .name = "member", .receive = act, .state = me};
        if (rondo_random_below(&s->random, 2))
            o.bound = 1 + (uint32_t)rondo_random_below(&s->random, 4);
        if (rondo_random_below(&s->random, 2)) o.when_full = RONDO_FULL_PAUSE;
        if (rondo_random_below(&s->random, 4) == 0)
            o.pin = 1 + (unsigned)rondo_random_below(&s->random, workers);
        assert_int_equal(rondo_spawn(s->rt, &o, &me->actor), 0);
    }
}

static void check(const struct swarm *s, const struct rondo_runtime_stats *st, uint64_t seed,
                  bool is_at_rest) {
    bool ok = s->made == s->ended;
    if (is_at_rest) {
        /* Messages are handled as often as they are sent and not dropped. */
        ok = ok && st->handled == s->handled + s->system && st->actors == 0 &&
             st->dropped <= s->letters;
    }
    if (!ok)
        fail_msg("seed %llu: made %llu, ended %llu, handled %llu and %llu of the system's; the "
                 "runtime says %llu handled, %llu dropped",
                 (unsigned long long)seed, (unsigned long long)s->made,
                 (unsigned long long)s->ended, (unsigned long long)s->handled,
                 (unsigned long long)s->system, (unsigned long long)st->handled,
                 (unsigned long long)st->dropped);
}

/* Stops them in an order of its own, or leaves that to rondo_runtime_free. */
static bool end_all(struct swarm *s) {
    if (rondo_random_below(&s->random, 3) == 0) return false;
    unsigned first = (unsigned)rondo_random_below(&s->random, s->n);
    for (unsigned i = 0; i < s->n; i++) rondo_actor_stop(s->members[(first + i) % s->n].actor);
    assert_int_equal(rondo_runtime_run(s->rt), 0);
    return true;
}

static void run_seed(const struct rondo_runtime_options *options, uint64_t seed) {
    struct rondo_runtime_options with_letters = *options, *o = &with_letters;
    uint64_t live = rondo_mem_live();
    struct swarm s = {.random = seed};
    struct rondo_runtime_stats st;
    with_letters.on_drop = on_drop;
    with_letters.drop_arg = &s;
    assert_int_equal(rondo_runtime_new(o, &s.rt), 0);
    s.n = 1 + (unsigned)rondo_random_below(&s.random, MAX_ACTORS);
    spawn_all(&s);
    uint64_t starts = 1 + rondo_random_below(&s.random, MAX_STARTS);
    for (uint64_t i = 0; i < starts; i++)
        send_somehow(&s, &s.random, new_work(&s, (unsigned)rondo_random_below(&s.random, HOPS)));
    if (o->simulate) {
        uint64_t steps = rondo_random_below(&s.random, 400);
        while (steps-- && rondo_sim_step(s.rt)) {
        }
    }
    bool is_at_rest = end_all(&s);
    rondo_runtime_stats(s.rt, &st);
    /* Who is alive may still send to the others, so only then are they needed. */
    bool is_unref_first = is_at_rest && seed % 2;
    for (unsigned i = 0; is_unref_first && i < s.n; i++) rondo_actor_unref(s.members[i].actor);
    rondo_runtime_free(s.rt);
    for (unsigned i = 0; !is_unref_first && i < s.n; i++) rondo_actor_unref(s.members[i].actor);
    check(&s, &st, seed, is_at_rest);
    assert_int_equal(rondo_mem_live(), live);
}

static uint64_t only; /* 0: all */

static void simulated(void **state) {
    (void)state;
    uint64_t first = only ? only : 1, last = only ? only : SIM_SEEDS;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
        run_seed(&o, seed);
    }
}

static void on_threads(void **state) {
    (void)state;
    uint64_t first = only ? only : 1, last = only ? only : THREAD_SEEDS;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct rondo_runtime_options o = {
            .size = sizeof o, .threads = {RONDO_THREADS_FIXED, 0, 1 + (unsigned)(seed % 4)}};
        run_seed(&o, seed);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) only = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated),
        cmocka_unit_test(on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
