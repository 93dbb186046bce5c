/* SPDX-License-Identifier: MIT */
#include "server/exec.h"
#include "base/mem.h"

/* Where a reply of the hub belongs. */
struct hole {
    size_t at; /* in `out` */
    struct rondo_hub_question question;
    struct rondo_buf text;
};

struct rondo_exec {
    struct rondo_session *session;
    struct rondo_block *block;
    struct rondo_view view;
    struct rondo_buf out; /* the replies */
    struct rondo_buf holes;
    uint64_t now_ns, number; /* of the slot */
    bool has_run, is_aborted;
    enum rondo_err err; /* a reply could not be written */
};

static struct hole *hole_at(const struct rondo_exec *e, size_t i) {
    return (struct hole *)(void *)e->holes.data + i;
}

static size_t n_holes(const struct rondo_exec *e) {
    return e->holes.len / sizeof(struct hole);
}

void rondo_exec_free(struct rondo_exec *e) {
    if (!e) return;
    for (size_t i = 0; i < n_holes(e); i++) rondo_buf_fini(&hole_at(e, i)->text);
    rondo_buf_fini(&e->holes);
    rondo_buf_fini(&e->out);
    rondo_view_fini(&e->view);
    rondo_block_free(e->block);
    rondo_free(e);
}

/* ---- gathering the keys ----------------------------------------------------------- */

static struct rondo_cmd call_of(struct rondo_exec *e, const struct rondo_queued *q) {
    return (struct rondo_cmd){.session = e->session,
                              .command = q->command,
                              .argv = q->argv,
                              .argc = q->argc,
                              .now_ns = e->now_ns,
                              .view = &e->view,
                              .exec = e,
                              .number = e->number};
}

static bool has_word(const struct rondo_cmd *call, const char *word) {
    for (size_t i = 3; i < call->argc; i++)
        if (rondo_cmd_is(call, i, word)) return true;
    return false;
}

static bool is_set_command(const struct rondo_cmd *call) {
    return strcmp(call->command->name, "set") == 0;
}

static bool reads_first(const struct rondo_cmd *call) {
    unsigned flags = call->command->flags;
    if (flags & RONDO_COMMAND_LOADS) return true;
    if (is_set_command(call)) return has_word(call, "GET");
    return (flags & RONDO_COMMAND_READ) && !(flags & RONDO_COMMAND_LOOK);
}

static bool overwrites(const struct rondo_cmd *call) {
    if (!(call->command->flags & RONDO_COMMAND_OVERWRITES)) return false;
    if (!is_set_command(call)) return true;
    return !has_word(call, "NX") && !has_word(call, "XX") && !has_word(call, "GET");
}

static enum rondo_err gather_key(struct rondo_exec *e, const struct rondo_cmd *call,
                                 struct rondo_slice name, unsigned db) {
    struct rondo_key key = {name.data, name.len, db};
    size_t i;
    enum rondo_err err = rondo_view_add(&e->view, &key, &i);
    if (err) return err;
    struct rondo_view_mark *mark = &e->view.marks[i];
    if (reads_first(call) && !mark->is_written) mark->wants_load = true;
    if (overwrites(call)) mark->is_written = true;
    return RONDO_OK;
}

/* COPY source destination DB n: its destination is elsewhere. */
static bool other_db(const struct rondo_cmd *call, int64_t *db) {
    for (size_t i = 3; i + 1 < call->argc; i++)
        if (rondo_cmd_is(call, i, "DB") && rondo_slice_to_int(call->argv[i + 1], db))
            return *db >= 0 && *db < RONDO_SESSION_DATABASES;
    return false;
}

static enum rondo_err gather_command(struct rondo_exec *e, const struct rondo_queued *q,
                                     unsigned *db) {
    struct rondo_cmd call = call_of(e, q);
    size_t first = 0, step = 0;
    size_t n = rondo_command_key_range(q->command, q->argc, &first, &step);
    enum rondo_err err = RONDO_OK;
    int64_t other = 0;
    for (size_t i = 0; i < n && !err; i++)
        err = gather_key(e, &call, q->argv[first + i * step], *db);
    if (!err && strcmp(q->command->name, "copy") == 0 && other_db(&call, &other))
        err = gather_key(e, &call, q->argv[2], (unsigned)other);
    if (strcmp(q->command->name, "select") == 0 && rondo_slice_to_int(q->argv[1], &other) &&
        other >= 0 && other < RONDO_SESSION_DATABASES)
        *db = (unsigned)other;
    return err;
}

static enum rondo_err gather(struct rondo_exec *e) {
    enum rondo_err err = RONDO_OK;
    unsigned db = e->session->db;
    size_t number;
    for (const struct rondo_queued *q = e->block->first; q && !err; q = q->next)
        err = gather_command(e, q, &db);
    for (const struct rondo_watch *w = e->block->watches; w && !err; w = w->next)
        err = rondo_view_add(&e->view, &w->key, &number);
    return err;
}

struct rondo_exec *rondo_exec_new(struct rondo_session *s, struct rondo_block *block) {
    struct rondo_exec *e = rondo_zalloc(sizeof *e);
    if (!e) {
        rondo_block_free(block);
        return NULL;
    }
    e->session = s;
    e->block = block;
    e->view.service = s->service;
    if (gather(e) == RONDO_OK) return e;
    rondo_exec_free(e);
    return NULL;
}

/* ---- running ---------------------------------------------------------------------- */

static bool is_changed(const struct rondo_exec *e) {
    for (const struct rondo_watch *w = e->block->watches; w; w = w->next)
        if (rondo_txn_version(e->view.txn, rondo_view_find(&e->view, &w->key)) != w->version)
            return true;
    return false;
}

static void run_command(struct rondo_exec *e, const struct rondo_queued *q) {
    struct rondo_op op = {.view = &e->view};
    struct rondo_cmd call = call_of(e, q);
    call.op = &op;
    call.w = rondo_resp_writer_of(&e->out, e->session->proto);
    rondo_service_count(e->session->worker, commands, 1);
    enum rondo_run run = q->command->run(&call);
    RONDO_CHECK(run == RONDO_RUN_DONE);
    if (!e->err) e->err = call.w.err;
    rondo_op_clear(&op);
}

static void run_all(void *arg) {
    struct rondo_exec *e = arg;
    e->is_aborted = is_changed(e);
    if (e->is_aborted) return;
    struct rondo_resp_writer w = rondo_resp_writer_of(&e->out, e->session->proto);
    rondo_resp_write_array(&w, e->block->n);
    e->err = w.err;
    for (const struct rondo_queued *q = e->block->first; q; q = q->next) run_command(e, q);
}

/* ---- what the hub is asked -------------------------------------------------------- */

enum rondo_run rondo_exec_ask(struct rondo_cmd *call, const struct rondo_hub_question *question) {
    struct rondo_exec *e = call->exec;
    struct hole hole = {.at = e->out.len, .question = *question};
    if (rondo_buf_append(&e->holes, &hole, sizeof hole))
        return rondo_cmd_error(call, "OOM out of memory");
    return RONDO_RUN_DONE;
}

/* Returns how many answers are to come. */
static uint32_t ask_hub(struct rondo_exec *e) {
    uint32_t n = 0;
    for (size_t i = 0; i < n_holes(e); i++) {
        struct hole *hole = hole_at(e, i);
        hole->question.id += i;
        n += rondo_hub_ask(e->session->service->hub, &hole->question) == RONDO_OK;
    }
    return n;
}

/* Of reply number `part`. */
static void take_hub(struct rondo_op *op, size_t part, struct rondo_hub_reply *reply) {
    RONDO_CHECK(part < n_holes(op->exec) && op->waiting > 0);
    hole_at(op->exec, part)->text = reply->text;
    reply->text = (struct rondo_buf){0};
    op->waiting--;
}

/* ---- the reply -------------------------------------------------------------------- */

static void write_replies(const struct rondo_exec *e, struct rondo_resp_writer *w) {
    size_t at = 0;
    for (size_t i = 0; i < n_holes(e); i++) {
        const struct hole *hole = hole_at(e, i);
        rondo_resp_write_raw(w, e->out.data + at, hole->at - at);
        at = hole->at;
        if (hole->text.len > 0)
            rondo_resp_write_raw(w, hole->text.data, hole->text.len);
        else
            rondo_resp_write_error(w, "OOM out of memory");
    }
    rondo_resp_write_raw(w, e->out.data + at, e->out.len - at);
}

static void finish_exec(struct rondo_op *op, struct rondo_resp_writer *w) {
    struct rondo_exec *e = op->exec;
    enum rondo_err err = RONDO_OK;
    if (!e->has_run) {
        e->has_run = true;
        e->now_ns = rondo_runtime_now_ns(e->session->service->rt);
        if (e->view.n > 0)
            err = rondo_view_run(&e->view, op->answers, run_all, e);
        else
            run_all(e);
        op->waiting = ask_hub(e);
    }
    e->session->is_exclusive = op->waiting > 0;
    if (op->waiting > 0) return;
    if (err)
        rondo_resp_write_errorf(w, "%s %s", rondo_err_word(err), rondo_err_text(err));
    else if (e->is_aborted)
        rondo_resp_write_null_array(w);
    else if (e->err)
        w->err = e->err;
    else
        write_replies(e, w);
}

/* ---- loading ---------------------------------------------------------------------- */

struct loads {
    rondo_cache **caches; /* of the keys that are to be asked for; else NULL */
    struct rondo_key *keys;
    struct rondo_answer *answers;
};

static void loads_fini(struct loads *l) {
    rondo_free(l->caches);
    rondo_free(l->keys);
    rondo_free(l->answers);
}

static bool loads_init(struct rondo_cmd *call, struct loads *l, const struct rondo_view *v) {
    *l = (struct loads){.caches = rondo_zalloc(v->n * sizeof(rondo_cache *)),
                        .keys = rondo_alloc(v->n * sizeof *l->keys),
                        .answers = rondo_zalloc(v->n * sizeof *l->answers)};
    call->op->places = rondo_alloc(v->n * sizeof *call->op->places);
    if (!l->caches || !l->keys || !l->answers || !call->op->places) return false;
    for (size_t i = 0; i < v->n; i++) {
        struct rondo_slice name = rondo_slice_of(v->keys[i].data, v->keys[i].len);
        call->op->answers[i].outcome = RONDO_ABSENT;
        if (v->marks[i].wants_load) l->caches[i] = rondo_keyspace_route(v->service->ks, name);
    }
    return true;
}

/* Asks one cache for all of its keys; `done` were asked for before them. */
static size_t load_from(struct rondo_cmd *call, struct loads *l, size_t from, size_t done,
                        size_t *waiting) {
    rondo_cache *cache = l->caches[from];
    struct rondo_op *op = call->op;
    size_t n = 0;
    for (size_t i = from; i < op->n; i++) {
        if (l->caches[i] != cache) continue;
        l->caches[i] = NULL;
        op->places[done + n] = (uint32_t)i;
        l->keys[n++] = op->exec->view.keys[i];
    }
    struct rondo_read read = rondo_cmd_read(call, done);
    memset(l->answers, 0, n * sizeof *l->answers);
    *waiting += rondo_cache_get_many(cache, l->keys, n, &read, l->answers);
    for (size_t i = 0; i < n; i++) op->answers[op->places[done + i]] = l->answers[i];
    return n;
}

enum rondo_run rondo_exec_start(struct rondo_cmd *call, struct rondo_exec *e) {
    size_t n = e->view.n, waiting = 0;
    struct loads l = {0};
    call->op->exec = e;
    call->op->free_exec = rondo_exec_free;
    call->op->take_hub = take_hub;
    e->number = call->number;
    e->now_ns = call->now_ns;
    if (n > 0) {
        if (!rondo_cmd_reserve(call, n)) return RONDO_RUN_DONE;
        if (!loads_init(call, &l, &e->view)) {
            loads_fini(&l);
            return rondo_cmd_error(call, "OOM out of memory");
        }
        for (size_t i = 0, done = 0; i < n; i++)
            if (l.caches[i]) done += load_from(call, &l, i, done, &waiting);
        loads_fini(&l);
    }
    e->session->is_exclusive = waiting > 0;
    return rondo_cmd_answers(call, finish_exec, waiting);
}
