/* SPDX-License-Identifier: MIT */
#include "source/script.h"

#include "base/check.h"
#include "base/mem.h"
#include "source/quantity.h"

/* ---------------------------------------------------------------- rules --- */

static const char allowed[] =
    "off, always, P%, every N, turn N, turns A..B or turns A.. (turns are a key's loads, from 1)";

/* What follows `word` and a space, NULL if the text begins otherwise. */
static const char *after(const char *text, const char *word) {
    size_t len = strlen(word);
    return strncmp(text, word, len) == 0 && text[len] == ' ' ? text + len + 1 : NULL;
}

static bool positive(const char *text, uint64_t *n) {
    return rondo_quantity_count(text, n) == NULL && *n > 0;
}

static const char *parse_range(const char *text, struct rondo_script_rule *rule) {
    char first[24];
    const char *dots = strstr(text, "..");
    if (!dots || (size_t)(dots - text) >= sizeof first) return allowed;
    snprintf(first, sizeof first, "%.*s", (int)(dots - text), text);
    struct rondo_script_rule r = {RONDO_SCRIPT_TURNS, 0, UINT64_MAX};
    if (!positive(first, &r.a)) return allowed;
    if (dots[2] && (!positive(dots + 2, &r.b) || r.b < r.a)) return allowed;
    *rule = r;
    return NULL;
}

const char *rondo_script_parse(const char *text, struct rondo_script_rule *rule) {
    struct rondo_script_rule r = {RONDO_SCRIPT_OFF, 0, 0};
    unsigned percent;
    const char *rest;
    if ((rest = after(text, "turns"))) return parse_range(rest, rule);
    if (strcmp(text, "off") == 0) {
        r.kind = RONDO_SCRIPT_OFF;
    } else if (strcmp(text, "always") == 0) {
        r = (struct rondo_script_rule){RONDO_SCRIPT_TURNS, 1, UINT64_MAX};
    } else if ((rest = after(text, "every"))) {
        r.kind = RONDO_SCRIPT_EVERY;
        if (!positive(rest, &r.a)) return allowed;
    } else if ((rest = after(text, "turn"))) {
        r.kind = RONDO_SCRIPT_TURNS;
        if (!positive(rest, &r.a)) return allowed;
        r.b = r.a;
    } else if (!rondo_quantity_percent(text, &percent)) {
        r.kind = RONDO_SCRIPT_CHANCE;
        r.a = percent;
    } else {
        return allowed;
    }
    *rule = r;
    return NULL;
}

bool rondo_script_applies(const struct rondo_script_rule *rule, uint64_t turn, uint64_t draw) {
    switch (rule->kind) {
    case RONDO_SCRIPT_CHANCE:
        return draw % 100 < rule->a;
    case RONDO_SCRIPT_EVERY:
        return turn % rule->a == 0;
    case RONDO_SCRIPT_TURNS:
        return turn >= rule->a && turn <= rule->b;
    case RONDO_SCRIPT_OFF:
        break;
    }
    return false;
}

/* ---------------------------------------------------------------- turns --- */

struct rondo_script_count {
    uint64_t hash; /* 0: free */
    uint64_t n;
};

void rondo_script_turns_init(struct rondo_script_turns *t) {
    *t = (struct rondo_script_turns){0};
    rondo_mutex_init(&t->mu);
}

void rondo_script_turns_fini(struct rondo_script_turns *t) {
    rondo_free(t->slots);
    rondo_mutex_fini(&t->mu);
}

static struct rondo_script_count *slot_of(struct rondo_script_count *slots, size_t n_slots,
                                          uint64_t hash) {
    size_t i = hash & (n_slots - 1);
    while (slots[i].hash != 0 && slots[i].hash != hash) i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static enum rondo_err grow_locked(struct rondo_script_turns *t) {
    size_t n = t->n_slots ? t->n_slots * 2 : 64, size;
    if (t->n_used + 1 <= t->n_slots / 4 * 3) return RONDO_OK;
    if (!rondo_size_mul(n, sizeof *t->slots, &size)) return RONDO_ERR_NOMEM;
    struct rondo_script_count *slots = rondo_zalloc(size);
    if (!slots) return RONDO_ERR_NOMEM;
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].hash) *slot_of(slots, n, t->slots[i].hash) = t->slots[i];
    rondo_free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    return RONDO_OK;
}

enum rondo_err rondo_script_turns_next(struct rondo_script_turns *t, uint64_t hash,
                                       uint64_t *turn) {
    if (hash == 0) hash = 1;
    rondo_mutex_lock(&t->mu);
    enum rondo_err err = grow_locked(t);
    if (!err) {
        struct rondo_script_count *slot = slot_of(t->slots, t->n_slots, hash);
        if (slot->hash == 0) t->n_used++;
        slot->hash = hash;
        *turn = ++slot->n;
    }
    rondo_mutex_unlock(&t->mu);
    return err;
}
