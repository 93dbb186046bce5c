/* SPDX-License-Identifier: MIT */
#include "runtime/io.h"
#include "base/mem.h"

enum { EVENTS = RONDO_IO_READ | RONDO_IO_WRITE | RONDO_IO_HANGUP, BUSY = 8, ENDED = 16 };

static void io_free(struct rondo_io *io) {
    rondo_actor_release(io->actor);
    rondo_free(io);
}

/* By whoever set BUSY. */
static void send_ready(struct rondo_io *io) {
    unsigned s = rondo_load_relaxed(&io->state);
    while (!rondo_cas_acq_rel(&io->state, &s, s & ~(unsigned)EVENTS)) {
    } /* pairs with notify */
    io->ready.events = s & EVENTS;
    rondo_post(io->actor, &io->ready.head);
}

static void at_rest(struct rondo_msg *m) {
    struct rondo_io *io = RONDO_CONTAINER_OF(m, struct rondo_io, ready.head);
    unsigned s = rondo_load_acquire(&io->state); /* pairs with end */
    for (;;) {
        if (s & ENDED) {
            io_free(io);
            return;
        }
        if (s & EVENTS) {
            send_ready(io);
            return;
        }
        if (rondo_cas_acq_rel(&io->state, &s, 0)) return; /* pairs with notify and end */
    }
}

void rondo_io_notify(struct rondo_io *io, unsigned events) {
    /* pairs with at_rest */
    if (!(rondo_or_acq_rel(&io->state, events | BUSY) & BUSY)) send_ready(io);
}

static void end(struct rondo_io *io) {
    struct rondo_worker *w = rondo_this_worker->rt->workers[io->actor->pin - 1];
    rondo_poller_remove(&w->poller, io->fd);
    w->n_watches--;
    *io->link = io->next;
    if (io->next) io->next->link = io->link;
    io->ready.io = NULL;
    if (!(rondo_or_acq_rel(&io->state, ENDED) & BUSY)) io_free(io); /* pairs with at_rest */
}

enum rondo_err rondo_io_watch(rondo_actor *self, int fd, rondo_io **out) {
    struct rondo_worker *w = rondo_this_worker;
    if (!self || self->rt->scheduler) return self ? RONDO_ERR_UNSUPPORTED : RONDO_ERR_INVALID;
    if (fd < 0 || !w || w->current != self || self->pin != w->index + 1) return RONDO_ERR_INVALID;
    struct rondo_io *io = rondo_zalloc(sizeof *io);
    if (!io) return RONDO_ERR_NOMEM;
    io->ready.head =
        (struct rondo_msg){.type = RONDO_MSG_IO, .flags_ = RONDO_MSG_STATIC, .fini = at_rest};
    io->ready.io = io;
    io->actor = rondo_actor_ref(self);
    io->fd = fd;
    enum rondo_err err = rondo_poller_add(&w->poller, fd, io);
    if (err) {
        io_free(io);
        return err;
    }
    io->next = self->ios;
    io->link = &self->ios;
    if (io->next) io->next->link = &io->next;
    self->ios = io;
    w->n_watches++;
    *out = io;
    return RONDO_OK;
}

void rondo_io_unwatch(rondo_io *io) {
    struct rondo_worker *w = rondo_this_worker;
    if (!io) return;
    RONDO_CHECK(w && w->current == io->actor);
    end(io);
}

void rondo_io_forget(struct rondo_actor *a) {
    while (a->ios) end(a->ios);
}
