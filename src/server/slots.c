/* SPDX-License-Identifier: MIT */
#include "server/slots.h"
#include "base/mem.h"

enum {
    FIRST_CAP = 1,
    KEEP_CAP = 8,
    COMPARED_MAX = 65536 /* keys with keys; who needs more waits instead */
};

static struct rondo_slot *at(const struct rondo_slots *s, uint64_t number) {
    return &s->ring[number & (s->cap - 1)];
}

static bool is_open(const struct rondo_slots *s, uint64_t number) {
    return number >= s->head && number < s->tail;
}

void rondo_slots_init(struct rondo_slots *s, struct rondo_buf *out, rondo_slot_free_fn free_op) {
    *s = (struct rondo_slots){.out = out, .free_op = free_op};
}

static void free_op(const struct rondo_slots *s, struct rondo_slot *slot) {
    if (slot->op) s->free_op(slot->op);
    slot->op = NULL;
    rondo_free(slot->keys);
    slot->keys = NULL;
}

static void slot_fini(const struct rondo_slots *s, struct rondo_slot *slot) {
    free_op(s, slot);
    rondo_buf_fini(&slot->reply);
    rondo_buf_fini(&slot->behind);
    *slot = (struct rondo_slot){0};
}

void rondo_slots_fini(struct rondo_slots *s) {
    for (; s->head != s->tail; s->head++) slot_fini(s, at(s, s->head));
    rondo_free(s->ring);
    s->ring = NULL;
    s->cap = 0;
}

void rondo_slots_take_room(struct rondo_slots *s, struct rondo_slots_room *room) {
    if (s->ring) return;
    s->ring = room->ring;
    s->cap = room->cap;
    *room = (struct rondo_slots_room){0};
}

void rondo_slots_leave_room(struct rondo_slots *s, struct rondo_slots_room *room) {
    if (rondo_slots_count(s) > 0) return;
    if (room->ring) {
        rondo_free(s->ring);
    } else {
        room->ring = s->ring;
        room->cap = s->cap;
    }
    s->ring = NULL;
    s->cap = 0;
}

size_t rondo_slots_bytes(const struct rondo_slots *s) {
    size_t n = 0;
    for (uint64_t i = s->head; i != s->tail; i++) n += at(s, i)->reply.len + at(s, i)->behind.len;
    return n;
}

static bool shares_key(const struct rondo_slot *slot, const struct rondo_access *access) {
    const uint64_t *keys = slot->keys ? slot->keys : &slot->key;
    for (uint32_t i = 0; i < slot->n_keys; i++)
        for (size_t j = 0; j < access->n_keys; j++)
            if (keys[i] == access->keys[j]) return true;
    return false;
}

static bool conflicts(const struct rondo_slot *slot, const struct rondo_access *access,
                      size_t *n_compared) {
    if (slot->is_complete || slot->kind == RONDO_ACCESS_NONE) return false;
    if (access->kind == RONDO_ACCESS_ALL || slot->kind == RONDO_ACCESS_ALL) return true;
    if (access->kind == RONDO_ACCESS_READ && slot->kind == RONDO_ACCESS_READ) return false;
    *n_compared += slot->n_keys * access->n_keys;
    return *n_compared > COMPARED_MAX || shares_key(slot, access);
}

bool rondo_slots_may_run(const struct rondo_slots *s, const struct rondo_access *access) {
    if (access->kind == RONDO_ACCESS_NONE) return true;
    size_t n_compared = 0;
    for (uint64_t i = s->head; i != s->tail; i++)
        if (conflicts(at(s, i), access, &n_compared)) return false;
    return true;
}

enum rondo_err rondo_slots_reserve(struct rondo_slots *s, uint64_t *number) {
    uint32_t n = (uint32_t)rondo_slots_count(s);
    *number = s->tail;
    if (n < s->cap) return RONDO_OK;

    uint32_t cap = s->cap ? s->cap * 2 : FIRST_CAP;
    struct rondo_slot *ring = rondo_zalloc(cap * sizeof *ring);
    if (!ring) return RONDO_ERR_NOMEM;
    for (uint64_t i = s->head; i != s->tail; i++) ring[i & (cap - 1)] = *at(s, i);
    rondo_free(s->ring);
    s->ring = ring;
    s->cap = cap;
    return RONDO_OK;
}

void rondo_slots_open(struct rondo_slots *s, const struct rondo_access *access, void *op) {
    RONDO_CHECK(rondo_slots_count(s) < s->cap);
    struct rondo_slot *slot = at(s, s->tail++);
    *slot = (struct rondo_slot){.op = op, .kind = (uint8_t)access->kind};
    if (access->kind != RONDO_ACCESS_READ && access->kind != RONDO_ACCESS_WRITE) return;

    slot->n_keys = (uint32_t)access->n_keys;
    if (access->n_keys == 1) slot->key = access->keys[0];
    if (access->n_keys <= 1) return;
    slot->keys = rondo_alloc(access->n_keys * sizeof *slot->keys);
    if (slot->keys)
        memcpy(slot->keys, access->keys, access->n_keys * sizeof *slot->keys);
    else
        slot->kind = RONDO_ACCESS_ALL;
}

void *rondo_slots_op(const struct rondo_slots *s, uint64_t number) {
    return is_open(s, number) ? at(s, number)->op : NULL;
}

struct rondo_buf *rondo_slots_reply(struct rondo_slots *s, uint64_t number) {
    RONDO_CHECK(is_open(s, number));
    return number == s->head ? s->out : &at(s, number)->reply;
}

/* An empty output takes the buffer as it is: a large reply is not copied. */
static enum rondo_err move_to(struct rondo_buf *out, struct rondo_buf *from) {
    if (from->len == 0) return RONDO_OK;
    if (out->len == 0 && from->cap >= out->cap) {
        struct rondo_buf empty = *out;
        *out = *from;
        *from = empty;
        return RONDO_OK;
    }
    return rondo_buf_append(out, from->data, from->len);
}

enum rondo_err rondo_slots_complete(struct rondo_slots *s, uint64_t number) {
    RONDO_CHECK(is_open(s, number));
    free_op(s, at(s, number));
    at(s, number)->is_complete = true;
    s->n_ready++;

    enum rondo_err err = RONDO_OK;
    while (s->head != s->tail && at(s, s->head)->is_complete) {
        struct rondo_slot *slot = at(s, s->head);
        if (!err) err = move_to(s->out, &slot->reply);
        if (!err) err = move_to(s->out, &slot->behind);
        s->n_ready -= 1 + slot->n_behind;
        slot_fini(s, slot);
        s->head++;
    }
    /* A burst of misses is no reason to keep room for the next one. */
    if (s->head == s->tail && s->cap > KEEP_CAP) rondo_slots_fini(s);
    return err;
}
