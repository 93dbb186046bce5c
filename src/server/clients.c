/* SPDX-License-Identifier: MIT */
#include "server/clients.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/mem.h"
#include <arpa/inet.h>

void rondo_client_address_format(const struct rondo_client_address *a,
                                 char out[RONDO_CLIENT_ADDRESS]) {
    char host[INET6_ADDRSTRLEN] = "?";
    (void)inet_ntop(a->is_ipv6 ? AF_INET6 : AF_INET, a->bytes, host, sizeof host);
    (void)snprintf(out, RONDO_CLIENT_ADDRESS, a->is_ipv6 ? "[%s]:%u" : "%s:%u", host, a->port);
}

void rondo_clients_init(struct rondo_clients *c, uint32_t max) {
    *c = (struct rondo_clients){.max = max, .next_id = 1};
    rondo_mutex_init(&c->mu);
    rondo_cond_init(&c->none);
    rondo_list_init(&c->list);
}

void rondo_clients_fini(struct rondo_clients *c) {
    RONDO_CHECK(rondo_clients_count(c) == 0);
    rondo_cond_fini(&c->none);
    rondo_mutex_fini(&c->mu);
}

/* The count is written under mu only: no partner but readers who want a number. */
/* Partners: each other, on any worker. */
uint32_t rondo_clients_max(const struct rondo_clients *c) {
    return rondo_load_relaxed(&c->max);
}

void rondo_clients_set_max(struct rondo_clients *c, uint32_t max) {
    rondo_store_relaxed(&c->max, max);
}

uint32_t rondo_clients_count(const struct rondo_clients *c) {
    return rondo_load_relaxed(&c->count);
}

enum rondo_err rondo_clients_new(struct rondo_clients *c, struct rondo_client **out) {
    struct rondo_client *client = rondo_zalloc(sizeof *client);
    if (!client) return RONDO_ERR_NOMEM;
    rondo_list_init(&client->node);

    rondo_mutex_lock(&c->mu);
    bool is_full = c->count >= rondo_clients_max(c);
    if (!is_full) {
        client->id = c->next_id++;
        rondo_count_up(&c->count, 1); /* read by rondo_clients_count */
    }
    rondo_mutex_unlock(&c->mu);

    if (is_full) {
        rondo_free(client);
        return RONDO_ERR_FULL;
    }
    *out = client;
    return RONDO_OK;
}

void rondo_clients_enter(struct rondo_clients *c, struct rondo_client *client, rondo_actor *actor) {
    rondo_actor_ref(actor);
    rondo_mutex_lock(&c->mu);
    client->actor = actor;
    rondo_list_push_back(&c->list, &client->node);
    rondo_mutex_unlock(&c->mu);
}

void rondo_clients_leave(struct rondo_clients *c, struct rondo_client *client) {
    rondo_mutex_lock(&c->mu);
    rondo_list_remove(&client->node);
    rondo_mutex_unlock(&c->mu);
}

void rondo_clients_free(struct rondo_clients *c, struct rondo_client *client) {
    if (!client) return;
    rondo_clients_leave(c, client);

    if (client->actor) rondo_actor_unref(client->actor);
    for (int i = 0; i < RONDO_CLIENT_TEXTS; i++) rondo_free(client->texts[i]);
    rondo_free(client);

    /* Last, and under the lock to the end: whoever waits for nobody then frees
     * the registry. */
    rondo_mutex_lock(&c->mu);
    rondo_store_relaxed(&c->count, c->count - 1); /* read by rondo_clients_count */
    if (c->count == 0) rondo_cond_broadcast(&c->none);
    rondo_mutex_unlock(&c->mu);
}

enum rondo_err rondo_clients_set_text(struct rondo_clients *c, struct rondo_client *client,
                                      enum rondo_client_text which, struct rondo_slice value) {
    char *text = NULL;
    if (value.len > 0 && !(text = rondo_strndup(value.data, value.len))) return RONDO_ERR_NOMEM;
    rondo_mutex_lock(&c->mu);
    char *old = client->texts[which];
    client->texts[which] = text;
    rondo_mutex_unlock(&c->mu);
    rondo_free(old);
    return RONDO_OK;
}

void rondo_clients_each(struct rondo_clients *c,
                        void (*fn)(void *arg, const struct rondo_client *client), void *arg) {
    rondo_mutex_lock(&c->mu);
    RONDO_LIST_FOREACH(&c->list, node)
    fn(arg, RONDO_LIST_ENTRY(node, struct rondo_client, node));
    rondo_mutex_unlock(&c->mu);
}

static size_t send_all(rondo_actor **actors, size_t n, uint32_t type) {
    size_t n_lost = 0;
    for (size_t i = 0; i < n; i++) {
        void *m = rondo_msg_new(type, sizeof(struct rondo_msg));
        if (m)
            rondo_send(actors[i], m);
        else
            n_lost++;
        rondo_actor_unref(actors[i]);
    }
    if (n_lost) rondo_log(RONDO_LOG_ERROR, "out of memory: %zu clients were not told", n_lost);
    return n;
}

size_t rondo_clients_tell(struct rondo_clients *c, uint32_t type,
                          bool (*wants)(void *arg, const struct rondo_client *client), void *arg,
                          const struct rondo_client *not_to) {
    size_t n = 0;
    rondo_mutex_lock(&c->mu);
    rondo_actor **actors = rondo_alloc((c->count + 1) * sizeof *actors);
    if (actors) {
        RONDO_LIST_FOREACH(&c->list, node) {
            struct rondo_client *client = RONDO_LIST_ENTRY(node, struct rondo_client, node);
            if (client == not_to || (wants && !wants(arg, client))) continue;
            actors[n++] = rondo_actor_ref(client->actor);
        }
    }
    rondo_mutex_unlock(&c->mu);

    if (!actors) {
        rondo_log(RONDO_LOG_ERROR, "out of memory: no client was told");
        return 0;
    }
    n = send_all(actors, n, type);
    rondo_free(actors);
    return n;
}

bool rondo_clients_wait_none(struct rondo_clients *c, uint64_t deadline_ns) {
    rondo_mutex_lock(&c->mu);
    bool in_time = true;
    while (c->count > 0 && in_time) in_time = rondo_cond_wait_until(&c->none, &c->mu, deadline_ns);
    bool is_none = c->count == 0;
    rondo_mutex_unlock(&c->mu);
    return is_none;
}
