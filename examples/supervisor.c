/* SPDX-License-Identifier: MIT */
/*
 * A supervisor: it monitors a worker and starts another when that has stopped.
 *
 * The worker divides, and stops when it is asked to divide by zero.  What it has
 * not answered then is lost with it, so the supervisor, who knows which question
 * is open, counts it as failed, and goes on with a new worker.
 */
#include <rondo/runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUESTION = 1, ANSWER, NEXT };

struct division {
    struct rondo_msg head;
    rondo_actor *from; /* outlives the worker */
    int number, by;
};

struct supervisor {
    rondo_runtime *rt;
    rondo_actor *worker;
    int asked, answered, restarts;
};

static const int divisors[] = {2, 5, 0, 4, 0, 10};
enum { N_QUESTIONS = sizeof divisors / sizeof divisors[0] };

/* Handles one message for as long as it lives. */
static void divide(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct division *d = (struct division *)(void *)m;
    (void)state;
    if (d->by == 0) {
        rondo_msg_free(m);
        rondo_actor_stop(self);
        return;
    }
    d->number /= d->by;
    m->type = ANSWER;
    rondo_send(d->from, m); /* the same message goes back: nothing is allocated */
}

static int start_worker(struct supervisor *s, rondo_actor *self) {
    struct rondo_actor_options o = {.size = sizeof o, .name = "divider", .receive = divide};
    if (rondo_spawn(s->rt, &o, &s->worker) != RONDO_OK) return 0;
    return rondo_actor_monitor(self, s->worker, NULL) == RONDO_OK;
}

/* Asks the next question; when there is none, sends everybody home. */
static void ask_next(struct supervisor *s, rondo_actor *self) {
    struct division *d = s->asked < N_QUESTIONS ? rondo_msg_new(QUESTION, sizeof *d) : NULL;
    if (!d) {
        rondo_actor_stop(s->worker);
        rondo_actor_stop(self);
        return;
    }
    d->from = self;
    d->number = 100;
    d->by = divisors[s->asked++];
    rondo_send(s->worker, d);
}

static void supervise(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct supervisor *s = state;
    if (m->type == ANSWER) {
        struct division *d = (struct division *)(void *)m;
        printf("100 / %d = %d\n", d->by, d->number);
        s->answered++;
    } else if (m->type == RONDO_MSG_DOWN) {
        printf("the divider has stopped; starting another\n");
        rondo_actor_unref(s->worker);
        s->restarts++;
        if (!start_worker(s, self)) abort();
    } else if (!start_worker(s, self)) {
        abort(); /* NEXT: the beginning */
    }
    rondo_msg_free(m);
    ask_next(s, self);
}

int main(void) {
    struct supervisor s = {0};
    struct rondo_actor_options o = {
        .size = sizeof o, .name = "supervisor", .receive = supervise, .state = &s};
    rondo_actor *supervisor = NULL;
    if (rondo_runtime_new(NULL, &s.rt) != RONDO_OK) return 1;
    if (rondo_spawn(s.rt, &o, &supervisor) != RONDO_OK) return 1;
    struct rondo_msg *begin = rondo_msg_new(NEXT, sizeof *begin);
    if (!begin) return 1;
    rondo_send(supervisor, begin);
    if (rondo_runtime_run(s.rt) != RONDO_OK) return 1;
    rondo_actor_unref(s.worker);
    rondo_actor_unref(supervisor);
    rondo_runtime_free(s.rt);
    printf("%d answered, %d restarts\n", s.answered, s.restarts);
    return s.answered == 4 && s.restarts == 2 ? 0 : 1;
}
