/* SPDX-License-Identifier: MIT */
#include "server/commands.h"
#include "base/check.h"
#include "base/mem.h"
#include <strings.h>

static const struct rondo_command_family *const families[] = {
    &rondo_commands_string,     &rondo_commands_update, &rondo_commands_key,
    &rondo_commands_expire,     &rondo_commands_scan,   &rondo_commands_move,
    &rondo_commands_multi,      &rondo_commands_object, &rondo_commands_pubsub,
    &rondo_commands_connection, &rondo_commands_server, &rondo_commands_rondo};

const struct rondo_command *rondo_commands_at(size_t i) {
    for (size_t f = 0; f < RONDO_COUNT_OF(families); f++) {
        if (i < families[f]->n) return &families[f]->commands[i];
        i -= families[f]->n;
    }
    return NULL;
}

static bool is_called(const char *name, struct rondo_slice text) {
    return strlen(name) == text.len && strncasecmp(name, text.data, text.len) == 0;
}

/* FNV-1a over the lower-cased name: names are short and few, and a client gains
 * nothing by collisions, since the table holds ours alone. */
static size_t hash_name(struct rondo_slice name) {
    const unsigned char *p = name.data;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.len; i++) h = (h ^ (p[i] | 0x20u)) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32));
}

static struct rondo_slice slice_of(const char *s) {
    return (struct rondo_slice){s, strlen(s)};
}

enum rondo_err rondo_commands_init(struct rondo_commands *c) {
    *c = (struct rondo_commands){0};
    while (rondo_commands_at(c->n)) c->n++;
    c->cap = 64;
    while (c->cap < 4 * c->n) c->cap *= 2;
    c->index = rondo_zalloc(c->cap * sizeof(const struct rondo_command *));
    if (!c->index) return RONDO_ERR_NOMEM;

    const struct rondo_command *command;
    for (size_t i = 0; (command = rondo_commands_at(i)) != NULL; i++) {
        size_t at = hash_name(slice_of(command->name)) & (c->cap - 1);
        while (c->index[at]) at = (at + 1) & (c->cap - 1);
        c->index[at] = command;
    }
    return RONDO_OK;
}

void rondo_commands_fini(struct rondo_commands *c) {
    rondo_free(c->index);
    c->index = NULL;
}

const struct rondo_command *rondo_commands_find(const struct rondo_commands *c,
                                                struct rondo_slice name) {
    if (name.len > 64) return NULL;
    size_t at = hash_name(name) & (c->cap - 1);
    for (; c->index[at]; at = (at + 1) & (c->cap - 1))
        if (is_called(c->index[at]->name, name)) return c->index[at];
    return NULL;
}

const struct rondo_command *rondo_command_sub(const struct rondo_command *command,
                                              struct rondo_slice name) {
    size_t prefix = strlen(command->name) + 1;
    for (size_t i = 0; i < command->subs->n; i++)
        if (is_called(command->subs->commands[i].name + prefix, name))
            return &command->subs->commands[i];
    return NULL;
}

bool rondo_command_fits(const struct rondo_command *command, size_t argc) {
    if (command->arity >= 0) return argc == (size_t)command->arity;
    return argc >= (size_t)-command->arity;
}

size_t rondo_command_key_range(const struct rondo_command *command, size_t argc, size_t *first,
                               size_t *step) {
    const struct rondo_command_keys *k = &command->keys;
    if (k->first == 0) return 0;
    size_t last = k->last >= 0 ? (size_t)k->last : argc - (size_t)-k->last;
    *first = (size_t)k->first;
    *step = (size_t)k->step;
    return (last - *first) / *step + 1;
}
