/* SPDX-License-Identifier: MIT */
/*
 * Stores entries in a server that listens on 127.0.0.1 and checks a few:
 * `bench_cache_fill PROTOCOL PORT ENTRIES PID`, where PROTOCOL is redis or
 * memcached.  Prints by how much the process PID has grown, as the job `memory`
 * of the other programs does for itself.
 */
#include "actors/job.h"
#include "trial.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 256, CHECKS = 64, MAX_COMMAND = 160 };

struct fill {
    bool is_redis;
    int fd;
    uint64_t n;
    const char *pid;
    char out[BATCH * MAX_COMMAND], in[4096];
};

static bool dial(struct fill *f, const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return f->fd >= 0 && connect(f->fd, (struct sockaddr *)&to, sizeof to) == 0;
}

static uint64_t resident_bytes(const char *pid) {
    char path[64];
    unsigned long size, resident = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/statm", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool send_all(const struct fill *f, size_t len) {
    for (size_t sent = 0; sent < len;) {
        ssize_t n = write(f->fd, f->out + sent, len - sent);
        if (n <= 0) return false;
        sent += (size_t)n;
    }
    return true;
}

/* Reads exactly `len` bytes into f->in. */
static bool receive(struct fill *f, size_t len) {
    for (size_t got = 0; got < len;) {
        ssize_t n = read(f->fd, f->in + got, len - got);
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

static size_t append(char *to, const char *text) {
    size_t len = strlen(text);
    memcpy(to, text, len);
    return len;
}

static size_t write_store(const struct fill *f, char *to, uint32_t number) {
    char *p = to;
    p += append(p, f->is_redis ? "*3\r\n$3\r\nSET\r\n$16\r\n" : "set ");
    trial_key(number, p);
    p += TRIAL_KEY;
    p += append(p, f->is_redis ? "\r\n$32\r\n" : " 0 0 32\r\n");
    trial_value(number, p);
    p += TRIAL_VALUE;
    p += append(p, "\r\n");
    return (size_t)(p - to);
}

static bool store_batch(struct fill *f, uint32_t first, size_t n) {
    const char *fine = f->is_redis ? "+OK\r\n" : "STORED\r\n";
    size_t len = 0, each = strlen(fine);
    for (size_t i = 0; i < n; i++) len += write_store(f, f->out + len, first + (uint32_t)i);
    if (!send_all(f, len) || !receive(f, n * each)) return false;
    for (size_t i = 0; i < n; i++)
        if (memcmp(f->in + i * each, fine, each) != 0) return false;
    return true;
}

static bool check(struct fill *f, uint32_t number) {
    char key[TRIAL_KEY + 1] = "", value[TRIAL_VALUE], head[64];
    trial_key(number, key);
    trial_value(number, value);
    int len = snprintf(f->out, sizeof f->out,
                       f->is_redis ? "*2\r\n$3\r\nGET\r\n$16\r\n%s\r\n" : "get %s\r\n", key);
    int n = snprintf(head, sizeof head, f->is_redis ? "$32\r\n" : "VALUE %s 0 32\r\n", key);
    const char *tail = f->is_redis ? "\r\n" : "\r\nEND\r\n";
    size_t before = (size_t)n, after = strlen(tail);
    return send_all(f, (size_t)len) && receive(f, before + TRIAL_VALUE + after) &&
           memcmp(f->in, head, before) == 0 && memcmp(f->in + before, value, TRIAL_VALUE) == 0 &&
           memcmp(f->in + before + TRIAL_VALUE, tail, after) == 0;
}

static const char *fill(struct fill *f) {
    for (uint64_t i = 0; i < f->n; i += BATCH) {
        size_t n = f->n - i < BATCH ? (size_t)(f->n - i) : BATCH;
        if (!store_batch(f, (uint32_t)i, n)) return "the server did not store an entry";
    }
    for (uint64_t i = 0; i < CHECKS; i++)
        if (!check(f, (uint32_t)(f->n * i / CHECKS))) return "the server does not have an entry";
    return NULL;
}

int main(int argc, char **argv) {
    static struct fill f;
    if (argc != 5) {
        fprintf(stderr, "usage: %s redis|memcached PORT ENTRIES PID\n", argv[0]);
        return 2;
    }
    f.is_redis = strcmp(argv[1], "redis") == 0;
    f.n = strtoul(argv[3], NULL, 10);
    if (!dial(&f, argv[2]) || f.n == 0) {
        fprintf(stderr, "%s: cannot connect\n", argv[0]);
        return 2;
    }
    uint64_t before = resident_bytes(argv[4]);
    const char *wrong = fill(&f);
    uint64_t after = resident_bytes(argv[4]);
    close(f.fd);
    printf("{\"entries\": %" PRIu64 ", \"bytes_per_entry\": %.2f", f.n,
           ((double)after - (double)before) / (double)f.n);
    if (wrong) printf(", \"wrong\": \"%s\"", wrong);
    printf(", \"ok\": %s}\n", wrong ? "false" : "true");
    return wrong ? 1 : 0;
}
