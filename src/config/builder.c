/* SPDX-License-Identifier: MIT */
/*
 * Functions here return NOMEM or OK: a mistake is told and the reading goes on, so
 * that one run shows them all.
 */
#include "config/builder.h"

#include "base/check.h"
#include "base/mem.h"
#include "config/cache_source.h"
#include "config/option.h"

enum { CACHES_MAX = 1000, NAME_MAX_BYTES = 64, PLACE_BYTES = 192 };

struct builder {
    struct rondo_config *config;
    struct rondo_report *report;
    unsigned listen_line, admin_line;
};

/* A mistake is not an error of the build. */
static enum rondo_err forgive(enum rondo_err err) {
    return err == RONDO_ERR_CONFIG ? RONDO_OK : err;
}

static const char *kind_name(const struct rondo_yaml *node) {
    if (node->kind == RONDO_YAML_MAP) return "a map";
    if (node->kind == RONDO_YAML_LIST) return "a list";
    return node->text ? "a value" : "nothing";
}

static bool is_duplicate(const struct rondo_yaml *node) {
    return rondo_yaml_get(node->parent, node->key) != node;
}

/* ---------------------------------------------------------------- options --- */

static void unknown(struct builder *b, enum rondo_config_scope scope, const struct rondo_yaml *node,
                    const char *place) {
    char allowed[512];
    const char *near = rondo_config_option_near(scope, node->key);
    rondo_config_option_list(scope, allowed, sizeof allowed);
    if (near)
        rondo_report_mistake(b->report, node->key_line, place,
                             "unknown option, did you mean \"%s\"? allowed: %s", near, allowed);
    else
        rondo_report_mistake(b->report, node->key_line, place, "unknown option, allowed: %s",
                             allowed);
}

/* The text of a node that must be one, NULL if it is none (told). */
static const char *text_of(struct builder *b, const struct rondo_yaml *node, const char *place,
                           const char *allowed) {
    if (node->kind == RONDO_YAML_SCALAR && node->text) return node->text;
    rondo_report_mistake(b->report, node->line, place, "found %s: %s", kind_name(node), allowed);
    return NULL;
}

static void read_option(struct builder *b, const struct rondo_config_option *option,
                        const struct rondo_yaml *node, const char *place, void *base) {
    const char *text = text_of(b, node, place, option->allowed);
    if (!text) return;
    const char *wrong = option->read(text, (char *)base + option->offset);
    if (!wrong) return;
    if (strcmp(option->name, "password") == 0)
        rondo_report_mistake(b->report, node->line, place, "%s", wrong);
    else
        rondo_report_mistake(b->report, node->line, place, "found \"%.256s\": %s", text, wrong);
}

/* ----------------------------------------------------------------- source --- */

/* A map inside a source becomes settings "map.name". */
static enum rondo_err add_map(struct builder *b, struct rondo_config_cache *cache,
                              const struct rondo_yaml *map, const char *place) {
    for (const struct rondo_yaml *n = map->child; n; n = n->next) {
        char name[256], inner[PLACE_BYTES + 80];
        if (is_duplicate(n)) continue;
        snprintf(inner, sizeof inner, "%s.%.64s", place, n->key);
        int len = snprintf(name, sizeof name, "%s.%s", map->key, n->key);
        if (len < 0 || (size_t)len >= sizeof name) {
            rondo_report_mistake(b->report, n->key_line, inner, "a name of more than 200 bytes");
            continue;
        }
        const char *text = text_of(b, n, inner, "a text");
        enum rondo_err err = text ? rondo_cache_source_add(cache, name, text, n->line) : RONDO_OK;
        if (err) return err;
    }
    return RONDO_OK;
}

static enum rondo_err add_setting(struct builder *b, struct rondo_config_cache *cache,
                                  const struct rondo_yaml *node) {
    char place[PLACE_BYTES];
    snprintf(place, sizeof place, "caches.%s.source.%.64s", cache->name, node->key);
    if (node->kind == RONDO_YAML_MAP) return add_map(b, cache, node, place);
    const char *text = text_of(b, node, place, "a value");
    return text ? rondo_cache_source_add(cache, node->key, text, node->key_line) : RONDO_OK;
}

static enum rondo_err read_settings(struct builder *b, struct rondo_config_cache *cache,
                                    const struct rondo_yaml *node) {
    for (const struct rondo_yaml *n = node->child; n; n = n->next) {
        if (is_duplicate(n) || strcmp(n->key, "type") == 0) continue;
        enum rondo_err err = add_setting(b, cache, n);
        if (err) return err;
    }
    return RONDO_OK;
}

/* With the patterns's parameters unknown nothing could be said about templates, so
 * a source is looked at only once the keys are right. */
static enum rondo_err read_source(struct builder *b, struct rondo_config_cache *cache,
                                  const struct rondo_yaml *node) {
    static const char allowed[] = "a map with a type, such as type: sqlite";
    char place[PLACE_BYTES];
    snprintf(place, sizeof place, "caches.%s.source", cache->name);
    if (node->kind != RONDO_YAML_MAP) {
        rondo_report_mistake(b->report, node->key_line, place, "found %s: %s", kind_name(node),
                             allowed);
        return RONDO_OK;
    }
    const struct rondo_yaml *type = rondo_yaml_get(node, "type");
    if (!type) {
        rondo_report_mistake(b->report, node->key_line, place, "`type` is missing: %s", allowed);
        return RONDO_OK;
    }
    const char *text = text_of(b, type, place, allowed);
    if (!text || !cache->pattern) return RONDO_OK;
    cache->source_type = rondo_strdup(text);
    if (!cache->source_type) return RONDO_ERR_NOMEM;
    size_t before = b->report->n_mistakes;
    enum rondo_err err = read_settings(b, cache, node);
    if (err) return err;
    err =
        rondo_cache_source_open(cache, b->config->base_dir, node->key_line, type->line, b->report);
    RONDO_CHECK(err != RONDO_ERR_CONFIG || b->report->n_mistakes > before);
    return forgive(err);
}

/* ----------------------------------------------------------------- caches --- */

static size_t prefix_length(const char *pattern) {
    return strcspn(pattern, "{");
}

/* Two caches of one literal prefix: which should win would be a guess. */
static void check_tie(struct builder *b, const struct rondo_config_cache *cache, unsigned line,
                      const char *place) {
    size_t len = prefix_length(cache->pattern);
    for (const struct rondo_config_cache *c = b->config->caches; c != cache; c++) {
        if (!c->pattern || prefix_length(c->pattern) != len ||
            strncmp(c->pattern, cache->pattern, len) != 0)
            continue;
        rondo_report_mistake(
            b->report, line, place,
            "found \"%s\", which begins like the keys of `%s` in line %u (\"%s\"): "
            "the text before the first { must differ",
            cache->pattern, c->name, c->line, c->pattern);
        return;
    }
}

static enum rondo_err read_keys(struct builder *b, struct rondo_config_cache *cache,
                                const struct rondo_yaml *map) {
    static const char allowed[] = "a pattern such as \"user:{id}\"";
    char place[PLACE_BYTES];
    snprintf(place, sizeof place, "caches.%s.keys", cache->name);
    const struct rondo_yaml *node = rondo_yaml_get(map, "keys");
    if (!node) {
        snprintf(place, sizeof place, "caches.%s", cache->name);
        rondo_report_mistake(b->report, cache->line, place, "`keys` is missing: %s", allowed);
        return RONDO_OK;
    }
    const char *text = text_of(b, node, place, allowed);
    if (!text) return RONDO_OK;
    enum rondo_err err = rondo_cache_source_pattern(cache, text, node->line, b->report);
    if (!err) check_tie(b, cache, node->line, place);
    return forgive(err);
}

static void read_cache_options(struct builder *b, struct rondo_config_cache *cache,
                               const struct rondo_yaml *map) {
    for (const struct rondo_yaml *n = map->child; n; n = n->next) {
        char place[PLACE_BYTES];
        if (is_duplicate(n)) continue;
        snprintf(place, sizeof place, "caches.%s.%.64s", cache->name, n->key);
        const struct rondo_config_option *o = rondo_config_option(RONDO_CONFIG_CACHE, n->key);
        if (!o)
            unknown(b, RONDO_CONFIG_CACHE, n, place);
        else if (o->read)
            read_option(b, o, n, place, &cache->options);
    }
}

/* What a source that is there can take is told where it is opened. */
static void check_through(struct builder *b, const struct rondo_config_cache *cache,
                          const struct rondo_yaml *map) {
    char place[PLACE_BYTES];
    const struct rondo_yaml *node = rondo_yaml_get(map, "writes");
    if (!node || cache->options.writes != RONDO_WRITES_THROUGH) return;
    snprintf(place, sizeof place, "caches.%s.writes", cache->name);
    rondo_report_mistake(b->report, node->line, place,
                         "found \"through\", which needs a `source` to write to");
}

static bool is_cache_name(const char *name) {
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return len > 0 && len <= NAME_MAX_BYTES && name[len] == '\0' && strcmp(name, "default") != 0;
}

static enum rondo_err read_cache(struct builder *b, const struct rondo_yaml *node) {
    struct rondo_config_cache *cache = &b->config->caches[b->config->n_caches];
    char place[PLACE_BYTES];
    snprintf(place, sizeof place, "caches.%.64s", node->key);
    if (!is_cache_name(node->key)) {
        rondo_report_mistake(b->report, node->key_line, place,
                             "a cache's name is 1 to 64 letters, digits, _ and -, and not "
                             "\"default\"");
        return RONDO_OK;
    }
    if (node->kind != RONDO_YAML_MAP) {
        rondo_report_mistake(b->report, node->key_line, place,
                             "found %s: a map of options, with `keys` and `source`",
                             kind_name(node));
        return RONDO_OK;
    }
    cache->name = rondo_strdup(node->key);
    if (!cache->name) return RONDO_ERR_NOMEM;
    b->config->n_caches++;
    cache->line = node->key_line;
    cache->options.size = sizeof cache->options;
    cache->options.name = cache->name;
    read_cache_options(b, cache, node);
    enum rondo_err err = read_keys(b, cache, node);
    const struct rondo_yaml *source = rondo_yaml_get(node, "source");
    if (!source) check_through(b, cache, node);
    return !err && source ? read_source(b, cache, source) : err;
}

static enum rondo_err read_caches(struct builder *b, const struct rondo_yaml *node) {
    size_t n = 0;
    if (node->kind != RONDO_YAML_MAP) {
        if (node->kind == RONDO_YAML_SCALAR && !node->text) return RONDO_OK;
        rondo_report_mistake(b->report, node->key_line, "caches", "found %s: a map of names",
                             kind_name(node));
        return RONDO_OK;
    }
    for (const struct rondo_yaml *c = node->child; c; c = c->next) n++;
    if (n > CACHES_MAX) {
        rondo_report_mistake(b->report, node->key_line, "caches", "more than %d", CACHES_MAX);
        return RONDO_OK;
    }
    b->config->caches = rondo_zalloc((n + 1) * sizeof *b->config->caches);
    if (!b->config->caches) return RONDO_ERR_NOMEM;
    for (const struct rondo_yaml *c = node->child; c; c = c->next) {
        enum rondo_err err = is_duplicate(c) ? RONDO_OK : read_cache(b, c);
        if (err) return err;
    }
    return RONDO_OK;
}

/* ----------------------------------------------------------------- server --- */

static enum rondo_err read_server(struct builder *b, const struct rondo_yaml *root) {
    for (const struct rondo_yaml *n = root->child; n; n = n->next) {
        if (is_duplicate(n)) continue;
        const struct rondo_config_option *o = rondo_config_option(RONDO_CONFIG_SERVER, n->key);
        if (!o)
            unknown(b, RONDO_CONFIG_SERVER, n, n->key);
        else if (o->read)
            read_option(b, o, n, n->key, b->config);
        if (strcmp(n->key, "listen") == 0) b->listen_line = n->line;
        if (strcmp(n->key, "admin") == 0) b->admin_line = n->line;
    }
    const struct rondo_yaml *caches = rondo_yaml_get(root, "caches");
    return caches ? read_caches(b, caches) : RONDO_OK;
}

static void check_addresses(struct builder *b) {
    const struct rondo_config *c = b->config;
    if (!c->listen.is_loopback && !c->password && !c->insecure)
        rondo_report_mistake(b->report, b->listen_line, "listen",
                             "%s is reachable from other machines: set `password`, listen on "
                             "127.0.0.1, or say `insecure: yes`",
                             c->listen.host);
    if (c->admin.is_set && !c->admin.is_loopback && !c->insecure)
        rondo_report_mistake(b->report, b->admin_line, "admin",
                             "%s is reachable from other machines, and admin has no password: use "
                             "127.0.0.1, or say `insecure: yes`",
                             c->admin.host);
    if (c->admin.is_set && c->admin.port != 0 && c->admin.port == c->listen.port &&
        strcmp(c->admin.host, c->listen.host) == 0)
        rondo_report_mistake(b->report, b->admin_line, "admin", "the same address as `listen`");
}

enum rondo_err rondo_builder_run(struct rondo_config *config, const struct rondo_yaml *root,
                                 struct rondo_report *report) {
    struct builder b = {.config = config, .report = report};
    if (root && root->kind != RONDO_YAML_MAP && (root->kind != RONDO_YAML_SCALAR || root->text)) {
        rondo_report_mistake(report, root->line, NULL,
                             "found %s: a map of options, such as \"listen: 127.0.0.1:6380\"",
                             kind_name(root));
        return RONDO_OK;
    }
    enum rondo_err err = root ? read_server(&b, root) : RONDO_OK;
    if (!err) check_addresses(&b);
    return err;
}
