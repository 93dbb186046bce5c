/* SPDX-License-Identifier: MIT */
#include "base/test.h"
#include "cli/args.h"

#include "base/check.h"
#include "base/clock.h"
#include <sys/mman.h>
#include <unistd.h>

static struct {
    bool loud, loud_given;
    uint64_t count, delay;
    const char *text;
    struct rondo_threads threads;
    unsigned word;
} got;

static const char *const words[] = {"red", "green", NULL};

static const struct rondo_arg options[] = {
    {.name = "loud",
     .letter = 'l',
     .kind = RONDO_ARG_FLAG,
     .out = &got.loud,
     .help = "say more",
     .given = &got.loud_given},
    {.name = "count",
     .letter = 'c',
     .kind = RONDO_ARG_COUNT,
     .out = &got.count,
     .value = "N",
     .help = "how many",
     .min = 1,
     .max = 9},
    {.name = "delay",
     .kind = RONDO_ARG_DURATION,
     .out = &got.delay,
     .value = "TIME",
     .help = "how long"},
    {.name = "text", .kind = RONDO_ARG_TEXT, .out = &got.text, .value = "T", .help = "what"},
    {.name = "threads",
     .kind = RONDO_ARG_THREADS,
     .out = &got.threads,
     .value = "N",
     .help = "threads"},
    {.name = "word",
     .kind = RONDO_ARG_CHOICE,
     .out = &got.word,
     .value = "W",
     .help = "colour",
     .choices = words},
};

static const struct rondo_args args = {.command = "try",
                                       .synopsis = "[options]",
                                       .about = "Tries.",
                                       .options = options,
                                       .n_options = RONDO_COUNT_OF(options),
                                       .max_operands = 1};

/* Parses words up to NULL and keeps what went to `stream` in `said`. */
static char said[2048];

static enum rondo_args_outcome parse(FILE *stream, int *first, char **argv) {
    int argc = 0;
    while (argv[argc]) argc++;
    memset(&got, 0, sizeof got);
    fflush(stream);
    int fd = fileno(stream), saved = dup(fd), file = memfd_create("said", MFD_CLOEXEC);
    assert_true(saved >= 0 && file >= 0);
    dup2(file, fd);
    enum rondo_args_outcome outcome = rondo_args_parse(&args, argc, argv, first);
    fflush(stream);
    dup2(saved, fd);
    ssize_t n = pread(file, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    close(file);
    close(saved);
    return outcome;
}

#define ARGV(...)                                                                                  \
    (char *[]) {                                                                                   \
        (char[]){"try"}, __VA_ARGS__, NULL                                                         \
    }
#define W(text)                                                                                    \
    (char[]) {                                                                                     \
        text                                                                                       \
    }

static void test_all_kinds(void **state) {
    (void)state;
    int first;
    char **argv = ARGV(W("-l"), W("operand"), W("--count=7"), W("--delay"), W("250ms"), W("--text"),
                       W("hi"), W("--threads"), W("4"), W("--word"), W("green"));
    assert_int_equal(parse(stderr, &first, argv), RONDO_ARGS_RUN);
    assert_true(got.loud && got.loud_given);
    assert_int_equal(got.count, 7);
    assert_int_equal(got.delay, 250 * RONDO_MS);
    assert_string_equal(got.text, "hi");
    assert_int_equal(got.threads.kind, RONDO_THREADS_FIXED);
    assert_int_equal(got.threads.max, 4);
    assert_int_equal(got.word, 1);
    assert_string_equal(argv[first], "operand");
    assert_string_equal(said, "");
}

static void test_threads_words(void **state) {
    (void)state;
    int first;
    assert_int_equal(parse(stderr, &first, ARGV(W("--threads"), W("0"))), RONDO_ARGS_RUN);
    assert_int_equal(got.threads.kind, RONDO_THREADS_NONE);
    assert_int_equal(parse(stderr, &first, ARGV(W("--threads"), W("auto"))), RONDO_ARGS_RUN);
    assert_int_equal(got.threads.kind, RONDO_THREADS_AUTO);
}

static void expect_mistake(char **argv, const char *text) {
    int first;
    assert_int_equal(parse(stderr, &first, argv), RONDO_ARGS_USAGE);
    if (strstr(said, text) == NULL) fail_msg("no '%s' in '%s'", text, said);
    assert_non_null(strstr(said, "; see rondo try --help\n"));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void test_mistakes(void **state) {
    (void)state;
    expect_mistake(ARGV(W("--count"), W("0")),
                   "rondo try: --count 0: a whole number from 1 to 9 is wanted");
    expect_mistake(ARGV(W("-c"), W("10")), "--count 10: ");
    expect_mistake(ARGV(W("-c"), W("-1")), "--count -1: ");
    expect_mistake(ARGV(W("-c"), W("3x")), "--count 3x: ");
    expect_mistake(ARGV(W("-c"), W("99999999999999999999")), "--count 99999999999999999999: ");
    expect_mistake(ARGV(W("--threads"), W("-1")), "--threads -1: auto, 0 or a number");
    expect_mistake(ARGV(W("--threads"), W("2..4")), "--threads 2..4: auto, 0 or a number");
    expect_mistake(ARGV(W("--delay"), W("5")), "--delay 5: ");
    expect_mistake(ARGV(W("--word"), W("blue")), "--word blue: one of red, green is wanted");
    expect_mistake(ARGV(W("--nope")), "unknown option --nope");
    expect_mistake(ARGV(W("-x")), "unknown option -x");
    expect_mistake(ARGV(W("--text")), "--text: a value is wanted");
    expect_mistake(ARGV(W("a"), W("b")), "unexpected argument 'b'");
}

static void test_help(void **state) {
    (void)state;
    int first;
    assert_int_equal(parse(stdout, &first, ARGV(W("--help"))), RONDO_ARGS_HELP);
    assert_non_null(strstr(said, "usage: rondo try [options]\n\nTries.\n"));
    for (size_t i = 0; i < RONDO_COUNT_OF(options); i++) {
        assert_non_null(strstr(said, options[i].name));
        assert_non_null(strstr(said, options[i].help));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_threads_words),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
