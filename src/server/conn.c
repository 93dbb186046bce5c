/* SPDX-License-Identifier: MIT */
#include "server/conn.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sm.h"
#include "server/ahead.h"
#include <errno.h>

enum {
    READ_BYTES = 64 * 1024,  /* of one recv */
    KEEP_BYTES = 256 * 1024, /* a larger buffer is not kept as a spare */
    AHEAD = 32,              /* commands of a pipeline whose keys are fetched together */
    ROUNDS = 16              /* recvs in a row before others have their turn */
};

static const char *const state_names[] = {"open", "closing", "closed"};
static const uint32_t state_moves[] = {
    [RONDO_CONN_OPEN] = RONDO_SM_TO(RONDO_CONN_CLOSING) | RONDO_SM_TO(RONDO_CONN_CLOSED),
    [RONDO_CONN_CLOSING] = RONDO_SM_TO(RONDO_CONN_CLOSED),
    [RONDO_CONN_CLOSED] = 0,
};
static const struct rondo_sm machine = {"connection", RONDO_COUNT_OF(state_names), state_names,
                                        state_moves};

static void move_to(struct rondo_conn *c, enum rondo_conn_state state) {
    rondo_sm_move(&machine, &c->state, state);
}

static void close_now(struct rondo_conn *c) {
    if (c->state != RONDO_CONN_CLOSED) move_to(c, RONDO_CONN_CLOSED);
}

static void close_when_answered(struct rondo_conn *c) {
    if (c->state == RONDO_CONN_OPEN) move_to(c, RONDO_CONN_CLOSING);
}

void rondo_conn_init(struct rondo_conn *c, struct rondo_service *service, unsigned worker,
                     struct rondo_client *client, rondo_actor *actor,
                     const struct rondo_wire *wire) {
    *c = (struct rondo_conn){.wire = *wire, .may_send = true};
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    limits.max_bulk_bytes = service->limits.argument;
    rondo_resp_request_init(&c->parser, &limits);
    rondo_session_init(&c->session, service, worker, client, actor, &c->out);
    rondo_store_relaxed(&client->last_ns, rondo_runtime_now_ns(service->rt)); /* CLIENT LIST */
}

void rondo_conn_fini(struct rondo_conn *c) {
    rondo_session_fini(&c->session);
    rondo_resp_request_fini(&c->parser);
    rondo_buf_fini(&c->in);
    rondo_buf_fini(&c->out);
}

/* ---- buffers: borrowed while there is something in them ------------------------- */

static void borrow(struct rondo_buf *buf, struct rondo_buf *spare) {
    if (buf->data) return;
    *buf = *spare;
    *spare = (struct rondo_buf){0};
}

static void give_back(struct rondo_buf *buf, struct rondo_buf *spare) {
    if (!buf->data || buf->len > 0) return;
    if (spare->data || buf->cap > KEEP_BYTES) {
        rondo_buf_fini(buf);
        return;
    }
    *spare = *buf;
    *buf = (struct rondo_buf){0};
}

static void borrow_buffers(struct rondo_conn *c) {
    borrow(&c->in, &c->session.worker->spare_in);
    borrow(&c->out, &c->session.worker->spare_out);
    rondo_slots_take_room(&c->session.slots, &c->session.worker->spare_room);
}

static void give_back_buffers(struct rondo_conn *c) {
    give_back(&c->in, &c->session.worker->spare_in);
    give_back(&c->out, &c->session.worker->spare_out);
    rondo_slots_leave_room(&c->session.slots, &c->session.worker->spare_room);
}

/* ---- output --------------------------------------------------------------------- */

static size_t waiting_output(const struct rondo_conn *c) {
    return c->out.len - c->out_sent + rondo_slots_bytes(&c->session.slots);
}

static void send_output(struct rondo_conn *c) {
    while (c->may_send && c->out_sent < c->out.len && c->state != RONDO_CONN_CLOSED) {
        size_t n = c->out.len - c->out_sent;
        ssize_t sent = c->wire.send(c->wire.self, c->out.data + c->out_sent, n);
        if (sent == -EINTR) continue;
        if (sent == -EAGAIN || sent == -EWOULDBLOCK) {
            c->may_send = false;
        } else if (sent < 0) {
            close_now(c);
        } else {
            c->out_sent += (size_t)sent;
            rondo_service_count(c->session.worker, bytes_out, (uint64_t)sent);
        }
    }
    if (c->out_sent == c->out.len) {
        c->out.len = 0;
        c->out_sent = 0;
        c->is_stalled = false;
        if (rondo_slots_count(&c->session.slots) == 0) c->pushed = 0;
    } else if (c->out_sent > c->out.len / 2) {
        rondo_buf_consume(&c->out, c->out_sent);
        c->out_sent = 0;
    }
}

/* ---- input ---------------------------------------------------------------------- */

/* A complete command is never left behind, so that what is in the way of more room
 * is one command that is too large.  One that waits is not moved: its arguments
 * point into the buffer. */
static bool make_room(struct rondo_conn *c) {
    rondo_buf_consume(&c->in, c->in_used);
    c->in_used = c->ahead = 0;
    if (c->in.len > c->session.service->limits.input) {
        rondo_service_count(c->session.worker, closed_input, 1);
        return false;
    }
    /* What a client announces is no reason to reserve it: room grows with what came. */
    size_t want = c->parser.need > c->in.len ? c->in.len : c->parser.need;
    size_t room = c->in.cap - c->in.len;
    if (room >= READ_BYTES / 2 && room >= want) return true;
    return rondo_buf_reserve(&c->in, want > READ_BYTES ? want : READ_BYTES) == RONDO_OK;
}

static void receive(struct rondo_conn *c) {
    if (!make_room(c)) {
        close_now(c);
        return;
    }
    size_t room = c->in.cap - c->in.len;
    ssize_t n = c->wire.recv(c->wire.self, c->in.data + c->in.len, room);
    if (n == -EINTR) return;
    if (n == -EAGAIN || n == -EWOULDBLOCK) {
        c->may_recv = false;
    } else if (n < 0) {
        close_now(c);
    } else if (n == 0) {
        c->is_ended = true;
        c->may_recv = c->is_ending = false;
    } else {
        /* Short: the socket is empty, and the next byte is a new event; but an end
         * that was announced with these bytes is not announced again. */
        c->may_recv = (size_t)n == room || c->is_ending;
        c->in.len += (size_t)n;
        rondo_service_count(c->session.worker, bytes_in, (uint64_t)n);
    }
}

/* ---- commands ------------------------------------------------------------------- */

/* True if no further command may be run for now. */
static bool is_full(struct rondo_conn *c) {
    const struct rondo_service_limits *limits = &c->session.service->limits;
    if (rondo_slots_count(&c->session.slots) >= limits->slots) return true;
    if (waiting_output(c) < limits->output_soft) return false;
    if (c->may_send) return true; /* perhaps the next send empties it */
    if (!c->is_stalled) rondo_service_count(c->session.worker, stalls, 1);
    c->is_stalled = true;
    return true;
}

static void protocol_error(struct rondo_conn *c) {
    struct rondo_resp_writer w =
        rondo_resp_writer_of(rondo_slots_direct(&c->session.slots), c->session.proto);
    rondo_resp_write_errorf(&w, "ERR %s", c->parser.error);
    rondo_service_count(c->session.worker, protocol_errors, 1);
    rondo_service_count(c->session.worker, error_replies, 1);
    if (w.err)
        close_now(c);
    else
        close_when_answered(c);
}

static void run_command(struct rondo_conn *c) {
    switch (rondo_session_run(&c->session, c->parser.args, c->parser.n_args, c->now_ns)) {
    case RONDO_SESSION_RAN:
        c->is_held = false;
        if (c->session.is_quitting) close_when_answered(c);
        break;
    case RONDO_SESSION_HELD:
        if (!c->is_held) rondo_service_count(c->session.worker, held, 1);
        c->is_held = true;
        break;
    case RONDO_SESSION_BROKEN:
        close_now(c);
        break;
    }
}

/* The next command's arguments in parser.args; false if there is none. */
static bool parse(struct rondo_conn *c) {
    if (c->is_held) return true;
    if (c->in_used == c->in.len) return false;
    c->parser.limits.is_unauthenticated = !c->session.is_authenticated;
    size_t used = 0;
    enum rondo_resp_status status = rondo_resp_request_parse(&c->parser, c->in.data + c->in_used,
                                                             c->in.len - c->in_used, &used);
    c->in_used += used;
    if (status == RONDO_RESP_BAD) protocol_error(c);
    if (status == RONDO_RESP_NOMEM) close_now(c);
    return status == RONDO_RESP_READY;
}

/* Of a pipeline the keys are fetched some commands ahead. */
static void look_ahead(struct rondo_conn *c) {
    struct rondo_key keys[AHEAD];
    size_t used = 0;
    const char *data = c->in.data + c->in_used;
    size_t n = rondo_ahead(data, c->in.len - c->in_used, c->session.db, keys, AHEAD, &used);
    if (n > 1) rondo_keyspace_prefetch(c->session.service->ks, keys, n);
    c->ahead = n == AHEAD ? c->in_used + used : c->in.len;
}

/* Runs what has come.  True if it stopped for want of input. */
static bool run_commands(struct rondo_conn *c) {
    while (c->state == RONDO_CONN_OPEN) {
        if (is_full(c)) return false;
        if (c->in_used >= c->ahead && c->in_used < c->in.len && !c->is_held) look_ahead(c);
        if (!parse(c)) return c->state == RONDO_CONN_OPEN;
        run_command(c);
        if (c->is_held) return false;
    }
    return false;
}

/* ---- what follows from an event --------------------------------------------------- */

static bool is_over_limit(const struct rondo_conn *c) {
    const struct rondo_service_limits *limits = &c->session.service->limits;
    size_t n = waiting_output(c);
    return n > limits->output_hard || (n > limits->output_push && c->pushed > limits->output_push);
}

static void close_if_over(struct rondo_conn *c) {
    if (is_over_limit(c)) {
        rondo_service_count(c->session.worker, closed_output, 1);
        close_now(c);
    }
    bool is_answered = rondo_slots_count(&c->session.slots) == 0 && c->out.len == 0;
    if (c->state == RONDO_CONN_CLOSING && is_answered) close_now(c);
}

/* True if the commands that are there could not be run because of the output, and
 * now can. */
static bool can_go_on(struct rondo_conn *c, bool is_out_of_input) {
    return !is_out_of_input && !c->is_held && c->state == RONDO_CONN_OPEN && !is_full(c);
}

static enum rondo_conn_next pump(struct rondo_conn *c, uint64_t now_ns) {
    c->now_ns = now_ns;
    bool is_out_of_input = false;
    borrow_buffers(c);
    for (int round = 0; round < ROUNDS && c->state != RONDO_CONN_CLOSED; round++) {
        is_out_of_input = run_commands(c);
        if (is_out_of_input && c->may_recv) {
            receive(c);
            if (c->state == RONDO_CONN_OPEN) is_out_of_input = run_commands(c);
        }
        if (is_out_of_input && c->is_ended) close_when_answered(c);
        send_output(c);
        close_if_over(c);
        bool is_readable = is_out_of_input && c->may_recv && c->state == RONDO_CONN_OPEN;
        if (!is_readable && !can_go_on(c, is_out_of_input)) break;
        if (round == ROUNDS - 1) return RONDO_CONN_AGAIN;
    }
    if (c->in_used == c->in.len && !c->is_held) c->in.len = c->in_used = c->ahead = 0;
    give_back_buffers(c);
    return c->state == RONDO_CONN_CLOSED ? RONDO_CONN_END : RONDO_CONN_WAIT;
}

enum rondo_conn_next rondo_conn_ready(struct rondo_conn *c, unsigned events, uint64_t now_ns) {
    if (events & (RONDO_IO_READ | RONDO_IO_HANGUP)) c->may_recv = true;
    if (events & RONDO_IO_WRITE) c->may_send = true;
    if (events & RONDO_IO_HANGUP) c->is_ending = true;
    /* partner: CLIENT LIST */
    if (events & RONDO_IO_READ) rondo_store_relaxed(&c->session.client->last_ns, now_ns);
    return pump(c, now_ns);
}

enum rondo_conn_next rondo_conn_continue(struct rondo_conn *c, uint64_t now_ns) {
    return pump(c, now_ns);
}

enum rondo_conn_next rondo_conn_complete(struct rondo_conn *c, struct rondo_reply *reply,
                                         uint64_t now_ns) {
    borrow_buffers(c);
    if (c->state != RONDO_CONN_CLOSED && !rondo_session_complete(&c->session, reply)) close_now(c);
    return pump(c, now_ns);
}

enum rondo_conn_next rondo_conn_hub(struct rondo_conn *c, struct rondo_msg *m, uint64_t now_ns) {
    borrow_buffers(c);
    if (m->type == RONDO_HUB_PUSH)
        c->pushed += rondo_hub_push_bytes((struct rondo_hub_push *)(void *)m).len;
    bool is_well = m->type == RONDO_HUB_REPLY
                       ? rondo_session_hub_reply(&c->session, (struct rondo_hub_reply *)(void *)m)
                       : rondo_session_push(&c->session, (struct rondo_hub_push *)(void *)m);
    if (!is_well) close_now(c);
    return pump(c, now_ns);
}

enum rondo_conn_next rondo_conn_drain(struct rondo_conn *c, uint64_t now_ns) {
    c->is_held = false;
    close_when_answered(c);
    return pump(c, now_ns);
}

enum rondo_conn_next rondo_conn_shut(struct rondo_conn *c, uint64_t now_ns) {
    c->is_held = false;
    if (!rondo_session_fail_all(&c->session, "ERR the server is shutting down")) close_now(c);
    close_when_answered(c);
    enum rondo_conn_next next = pump(c, now_ns);
    if (next == RONDO_CONN_END) return next;
    close_now(c); /* a client that does not take its answers is not waited for */
    return RONDO_CONN_END;
}

enum rondo_conn_next rondo_conn_idle(struct rondo_conn *c, uint64_t now_ns) {
    uint64_t limit = rondo_service_idle_ns(c->session.service);
    bool is_waiting = rondo_slots_count(&c->session.slots) > 0;
    uint64_t last = rondo_load_relaxed(&c->session.client->last_ns); /* our own store */
    if (limit == 0 || is_waiting || now_ns < rondo_deadline(last, limit)) return RONDO_CONN_WAIT;
    rondo_service_count(c->session.worker, closed_idle, 1);
    close_now(c);
    return RONDO_CONN_END;
}
