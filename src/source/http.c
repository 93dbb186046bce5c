/* SPDX-License-Identifier: MIT */
/*
 * The source `http`: one GET a key, by libcurl, as a loadable object.
 *
 * A key comes from a stranger and ends in a URL.  So scheme and host are literal,
 * values are percent-encoded, and a path with a segment of dots is refused: an
 * encoded one is still a step up to many servers.  Certificates are verified, and
 * there is no switch for that.
 */
#include "source/http_age.h"
#include "source/quantity.h"
#include "source/settings.h"
#include "source/template.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/mem.h"
#include <curl/curl.h>
#include <pthread.h>
#include <strings.h>

static const struct rondo_source_option options[] = {
    {"url", RONDO_SETTING_TEMPLATE, true, false,
     "what is asked for, http:// or https://, with {parameters} and {client} behind the host"},
    {"ca_file", RONDO_SETTING_PATH, false, false,
     "certificates of authorities to trust instead of the system's"},
    {"headers", RONDO_SETTING_MAP, false, true, "headers to send, by name"},
    {"redirects", RONDO_SETTING_COUNT, false, false,
     "how many redirects are followed, 0 (default) to 10"},
    {"max_body", RONDO_SETTING_TEXT, false, false,
     "the largest answer, a size up to 512mb; default 16mb"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

enum { MAX_PARAMS = 16, PREFIX_BYTES = 8 /* "headers." */ };
static const char *const words[] = {"client"};

struct http {
    size_t n_params;
    struct rondo_template *url;
    struct curl_slist *headers;
    char *ca_file;
    uint64_t redirects, max_body;
};

/* ----------------------------------------------------------- open, close --- */

static enum rondo_err refuse(const struct rondo_source_config *config, const char *setting,
                             const char *text) {
    rondo_settings_mistake(config, setting, "%s", text);
    return RONDO_ERR_CONFIG;
}

/* What is wrong with the part of a URL before its first place, NULL if nothing. */
static const char *wrong_start(struct rondo_slice start) {
    const char *p = start.data;
    size_t skip = start.len >= 8 && strncasecmp(p, "https://", 8) == 0  ? 8
                  : start.len >= 7 && strncasecmp(p, "http://", 7) == 0 ? 7
                                                                        : 0;
    if (!skip) return "a URL begins with http:// or https:// and a host";
    const char *slash = memchr(p + skip, '/', start.len - skip);
    size_t host = (slash ? (size_t)(slash - p) : start.len) - skip;
    if (memchr(p + skip, '@', host)) return "no user or password in a URL: send a header";
    if (!slash) return "a / is missing behind the host, which cannot be a parameter";
    return host ? NULL : "a URL without a host";
}

static enum rondo_err open_url(const struct rondo_source_config *config, struct http *h) {
    struct rondo_template_names names = {config->params, config->n_params, words,
                                         RONDO_COUNT_OF(words)};
    struct rondo_source_error why;
    enum rondo_err err =
        rondo_template_new(rondo_settings_get(config, "url"), &names, &why, &h->url);
    if (err) return err == RONDO_ERR_CONFIG ? refuse(config, "url", why.text) : err;
    const char *wrong = wrong_start(h->url->parts[0].text);
    for (size_t i = 0; !wrong && i < h->url->n_parts; i++) {
        const unsigned char *p = h->url->parts[i].text.data;
        for (size_t k = 0; k < h->url->parts[i].text.len; k++)
            if (p[k] <= ' ' || p[k] >= 0x7f || p[k] == '#')
                wrong = "a space, a #, or a character that needs to be percent-encoded";
    }
    return wrong ? refuse(config, "url", wrong) : RONDO_OK;
}

static enum rondo_err open_header(const struct rondo_source_config *config, struct http *h,
                                  const struct rondo_source_setting *s) {
    static const char token[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";
    const char *name = s->name + PREFIX_BYTES;
    struct rondo_buf line = {0};
    if (!name[0] || name[strspn(name, token)])
        return refuse(config, s->name, "this cannot be the name of a header");
    for (const char *p = s->value; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\t')
            return refuse(config, s->name, "a header's value is one line");
    /* libcurl sends a header without a value only if a semicolon ends its name. */
    enum rondo_err err = s->value[0] ? rondo_buf_printf(&line, "%s: %s", name, s->value)
                                     : rondo_buf_printf(&line, "%s;", name);
    struct curl_slist *list =
        !err && rondo_buf_cstr(&line) ? curl_slist_append(h->headers, line.data) : NULL;
    rondo_buf_fini(&line);
    if (!list) return RONDO_ERR_NOMEM;
    h->headers = list;
    return RONDO_OK;
}

static enum rondo_err open_headers(const struct rondo_source_config *config, struct http *h) {
    enum rondo_err worst = RONDO_OK;
    for (size_t i = 0; i < config->n_settings; i++) {
        if (strncmp(config->settings[i].name, "headers.", PREFIX_BYTES) != 0) continue;
        enum rondo_err err = open_header(config, h, &config->settings[i]);
        if (err == RONDO_ERR_NOMEM) return err;
        if (err) worst = err;
    }
    return worst;
}

static enum rondo_err open_max_body(const struct rondo_source_config *config, struct http *h) {
    const char *text = rondo_settings_get(config, "max_body");
    const char *wrong = text ? rondo_quantity_size(text, &h->max_body) : NULL;
    if (!wrong && h->max_body > UINT64_C(512) << 20) wrong = "at most 512mb";
    if (!wrong) return RONDO_OK;
    rondo_settings_mistake(config, "max_body", "found \"%s\": %s", text, wrong);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err open_ca_file(const struct rondo_source_config *config, struct http *h) {
    const char *path = rondo_settings_get(config, "ca_file");
    if (!path) return RONDO_OK;
    FILE *f = fopen(path, "re");
    if (!f) {
        rondo_settings_mistake(config, "ca_file", "found \"%s\": it cannot be read", path);
        return RONDO_ERR_CONFIG;
    }
    fclose(f);
    h->ca_file = rondo_strdup(path);
    return h->ca_file ? RONDO_OK : RONDO_ERR_NOMEM;
}

static void http_close(void *source) {
    struct http *h = source;
    rondo_template_free(h->url);
    curl_slist_free_all(h->headers);
    rondo_free(h->ca_file);
    rondo_free(h);
}

static enum rondo_err open_settings(const struct rondo_source_config *config, struct http *h) {
    static enum rondo_err (*const steps[])(const struct rondo_source_config *, struct http *) = {
        open_url, open_ca_file, open_headers, open_max_body};
    enum rondo_err worst = rondo_settings_count(config, "redirects", 0, 10, &h->redirects)
                               ? RONDO_OK
                               : RONDO_ERR_CONFIG;
    for (size_t i = 0; i < RONDO_COUNT_OF(steps); i++) {
        enum rondo_err err = steps[i](config, h);
        if (err == RONDO_ERR_NOMEM) return err;
        if (err) worst = err;
    }
    return worst;
}

static void init_curl(void) {
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* a failure shows in curl_easy_init */
}

static enum rondo_err http_open(const struct rondo_source_config *config, void **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (config->n_params > MAX_PARAMS) return refuse(config, NULL, "more than 16 parameters");
    pthread_once(&once, init_curl);
    struct http *h = rondo_zalloc(sizeof *h);
    if (!h) return RONDO_ERR_NOMEM;
    h->n_params = config->n_params;
    h->max_body = UINT64_C(16) << 20;
    enum rondo_err err = open_settings(config, h);
    if (err)
        http_close(h);
    else
        *out = h;
    return err;
}

/* -------------------------------------------------------------- connection --- */

struct connection {
    const struct http *http;
    CURL *curl;
    struct rondo_buf body; /* of the answer that is coming */
    enum rondo_err body_err;
    char text[CURL_ERROR_SIZE];
    int cancelled; /* atomic */
};

static size_t on_body(char *data, size_t one, size_t len, void *arg) {
    struct connection *c = arg;
    (void)one;
    c->body_err = c->body.len + len > c->http->max_body ? RONDO_ERR_TOO_LARGE
                                                        : rondo_buf_append(&c->body, data, len);
    return c->body_err ? 0 : len;
}

/* libcurl asks now and then, at least once a second; non-zero ends the call. */
static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e) {
    struct connection *c = arg;
    (void)a, (void)b, (void)d, (void)e;
    /* Partner: http_cancel; a flag that carries nothing. */
    return rondo_load_relaxed(&c->cancelled) != 0;
}

static CURLcode set_up(struct connection *c) {
    const struct http *h = c->http;
    CURL *k = c->curl;
    CURLcode codes[] = {
        curl_easy_setopt(k, CURLOPT_NOSIGNAL, 1L),
        curl_easy_setopt(k, CURLOPT_PROTOCOLS_STR, "http,https"),
        curl_easy_setopt(k, CURLOPT_REDIR_PROTOCOLS_STR, "http,https"),
        curl_easy_setopt(k, CURLOPT_FOLLOWLOCATION, h->redirects > 0 ? 1L : 0L),
        curl_easy_setopt(k, CURLOPT_MAXREDIRS, (long)h->redirects),
        curl_easy_setopt(k, CURLOPT_PROXY, ""),
        curl_easy_setopt(k, CURLOPT_PATH_AS_IS, 1L),
        curl_easy_setopt(k, CURLOPT_USERAGENT, "rondo/" RONDO_VERSION),
        curl_easy_setopt(k, CURLOPT_HTTPHEADER, h->headers),
        curl_easy_setopt(k, CURLOPT_ERRORBUFFER, c->text),
        curl_easy_setopt(k, CURLOPT_WRITEFUNCTION, on_body),
        curl_easy_setopt(k, CURLOPT_WRITEDATA, c),
        curl_easy_setopt(k, CURLOPT_XFERINFOFUNCTION, on_progress),
        curl_easy_setopt(k, CURLOPT_XFERINFODATA, c),
        curl_easy_setopt(k, CURLOPT_NOPROGRESS, 0L),
        h->ca_file ? curl_easy_setopt(k, CURLOPT_CAINFO, h->ca_file) : CURLE_OK,
    };
    for (size_t i = 0; i < RONDO_COUNT_OF(codes); i++)
        if (codes[i]) return codes[i];
    return CURLE_OK;
}

static void http_disconnect(void *connection) {
    struct connection *c = connection;
    curl_easy_cleanup(c->curl);
    rondo_buf_fini(&c->body);
    rondo_free(c);
}

/* The connection to the server is made by the first call; libcurl keeps it open. */
static enum rondo_err http_connect(void *source, struct rondo_source_error *why, void **out) {
    struct connection *c = rondo_zalloc(sizeof *c);
    if (!c) return RONDO_ERR_NOMEM;
    c->http = source;
    c->curl = curl_easy_init();
    if (!c->curl) {
        rondo_free(c);
        return RONDO_ERR_NOMEM;
    }
    CURLcode code = set_up(c);
    if (code) {
        snprintf(why->text, sizeof why->text, "libcurl: %s", curl_easy_strerror(code));
        http_disconnect(c);
        return code == CURLE_OUT_OF_MEMORY ? RONDO_ERR_NOMEM : RONDO_ERR_CONNECT;
    }
    *out = c;
    return RONDO_OK;
}

static void http_cancel(void *connection) {
    struct connection *c = connection;
    /* Partner: on_progress. */
    rondo_store_relaxed(&c->cancelled, 1);
}

/* -------------------------------------------------------------------- load --- */

/* Whether the path has a segment "." or "..". */
static bool has_dots(const char *url) {
    const char *p = strchr(strstr(url, "://") + 3, '/'), *end = p + strcspn(p, "?");
    while (p < end) {
        size_t len = strcspn(++p, "/?");
        if ((len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.')) return true;
        p += len;
    }
    return false;
}

static enum rondo_err make_url(const struct http *h, const struct rondo_load_key *key,
                               struct rondo_buf *url, struct rondo_source_error *why) {
    struct rondo_slice values[MAX_PARAMS + RONDO_COUNT_OF(words)];
    for (size_t i = 0; i < h->n_params; i++) values[i] = key->params[i];
    values[h->n_params] = key->client;
    enum rondo_err err = rondo_template_render_url(h->url, values, url);
    if (err) return err;
    if (!rondo_buf_cstr(url)) return RONDO_ERR_NOMEM;
    if (!has_dots(url->data)) return RONDO_OK;
    snprintf(why->text, sizeof why->text, "the key makes a path with a segment of dots");
    return RONDO_ERR_LOAD;
}

static enum rondo_err kind_of(CURLcode code) {
    switch ((int)code) {
    case CURLE_OUT_OF_MEMORY:
        return RONDO_ERR_NOMEM;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK:
        return RONDO_ERR_TIMEOUT;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
        return RONDO_ERR_CONNECT;
    default:
        return RONDO_ERR_LOAD;
    }
}

static enum rondo_err explain(struct connection *c, CURLcode code, uint64_t timeout_ns,
                              struct rondo_source_error *why) {
    char limit[24] = "";
    enum rondo_err err = kind_of(code);
    if (code == CURLE_WRITE_ERROR && c->body_err == RONDO_ERR_NOMEM) return RONDO_ERR_NOMEM;
    if (code == CURLE_WRITE_ERROR && c->body_err) {
        snprintf(why->text, sizeof why->text, "the answer is larger than max_body (%llu bytes)",
                 (unsigned long long)c->http->max_body);
    } else if (err == RONDO_ERR_TIMEOUT) {
        if (timeout_ns) rondo_quantity_print_duration(timeout_ns, limit);
        snprintf(why->text, sizeof why->text, "no answer in time%s%s", limit[0] ? ": " : "", limit);
    } else {
        snprintf(why->text, sizeof why->text, "%.200s",
                 c->text[0] ? c->text : curl_easy_strerror(code));
    }
    return err;
}

static uint64_t ttl_of(CURL *curl) {
    struct curl_header *header;
    uint64_t ttl_ns = 0;
    bool is_shared = false;
    for (size_t i = 0;
         curl_easy_header(curl, "Cache-Control", i, CURLH_HEADER, -1, &header) == CURLHE_OK; i++)
        rondo_http_age_control(header->value, &ttl_ns, &is_shared);
    if (curl_easy_header(curl, "Age", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        ttl_ns = rondo_http_age_spent(ttl_ns, header->value);
    return ttl_ns;
}

static enum rondo_err get(struct connection *c, const char *url, uint64_t timeout_ns, long *status,
                          struct rondo_source_error *why) {
    uint64_t ms = timeout_ns / RONDO_MS + (timeout_ns % RONDO_MS != 0);
    c->body.len = 0;
    c->body_err = RONDO_OK;
    c->text[0] = '\0';
    CURLcode code = curl_easy_setopt(c->curl, CURLOPT_URL, url);
    if (!code) code = curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, ms < INT32_MAX ? (long)ms : 0L);
    if (!code) code = curl_easy_perform(c->curl);
    if (!code) code = curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, status);
    return code ? explain(c, code, timeout_ns, why) : RONDO_OK;
}

static enum rondo_err load_one(struct connection *c, const struct rondo_load *load, size_t i,
                               struct rondo_source_error *why) {
    struct rondo_buf url = {0};
    long status = 0;
    enum rondo_err err = make_url(c->http, &load->keys[i], &url, why);
    if (!err) err = get(c, url.data, load->timeout_ns, &status, why);
    rondo_buf_fini(&url);
    if (err) return err;
    if (status == 200) {
        rondo_load_value(load, i, c->body.data, c->body.len, ttl_of(c->curl));
    } else if (status == 404 || status == 410) {
        rondo_load_absent(load, i);
    } else {
        bool moved = status >= 300 && status < 400 && c->http->redirects == 0;
        snprintf(why->text, sizeof why->text, "status %ld%s", status,
                 moved ? " (`redirects` is 0)" : "");
        err = RONDO_ERR_LOAD;
    }
    c->body.len = 0;
    rondo_buf_shrink(&c->body, 65536);
    return err;
}

static void http_load(void *connection, const struct rondo_load *load) {
    struct connection *c = connection;
    /* Partner: http_cancel.  One that comes late ends the wrong call, as timed out. */
    rondo_store_relaxed(&c->cancelled, 0);
    for (size_t i = 0; i < load->n; i++) {
        struct rondo_source_error why = {""};
        enum rondo_err err = load_one(c, load, i, &why);
        if (err) rondo_load_fail(load, i, err, why.text[0] ? why.text : rondo_err_text(err));
    }
}

/* ------------------------------------------------------------------ plugin --- */

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "http",
    .help = "answers of an HTTP server",
    .options = options,
    .open = http_open,
    .close = http_close,
    .connect = http_connect,
    .disconnect = http_disconnect,
    .load = http_load,
    .cancel = http_cancel,
};

__attribute__((visibility("default"))) const struct rondo_source_ops *rondo_source_plugin(void);

const struct rondo_source_ops *rondo_source_plugin(void) {
    return &ops;
}
