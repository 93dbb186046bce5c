/* SPDX-License-Identifier: MIT */
/* COMMAND: the table of commands as clients read it. */
#include "server/glob.h"
#include "server/session.h"

static size_t count_all(const struct rondo_cmd *call) {
    return call->session->service->commands.n;
}

static const struct rondo_command *find(const struct rondo_cmd *call, struct rondo_slice name) {
    const char *bar = name.len ? memchr(name.data, '|', name.len) : NULL;
    if (!bar) return rondo_commands_find(&call->session->service->commands, name);
    size_t n = (size_t)(bar - (const char *)name.data);
    const struct rondo_command *parent =
        rondo_commands_find(&call->session->service->commands, rondo_slice_of(name.data, n));
    if (!parent || !parent->subs) return NULL;
    return rondo_command_sub(parent, rondo_slice_of(bar + 1, name.len - n - 1));
}

/* ---- COMMAND INFO ----------------------------------------------------------------- */

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    {RONDO_COMMAND_READ, "readonly"},    {RONDO_COMMAND_WRITE, "write"},
    {RONDO_COMMAND_DENY_OOM, "denyoom"}, {RONDO_COMMAND_ADMIN, "admin"},
    {RONDO_COMMAND_NO_AUTH, "no_auth"},  {RONDO_COMMAND_FAST, "fast"},
};

static void write_flags(struct rondo_resp_writer *w, unsigned flags) {
    size_t n = 0;
    for (size_t i = 0; i < RONDO_COUNT_OF(flag_names); i++) n += (flags & flag_names[i].flag) != 0;
    rondo_resp_write_set(w, n);
    for (size_t i = 0; i < RONDO_COUNT_OF(flag_names); i++)
        if (flags & flag_names[i].flag) rondo_resp_write_simple(w, flag_names[i].name);
}

static void write_categories(struct rondo_resp_writer *w, const struct rondo_command *c) {
    char group[32];
    (void)snprintf(group, sizeof group, "@%s",
                   strcmp(c->group, "generic") == 0 ? "keyspace" : c->group);
    rondo_resp_write_set(w, 2);
    rondo_resp_write_simple(w, group);
    rondo_resp_write_simple(w, c->flags & RONDO_COMMAND_FAST ? "@fast" : "@slow");
}

static void write_pair(struct rondo_resp_writer *w, const char *name, int value) {
    rondo_resp_write_bulk_str(w, name);
    rondo_resp_write_int(w, value);
}

static void write_key_specs(struct rondo_resp_writer *w, const struct rondo_command *c) {
    const struct rondo_command_keys *k = &c->keys;
    rondo_resp_write_set(w, k->first ? 1 : 0);
    if (!k->first) return;
    rondo_resp_write_map(w, 3);
    rondo_resp_write_bulk_str(w, "flags");
    rondo_resp_write_set(w, 1);
    rondo_resp_write_simple(w, c->flags & RONDO_COMMAND_WRITE ? "RW" : "RO");
    rondo_resp_write_bulk_str(w, "begin_search");
    rondo_resp_write_map(w, 2);
    rondo_resp_write_bulk_str(w, "type");
    rondo_resp_write_bulk_str(w, "index");
    rondo_resp_write_bulk_str(w, "spec");
    rondo_resp_write_map(w, 1);
    write_pair(w, "index", k->first);
    rondo_resp_write_bulk_str(w, "find_keys");
    rondo_resp_write_map(w, 2);
    rondo_resp_write_bulk_str(w, "type");
    rondo_resp_write_bulk_str(w, "range");
    rondo_resp_write_bulk_str(w, "spec");
    rondo_resp_write_map(w, 3);
    /* counted from the first key, as Redis has it */
    write_pair(w, "lastkey", k->last < 0 ? k->last : k->last - k->first);
    write_pair(w, "keystep", k->step);
    write_pair(w, "limit", 0);
}

static void write_entry(struct rondo_resp_writer *w, const struct rondo_command *c) {
    rondo_resp_write_array(w, 10);
    rondo_resp_write_bulk_str(w, c->name);
    rondo_resp_write_int(w, c->arity);
    write_flags(w, c->flags);
    rondo_resp_write_int(w, c->keys.first);
    rondo_resp_write_int(w, c->keys.last);
    rondo_resp_write_int(w, c->keys.step);
    write_categories(w, c);
    rondo_resp_write_set(w, 0); /* tips */
    write_key_specs(w, c);
}

/* Sub-commands have none of their own: two levels, no recursion. */
static void write_info(struct rondo_resp_writer *w, const struct rondo_command *c) {
    write_entry(w, c);
    rondo_resp_write_set(w, c->subs ? c->subs->n : 0);
    for (size_t i = 0; c->subs && i < c->subs->n; i++) {
        write_entry(w, &c->subs->commands[i]);
        rondo_resp_write_set(w, 0);
    }
}

enum rondo_run rondo_command_run_command(struct rondo_cmd *call) {
    rondo_resp_write_array(&call->w, count_all(call));
    const struct rondo_command *c;
    for (size_t i = 0; (c = rondo_commands_at(i)); i++) write_info(&call->w, c);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_info(struct rondo_cmd *call) {
    if (call->argc == 2) return rondo_command_run_command(call);
    rondo_resp_write_array(&call->w, call->argc - 2);
    for (size_t i = 2; i < call->argc; i++) {
        const struct rondo_command *c = find(call, call->argv[i]);
        if (c)
            write_info(&call->w, c);
        else
            rondo_resp_write_null(&call->w);
    }
    return RONDO_RUN_DONE;
}

/* ---- the others ------------------------------------------------------------------- */

static void write_text(struct rondo_resp_writer *w, const char *name, const char *value) {
    rondo_resp_write_bulk_str(w, name);
    rondo_resp_write_bulk_str(w, value);
}

static void write_doc(struct rondo_resp_writer *w, const struct rondo_command *c, bool with_subs) {
    rondo_resp_write_bulk_str(w, c->name);
    rondo_resp_write_map(w, with_subs ? 4 : 3);
    write_text(w, "summary", c->summary);
    write_text(w, "since", c->since);
    write_text(w, "group", c->group);
    if (with_subs) rondo_resp_write_bulk_str(w, "subcommands");
}

static void write_docs(struct rondo_resp_writer *w, const struct rondo_command *c) {
    write_doc(w, c, c->subs != NULL);
    if (!c->subs) return;
    rondo_resp_write_map(w, c->subs->n);
    for (size_t i = 0; i < c->subs->n; i++) write_doc(w, &c->subs->commands[i], false);
}

static enum rondo_run run_docs(struct rondo_cmd *call) {
    const struct rondo_command *c;
    if (call->argc == 2) {
        rondo_resp_write_map(&call->w, count_all(call));
        for (size_t i = 0; (c = rondo_commands_at(i)); i++) write_docs(&call->w, c);
        return RONDO_RUN_DONE;
    }
    size_t n = 0;
    for (size_t i = 2; i < call->argc; i++) n += find(call, call->argv[i]) != NULL;
    rondo_resp_write_map(&call->w, n);
    for (size_t i = 2; i < call->argc; i++)
        if ((c = find(call, call->argv[i]))) write_docs(&call->w, c);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_count(struct rondo_cmd *call) {
    rondo_resp_write_int(&call->w, (int64_t)count_all(call));
    return RONDO_RUN_DONE;
}

/* FILTERBY MODULE x (there are none), ACLCAT x, PATTERN x. */
static bool is_listed(const struct rondo_cmd *call, const struct rondo_command *c) {
    if (call->argc == 2) return true;
    if (rondo_cmd_is(call, 3, "PATTERN"))
        return rondo_glob_match(call->argv[4], rondo_slice_str(c->name), true);
    if (rondo_cmd_is(call, 3, "ACLCAT")) {
        const char *category = strcmp(c->group, "generic") == 0 ? "keyspace" : c->group;
        return rondo_cmd_is(call, 4, category) ||
               rondo_cmd_is(call, 4, c->flags & RONDO_COMMAND_FAST ? "fast" : "slow");
    }
    return false;
}

static enum rondo_run run_list(struct rondo_cmd *call) {
    bool has_filter = call->argc == 5 && rondo_cmd_is(call, 2, "FILTERBY") &&
                      (rondo_cmd_is(call, 3, "PATTERN") || rondo_cmd_is(call, 3, "ACLCAT") ||
                       rondo_cmd_is(call, 3, "MODULE"));
    if (call->argc != 2 && !has_filter) return rondo_cmd_syntax_error(call);
    const struct rondo_command *c;
    size_t n = 0;
    for (size_t i = 0; (c = rondo_commands_at(i)); i++) n += is_listed(call, c);
    rondo_resp_write_array(&call->w, n);
    for (size_t i = 0; (c = rondo_commands_at(i)); i++)
        if (is_listed(call, c)) rondo_resp_write_bulk_str(&call->w, c->name);
    return RONDO_RUN_DONE;
}

static enum rondo_run run_getkeys(struct rondo_cmd *call) {
    const struct rondo_command *c = find(call, call->argv[2]);
    size_t argc = call->argc - 2, first = 0, step = 0;
    if (!c) return rondo_cmd_error(call, "ERR Invalid command specified");
    if (c->keys.first == 0) return rondo_cmd_error(call, "ERR The command has no key arguments");
    if (!rondo_command_fits(c, argc))
        return rondo_cmd_error(call, "ERR Invalid number of arguments specified for command");
    size_t n = rondo_command_key_range(c, argc, &first, &step);
    rondo_resp_write_array(&call->w, n);
    for (size_t i = 0; i < n; i++) {
        struct rondo_slice key = call->argv[2 + first + i * step];
        rondo_resp_write_bulk(&call->w, key.data, key.len);
    }
    return RONDO_RUN_DONE;
}

#define COMMAND(name, arity, since, summary, run)                                                  \
    { "command|" name, arity, 0, {0, 0, 0}, "server", since, summary, run, NULL }

static const struct rondo_command table[] = {
    COMMAND("count", 2, "2.8.13", "Get total number of commands", run_count),
    COMMAND("info", -2, "2.8.13", "Get array of specific command details", run_info),
    COMMAND("docs", -2, "7.0.0", "Get array of specific command documentation", run_docs),
    COMMAND("list", -2, "7.0.0", "Get an array of command names", run_list),
    COMMAND("getkeys", -4, "2.8.13", "Extract keys given a full command", run_getkeys),
};

const struct rondo_command_family rondo_commands_command = {table, RONDO_COUNT_OF(table)};
