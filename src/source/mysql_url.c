/* SPDX-License-Identifier: MIT */
#include "source/mysql_url.h"

#include "base/buf.h"
#include "base/mem.h"

static const char shape[] = "it reads mysql://user:password@host:port/database?option=value "
                            "(special characters are written as %XX)";

/* A stretch of the text while it is taken apart. */
struct span {
    const char *at, *end;
};

static size_t length(struct span s) {
    return (size_t)(s.end - s.at);
}

/* Splits off what stands before the first of `signs`; false if there is none. */
static bool split(struct span *rest, const char *signs, struct span *head) {
    const char *p = rest->at;
    while (p < rest->end && !strchr(signs, *p)) p++;
    *head = (struct span){rest->at, p};
    rest->at = p;
    return p < rest->end;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* A copy with %XX undone; an empty stretch is none. */
static enum rondo_err decode(struct span s, char **out, const char **wrong) {
    if (s.at == s.end) return RONDO_OK;
    char *copy = rondo_alloc(length(s) + 1), *to = copy;
    if (!copy) return RONDO_ERR_NOMEM;
    for (const char *p = s.at; p < s.end; p++) {
        *to = *p;
        if (*p == '%') {
            int high = s.end - p > 2 ? hex(p[1]) : -1, low = s.end - p > 2 ? hex(p[2]) : -1;
            if (high < 0 || low < 0 || high + low == 0) {
                rondo_free(copy);
                *wrong = shape;
                return RONDO_ERR_CONFIG;
            }
            *to = (char)(high * 16 + low);
            p += 2;
        }
        to++;
    }
    *to = '\0';
    rondo_free(*out);
    *out = copy;
    return RONDO_OK;
}

static bool parse_port(struct span s, unsigned *port) {
    unsigned n = 0;
    for (const char *p = s.at; p < s.end; p++) {
        if (*p < '0' || *p > '9' || n > 65535) return false;
        n = n * 10 + (unsigned)(*p - '0');
    }
    *port = n;
    return n > 0 && n <= 65535;
}

static enum rondo_err parse_user(struct span s, struct rondo_mysql_url *out, const char **wrong) {
    struct span user;
    bool has_password = split(&s, ":", &user);
    enum rondo_err err = decode(user, &out->user, wrong);
    if (err || !has_password) return err;
    s.at++;
    return decode(s, &out->password, wrong);
}

static enum rondo_err parse_host(struct span s, struct rondo_mysql_url *out, const char **wrong) {
    struct span host;
    bool has_port;
    if (s.at < s.end && *s.at == '[') {
        s.at++;
        if (!split(&s, "]", &host)) {
            *wrong = shape;
            return RONDO_ERR_CONFIG;
        }
        s.at++;
        has_port = s.at < s.end && *s.at == ':';
    } else {
        has_port = split(&s, ":", &host);
    }
    if (has_port) s.at++;
    if ((!has_port && s.at < s.end) || (has_port && !parse_port(s, &out->port))) {
        *wrong = "a port is a number from 1 to 65535";
        return RONDO_ERR_CONFIG;
    }
    return decode(host, &out->host, wrong);
}

static enum rondo_err parse_authority(struct span s, struct rondo_mysql_url *out,
                                      const char **wrong) {
    struct span user;
    enum rondo_err err = RONDO_OK;
    struct span rest = s;
    if (split(&rest, "@", &user)) {
        s.at = rest.at + 1;
        if (memchr(s.at, '@', length(s))) {
            *wrong = "it has more than one @: one in a user or password is written as %40";
            return RONDO_ERR_CONFIG;
        }
        err = parse_user(user, out, wrong);
    }
    return err ? err : parse_host(s, out, wrong);
}

static bool is(struct span s, const char *text) {
    return length(s) == strlen(text) && memcmp(s.at, text, length(s)) == 0;
}

static enum rondo_err parse_option(struct span s, struct rondo_mysql_url *out, const char **wrong) {
    struct span name;
    if (split(&s, "=", &name)) s.at++;
    if (is(name, "socket")) return decode(s, &out->socket, wrong);
    if (is(name, "ca")) return decode(s, &out->ca, wrong);
    *wrong = "its options are socket, tls and ca";
    if (!is(name, "tls")) return RONDO_ERR_CONFIG;
    *wrong = "tls is off, require or verify";
    if (is(s, "require"))
        out->tls = RONDO_MYSQL_TLS_REQUIRE;
    else if (is(s, "verify"))
        out->tls = RONDO_MYSQL_TLS_VERIFY;
    else if (!is(s, "off"))
        return RONDO_ERR_CONFIG;
    return RONDO_OK;
}

static enum rondo_err parse_options(struct span s, struct rondo_mysql_url *out,
                                    const char **wrong) {
    struct span option;
    while (s.at < s.end) {
        bool more = split(&s, "&", &option);
        enum rondo_err err = parse_option(option, out, wrong);
        if (err) return err;
        if (more) s.at++;
    }
    return RONDO_OK;
}

enum rondo_err rondo_mysql_url_parse(const char *text, struct rondo_mysql_url *out,
                                     const char **wrong) {
    static const char *const schemes[] = {"mysql://", "mariadb://"};
    struct span rest = {NULL, text + strlen(text)}, part;
    *out = (struct rondo_mysql_url){.port = 0};
    for (size_t i = 0; i < RONDO_COUNT_OF(schemes); i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) rest.at = text + strlen(schemes[i]);
    *wrong = "it begins with mysql:// or mariadb://";
    if (!rest.at) return RONDO_ERR_CONFIG;
    split(&rest, "/?", &part);
    enum rondo_err err = parse_authority(part, out, wrong);
    if (!err && rest.at < rest.end && *rest.at == '/') {
        rest.at++;
        split(&rest, "?", &part);
        err = decode(part, &out->database, wrong);
    }
    if (!err && rest.at < rest.end) {
        rest.at++;
        err = parse_options(rest, out, wrong);
    }
    /* The library would take any certificate then. */
    *wrong = err ? *wrong : "tls=verify needs ca=PATH";
    return !err && out->tls == RONDO_MYSQL_TLS_VERIFY && !out->ca ? RONDO_ERR_CONFIG : err;
}

void rondo_mysql_url_fini(struct rondo_mysql_url *url) {
    rondo_free(url->user);
    rondo_free(url->password);
    rondo_free(url->host);
    rondo_free(url->database);
    rondo_free(url->socket);
    rondo_free(url->ca);
    *url = (struct rondo_mysql_url){.port = 0};
}
