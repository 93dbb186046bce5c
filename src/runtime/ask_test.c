/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "rondo/runtime.h"
#include "runtime/sim.h"

enum { GO = 1, QUESTION, ANSWER, SENT_BACK, LATER };

enum manner { ANSWERS, REUSES, PASSES_ON, FREES, STOPS, KEEPS, N_MANNERS };

struct question {
    struct rondo_request head;
    unsigned n, *n_fini;
};

struct answer {
    struct rondo_msg head;
    unsigned n;
};

/* Answers in one of several manners, or keeps the question for `LATER`. */
struct answerer {
    enum manner manner;
    rondo_actor *other;
    struct question *kept;
    bool was_sent;
};

static void question_fini(struct rondo_msg *m) {
    ++*((struct question *)(void *)m)->n_fini;
}

static bool answer(struct question *q) {
    struct answer *a = rondo_msg_new(ANSWER, sizeof *a);
    RONDO_CHECK(a);
    a->n = q->n * 2;
    return rondo_answer(q, a);
}

static void answer_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct answerer *w = state;
    struct question *q = (struct question *)(void *)m;
    if (m->type == LATER) {
        if (w->kept) w->was_sent = answer(w->kept);
        w->kept = NULL;
        rondo_msg_free(m);
        return;
    }
    switch (w->manner) {
    case ANSWERS:
        w->was_sent = answer(q);
        break;
    case REUSES:
        q->n *= 2;
        m->type = SENT_BACK;
        w->was_sent = rondo_answer(q, q);
        break;
    case PASSES_ON:
        rondo_send(w->other, m);
        break;
    case STOPS:
        rondo_actor_stop(self);
        rondo_send(self, m); /* dropped unanswered */
        break;
    case KEEPS:
        w->kept = q;
        break;
    case FREES:
    case N_MANNERS:
        rondo_msg_free(m);
        break;
    }
}

struct asker {
    rondo_actor *to;
    uint64_t timeout_ns, started_ns, took_ns;
    unsigned questions, replies, right, n_fini;
    enum rondo_err err, asked;
    uint64_t tag;
};

static void ask_receive(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct asker *a = state;
    uint64_t now_ns = rondo_runtime_now_ns(rondo_actor_runtime(self));
    if (m->type == GO) {
        struct question *q = rondo_msg_new(QUESTION, sizeof *q);
        RONDO_CHECK(q);
        q->n = 21;
        q->n_fini = &a->n_fini;
        q->head.head.fini = question_fini;
        a->started_ns = now_ns;
        a->asked = rondo_ask(self, a->to, q, 77, a->timeout_ns);
    } else {
        struct rondo_ask_reply *r = (struct rondo_ask_reply *)(void *)m;
        a->replies++;
        a->err = r->err;
        a->tag = r->tag;
        a->took_ns = now_ns - a->started_ns;
        const struct rondo_msg *got = r->reply;
        if (got && got->type == ANSWER)
            a->right += ((const struct answer *)(const void *)got)->n == 42;
        if (got && got->type == SENT_BACK)
            a->right += ((const struct question *)(const void *)got)->n == 42;
    }
    rondo_msg_free(m);
}

struct scene {
    rondo_runtime *rt;
    rondo_actor *asker, *answerer, *other;
    struct asker a;
    struct answerer w, o;
    uint64_t live;
};

static rondo_actor *spawn(rondo_runtime *rt, rondo_receive_fn receive, void *state) {
    struct rondo_actor_options o = {.size = sizeof o, .receive = receive, .state = state};
    rondo_actor *a = NULL;
    assert_int_equal(rondo_spawn(rt, &o, &a), 0);
    return a;
}

static void send_plain(rondo_actor *to, uint32_t type) {
    void *m = rondo_msg_new(type, sizeof(struct rondo_msg));
    assert_non_null(m);
    rondo_send(to, m);
}

static void open(struct scene *s, uint64_t seed, enum manner manner) {
    struct rondo_runtime_options o = {.size = sizeof o, .simulate = true, .seed = seed};
    *s = (struct scene){.live = rondo_mem_live()};
    assert_int_equal(rondo_runtime_new(&o, &s->rt), 0);
    s->w.manner = manner;
    s->o.manner = ANSWERS;
    s->other = spawn(s->rt, answer_receive, &s->o);
    s->w.other = s->other;
    s->answerer = spawn(s->rt, answer_receive, &s->w);
    s->a.to = s->answerer;
    s->a.timeout_ns = RONDO_SEC;
    s->asker = spawn(s->rt, ask_receive, &s->a);
    send_plain(s->asker, GO);
}

static void close_scene(struct scene *s) {
    rondo_actor_unref(s->asker);
    rondo_actor_unref(s->answerer);
    rondo_actor_unref(s->other);
    rondo_runtime_free(s->rt);
    assert_int_equal(s->a.n_fini, 1);
    assert_int_equal(rondo_mem_live(), s->live);
}

static void each_manner_gives_one_reply(void **state) {
    (void)state;
    static const enum rondo_err expect[N_MANNERS] = {
        RONDO_OK, RONDO_OK, RONDO_OK, RONDO_ERR_CLOSED, RONDO_ERR_CLOSED, RONDO_ERR_TIMEOUT};
    for (uint64_t seed = 0; seed < 40 * N_MANNERS; seed++) {
        struct scene s;
        enum manner manner = (enum manner)(seed % N_MANNERS);
        open(&s, seed, manner);
        assert_int_equal(rondo_runtime_run(s.rt), RONDO_ERR_STALLED);
        assert_int_equal(s.a.asked, RONDO_OK);
        assert_int_equal(s.a.replies, 1);
        assert_int_equal(s.a.err, expect[manner]);
        assert_int_equal(s.a.tag, 77);
        assert_int_equal(s.a.right, expect[manner] == RONDO_OK);
        if (expect[manner] == RONDO_ERR_TIMEOUT) assert_true(s.a.took_ns >= RONDO_SEC);
        send_plain(s.answerer, LATER); /* a late answer is dropped */
        assert_int_equal(rondo_runtime_run(s.rt), RONDO_ERR_STALLED);
        assert_int_equal(s.a.replies, 1);
        assert_int_equal(s.w.was_sent, manner == ANSWERS || manner == REUSES);
        close_scene(&s);
    }
}

static void a_stopped_actor_answers_closed(void **state) {
    (void)state;
    struct scene s;
    open(&s, 1, ANSWERS);
    rondo_actor_stop(s.answerer);
    while (s.a.replies == 0) assert_true(rondo_sim_step(s.rt));
    assert_true(s.a.err == RONDO_ERR_CLOSED || s.a.right == 1);
    close_scene(&s);
}

static void an_asker_may_be_gone(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct scene s;
        open(&s, seed, (enum manner)(seed % N_MANNERS));
        rondo_actor_stop(s.asker); /* after GO */
        assert_int_equal(rondo_runtime_run(s.rt), RONDO_ERR_STALLED);
        send_plain(s.answerer, LATER);
        assert_int_equal(rondo_runtime_run(s.rt), RONDO_ERR_STALLED);
        assert_int_equal(s.a.replies, 0);
        close_scene(&s);
    }
}

static void a_runtime_may_go_in_between(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct scene s;
        open(&s, seed, (enum manner)(seed % N_MANNERS));
        uint64_t random = seed;
        while (s.a.started_ns == 0) assert_true(rondo_sim_step(s.rt));
        for (uint64_t n = rondo_random_below(&random, 5); n > 0; n--) (void)rondo_sim_step(s.rt);
        struct question *kept = s.w.kept;
        rondo_runtime_free(s.rt);
        rondo_actor_unref(s.asker);
        rondo_actor_unref(s.answerer);
        rondo_actor_unref(s.other);
        rondo_msg_free(kept); /* a request may outlive its runtime */
        assert_int_equal(s.a.n_fini, 1);
        assert_int_equal(rondo_mem_live(), s.live);
    }
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    enum rondo_err err = RONDO_ERR_NOMEM;
    for (unsigned nth = 1; err; nth++) {
        struct scene s;
        open(&s, 1, ANSWERS);
        struct question *q = rondo_msg_new(QUESTION, sizeof *q);
        unsigned n_fini = 0;
        q->n_fini = &n_fini;
        q->head.head.fini = question_fini;
        rondo_mem_fail_nth(nth);
        err = rondo_ask(s.asker, s.other, q, 1, RONDO_SEC);
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!err) assert_true(nth > 2);
        assert_int_equal(rondo_runtime_run(s.rt), RONDO_ERR_STALLED);
        assert_int_equal(n_fini, 1);
        close_scene(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_manner_gives_one_reply),
        cmocka_unit_test(a_stopped_actor_answers_closed),
        cmocka_unit_test(an_asker_may_be_gone),
        cmocka_unit_test(a_runtime_may_go_in_between),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
