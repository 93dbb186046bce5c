/* SPDX-License-Identifier: MIT */
/* Publish and subscribe: all of it is asked of the hub. */
#include "server/exec.h"
#include "server/hub.h"
#include "server/session.h"

static void finish_text(struct rondo_op *op, struct rondo_resp_writer *w) {
    if (op->text.len > 0)
        rondo_resp_write_raw(w, op->text.data, op->text.len);
    else
        rondo_resp_write_error(w, "OOM out of memory");
}

static void finish_leave(struct rondo_op *op, struct rondo_resp_writer *w) {
    rondo_resp_write_simple(w, op->a ? "OK" : "RESET");
}

static enum rondo_run ask(struct rondo_cmd *call, enum rondo_hub_verb verb, size_t first_arg) {
    struct rondo_session *s = call->session;
    struct rondo_hub_question q = {.verb = verb,
                                   .from = s->actor,
                                   .client = s->client->id,
                                   .id = rondo_cmd_completion(call, 0).id,
                                   .proto = s->proto,
                                   .args = call->argv + first_arg,
                                   .n_args = call->argc - first_arg};
    if (call->exec) return rondo_exec_ask(call, &q);
    if (rondo_hub_ask(s->service->hub, &q) != RONDO_OK)
        return rondo_cmd_error(call, "OOM out of memory");
    call->op->finish = finish_text;
    call->op->waiting = 1;
    return RONDO_RUN_WAIT;
}

/* The hub's answer comes after all that was sent to it before the question. */
enum rondo_run rondo_command_leave(struct rondo_cmd *call) {
    enum rondo_run run = ask(call, RONDO_HUB_NUMPAT, call->argc);
    if (run != RONDO_RUN_WAIT) return run;
    call->op->finish = finish_leave;
    call->op->a = call->session->is_quitting;
    call->session->is_subscribing = true;
    return run;
}

/* What follows on this connection depends on whether it listens: it waits. */
static enum rondo_run ask_first(struct rondo_cmd *call, enum rondo_hub_verb verb) {
    struct rondo_session *s = call->session;
    if (!s->leave) s->leave = rondo_hub_leave_new(s->client->id);
    if (!s->leave) return rondo_cmd_error(call, "OOM out of memory");
    enum rondo_run run = ask(call, verb, 1);
    s->is_subscribing = run == RONDO_RUN_WAIT;
    return run;
}

static enum rondo_run run_subscribe(struct rondo_cmd *call) {
    return ask_first(call, RONDO_HUB_SUBSCRIBE);
}
static enum rondo_run run_psubscribe(struct rondo_cmd *call) {
    return ask_first(call, RONDO_HUB_PSUBSCRIBE);
}
static enum rondo_run run_unsubscribe(struct rondo_cmd *call) {
    return ask_first(call, RONDO_HUB_UNSUBSCRIBE);
}
static enum rondo_run run_punsubscribe(struct rondo_cmd *call) {
    return ask_first(call, RONDO_HUB_PUNSUBSCRIBE);
}

static enum rondo_run run_publish(struct rondo_cmd *call) {
    return ask(call, RONDO_HUB_PUBLISH, 1);
}

static enum rondo_run run_channels(struct rondo_cmd *call) {
    if (call->argc > 3)
        return rondo_cmd_error(call, "ERR unknown subcommand or wrong number of arguments for "
                                     "'CHANNELS'. Try PUBSUB HELP.");
    return ask(call, RONDO_HUB_CHANNELS, 2);
}

static enum rondo_run run_numsub(struct rondo_cmd *call) {
    return ask(call, RONDO_HUB_NUMSUB, 2);
}

static enum rondo_run run_numpat(struct rondo_cmd *call) {
    return ask(call, RONDO_HUB_NUMPAT, 2);
}

static enum rondo_run run_help(struct rondo_cmd *call) {
    static const char *const lines[] = {
        "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CHANNELS [<pattern>]",
        "    Return the currently active channels matching a <pattern> (default: '*').",
        "NUMPAT",
        "    Return number of subscriptions to patterns.",
        "NUMSUB [<channel> ...]",
        "    Return the number of subscribers for the specified channels, excluding",
        "    pattern subscriptions(default: no channels).",
        "HELP",
        "    Print this help.",
    };
    return rondo_cmd_help(call, lines, RONDO_COUNT_OF(lines));
}

#define PUBSUB(name, arity, flags, since, summary, run)                                            \
    { name, arity, RONDO_COMMAND_ASKS | (flags), {0, 0, 0}, "pubsub", since, summary, run, NULL }

/* A block is answered as a whole, and what it would answer depends on this. */
enum { LISTENING = RONDO_COMMAND_LISTENING | RONDO_COMMAND_NO_MULTI };

static const struct rondo_command pubsub_table[] = {
    PUBSUB("pubsub|channels", -2, 0, "2.8.0", "List active channels", run_channels),
    PUBSUB("pubsub|numsub", -2, 0, "2.8.0", "Get the count of subscribers for channels",
           run_numsub),
    PUBSUB("pubsub|numpat", 2, 0, "2.8.0", "Get the count of unique patterns pattern subscriptions",
           run_numpat),
    {"pubsub|help",
     2,
     0,
     {0, 0, 0},
     "pubsub",
     "6.2.0",
     "Show helpful text about the different subcommands",
     run_help,
     NULL},
};
static const struct rondo_command_family pubsub_subs = {pubsub_table, RONDO_COUNT_OF(pubsub_table)};

static const struct rondo_command table[] = {
    PUBSUB("subscribe", -2, LISTENING, "2.0.0",
           "Listen for messages published to the given channels", run_subscribe),
    PUBSUB("unsubscribe", -1, LISTENING, "2.0.0",
           "Stop listening for messages posted to the given channels", run_unsubscribe),
    PUBSUB("psubscribe", -2, LISTENING, "2.0.0",
           "Listen for messages published to channels matching the given patterns", run_psubscribe),
    PUBSUB("punsubscribe", -1, LISTENING, "2.0.0",
           "Stop listening for messages posted to channels matching the given patterns",
           run_punsubscribe),
    PUBSUB("publish", 3, RONDO_COMMAND_FAST, "2.0.0", "Post a message to a channel", run_publish),
    {"pubsub",
     -2,
     0,
     {0, 0, 0},
     "pubsub",
     "2.8.0",
     "A container for Pub/Sub commands",
     NULL,
     &pubsub_subs},
};

const struct rondo_command_family rondo_commands_pubsub = {table, RONDO_COUNT_OF(table)};
