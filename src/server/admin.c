/* SPDX-License-Identifier: MIT */
#include "server/admin.h"
#include "base/mem.h"
#include "server/listener.h"
#include "server/metrics.h"
#include <microhttpd.h>
#include <stdio.h>
#include <unistd.h>

enum { CONNECTIONS = 64, CONNECTION_BYTES = 16384, IDLE_SECONDS = 10 };

struct rondo_admin {
    struct MHD_Daemon *daemon;
    uint16_t port; /* const after start */
    struct rondo_mutex mu;
    struct rondo_cond unread; /* signalled when is_reading ends */
    /* guarded by mu */
    struct rondo_service *service; /* NULL: not up */
    bool is_reading;               /* the library's thread uses `service`, without the lock */
    bool is_ready;
};

const char *rondo_admin_library(void) {
    static char name[64];
    if (!name[0]) (void)snprintf(name, sizeof name, "libmicrohttpd %s", MHD_get_version());
    return name;
}

/* ---- answers ---------------------------------------------------------------------- */

/* `text` is copied: the caller's buffer is its own. */
static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
                              const char *text, size_t len) {
    union {
        const char *in;
        void *out;
    } bytes = {.in = text}; /* the library's type has no const, and copies */
    struct MHD_Response *r = MHD_create_response_from_buffer(len, bytes.out, MHD_RESPMEM_MUST_COPY);
    if (!r) return MHD_NO;
    enum MHD_Result result = MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (result == MHD_YES)
        result = MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (result == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        result = MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (result == MHD_YES) result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text) {
    return answer(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum rondo_err write_metrics(struct rondo_admin *admin, struct rondo_buf *out) {
    rondo_mutex_lock(&admin->mu);
    struct rondo_service *service = admin->service;
    admin->is_reading = true;
    rondo_mutex_unlock(&admin->mu);
    enum rondo_err err = rondo_metrics_write(service, out);
    rondo_mutex_lock(&admin->mu);
    admin->is_reading = false;
    rondo_cond_signal(&admin->unread);
    rondo_mutex_unlock(&admin->mu);
    return err;
}

static enum MHD_Result answer_metrics(struct rondo_admin *admin, struct MHD_Connection *c) {
    struct rondo_buf text = {0};
    enum rondo_err err = write_metrics(admin, &text);
    enum MHD_Result result =
        err ? say(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n")
            : answer(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text.data,
                     text.len);
    rondo_buf_fini(&text);
    return result;
}

static enum MHD_Result answer_ready(struct rondo_admin *admin, struct MHD_Connection *c) {
    rondo_mutex_lock(&admin->mu);
    bool is_up = admin->service, is_ready = admin->is_ready;
    rondo_mutex_unlock(&admin->mu);
    if (is_ready) return say(c, MHD_HTTP_OK, "ready\n");
    return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, is_up ? "stopping\n" : "not up\n");
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_len, void **request) {
    struct rondo_admin *admin = arg;
    (void)version, (void)body, (void)request;
    *body_len = 0;
    bool is_read =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    bool is_metrics = strcmp(url, "/metrics") == 0, is_ready = strcmp(url, "/readyz") == 0;
    if (!is_metrics && !is_ready && strcmp(url, "/healthz") != 0)
        return say(c, MHD_HTTP_NOT_FOUND, "there are /metrics, /healthz and /readyz\n");
    if (!is_read) return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    if (is_metrics) return answer_metrics(admin, c);
    return is_ready ? answer_ready(admin, c) : say(c, MHD_HTTP_OK, "ok\n");
}

/* ---- life ------------------------------------------------------------------------- */

enum rondo_err rondo_admin_start(const struct rondo_config_address *address, char *why, size_t size,
                                 struct rondo_admin **out) {
    int fd = -1;
    uint16_t port = 0;
    enum rondo_err err = RONDO_ERR_NOMEM;
    struct rondo_admin *admin = rondo_zalloc(sizeof *admin);
    if (!admin) {
        (void)snprintf(why, size, "admin: %s", rondo_err_text(err));
        return err;
    }
    rondo_mutex_init(&admin->mu);
    rondo_cond_init(&admin->unread);
    err = rondo_listener_open(address, &fd, &port, why, size);
    if (err) goto err_admin;
    admin->port = port;
    admin->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, admin,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (!admin->daemon) goto err_fd;
    *out = admin;
    return RONDO_OK;

err_fd:
    (void)close(fd);
    (void)snprintf(why, size, "admin: cannot start %s", rondo_admin_library());
    err = RONDO_ERR_SYSTEM;
err_admin:
    rondo_admin_stop(admin);
    return err;
}

uint16_t rondo_admin_port(const struct rondo_admin *admin) {
    return admin->port;
}

static void set(struct rondo_admin *admin, struct rondo_service *service, bool is_ready) {
    rondo_mutex_lock(&admin->mu);
    admin->service = service;
    admin->is_ready = is_ready;
    rondo_mutex_unlock(&admin->mu);
}

void rondo_admin_show(struct rondo_admin *admin, struct rondo_service *service) {
    if (admin) set(admin, service, true);
}

void rondo_admin_drain(struct rondo_admin *admin) {
    /* Only the thread that stops the server writes `service`, so it may read it. */
    if (admin) set(admin, admin->service, false);
}

void rondo_admin_hide(struct rondo_admin *admin) {
    if (!admin) return;
    set(admin, NULL, false);
    rondo_mutex_lock(&admin->mu);
    while (admin->is_reading) rondo_cond_wait(&admin->unread, &admin->mu);
    rondo_mutex_unlock(&admin->mu);
}

void rondo_admin_stop(struct rondo_admin *admin) {
    if (!admin) return;
    if (admin->daemon) MHD_stop_daemon(admin->daemon); /* closes the socket too */
    rondo_cond_fini(&admin->unread);
    rondo_mutex_fini(&admin->mu);
    rondo_free(admin);
}
