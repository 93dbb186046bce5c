/* SPDX-License-Identifier: MIT */
/* hiredis against the server: hiredis_client PORT, started by clients_test.py, which
 * kills and starts the server when it reads "restart". */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BIG = 10 * 1024 * 1024, DEPTH = 1000 };

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #x);                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int port;

static redisContext *connect_to(void) {
    redisContext *c = redisConnect("127.0.0.1", port);
    CHECK(c && !c->err);
    return c;
}

static bool is_text(const redisReply *r, int type, const char *text) {
    bool yes = r && r->type == type && r->len == strlen(text) && memcmp(r->str, text, r->len) == 0;
    if (!yes) printf("not %s: %s\n", text, r && r->str ? r->str : "another type");
    return yes;
}

/* Sends a command and checks the text of its reply, or (text NULL) that it is null. */
static void expect(redisContext *c, int type, const char *text, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    redisReply *r = redisvCommand(c, fmt, args);
    va_end(args);
    CHECK(text ? is_text(r, type, text) : r && r->type == REDIS_REPLY_NIL);
    freeReplyObject(r);
}

static void expect_int(redisContext *c, long long n, const char *command) {
    redisReply *r = redisCommand(c, command);
    CHECK(r && r->type == REDIS_REPLY_INTEGER && r->integer == n);
    freeReplyObject(r);
}

static void check_commands(redisContext *c) {
    expect(c, REDIS_REPLY_STATUS, "PONG", "PING");
    expect(c, REDIS_REPLY_STATUS, "OK", "CLIENT SETNAME app");
    expect(c, REDIS_REPLY_STRING, "app", "CLIENT GETNAME");
    expect(c, REDIS_REPLY_STATUS, "OK", "SET k v EX 100");
    expect(c, REDIS_REPLY_NIL, NULL, "SET k w NX");
    expect(c, REDIS_REPLY_STRING, "v", "SET k %s GET", "w");
    expect(c, REDIS_REPLY_STRING, "7", "GET quick:7");
    expect_int(c, 5, "INCRBY n 5");
    expect_int(c, 2, "DEL k n nothing");
    expect(c, REDIS_REPLY_STATUS, "OK", "SET text abc");
    expect(c, REDIS_REPLY_ERROR, "ERR value is not an integer or out of range", "INCR text");
    expect(c, REDIS_REPLY_ERROR, "LOADERR broken no such table", "GET broken:1");
    redisReply *r = redisCommand(c, "MGET text nothing");
    CHECK(r && r->type == REDIS_REPLY_ARRAY && r->elements == 2);
    CHECK(is_text(r->element[0], REDIS_REPLY_STRING, "abc"));
    CHECK(r->element[1]->type == REDIS_REPLY_NIL);
    freeReplyObject(r);
}

static void check_pipeline(redisContext *c) {
    for (int i = 0; i < DEPTH; i++) {
        CHECK(redisAppendCommand(c, "SET p:%d %d", i, i) == REDIS_OK);
        CHECK(redisAppendCommand(c, "GET p:%d", i) == REDIS_OK);
        if (i % 100 == 0) CHECK(redisAppendCommand(c, "GET slow:%d", i) == REDIS_OK);
    }
    for (int i = 0; i < DEPTH; i++) {
        char number[16], slow[24];
        void *reply;
        (void)snprintf(number, sizeof number, "%d", i);
        (void)snprintf(slow, sizeof slow, "%d 1", i);
        CHECK(redisGetReply(c, &reply) == REDIS_OK && is_text(reply, REDIS_REPLY_STATUS, "OK"));
        freeReplyObject(reply);
        CHECK(redisGetReply(c, &reply) == REDIS_OK && is_text(reply, REDIS_REPLY_STRING, number));
        freeReplyObject(reply);
        if (i % 100 != 0) continue;
        CHECK(redisGetReply(c, &reply) == REDIS_OK && is_text(reply, REDIS_REPLY_STRING, slow));
        freeReplyObject(reply);
    }
}

static void check_big(redisContext *c) {
    char *big = malloc(BIG);
    CHECK(big);
    for (size_t i = 0; i < BIG; i++) big[i] = (char)(i * 31 % 251);
    expect(c, REDIS_REPLY_STATUS, "OK", "SET %b %b", "a\0b", (size_t)3, big, (size_t)BIG);
    redisReply *r = redisCommand(c, "GET %b", "a\0b", (size_t)3);
    CHECK(r && r->type == REDIS_REPLY_STRING && r->len == BIG && memcmp(r->str, big, BIG) == 0);
    freeReplyObject(r);
    free(big);
}

static void check_channels(redisContext *c) {
    redisContext *listener = connect_to();
    void *reply;
    redisReply *r = redisCommand(listener, "SUBSCRIBE news");
    CHECK(r && r->type == REDIS_REPLY_ARRAY && r->elements == 3 && r->element[2]->integer == 1);
    freeReplyObject(r);
    for (int i = 0; i < 100; i++) {
        r = redisCommand(c, "PUBLISH news %d", i);
        CHECK(r && r->type == REDIS_REPLY_INTEGER && r->integer == 1);
        freeReplyObject(r);
    }
    for (int i = 0; i < 100; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        CHECK(redisGetReply(listener, &reply) == REDIS_OK);
        r = reply;
        CHECK(r->type == REDIS_REPLY_ARRAY && r->elements == 3);
        CHECK(is_text(r->element[0], REDIS_REPLY_STRING, "message"));
        CHECK(is_text(r->element[2], REDIS_REPLY_STRING, number));
        freeReplyObject(r);
    }
    redisFree(listener);
}

static void check_scan(redisContext *c) {
    char cursor[32] = "0";
    size_t n = 0;
    do {
        redisReply *r = redisCommand(c, "SCAN %s MATCH p:* COUNT 50", cursor);
        CHECK(r && r->type == REDIS_REPLY_ARRAY && r->elements == 2);
        CHECK(r->element[0]->len < sizeof cursor);
        memcpy(cursor, r->element[0]->str, r->element[0]->len + 1);
        n += r->element[1]->elements;
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    CHECK(n >= DEPTH);
}

static void check_timeout(void) {
    const struct timeval short_time = {0, 200000}, long_time = {30, 0};
    redisContext *c = connect_to();
    CHECK(redisSetTimeout(c, short_time) == REDIS_OK);
    CHECK(redisCommand(c, "GET hanging:1") == NULL && c->err == REDIS_ERR_IO);
    CHECK(redisReconnect(c) == REDIS_OK && redisSetTimeout(c, long_time) == REDIS_OK);
    expect(c, REDIS_REPLY_STRING, "after", "GET quick:after");
    redisFree(c);
}

static void check_restart(redisContext *c) {
    char line[32];
    expect(c, REDIS_REPLY_STATUS, "OK", "SET old 1");
    puts("restart");
    (void)fflush(stdout);
    CHECK(fgets(line, sizeof line, stdin) && strcmp(line, "restarted\n") == 0);
    CHECK(redisCommand(c, "PING") == NULL && c->err != 0);
    CHECK(redisReconnect(c) == REDIS_OK);
    expect(c, REDIS_REPLY_NIL, NULL, "GET old");
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    port = (int)strtol(argv[1], NULL, 10);
    redisContext *c = connect_to();
    check_commands(c);
    check_pipeline(c);
    check_big(c);
    check_channels(c);
    check_scan(c);
    check_timeout();
    check_restart(c);
    redisFree(c);
    return 0;
}
