/* SPDX-License-Identifier: MIT */
/*
 * client.h - connections of one thread to servers on 127.0.0.1, one request at a
 * time each, watched with epoll.
 */
#ifndef BENCH_HERD_CLIENT_H
#define BENCH_HERD_CLIENT_H

#include "record.h"

enum { CLIENT_ROOM = 192 };

struct client_conn {
    int fd;
    uint64_t start_ns, random;
    struct herd_key key;
    bool is_waiting;
    size_t n_in;
    char in[CLIENT_ROOM];
};

/* What a reply was: the key's value, an error, or neither. */
enum client_reply { CLIENT_PART, CLIENT_VALUE, CLIENT_ERROR, CLIENT_OTHER, CLIENT_LOST };

/* `is_edge`: what arrives is told once.  Ends the program with a line on stderr if
 * it cannot connect. */
void client_connect(struct client_conn *c, int epoll, uint16_t port, bool is_edge);
void client_close(struct client_conn *c);

/* Raises the number of files that the process may open, if it can. */
void client_need_files(unsigned n);

/* Sends GET for c->key; false: the connection is lost. */
bool client_ask(struct client_conn *c);

/* Reads what is there: `value` (or, NULL, the key itself) is the right answer. */
enum client_reply client_read(struct client_conn *c, const char *value);

/* On a connection of its own, waiting: SET of all hot keys; the counters of the
 * cache called herd, once they agree twice (a load that lands changes several). */
struct client_counters {
    uint64_t loads, misses, flights;
};
bool client_store_hot(uint16_t port);
struct client_counters client_counters(uint16_t port);

#endif
