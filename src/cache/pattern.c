/* SPDX-License-Identifier: MIT */
#include "cache/pattern.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"

static bool is_name_byte(char c, bool first) {
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return is_letter || (!first && c >= '0' && c <= '9');
}

static enum rondo_err refuse(struct rondo_pattern_error *why, size_t column, const char *what) {
    snprintf(why->text, sizeof why->text, "column %zu: %s", column + 1, what);
    return RONDO_ERR_CONFIG;
}

static bool has_param(const struct rondo_pattern *p, const char *name) {
    for (size_t i = 0; i < p->n_params; i++)
        if (strcmp(p->params[i], name) == 0) return true;
    return false;
}

/* Takes the parameter whose `{` is at `at`; *end is the place behind its `}`. */
static enum rondo_err parse_param(struct rondo_pattern *p, size_t at, size_t *end,
                                  struct rondo_pattern_error *why) {
    char *name = p->text + at + 1;
    size_t len = 0;
    while (is_name_byte(name[len], len == 0)) len++;
    if (name[len] == '\0') return refuse(why, at, "'{' without '}'");
    if (len == 0 && name[0] == '}')
        return refuse(why, at, "a parameter without a name; write {name}");
    if (name[len] != '}')
        return refuse(why, at + 1 + len,
                      "a parameter's name has letters, digits and '_' and begins with no digit");
    if (p->n_params > 0 && p->literals[p->n_params].len == 0)
        return refuse(why, at, "two parameters need some text between them");
    if (p->n_params == RONDO_PATTERN_PARAMS_MAX) return refuse(why, at, "more than 16 parameters");
    name[len] = '\0';
    if (has_param(p, name)) return refuse(why, at, "the same parameter twice");
    p->params[p->n_params++] = name;
    *end = at + len + 2;
    return RONDO_OK;
}

static enum rondo_err parse(struct rondo_pattern *p, struct rondo_pattern_error *why) {
    size_t len = strlen(p->text), start = 0;
    if (len == 0) return refuse(why, 0, "an empty pattern; \"{key}\" takes every key");
    for (size_t i = 0; i < len;) {
        if (p->text[i] == '}') return refuse(why, i, "'}' without '{'");
        if (p->text[i] != '{') {
            i++;
            continue;
        }
        p->literals[p->n_params] = rondo_slice_of(p->text + start, i - start);
        enum rondo_err err = parse_param(p, i, &i, why);
        if (err) return err;
        start = i;
    }
    p->literals[p->n_params] = rondo_slice_of(p->text + start, len - start);
    if (p->n_params == 0) return refuse(why, 0, "no parameter; a pattern looks like \"user:{id}\"");
    return RONDO_OK;
}

enum rondo_err rondo_pattern_init(struct rondo_pattern *p, const char *text,
                                  struct rondo_pattern_error *why) {
    *p = (struct rondo_pattern){.takes_all = text == NULL};
    p->text = rondo_strdup(text ? text : "{key}");
    if (!p->text) return RONDO_ERR_NOMEM;
    enum rondo_err err = parse(p, why);
    if (err) rondo_pattern_fini(p);
    return err;
}

void rondo_pattern_fini(struct rondo_pattern *p) {
    rondo_free(p->text);
    *p = (struct rondo_pattern){0};
}

/* Where `literal` first fits in s[from..), or s.len + 1. */
static size_t find(struct rondo_slice s, size_t from, struct rondo_slice literal) {
    const char *data = s.data;
    const void *at = memmem(data + from, s.len - from, literal.data, literal.len);
    return at ? (size_t)((const char *)at - data) : s.len + 1;
}

bool rondo_pattern_match(const struct rondo_pattern *p, struct rondo_slice key,
                         struct rondo_slice *captures) {
    if (p->takes_all) {
        if (captures) captures[0] = key;
        return true;
    }
    struct rondo_slice head = p->literals[0], tail = p->literals[p->n_params];
    if (key.len < head.len + tail.len) return false;
    const char *data = key.data;
    if (head.len && memcmp(data, head.data, head.len) != 0) return false;
    if (tail.len && memcmp(data + key.len - tail.len, tail.data, tail.len) != 0) return false;

    struct rondo_slice body = {data, key.len - tail.len};
    size_t at = head.len;
    for (size_t i = 0; i < p->n_params; i++) {
        bool is_last = i + 1 == p->n_params;
        if (at >= body.len) return false;
        size_t end = is_last ? body.len : find(body, at + 1, p->literals[i + 1]);
        if (end > body.len) return false;
        if (captures) captures[i] = rondo_slice_of(data + at, end - at);
        at = end + (is_last ? 0 : p->literals[i + 1].len);
    }
    return true;
}
