/* SPDX-License-Identifier: MIT */
#include "server/session.h"
#include "base/hash.h"
#include "base/mem.h"
#include <strings.h>

/* A completion's id: the number of the slot, then the part of its op. */
enum { PART_BITS = 20, FEW_KEYS = 16, MANY_KEYS = 1024 };

enum { MAY_WAIT = RONDO_COMMAND_READ | RONDO_COMMAND_WRITE | RONDO_COMMAND_ASKS };

void rondo_op_clear(struct rondo_op *op) {
    for (uint32_t i = 0; i < op->n; i++) rondo_answer_release(&op->answers[i]);
    if (op->answers != &op->one) rondo_free(op->answers);
    rondo_free(op->places);
    rondo_buf_fini(&op->text);
    if (op->exec) op->free_exec(op->exec);
    *op = (struct rondo_op){0};
}

static void op_free(void *arg) {
    struct rondo_op *op = arg;
    if (!op) return;
    rondo_op_clear(op);
    rondo_free(op);
}

/* By a message that was made when it was needed least. */
static void stop_listening(struct rondo_session *s) {
    if (s->leave) rondo_send(s->service->hub, s->leave);
    s->leave = NULL;
    s->is_listening = false;
    /* partners: CLIENT LIST on any worker */
    rondo_store_relaxed(&s->client->channels, 0);
    rondo_store_relaxed(&s->client->patterns, 0);
}

void rondo_session_init(struct rondo_session *s, struct rondo_service *service, unsigned worker,
                        struct rondo_client *client, rondo_actor *actor, struct rondo_buf *out) {
    *s = (struct rondo_session){
        .service = service, .worker = &service->workers[worker], .client = client, .actor = actor};
    rondo_slots_init(&s->slots, out, op_free);
    rondo_session_reset(s);
}

void rondo_session_reset(struct rondo_session *s) {
    rondo_session_set_proto(s, 2);
    rondo_session_set_db(s, 0);
    s->reply_mode = RONDO_REPLY_ON;
    s->is_authenticated = s->service->config->password == NULL;
    stop_listening(s);
    rondo_session_discard(s);
}

void rondo_session_discard(struct rondo_session *s) {
    rondo_block_free(s->block);
    s->block = NULL;
}

/* Partners of both stores: CLIENT LIST on any worker. */
void rondo_session_set_proto(struct rondo_session *s, uint8_t proto) {
    s->proto = proto;
    rondo_store_relaxed(&s->client->proto, proto);
}

void rondo_session_set_db(struct rondo_session *s, uint8_t db) {
    s->db = db;
    rondo_store_relaxed(&s->client->db, db);
}

void rondo_session_fini(struct rondo_session *s) {
    rondo_slots_fini(&s->slots);
    rondo_session_discard(s);
    if (s->leave) rondo_send(s->service->hub, s->leave);
    s->leave = NULL;
}

/* ---- what a command touches ---------------------------------------------------- */

struct keys {
    uint64_t few[FEW_KEYS];
    uint64_t *hashes; /* few, or an array of its own */
};

static uint64_t hash_key(struct rondo_slice key, unsigned db) {
    return rondo_hash(key.data, key.len, db);
}

/* With very many keys, or without memory for the hashes, the command counts as one
 * that touches all: it is looked at again whenever a slot is complete. */
static struct rondo_access access_of(const struct rondo_cmd *call, struct keys *keys) {
    struct rondo_access access = {RONDO_ACCESS_NONE, NULL, 0};
    unsigned flags = call->command->flags;
    keys->hashes = keys->few;
    if (flags & RONDO_COMMAND_WHOLE) access.kind = RONDO_ACCESS_ALL;
    if (!(flags & (RONDO_COMMAND_READ | RONDO_COMMAND_WRITE)) || access.kind) return access;

    size_t first = 0, step = 0;
    size_t n = rondo_command_key_range(call->command, call->argc, &first, &step);
    access.kind =
        flags & (RONDO_COMMAND_WRITE | RONDO_COMMAND_LOOK) ? RONDO_ACCESS_WRITE : RONDO_ACCESS_READ;
    if (n > MANY_KEYS ||
        (n > FEW_KEYS && !(keys->hashes = rondo_alloc(n * sizeof *keys->hashes)))) {
        keys->hashes = keys->few;
        access.kind = RONDO_ACCESS_ALL;
        return access;
    }
    for (size_t i = 0; i < n; i++)
        keys->hashes[i] = hash_key(call->argv[first + i * step], call->session->db);
    access.keys = keys->hashes;
    access.n_keys = n;
    return access;
}

static void keys_fini(struct keys *keys) {
    if (keys->hashes != keys->few) rondo_free(keys->hashes);
}

static bool may_run(const struct rondo_cmd *call) {
    const struct rondo_slots *slots = &call->session->slots;
    if (rondo_slots_count(slots) == 0) return true;
    struct keys keys;
    struct rondo_access access = access_of(call, &keys);
    bool yes = rondo_slots_may_run(slots, &access);
    keys_fini(&keys);
    return yes;
}

/* ---- refusals ------------------------------------------------------------------- */

static void write_unknown(struct rondo_cmd *call) {
    char args[160];
    size_t n = 0;
    args[0] = '\0';
    for (size_t i = 1; i < call->argc && n < 128; i++) {
        int room = 128 - (int)n;
        int len = call->argv[i].len < (size_t)room ? (int)call->argv[i].len : room;
        n += (size_t)snprintf(args + n, sizeof args - n, "'%.*s' ", len,
                              (const char *)call->argv[i].data);
    }
    int len = call->argv[0].len < 128 ? (int)call->argv[0].len : 128;
    rondo_resp_write_errorf(&call->w, "ERR unknown command '%.*s', with args beginning with: %s",
                            len, (const char *)call->argv[0].data, args);
}

static void write_unknown_sub(struct rondo_cmd *call) {
    char name[32];
    size_t n = strlen(call->command->name);
    for (size_t i = 0; i <= n; i++) {
        char c = call->command->name[i];
        name[i] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
    }
    int len = call->argv[1].len < 128 ? (int)call->argv[1].len : 128;
    rondo_resp_write_errorf(&call->w, "ERR unknown subcommand '%.*s'. Try %s HELP.", len,
                            (const char *)call->argv[1].data, name);
}

/* EXEC now and then runs nothing: the block is over. */
static void write_arity_error(struct rondo_cmd *call) {
    bool is_exec = strcmp(call->command->name, "exec") == 0;
    if (is_exec) rondo_session_discard(call->session);
    (void)rondo_cmd_error(call, "%s wrong number of arguments for '%s' command",
                          is_exec ? "EXECABORT Transaction discarded because of:" : "ERR",
                          call->command->name);
}

/* Finds the command; false after an error reply. */
static bool resolve(struct rondo_cmd *call) {
    call->command = rondo_commands_find(&call->session->service->commands, call->argv[0]);
    if (!call->command) {
        write_unknown(call);
        return false;
    }
    if (call->command->subs && call->argc >= 2) {
        const struct rondo_command *sub = rondo_command_sub(call->command, call->argv[1]);
        if (!sub) {
            write_unknown_sub(call);
            return false;
        }
        call->command = sub;
    }
    if (!rondo_command_fits(call->command, call->argc)) {
        write_arity_error(call);
        return false;
    }
    if (!call->session->is_authenticated && !(call->command->flags & RONDO_COMMAND_NO_AUTH)) {
        rondo_resp_write_error(&call->w, "NOAUTH Authentication required.");
        return false;
    }
    if (call->session->is_listening && call->session->proto == 2 &&
        !(call->command->flags & RONDO_COMMAND_LISTENING)) {
        (void)rondo_cmd_error(call,
                              "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
                              "PING / QUIT / RESET are allowed in this context",
                              call->command->name);
        return false;
    }
    return true;
}

/* ---- running -------------------------------------------------------------------- */

/* The slot and the op are there before the engine is asked: an answer that is to
 * come cannot be called back. */
static bool prepare(struct rondo_cmd *call) {
    struct rondo_op **spare = &call->session->worker->spare_op;
    if (rondo_slots_reserve(&call->session->slots, &call->number) != RONDO_OK) return false;
    if (!*spare) *spare = rondo_zalloc(sizeof **spare);
    call->op = *spare;
    return call->op != NULL;
}

static void open_slot(struct rondo_cmd *call, bool is_silent) {
    struct rondo_session *s = call->session;
    struct keys keys;
    struct rondo_access access = access_of(call, &keys);
    call->op->proto = s->proto; /* the one it was asked in */
    call->op->is_silent = is_silent;
    rondo_slots_open(&s->slots, &access, call->op);
    keys_fini(&keys);
    s->worker->spare_op = NULL;
    rondo_service_count(s->worker, slots, 1);
}

/* CLIENT REPLY: is this command's reply dropped?  The command that asks for SKIP
 * has set SKIP_NEXT itself. */
static bool next_is_silent(struct rondo_session *s) {
    if (s->reply_mode == RONDO_REPLY_SKIP_NEXT) s->reply_mode = RONDO_REPLY_SKIP;
    return s->reply_mode == RONDO_REPLY_OFF || s->reply_mode == RONDO_REPLY_SKIP;
}

/* Time goes by for all replies that wait for an earlier one; called before their
 * number changes. */
static void count_waits(struct rondo_session *s, uint64_t now_ns) {
    if (s->slots.n_ready > 0 && now_ns > s->counted_ns)
        rondo_service_count(s->worker, reply_wait_ns, s->slots.n_ready * (now_ns - s->counted_ns));
    s->counted_ns = now_ns;
}

static void after_reply(struct rondo_cmd *call, size_t start, bool is_silent) {
    struct rondo_session *s = call->session;
    struct rondo_buf *buf = call->w.buf;
    if (buf->len > start && buf->data[start] == '-')
        rondo_service_count(s->worker, error_replies, 1);
    /* CLIENT REPLY ON is answered although it was silent before it. */
    if (is_silent && s->reply_mode != RONDO_REPLY_ON) buf->len = start;
    if (s->reply_mode == RONDO_REPLY_SKIP) s->reply_mode = RONDO_REPLY_ON;
    if (rondo_slots_count(&s->slots) == 0) return;
    count_waits(s, call->now_ns);
    rondo_slots_note_direct(&s->slots);
}

static enum rondo_session_status run(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    if (!may_run(call)) return RONDO_SESSION_HELD;
    if (call->command->flags & MAY_WAIT && !prepare(call)) return RONDO_SESSION_BROKEN;

    call->w.buf = rondo_slots_direct(&s->slots); /* again: prepare may have moved it */
    size_t start = call->w.buf->len;
    bool is_silent = next_is_silent(s);
    rondo_store_relaxed(&s->client->command, call->command->name); /* read by CLIENT LIST */
    rondo_service_count(s->worker, commands, 1);
    if (call->command->run(call) == RONDO_RUN_WAIT) {
        open_slot(call, is_silent);
        if (s->reply_mode == RONDO_REPLY_SKIP) s->reply_mode = RONDO_REPLY_ON;
        return RONDO_SESSION_RAN;
    }
    if (call->op) rondo_op_clear(call->op);
    if (call->w.err) return RONDO_SESSION_BROKEN;
    after_reply(call, start, is_silent);
    return RONDO_SESSION_RAN;
}

/* ---- between MULTI and EXEC ------------------------------------------------------ */

/* A block that a command could not join is not run. */
static void spoil(struct rondo_cmd *call) {
    struct rondo_session *s = call->session;
    if (s->block && s->block->is_open) s->block->is_dirty = true;
}

static void refuse_in_block(struct rondo_cmd *call, const char *error) {
    spoil(call);
    rondo_resp_write_error(&call->w, error);
}

static void queue(struct rondo_cmd *call) {
    const struct rondo_command *c = call->command;
    bool is_whole = (c->flags & RONDO_COMMAND_WHOLE) && c->keys.first == 0;
    size_t limit = call->session->service->limits.input;
    if (is_whole || (c->flags & RONDO_COMMAND_NO_MULTI)) {
        refuse_in_block(call, "ERR Command not allowed inside a transaction");
        return;
    }
    enum rondo_err err = rondo_block_add(call->session->block, c, call->argv, call->argc, limit);
    if (err == RONDO_ERR_TOO_LARGE)
        refuse_in_block(call, "ERR the transaction is too large");
    else if (err)
        refuse_in_block(call, "OOM out of memory");
    else
        rondo_resp_write_simple(&call->w, "QUEUED");
}

static bool is_queued(const struct rondo_cmd *call) {
    const struct rondo_block *block = call->session->block;
    return block && block->is_open && !(call->command->flags & RONDO_COMMAND_AT_ONCE);
}

enum rondo_session_status rondo_session_run(struct rondo_session *s, const struct rondo_slice *argv,
                                            size_t argc, uint64_t now_ns) {
    struct rondo_cmd call = {.session = s, .argv = argv, .argc = argc, .now_ns = now_ns};
    /* What it may run is not known yet. */
    if (s->is_subscribing || s->is_exclusive) return RONDO_SESSION_HELD;
    struct rondo_buf *buf = rondo_slots_direct(&s->slots);
    size_t start = buf->len;
    call.w = rondo_resp_writer_of(buf, s->proto);
    if (!resolve(&call))
        spoil(&call);
    else if (is_queued(&call))
        queue(&call);
    else
        return run(&call);

    if (call.w.err) return RONDO_SESSION_BROKEN;
    after_reply(&call, start, next_is_silent(s));
    return RONDO_SESSION_RAN;
}

/* ---- completing ----------------------------------------------------------------- */

static bool finish(struct rondo_session *s, uint64_t number, struct rondo_op *op,
                   const char *error) {
    struct rondo_resp_writer w =
        rondo_resp_writer_of(rondo_slots_reply(&s->slots, number), op->proto);
    size_t start = w.buf->len;
    if (error)
        rondo_resp_write_error(&w, error);
    else
        op->finish(op, &w);
    if (w.err) return false;
    if (!error && op->waiting > 0) return true; /* EXEC: now for the hub */
    if (w.buf->len > start && w.buf->data[start] == '-')
        rondo_service_count(s->worker, error_replies, 1);
    if (op->is_silent) w.buf->len = start;
    count_waits(s, rondo_runtime_now_ns(s->service->rt));
    return rondo_slots_complete(&s->slots, number) == RONDO_OK;
}

bool rondo_session_complete(struct rondo_session *s, struct rondo_reply *reply) {
    uint64_t number = reply->id >> PART_BITS;
    struct rondo_op *op = rondo_slots_op(&s->slots, number);
    if (!op) return true; /* failed before its answer came */

    size_t part = (reply->id & ((1u << PART_BITS) - 1)) + reply->index;
    RONDO_CHECK(part < op->n && op->waiting > 0);
    op->answers[op->places ? op->places[part] : part] = reply->answer;
    reply->answer = (struct rondo_answer){0};
    if (op->take) op->take(op, reply);
    return --op->waiting > 0 || finish(s, number, op, NULL);
}

bool rondo_session_hub_reply(struct rondo_session *s, struct rondo_hub_reply *reply) {
    uint64_t number = reply->id >> PART_BITS;
    struct rondo_op *op = rondo_slots_op(&s->slots, number);
    s->is_subscribing = false;
    s->is_listening = reply->channels + reply->patterns > 0 && s->leave;
    /* partners: CLIENT LIST on any worker */
    rondo_store_relaxed(&s->client->channels, reply->channels);
    rondo_store_relaxed(&s->client->patterns, reply->patterns);
    if (!op) return true;
    if (op->exec) {
        op->take_hub(op, reply->id & ((1u << PART_BITS) - 1), reply);
        return op->waiting > 0 || finish(s, number, op, NULL);
    }
    op->text = reply->text;
    reply->text = (struct rondo_buf){0};
    op->waiting = 0;
    return finish(s, number, op, NULL);
}

/* Behind all that waits: a message may pass earlier replies, but need not. */
bool rondo_session_push(struct rondo_session *s, const struct rondo_hub_push *push) {
    struct rondo_slice bytes = rondo_hub_push_bytes(push);
    struct rondo_buf *buf = rondo_slots_direct(&s->slots);
    if (!s->is_listening) return true; /* it was under way when the client stopped listening */
    if (rondo_buf_append(buf, s->proto == 3 ? ">" : "*", 1)) return false;
    return rondo_buf_append(buf, bytes.data, bytes.len) == RONDO_OK;
}

bool rondo_session_fail_all(struct rondo_session *s, const char *error) {
    while (rondo_slots_count(&s->slots) > 0) {
        uint64_t number = s->slots.head;
        if (!finish(s, number, rondo_slots_op(&s->slots, number), error)) return false;
    }
    return true;
}

/* ---- for handlers --------------------------------------------------------------- */

struct rondo_key rondo_cmd_key(const struct rondo_cmd *call, size_t i) {
    return (struct rondo_key){call->argv[i].data, call->argv[i].len, call->session->db};
}

rondo_cache *rondo_cmd_route(struct rondo_cmd *call, const struct rondo_key *key) {
    struct rondo_slice bytes = {key->data, key->len};
    rondo_cache *cache = rondo_keyspace_route(call->session->service->ks, bytes);
    if (!cache) (void)rondo_cmd_error(call, "ERR no cache claims this key");
    return cache;
}

struct rondo_completion rondo_cmd_completion(const struct rondo_cmd *call, size_t part) {
    return (struct rondo_completion){.to = call->session->actor,
                                     .type = RONDO_SESSION_REPLY,
                                     .id = call->number << PART_BITS | part};
}

static struct rondo_slice client_name(const struct rondo_cmd *call) {
    const char *name = call->session->client->texts[RONDO_CLIENT_NAME];
    return name ? rondo_slice_str(name) : (struct rondo_slice){0};
}

struct rondo_read rondo_cmd_read(const struct rondo_cmd *call, size_t part) {
    return (struct rondo_read){.done = rondo_cmd_completion(call, part),
                               .client = client_name(call),
                               .now_ns = call->now_ns};
}

struct rondo_write rondo_cmd_write(const struct rondo_cmd *call, size_t part) {
    return (struct rondo_write){.done = rondo_cmd_completion(call, part),
                                .client = client_name(call),
                                .now_ns = call->now_ns};
}

enum rondo_run rondo_cmd_answer(struct rondo_cmd *call, rondo_finish_fn finish_fn,
                                struct rondo_answer *answer) {
    struct rondo_op *op = call->op;
    bool is_pending = answer->outcome == RONDO_PENDING;
    op->answers = &op->one;
    op->n = 1;
    op->finish = finish_fn;
    op->waiting = is_pending;
    if (is_pending) return RONDO_RUN_WAIT;
    op->one = *answer;
    finish_fn(op, &call->w);
    return RONDO_RUN_DONE;
}

bool rondo_cmd_reserve(struct rondo_cmd *call, size_t n) {
    call->op->answers = rondo_zalloc(n * sizeof *call->op->answers);
    if (!call->op->answers) {
        (void)rondo_cmd_error(call, "OOM out of memory");
        return false;
    }
    call->op->n = (uint32_t)n;
    return true;
}

enum rondo_run rondo_cmd_answers(struct rondo_cmd *call, rondo_finish_fn finish_fn,
                                 size_t waiting) {
    call->op->finish = finish_fn;
    call->op->waiting = (uint32_t)waiting;
    if (waiting > 0) return RONDO_RUN_WAIT;
    finish_fn(call->op, &call->w);
    return call->op->waiting > 0 ? RONDO_RUN_WAIT : RONDO_RUN_DONE;
}

enum rondo_run rondo_cmd_error(struct rondo_cmd *call, const char *fmt, ...) {
    struct rondo_buf text = {0};
    va_list args;
    va_start(args, fmt);
    bool is_formatted = rondo_buf_vprintf(&text, fmt, args) == RONDO_OK;
    va_end(args);
    /* Words of the client may end it; Redis cuts their line ends off. */
    while (text.len > 0 && strchr("\r\n", text.data[text.len - 1])) text.len--;
    const char *line = is_formatted ? rondo_buf_cstr(&text) : NULL;
    rondo_resp_write_error(&call->w, line ? line : "OOM out of memory");
    rondo_buf_fini(&text);
    return RONDO_RUN_DONE;
}

enum rondo_run rondo_cmd_ok(struct rondo_cmd *call) {
    rondo_resp_write_simple(&call->w, "OK");
    return RONDO_RUN_DONE;
}

enum rondo_run rondo_cmd_help(struct rondo_cmd *call, const char *const *lines, size_t n) {
    rondo_resp_write_array(&call->w, n);
    for (size_t i = 0; i < n; i++) rondo_resp_write_simple(&call->w, lines[i]);
    return RONDO_RUN_DONE;
}

enum rondo_run rondo_cmd_arity_error(struct rondo_cmd *call) {
    return rondo_cmd_error(call, "ERR wrong number of arguments for '%s' command",
                           call->command->name);
}

enum rondo_run rondo_cmd_syntax_error(struct rondo_cmd *call) {
    return rondo_cmd_error(call, "ERR syntax error");
}

bool rondo_cmd_is(const struct rondo_cmd *call, size_t i, const char *word) {
    struct rondo_slice arg = call->argv[i];
    return arg.len == strlen(word) && strncasecmp(arg.data, word, arg.len) == 0;
}

bool rondo_slice_to_int(struct rondo_slice s, int64_t *out) {
    const char *p = s.data;
    size_t i = s.len > 0 && p[0] == '-';
    bool is_negative = i == 1;
    if (s.len == i || s.len > 20) return false;
    if (p[i] == '0' && (s.len > 1)) return false; /* "-0", "01": not how Redis writes numbers */
    uint64_t v = 0;
    for (; i < s.len; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        if (__builtin_mul_overflow(v, UINT64_C(10), &v)) return false;
        if (__builtin_add_overflow(v, (uint64_t)(p[i] - '0'), &v)) return false;
    }
    if (v > (uint64_t)INT64_MAX + is_negative) return false;
    *out = is_negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

void rondo_write_failed(struct rondo_resp_writer *w, const struct rondo_answer *answer) {
    const char *word = rondo_err_word(answer->err);
    if (answer->value.len == 0) {
        rondo_resp_write_errorf(w, "%s %s", word, rondo_err_text(answer->err));
        return;
    }
    int len = answer->value.len < 1000 ? (int)answer->value.len : 1000;
    rondo_resp_write_errorf(w, "%s %.*s", word, len, (const char *)answer->value.data);
}
