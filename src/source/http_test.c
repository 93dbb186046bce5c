/* SPDX-License-Identifier: MIT */
/*
 * Against a small server of the test's own: one thread, one request a connection,
 * answers by path.
 */
#include "source/source.h"

#include "base/mem.h"
#include "base/sync.h"
#include "source/load_fixture.h"
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const params[] = {"id"};

/* ------------------------------------------------------------------ server --- */

struct server {
    int fd;
    unsigned port;
    struct rondo_thread thread;
    struct rondo_mutex mu;
    char last[4096]; /* the last request; guarded by mu */
};

static void reply(int fd, const char *status, const char *headers, const char *body) {
    dprintf(fd, "HTTP/1.1 %s\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s", status,
            headers, strlen(body), body);
}

/* Waits until the client has gone. */
static void hang(int fd) {
    char byte;
    while (read(fd, &byte, 1) > 0) continue;
}

static bool asks(const char *request, const char *path) {
    size_t len = strlen(path);
    return strncmp(request, "GET ", 4) == 0 && strncmp(request + 4, path, len) == 0 &&
           request[4 + len] == ' ';
}

static void answer(int fd, const char *request) {
    if (asks(request, "/u/404"))
        reply(fd, "404 Not Found", "", "no such page");
    else if (asks(request, "/u/410"))
        reply(fd, "410 Gone", "", "");
    else if (asks(request, "/u/500"))
        reply(fd, "500 Oh No", "", "trace");
    else if (asks(request, "/u/204"))
        reply(fd, "204 No Content", "", "");
    else if (asks(request, "/u/aged"))
        reply(fd, "200 OK", "Cache-Control: public, max-age=60\r\nAge: 20\r\n", "aged");
    else if (asks(request, "/u/private"))
        reply(fd, "200 OK", "Cache-Control: max-age=60\r\nCache-Control: no-store\r\n", "p");
    else if (asks(request, "/u/moved"))
        reply(fd, "302 Found", "Location: /u/1\r\n", "");
    else if (asks(request, "/u/loop"))
        reply(fd, "302 Found", "Location: /u/loop\r\n", "");
    else if (asks(request, "/u/file"))
        reply(fd, "302 Found", "Location: file:///etc/passwd\r\n", "");
    else if (asks(request, "/u/large"))
        dprintf(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%02000d", 0);
    else if (asks(request, "/u/short"))
        dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    else if (asks(request, "/u/rubbish"))
        dprintf(fd, "rubbish\r\n\r\n");
    else if (asks(request, "/u/hang"))
        hang(fd);
    else if (asks(request, "/u/nothing"))
        return;
    else
        reply(fd, "200 OK", "", "fine");
}

/* Reads a request to its empty line; false if it does not come to that. */
static bool read_request(int fd, char *request, size_t size) {
    size_t len = 0;
    request[0] = '\0';
    while (!strstr(request, "\r\n\r\n") && len < size - 1) {
        ssize_t n = read(fd, request + len, size - 1 - len);
        if (n <= 0) return false;
        len += (size_t)n;
        request[len] = '\0';
        if (request[0] != 'G') break; /* somebody speaks TLS */
    }
    return true;
}

static void serve(void *arg) {
    struct server *s = arg;
    for (;;) {
        char request[sizeof s->last] = "";
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) return; /* the listening socket was shut down */
        if (read_request(fd, request, sizeof request)) {
            rondo_mutex_lock(&s->mu);
            memcpy(s->last, request, sizeof request);
            rondo_mutex_unlock(&s->mu);
            answer(fd, request);
        }
        close(fd);
    }
}

static const char *last_request(struct server *s) {
    static char request[4096];
    rondo_mutex_lock(&s->mu);
    memcpy(request, s->last, sizeof request);
    rondo_mutex_unlock(&s->mu);
    return request;
}

static int setup(void **state) {
    struct server *s = calloc(1, sizeof *s);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    assert_non_null(s);
    rondo_mutex_init(&s->mu);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(rondo_thread_start(&s->thread, "server", serve, s), RONDO_OK);
    *state = s;
    return 0;
}

static int teardown(void **state) {
    struct server *s = *state;
    shutdown(s->fd, SHUT_RDWR);
    rondo_thread_join(&s->thread);
    close(s->fd);
    rondo_mutex_fini(&s->mu);
    free(s);
    return 0;
}

/* ------------------------------------------------------------------ source --- */

struct opened {
    struct rondo_source source;
    void *connection;
};

static const char *url_of(const struct server *s, const char *path) {
    static char url[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", s->port, path);
    return url;
}

static struct opened open_pairs(const char *const *pairs) {
    struct opened o;
    struct fixture_config f;
    struct rondo_source_error why;
    fixture_settings(&f, params, 1, pairs);
    enum rondo_err err = rondo_source_open("http", &f.config, NULL, &o.source);
    assert_string_equal(f.mistakes, "");
    assert_int_equal(err, RONDO_OK);
    assert_int_equal(o.source.ops->connect(o.source.self, &why, &o.connection), RONDO_OK);
    return o;
}

static struct opened open_url(const char *url) {
    const char *const pairs[] = {"url", url, NULL};
    return open_pairs(pairs);
}

static void shut(struct opened *o) {
    o->source.ops->disconnect(o->connection);
    rondo_source_close(&o->source);
}

static struct fixture_load load_slice(struct opened *o, struct rondo_slice id,
                                      uint64_t timeout_ns) {
    struct fixture_load f;
    fixture_load_init(&f, 1, &id);
    f.keys[0].client = rondo_slice_str("A n&n");
    f.load.timeout_ns = timeout_ns;
    o->source.ops->load(o->connection, &f.load);
    assert_int_equal(f.n_answers, 1);
    return f;
}

static void check(struct opened *o, const char *id, const char *expected) {
    struct fixture_load f = load_slice(o, rondo_slice_str(id), 0);
    assert_string_equal(f.answers[0], expected);
}

/* ------------------------------------------------------------------- tests --- */

static void test_statuses(void **state) {
    struct opened o = open_url(url_of(*state, "/u/{id}"));
    check(&o, "1", "=fine");
    check(&o, "404", "absent");
    check(&o, "410", "absent");
    check(&o, "500", "LOAD: status 500");
    check(&o, "204", "LOAD: status 204");
    check(&o, "1", "=fine");
    shut(&o);
}

static void test_ages(void **state) {
    struct opened o = open_url(url_of(*state, "/u/{id}"));
    assert_int_equal(load_slice(&o, rondo_slice_str("1"), 0).ttl_ns[0], 0);
    assert_int_equal(load_slice(&o, rondo_slice_str("aged"), 0).ttl_ns[0], UINT64_C(40000000000));
    assert_int_equal(load_slice(&o, rondo_slice_str("private"), 0).ttl_ns[0], 1);
    shut(&o);
}

static void test_a_value_stays_in_its_place(void **state) {
    struct server *s = *state;
    struct opened o = open_url(url_of(s, "/a/{id}?by={client}"));
    static const struct {
        const char *id, *line;
    } cases[] = {
        {"1", "GET /a/1?by=A%20n%26n HTTP/1.1\r\n"},
        {"x/../../y", "GET /a/x%2F..%2F..%2Fy?by=A%20n%26n HTTP/1.1\r\n"},
        {"?a=b#c", "GET /a/%3Fa%3Db%23c?by=A%20n%26n HTTP/1.1\r\n"},
        {"%2e%2e", "GET /a/%252e%252e?by=A%20n%26n HTTP/1.1\r\n"},
        {"a HTTP/1.1\r\nX: y", "GET /a/a%20HTTP%2F1.1%0D%0AX%3A%20y?by=A%20n%26n HTTP/1.1\r\n"},
        {"", "GET /a/?by=A%20n%26n HTTP/1.1\r\n"},
        {"...", "GET /a/...?by=A%20n%26n HTTP/1.1\r\n"},
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(cases); i++) {
        check(&o, cases[i].id, "=fine");
        assert_memory_equal(last_request(s), cases[i].line, strlen(cases[i].line));
    }
    static const char dots[] = "LOAD: the key makes a path with a segment of dots";
    check(&o, "..", dots);
    check(&o, ".", dots);
    struct fixture_load f = load_slice(&o, rondo_slice_of("a\0b", 3), 0);
    assert_string_equal(f.answers[0], "=fine");
    assert_memory_equal(last_request(s), "GET /a/a%00b?", 13);
    shut(&o);
}

static void test_redirects(void **state) {
    struct server *s = *state;
    struct opened o = open_url(url_of(s, "/u/{id}"));
    check(&o, "moved", "LOAD: status 302 (`redirects` is 0)");
    shut(&o);
    const char *const pairs[] = {"url", url_of(s, "/u/{id}"), "redirects", "3", NULL};
    o = open_pairs(pairs);
    check(&o, "moved", "=fine");
    check(&o, "loop", "LOAD: Maximum (3) redirects followed");
    check(&o, "file", "LOAD: Protocol \"file\" not supported or disabled in libcurl");
    shut(&o);
}

static void test_headers(void **state) {
    struct server *s = *state;
    const char *const pairs[] = {"url",
                                 url_of(s, "/u/{id}"),
                                 "headers.Authorization",
                                 "Bearer sesame",
                                 "headers.X-Empty",
                                 "",
                                 NULL};
    struct opened o = open_pairs(pairs);
    check(&o, "1", "=fine");
    assert_non_null(strstr(last_request(s), "\r\nAuthorization: Bearer sesame\r\n"));
    assert_non_null(strstr(last_request(s), "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(last_request(s), "\r\nUser-Agent: rondo/" RONDO_VERSION "\r\n"));
    shut(&o);
}

static void test_answers_that_are_wrong(void **state) {
    struct server *s = *state;
    const char *const pairs[] = {"url", url_of(s, "/u/{id}"), "max_body", "1kb", NULL};
    struct opened o = open_pairs(pairs);
    check(&o, "large", "LOAD: the answer is larger than max_body (1024 bytes)");
    check(&o, "short", "LOAD: transfer closed with 96 bytes remaining to read");
    check(&o, "rubbish", "LOAD: Received HTTP/0.9 when not allowed");
    check(&o, "nothing", "CONNECT: Empty reply from server");
    check(&o, "1", "=fine");
    shut(&o);
}

static void test_the_time_limit(void **state) {
    struct opened o = open_url(url_of(*state, "/u/{id}"));
    struct fixture_load f = load_slice(&o, rondo_slice_str("hang"), 20000000);
    assert_string_equal(f.answers[0], "TIMEOUT: no answer in time: 20ms");
    shut(&o);
}

struct canceller {
    struct opened *o;
    struct rondo_mutex mu;
    bool has_ended; /* guarded by mu */
};

/* A cancel before the call has begun means none, so until it has ended. */
static void cancel_until_ended(void *arg) {
    struct canceller *c = arg;
    bool has_ended = false;
    while (!has_ended) {
        c->o->source.ops->cancel(c->o->connection);
        usleep(1000);
        rondo_mutex_lock(&c->mu);
        has_ended = c->has_ended;
        rondo_mutex_unlock(&c->mu);
    }
}

static void test_cancel(void **state) {
    struct opened o = open_url(url_of(*state, "/u/{id}"));
    struct canceller c = {.o = &o};
    struct rondo_thread thread;
    rondo_mutex_init(&c.mu);
    assert_int_equal(rondo_thread_start(&thread, "cancel", cancel_until_ended, &c), RONDO_OK);
    struct fixture_load f = load_slice(&o, rondo_slice_str("hang"), 0);
    rondo_mutex_lock(&c.mu);
    c.has_ended = true;
    rondo_mutex_unlock(&c.mu);
    rondo_thread_join(&thread);
    rondo_mutex_fini(&c.mu);
    assert_string_equal(f.answers[0], "TIMEOUT: no answer in time");
    shut(&o);
}

static void test_a_server_that_is_not_there(void **state) {
    struct server *s = *state;
    char url[64];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* bound, and not listening */
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/{id}", ntohs(a.sin_port));
    struct opened o = open_url(url);
    struct fixture_load f = load_slice(&o, rondo_slice_str("1"), 0);
    assert_memory_equal(f.answers[0], "CONNECT: ", 9);
    shut(&o);
    close(fd);

    /* No TLS where TLS was asked for. */
    snprintf(url, sizeof url, "https://127.0.0.1:%u/{id}", s->port);
    o = open_url(url);
    f = load_slice(&o, rondo_slice_str("1"), 0);
    assert_memory_equal(f.answers[0], "CONNECT: ", 9);
    shut(&o);
}

static void check_mistakes(const char *const *pairs, const char *expected) {
    struct fixture_config f;
    struct rondo_source source = {0};
    fixture_settings(&f, params, 1, pairs);
    assert_int_equal(rondo_source_open("http", &f.config, NULL, &source), RONDO_ERR_CONFIG);
    assert_string_equal(f.mistakes, expected);
    assert_null(source.ops);
}

static void check_url(const char *url, const char *expected) {
    const char *const pairs[] = {"url", url, NULL};
    check_mistakes(pairs, expected);
}

static void test_mistakes(void **state) {
    (void)state;
    check_url("ftp://h/{id}", "url: a URL begins with http:// or https:// and a host\n");
    check_url("h/{id}", "url: a URL begins with http:// or https:// and a host\n");
    check_url("{id}", "url: a URL begins with http:// or https:// and a host\n");
    check_url("http://{id}/x",
              "url: a / is missing behind the host, which cannot be a parameter\n");
    check_url("http://h{id}/x",
              "url: a / is missing behind the host, which cannot be a parameter\n");
    check_url("http://h", "url: a / is missing behind the host, which cannot be a parameter\n");
    check_url("http:///{id}", "url: a URL without a host\n");
    check_url("http://u:p@h/{id}", "url: no user or password in a URL: send a header\n");
    check_url("http://h/a b",
              "url: a space, a #, or a character that needs to be percent-encoded\n");
    check_url("http://h/{id}#x",
              "url: a space, a #, or a character that needs to be percent-encoded\n");
    check_url("http://h/{name}", "url: found {name}, allowed: {id} {client}\n");
    const char *const all[] = {
        "url",     "http://h/{name}", "redirects",   "11",     "max_body",  "1gb",
        "ca_file", "/nonexistent/ca", "headers.A b", "secret", "headers.C", "x\ny",
        NULL};
    check_mistakes(all, "redirects: found \"11\": a whole number from 0 to 10\n"
                        "url: found {name}, allowed: {id} {client}\n"
                        "ca_file: found \"/nonexistent/ca\": it cannot be read\n"
                        "headers.A b: this cannot be the name of a header\n"
                        "headers.C: a header's value is one line\n"
                        "max_body: found \"1gb\": at most 512mb\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_statuses),
        TEST(test_ages),
        TEST(test_a_value_stays_in_its_place),
        TEST(test_redirects),
        TEST(test_headers),
        TEST(test_answers_that_are_wrong),
        TEST(test_the_time_limit),
        TEST(test_cancel),
        TEST(test_a_server_that_is_not_there),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
