/* SPDX-License-Identifier: MIT */
#include "source/exec.h"

#include "base/mem.h"
#include "base/sync.h"
#include "source/load_fixture.h"
#include "source/source.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const params[] = {"id"};

struct opened {
    struct rondo_source source;
    void *connection;
};

static struct opened open_exec(const char *const *pairs) {
    struct opened o;
    struct fixture_config f;
    struct rondo_source_error why;
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = rondo_source_open("exec", &f.config, NULL, &o.source);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(err, RONDO_OK);
    assert_int_equal(o.source.ops->connect(o.source.self, &why, &o.connection), RONDO_OK);
    return o;
}

static void shut(struct opened *o) {
    o->source.ops->disconnect(o->connection);
    rondo_source_close(&o->source);
}

static void check_slice(const char *command, struct rondo_slice id, const char *expected) {
    const char *const pairs[] = {"command", command, NULL};
    struct opened o = open_exec(pairs);
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    f.keys[0].client = rondo_slice_str("Ann");
    o.source.ops->load(o.connection, &f.load);
    assert_int_equal(f.n_answers, 1);
    assert_string_equal(f.answers[0], expected);
    shut(&o);
}

static void check(const char *command, const char *id, const char *expected) {
    check_slice(command, rondo_slice_str(id), expected);
}

/* ------------------------------------------------------------------- values --- */

static void test_output_is_the_value(void **state) {
    (void)state;
    check("echo {id}", "42", "=42");
    check("printf %s {id}", "42", "=42");
    check("printf 'a\\n\\n'", "42", "=a\n");
    check("true", "42", "=");
    check("echo user:{id} by {client}", "42", "=user:42 by Ann");
    check("cat", "42", "="); /* its input is empty */
}

static void test_the_last_newline_can_stay(void **state) {
    (void)state;
    const char *const pairs[] = {"command", "echo {id}", "newline", "yes", NULL};
    struct opened o = open_exec(pairs);
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "=1\n");
    shut(&o);
}

static void test_a_value_is_one_argument(void **state) {
    (void)state;
    static const char show[] = "sh -c 'for a; do echo \"<$a>\"; done' sh {id} 'two words' \"it's\"";
    check(show, "1", "=<1>\n<two words>\n<it's>");
    check(show, "a b", "=<a b>\n<two words>\n<it's>");
    check(show, "", "=<>\n<two words>\n<it's>");
    check(show, "$(id); rm -rf / `id` | x > y",
          "=<$(id); rm -rf / `id` | x > y>\n<two words>\n<it's>");
    check(show, "' \" {id} \\", "=<' \" {id} \\>\n<two words>\n<it's>");
    check(show, "line\nline", "=<line\nline>\n<two words>\n<it's>");
    check("echo pre{id}post", "-n", "=pre-npost");
    check_slice("echo {id}", rondo_slice_of("a\0b", 3),
                "LOAD: a NUL byte cannot be in an argument");
}

static void test_a_large_output(void **state) {
    (void)state;
    const char *const pairs[] = {"command", "head -c {id} /dev/zero", "max_output", "1mb", NULL};
    struct opened o = open_exec(pairs);
    struct rondo_slice id = rondo_slice_str("1048576");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "=");
    id = rondo_slice_str("1048577");
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "LOAD: wrote more than max_output (1048576 bytes)");
    shut(&o);
}

/* ----------------------------------------------------------------- failures --- */

static void test_exit_codes(void **state) {
    (void)state;
    check("sh -c 'exit {id}'", "44", "absent");
    check("sh -c 'echo half; exit {id}'", "44", "absent");
    check("sh -c 'exit {id}'", "1", "LOAD: exit code 1");
    check("sh -c 'echo half; echo no such user >&2; echo more >&2; exit 3'", "1",
          "LOAD: exit code 3: no such user");
    check("sh -c 'printf \"a\\tb\\033[2J\" >&2; exit 3'", "1", "LOAD: exit code 3: a?b?[2J");
    check("sh -c 'kill -9 $$'", "1", "LOAD: killed by signal 9 (Killed)");
    check("sh -c 'head -c 300000 /dev/zero >&2; echo fine'", "1", "=fine");
}

static void test_another_absent_code(void **state) {
    (void)state;
    const char *const pairs[] = {"command", "sh -c 'exit {id}'", "absent", "1", NULL};
    struct opened o = open_exec(pairs);
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "absent");
    id = rondo_slice_str("44");
    fixture_load_init(&f, 1, &id);
    o.source.ops->load(o.connection, &f.load);
    assert_string_equal(f.answers[0], "LOAD: exit code 44");
    shut(&o);
}

static void test_a_program_that_is_not_there(void **state) {
    (void)state;
    check("rondo-no-such-program {id}", "1",
          "LOAD: rondo-no-such-program: No such file or directory");
}

/* A fifo whose write end a child's grandchild holds: it hangs up when that is dead. */
static void test_the_time_limit_ends_the_whole_group(void **state) {
    (void)state;
    char dir[] = "/tmp/rondo-exec-XXXXXX", fifo[64], command[256];
    assert_non_null(mkdtemp(dir));
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(command, sizeof command, "sh -c '(exec >%s; echo up; sleep 1000) & wait'", fifo);
    const char *const pairs[] = {"command", command, NULL};
    struct opened o = open_exec(pairs);
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    struct pollfd p = {fd, POLLIN, 0};
    char up[8];
    do { /* until the grandchild had time to come up before the limit */
        fixture_load_init(&f, 1, &id);
        f.load.timeout_ns = 200000000;
        o.source.ops->load(o.connection, &f.load);
        assert_string_equal(f.answers[0], "TIMEOUT: killed at its time limit of 200ms");
    } while (read(fd, up, sizeof up) <= 0);
    assert_int_equal(poll(&p, 1, 60000), 1);
    assert_true(p.revents & POLLHUP);
    shut(&o);
    close(fd);
    unlink(fifo);
    rmdir(dir);
}

/* What a program leaves behind neither delays the answer nor lives on. */
static void test_what_is_left_running(void **state) {
    (void)state;
    check("sh -c 'sleep 1000 & echo done'", "1", "=done");
}

struct canceller {
    struct opened *o;
    int fd; /* readable once the child is up */
};

static void cancel_when_up(void *arg) {
    struct canceller *c = arg;
    struct pollfd p = {c->fd, POLLIN, 0};
    if (poll(&p, 1, 60000) == 1) c->o->source.ops->cancel(c->o->connection);
}

static void test_a_cancel_ends_it(void **state) {
    (void)state;
    char dir[] = "/tmp/rondo-exec-XXXXXX", fifo[64], command[256];
    assert_non_null(mkdtemp(dir));
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(command, sizeof command, "sh -c 'echo up >%s; sleep 1000'", fifo);
    const char *const pairs[] = {"command", command, NULL};
    struct opened o = open_exec(pairs);
    struct canceller c = {&o, open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    struct rondo_thread thread;
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load f;
    assert_true(c.fd >= 0);
    o.source.ops->cancel(o.connection); /* before the call: means none */
    fixture_load_init(&f, 1, &id);
    assert_int_equal(rondo_thread_start(&thread, "cancel", cancel_when_up, &c), RONDO_OK);
    o.source.ops->load(o.connection, &f.load);
    rondo_thread_join(&thread);
    assert_string_equal(f.answers[0], "TIMEOUT: killed at its time limit");
    shut(&o);
    close(c.fd);
    unlink(fifo);
    rmdir(dir);
}

/* ----------------------------------------------------------------- mistakes --- */

static void check_mistakes(const char *const *pairs, const char *expected) {
    struct fixture_config f;
    struct rondo_source source = {0};
    fixture_settings(&f, params, 1, pairs);
    assert_int_equal(rondo_source_open("exec", &f.config, NULL, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, expected);
    assert_null(source.ops);
}

static void check_command(const char *command, const char *expected) {
    const char *const pairs[] = {"command", command, NULL};
    check_mistakes(pairs, expected);
}

static void test_mistakes(void **state) {
    (void)state;
    check_command("", "command: an empty command\n");
    check_command("''", "command: an empty program\n");
    check_command("echo '{id}", "command: a quote is not closed\n");
    check_command("echo {name}", "command: found {name}, allowed: {id} {client}\n");
    check_command("{id} x", "command: the program itself cannot be a parameter\n");
    check_command("/nonexistent/x",
                  "command: found \"/nonexistent/x\": No such file or directory\n");
    check_command("/etc/passwd", "command: found \"/etc/passwd\": it cannot be executed\n");
    check_command("./x", "command: a relative program starts at `directory`, which is not given\n");
    const char *const all[] = {"command",   "echo {name}", "absent",     "0",
                               "directory", "/etc/passwd", "max_output", "1gb",
                               "newline",   "maybe",       NULL};
    check_mistakes(all, "newline: found \"maybe\": yes or no (also on, off, true, false)\n"
                        "absent: found \"0\": a whole number from 1 to 125\n"
                        "max_output: found \"1gb\": at most 512mb\n"
                        "directory: found \"/etc/passwd\": there is no such directory\n"
                        "command: found {name}, allowed: {id} {client}\n");
}

static void test_a_directory(void **state) {
    (void)state;
    char dir[] = "/tmp/rondo-exec-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/lookup", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\npwd\n", f);
    fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
    const char *const pairs[] = {"command", "./lookup", "directory", dir, NULL};
    struct opened o = open_exec(pairs);
    struct rondo_slice id = rondo_slice_str("1");
    struct fixture_load load;
    fixture_load_init(&load, 1, &id);
    o.source.ops->load(o.connection, &load.load);
    assert_string_equal(load.answers[0] + 1, dir);
    shut(&o);
    unlink(path);
    rmdir(dir);
}

/* ------------------------------------------------------------------- memory --- */

static enum rondo_err whole_life(void) {
    const char *const pairs[] = {"command", "echo {id}", "directory", "/tmp", NULL};
    struct fixture_config f;
    struct rondo_source source;
    struct rondo_source_error why;
    struct fixture_load load;
    struct rondo_slice id = rondo_slice_str("1");
    void *connection;
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = rondo_source_open("exec", &f.config, NULL, &source);
    if (err) return err;
    err = source.ops->connect(source.self, &why, &connection);
    if (!err) {
        fixture_load_init(&load, 1, &id);
        source.ops->load(connection, &load.load);
        source.ops->disconnect(connection);
        if (strncmp(load.answers[0], "NOMEM", 5) == 0) err = RONDO_ERR_NOMEM;
        if (load.n_answers != 1) err = RONDO_ERR_INVALID;
    }
    rondo_source_close(&source);
    return err;
}

static void test_out_of_memory(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        rondo_mem_fail_nth(n);
        enum rondo_err err = whole_life();
        bool failed = rondo_mem_failed();
        rondo_mem_fail_nth(0);
        assert_int_equal(err, failed ? RONDO_ERR_NOMEM : RONDO_OK);
        if (!failed) break;
    }
    assert_true(n > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_is_the_value),
        cmocka_unit_test(test_the_last_newline_can_stay),
        cmocka_unit_test(test_a_value_is_one_argument),
        cmocka_unit_test(test_a_large_output),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_another_absent_code),
        cmocka_unit_test(test_a_program_that_is_not_there),
        cmocka_unit_test(test_the_time_limit_ends_the_whole_group),
        cmocka_unit_test(test_what_is_left_running),
        cmocka_unit_test(test_a_cancel_ends_it),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_a_directory),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
