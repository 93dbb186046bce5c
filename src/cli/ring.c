/* SPDX-License-Identifier: MIT */
/* The subcommand `rondo ring`: options, the article's lines, the summary. */
#include "cli/ring.h"

#include "base/check.h"
#include "base/clock.h"
#include "cli/args.h"
#include "cli/cli.h"
#include <jansson.h>
#include <stdarg.h>

struct ring_cli {
    struct rondo_ring_options ring;
    bool thread_per_node, json, quiet, threads_given;
    bool compare, full, budget_given;
    uint64_t budget_ns;
};

enum { MAX_NODES = 100000000, STALL_S = 10, BUDGET_S = 20 };

uint64_t rondo_ring_wall_ms(void) {
    return rondo_clock_wall(&rondo_clock_real) / RONDO_MS;
}

void rondo_ring_log(FILE *out, uint64_t node, const char *fmt, ...) {
    if (out == NULL) return;
    char text[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(out, "%llu %llu: %s\n", (unsigned long long)rondo_ring_wall_ms(),
            (unsigned long long)node, text);
}

static void print_json(const struct ring_cli *cli, const struct rondo_ring_result *r) {
    const struct rondo_ring_options *o = &cli->ring;
    json_t *j = json_pack("{s:I, s:I, s:I, s:i, s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "nodes",
                          (json_int_t)o->nodes, "rounds", (json_int_t)o->rounds, "tokens",
                          (json_int_t)o->tokens, "threads", (int)r->threads, "design",
                          cli->thread_per_node ? "thread-per-node" : "actors", "messages",
                          (json_int_t)r->messages, "control_messages", (json_int_t)r->control,
                          "dropped", (json_int_t)r->dropped, "construct_ms", r->construct_ms,
                          "elapsed_ms", r->elapsed_ms, "ns_per_message", r->ns_per_message);
    RONDO_CHECK(j != NULL);
    json_dumpf(j, stdout, JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(j);
}

static void print_summary(const struct ring_cli *cli, const struct rondo_ring_result *r) {
    char who[48];
    if (cli->thread_per_node)
        snprintf(who, sizeof who, "a thread per node");
    else
        snprintf(who, sizeof who, "%u worker%s", r->threads, r->threads == 1 ? "" : "s");
    printf("%llu messages in %.1f ms: %.1f ns per message, %.1f million a second, %s"
           " (and %llu control messages, %llu dropped as expected)\n",
           (unsigned long long)r->messages, r->elapsed_ms, r->ns_per_message,
           1e3 / r->ns_per_message, who, (unsigned long long)r->control,
           (unsigned long long)r->dropped);
}

static int failed(const struct ring_cli *cli, enum rondo_err err) {
    bool plain = cli->thread_per_node || cli->compare;
    fprintf(stderr, "rondo ring: %s%s\n", rondo_err_text(err),
            plain && err == RONDO_ERR_SYSTEM ? ": cannot have that many threads; fewer --nodes"
                                             : "");
    return RONDO_EXIT_FAILED;
}

static int check(const struct ring_cli *cli, const struct rondo_args *args) {
    const struct rondo_ring_options *o = &cli->ring;
    if (o->tokens > o->nodes)
        return rondo_args_mistake(args, "--tokens %llu: at most one a node, so 1 to %llu",
                                  (unsigned long long)o->tokens, (unsigned long long)o->nodes);
    if (cli->thread_per_node && cli->threads_given)
        return rondo_args_mistake(args, "--thread-per-node and --threads exclude each other");
    uint64_t messages;
    if (__builtin_mul_overflow(o->nodes * o->tokens, o->rounds, &messages))
        return rondo_args_mistake(args, "--nodes x --tokens x --rounds: more than 2^64 messages");
    if (cli->thread_per_node && o->is_spread)
        return rondo_args_mistake(args, "--thread-per-node and --spread exclude each other");
    if (cli->compare && (cli->thread_per_node || cli->threads_given || o->is_spread))
        return rondo_args_mistake(args, "--compare chooses the threads: leave out --threads, "
                                        "--thread-per-node and --spread");
    if (!cli->compare && (cli->full || cli->budget_given))
        return rondo_args_mistake(args, "--budget and --full go with --compare");
    return RONDO_EXIT_DONE;
}

static int run(struct ring_cli *cli) {
    struct rondo_ring_options *o = &cli->ring;
    struct rondo_progress progress;
    rondo_progress_init(&progress, "rounds", !cli->quiet);
    o->progress = &progress;
    if (cli->compare) {
        enum rondo_err err = rondo_ring_compare(o, cli->full ? 0 : cli->budget_ns, cli->json);
        return err ? failed(cli, err) : RONDO_EXIT_DONE;
    }
    o->out = cli->json || cli->quiet ? NULL : stdout;
    struct rondo_ring_result result;
    enum rondo_err err =
        cli->thread_per_node ? rondo_ring_run_plain(o, &result) : rondo_ring_run(o, &result);
    if (err) return failed(cli, err);
    if (cli->json)
        print_json(cli, &result);
    else
        print_summary(cli, &result);
    return RONDO_EXIT_DONE;
}

/* Long because the table of options is: one place for parsing, checks and help. */
int rondo_cli_ring(int argc, char **argv) {
    struct ring_cli cli = {
        .ring = {.nodes = 100, .rounds = 1000000, .tokens = 1, .stall_ns = STALL_S * RONDO_SEC},
        .budget_ns = BUDGET_S * RONDO_SEC};
    const struct rondo_arg options[] = {
        {.name = "nodes",
         .letter = 'n',
         .kind = RONDO_ARG_COUNT,
         .out = &cli.ring.nodes,
         .value = "N",
         .help = "nodes in the ring (100)",
         .min = 1,
         .max = MAX_NODES},
        {.name = "rounds",
         .letter = 'r',
         .kind = RONDO_ARG_COUNT,
         .out = &cli.ring.rounds,
         .value = "R",
         .help = "rounds that each token makes (1000000)",
         .min = 1},
        {.name = "tokens",
         .letter = 'k',
         .kind = RONDO_ARG_COUNT,
         .out = &cli.ring.tokens,
         .value = "K",
         .help = "tokens, at most one a node (1)",
         .min = 1},
        {.name = "threads",
         .letter = 't',
         .kind = RONDO_ARG_THREADS,
         .out = &cli.ring.threads,
         .value = "N",
         .help = "workers: a number, auto (one a core), 0 (the calling thread) (auto)",
         .given = &cli.threads_given},
        {.name = "thread-per-node",
         .kind = RONDO_ARG_FLAG,
         .out = &cli.thread_per_node,
         .help = "the plain design: a thread and a blocking queue per node"},
        {.name = "spread",
         .kind = RONDO_ARG_FLAG,
         .out = &cli.ring.is_spread,
         .help = "pin the nodes to the workers in turn: every hop changes the worker"},
        {.name = "compare",
         .kind = RONDO_ARG_FLAG,
         .out = &cli.compare,
         .help = "the article's five rows beside ours"},
        {.name = "budget",
         .kind = RONDO_ARG_DURATION,
         .out = &cli.budget_ns,
         .value = "TIME",
         .help = "of --compare: how long the thread per node may take (20s)",
         .given = &cli.budget_given},
        {.name = "full",
         .kind = RONDO_ARG_FLAG,
         .out = &cli.full,
         .help = "of --compare: all rounds of the thread per node, however long"},
        {.name = "json",
         .kind = RONDO_ARG_FLAG,
         .out = &cli.json,
         .help = "print one JSON object and nothing else"},
        {.name = "quiet",
         .letter = 'q',
         .kind = RONDO_ARG_FLAG,
         .out = &cli.quiet,
         .help = "print the summary line only"},
    };
    const struct rondo_args args = {
        .command = "ring",
        .synopsis = "[options]",
        .about = "Passes tokens round a ring of actors and says what a message costs.",
        .examples = "  rondo ring                               100 million messages\n"
                    "  rondo ring --threads 4                   the same on four workers\n"
                    "  rondo ring --nodes 1000 --tokens 100     many tokens at once\n"
                    "  rondo ring --spread --threads 2          every hop crosses the cores\n"
                    "  rondo ring --compare                     the article's table and ours\n",
        .options = options,
        .n_options = RONDO_COUNT_OF(options),
    };
    int first;
    enum rondo_args_outcome outcome = rondo_args_parse(&args, argc, argv, &first);
    if (outcome != RONDO_ARGS_RUN)
        return outcome == RONDO_ARGS_HELP ? RONDO_EXIT_DONE : RONDO_EXIT_USAGE;
    int code = check(&cli, &args);
    return code == RONDO_EXIT_DONE ? run(&cli) : code;
}
