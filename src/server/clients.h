/* SPDX-License-Identifier: MIT */
/*
 * clients.h - who is connected: for CLIENT LIST and KILL, for `maxclients`, and
 * for telling everybody at once when the server stops.
 *
 * A client is in the registry from its accept until its actor's state is freed.
 * Nothing here is touched by a command that reads or writes a key, but for two
 * relaxed stores per wake-up of a connection.
 */
#ifndef RONDO_SERVER_CLIENTS_H
#define RONDO_SERVER_CLIENTS_H

#include "base/buf.h"
#include "base/list.h"
#include "base/sync.h"
#include "rondo/runtime.h"

enum rondo_client_text { RONDO_CLIENT_NAME, RONDO_CLIENT_LIB_NAME, RONDO_CLIENT_LIB_VER };
enum { RONDO_CLIENT_TEXTS = 3, RONDO_CLIENT_ADDRESS = 64 };

/* An address as small as it can be: there is one client a connection. */
struct rondo_client_address {
    unsigned char bytes[16]; /* as on the wire; IPv4: the first 4 */
    uint16_t port;
    bool is_ipv6;
};

/* "127.0.0.1:51234", "[::1]:51234" */
void rondo_client_address_format(const struct rondo_client_address *a,
                                 char out[RONDO_CLIENT_ADDRESS]);

struct rondo_client {
    /* const after rondo_clients_add */
    uint64_t id;
    uint64_t since_ns;
    int fd;
    struct rondo_client_address peer, local;

    /* guarded by the registry's mu */
    struct rondo_list node;
    rondo_actor *actor; /* a reference, from rondo_clients_enter on */

    /* written by the connection under mu; it alone may read them without */
    char *texts[RONDO_CLIENT_TEXTS]; /* NULL: not set */

    /* atomic, relaxed: written by the connection, read for CLIENT LIST */
    uint64_t last_ns;
    uint32_t db, proto, channels, patterns;
    const char *command; /* static */
};

struct rondo_clients {
    struct rondo_mutex mu;
    struct rondo_cond none; /* signalled when count becomes 0 */
    struct rondo_list list; /* guarded by mu */
    uint64_t next_id;       /* guarded by mu */
    uint32_t count;         /* written under mu, read anywhere: atomic, relaxed */
    uint32_t max;           /* atomic, relaxed: set by CONFIG SET, read by all */
};

void rondo_clients_init(struct rondo_clients *c, uint32_t max);
/* Nobody may be left. */
void rondo_clients_fini(struct rondo_clients *c);

/* A client with its id and no actor yet, not in the list but counted.
 * Errors: FULL (`max` are connected), NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_clients_new(struct rondo_clients *c,
                                                 struct rondo_client **out);
/* Lists it from now on; `actor` is shared. */
void rondo_clients_enter(struct rondo_clients *c, struct rondo_client *client, rondo_actor *actor);
/* Takes it off the list, before its peer can notice that the connection ends;
 * it counts until it is freed.  Twice is once. */
void rondo_clients_leave(struct rondo_clients *c, struct rondo_client *client);
/* Takes it off and frees it; NULL does nothing.  Any thread. */
void rondo_clients_free(struct rondo_clients *c, struct rondo_client *client);

uint32_t rondo_clients_count(const struct rondo_clients *c);

/* How many may be connected; who is connected stays. */
uint32_t rondo_clients_max(const struct rondo_clients *c);
void rondo_clients_set_max(struct rondo_clients *c, uint32_t max);

/* Sets (or, empty, clears) a text of one's own client.  Errors: NOMEM. */
RONDO_NODISCARD enum rondo_err rondo_clients_set_text(struct rondo_clients *c,
                                                      struct rondo_client *client,
                                                      enum rondo_client_text which,
                                                      struct rondo_slice value);

/* Calls `fn` for each, under the lock: it must be short and call nothing of the
 * registry's or the runtime's. */
void rondo_clients_each(struct rondo_clients *c,
                        void (*fn)(void *arg, const struct rondo_client *client), void *arg);

/* Sends a message of `type` to those that `wants` picks (NULL: all), except to
 * `not_to` (may be NULL).  Returns how many were told, the number also when
 * memory was too short to tell some (logged). */
size_t rondo_clients_tell(struct rondo_clients *c, uint32_t type,
                          bool (*wants)(void *arg, const struct rondo_client *client), void *arg,
                          const struct rondo_client *not_to);

/* Waits until nobody is left, or until `deadline_ns` of the monotonic clock; true
 * if nobody is.  Blocks. */
bool rondo_clients_wait_none(struct rondo_clients *c, uint64_t deadline_ns);

#endif
