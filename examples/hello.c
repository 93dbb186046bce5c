/* SPDX-License-Identifier: MIT */
/*
 * The smallest actor program: one actor, one message.
 *
 *     cc hello.c -o hello $(pkg-config --cflags --libs rondo)
 */
#include <rondo/runtime.h>
#include <stdio.h>

/* A message begins with its head; the rest is yours. */
struct greeting {
    struct rondo_msg head;
    const char *whom;
};

static void greet(rondo_actor *self, void *state, struct rondo_msg *m) {
    struct greeting *g = (struct greeting *)(void *)m;
    (void)state;
    printf("Hello, %s!\n", g->whom);
    rondo_msg_free(m);
    rondo_actor_stop(self);
}

int main(void) {
    struct rondo_actor_options options = {
        .size = sizeof options, .name = "greeter", .receive = greet};
    rondo_runtime *rt = NULL;
    rondo_actor *greeter = NULL;
    int status = 1;
    if (rondo_runtime_new(NULL, &rt) != RONDO_OK) return 1;
    if (rondo_spawn(rt, &options, &greeter) == RONDO_OK) {
        struct greeting *g = rondo_msg_new(1, sizeof *g);
        if (g) {
            g->whom = "world";
            rondo_send(greeter, g); /* given away: not ours any more */
            status = rondo_runtime_run(rt) != RONDO_OK;
        }
        rondo_actor_unref(greeter);
    }
    rondo_runtime_free(rt);
    return status;
}
