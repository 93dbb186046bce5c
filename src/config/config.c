/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include "base/buf.h"
#include "base/mem.h"
#include "config/builder.h"
#include "config/cache_source.h"
#include "source/source.h"
#include <errno.h>

enum { DEFAULT_PORT = 6380, DEFAULT_CONNECTIONS = 10000 };

static const char command_line[] = "command line";

/* ---------------------------------------------------------- made and freed --- */

static enum rondo_err config_new(const char *path, const char *base_dir,
                                 struct rondo_config **out) {
    struct rondo_config *c = rondo_zalloc(sizeof *c);
    if (!c) return RONDO_ERR_NOMEM;
    c->listen = (struct rondo_config_address){
        .is_set = true, .is_loopback = true, .port = DEFAULT_PORT, .host = "127.0.0.1"};
    c->max_connections = DEFAULT_CONNECTIONS;
    c->log_level = RONDO_LOG_INFO;
    c->path = rondo_strdup(path);
    if (base_dir) c->base_dir = rondo_strdup(base_dir);
    if (!c->path || (base_dir && !c->base_dir)) {
        rondo_config_free(c);
        return RONDO_ERR_NOMEM;
    }
    *out = c;
    return RONDO_OK;
}

void rondo_config_free(struct rondo_config *c) {
    if (!c) return;
    for (size_t i = 0; i < c->n_caches; i++) {
        rondo_cache_source_fini(&c->caches[i]);
        rondo_free(c->caches[i].name);
    }
    rondo_free(c->caches);
    if (c->password) explicit_bzero(c->password, strlen(c->password));
    rondo_free(c->password);
    rondo_free(c->base_dir);
    rondo_free(c->path);
    rondo_free(c);
}

enum rondo_err rondo_config_default(struct rondo_config **out) {
    return config_new(command_line, NULL, out);
}

struct rondo_config_cache *rondo_config_find(const struct rondo_config *config, const char *name) {
    for (size_t i = 0; i < config->n_caches; i++)
        if (strcmp(config->caches[i].name, name) == 0) return &config->caches[i];
    return NULL;
}

/* ------------------------------------------------------------------ parse --- */

static void on_yaml_mistake(void *arg, unsigned line, const char *text) {
    rondo_report_mistake(arg, line, NULL, "%s", text);
}

static enum rondo_err build(struct rondo_config *config, const char *text, size_t len,
                            struct rondo_report *report) {
    struct rondo_yaml *root = NULL;
    enum rondo_err err = rondo_yaml_parse(text, len, on_yaml_mistake, report, &root);
    if (!err) err = rondo_builder_run(config, root, report);
    rondo_yaml_free(root);
    if (!err && report->n_mistakes > 0) err = RONDO_ERR_CONFIG;
    return err;
}

enum rondo_err rondo_config_parse(const char *text, size_t len, const char *path,
                                  const char *base_dir, rondo_config_report_fn fn, void *arg,
                                  struct rondo_config **out) {
    struct rondo_report report = {.path = path, .fn = fn, .arg = arg};
    struct rondo_config *config;
    enum rondo_err err = config_new(path, base_dir, &config);
    if (err) return err;
    err = build(config, text, len, &report);
    rondo_report_flush(&report);
    if (err)
        rondo_config_free(config);
    else
        *out = config;
    return err;
}

/* ------------------------------------------------------------------- load --- */

/* Reads up to one byte more than is allowed, so that the parser can say so. */
static enum rondo_err read_file(const char *path, struct rondo_report *report,
                                struct rondo_buf *text) {
    FILE *f = fopen(path, "re");
    enum rondo_err err = RONDO_OK;
    size_t n = 1;
    while (f && !err && n > 0 && text->len <= RONDO_YAML_BYTES_MAX) {
        err = rondo_buf_reserve(text, 65536);
        if (err) break;
        n = fread(text->data + text->len, 1, 65536, f);
        text->len += n;
    }
    if (!f || ferror(f)) {
        rondo_report_mistake(report, 0, NULL, "cannot be read: %s", strerror(errno));
        err = RONDO_ERR_CONFIG;
    }
    if (f) fclose(f);
    return err;
}

/* The directory of a path, NULL (and OK) if it has none. */
static enum rondo_err directory_of(const char *path, char **out) {
    const char *slash = strrchr(path, '/');
    *out = NULL;
    if (!slash) return RONDO_OK;
    *out = rondo_strndup(path, slash == path ? 1 : (size_t)(slash - path));
    return *out ? RONDO_OK : RONDO_ERR_NOMEM;
}

enum rondo_err rondo_config_load(const char *path, rondo_config_report_fn fn, void *arg,
                                 struct rondo_config **out) {
    struct rondo_report report = {.path = path, .fn = fn, .arg = arg};
    struct rondo_buf text = {0};
    char *dir = NULL;
    enum rondo_err err = read_file(path, &report, &text);
    if (!err) err = directory_of(path, &dir);
    if (!err)
        err = rondo_config_parse(text.data ? text.data : "", text.len, path, dir, fn, arg, out);
    rondo_report_flush(&report);
    rondo_free(dir);
    rondo_buf_fini(&text);
    return err;
}

/* ------------------------------------------------------ without a file --- */

/* A name for a cache that was given none: what its keys begin with. */
static char *name_of(const char *pattern) {
    size_t len =
        strspn(pattern, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (len == 0 || len > 64 || (len == 7 && strncmp(pattern, "default", len) == 0))
        return rondo_strdup("cache");
    return rondo_strndup(pattern, len);
}

/* The settings that a target and a statement stand for: the first two of the
 * source's table. */
static enum rondo_err quick_settings(struct rondo_config_cache *cache, const char *target,
                                     const char *statement, struct rondo_report *report) {
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops;
    enum rondo_err err = rondo_source_find(cache->source_type, NULL, &why, &ops);
    if (err == RONDO_ERR_NOMEM) return err;
    if (err) {
        rondo_report_mistake(report, 0, "source", "%s", why.text);
        return RONDO_ERR_CONFIG;
    }
    const struct rondo_source_option *o = ops->options;
    if (target[0] && o[0].name) err = rondo_cache_source_add(cache, o[0].name, target, 0);
    if (err || !statement) return err;
    if (o[0].name && o[1].name) return rondo_cache_source_add(cache, o[1].name, statement, 0);
    rondo_report_mistake(report, 0, "source", "found \"%.40s\", but %s takes no statement",
                         statement, cache->source_type);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err quick(struct rondo_config *config, const char *pattern, const char *target,
                            const char *statement, struct rondo_report *report) {
    const char *colon = strchr(target, ':');
    size_t type_len = colon ? (size_t)(colon - target) : strlen(target);
    struct rondo_config_cache *cache = config->caches = rondo_zalloc(sizeof *cache);
    if (!cache) return RONDO_ERR_NOMEM;
    cache->options.size = sizeof cache->options;
    cache->name = name_of(pattern);
    if (!cache->name) return RONDO_ERR_NOMEM;
    config->n_caches = 1;
    cache->options.name = cache->name;
    cache->source_type = rondo_strndup(target, type_len);
    if (!cache->source_type) return RONDO_ERR_NOMEM;
    enum rondo_err err = rondo_cache_source_pattern(cache, pattern, 0, report);
    if (!err) err = quick_settings(cache, colon ? colon + 1 : "", statement, report);
    return err ? err : rondo_cache_source_open(cache, NULL, 0, 0, report);
}

enum rondo_err rondo_config_quick(const char *pattern, const char *target, const char *statement,
                                  rondo_config_report_fn fn, void *arg, struct rondo_config **out) {
    struct rondo_report report = {.path = command_line, .fn = fn, .arg = arg};
    struct rondo_config *config;
    enum rondo_err err = config_new(command_line, NULL, &config);
    if (err) return err;
    err = quick(config, pattern, target, statement, &report);
    rondo_report_flush(&report);
    if (err)
        rondo_config_free(config);
    else
        *out = config;
    return err;
}

/* ------------------------------------------------------------ set --- */

/* A copy of everything that opening a source reads or makes. */
static enum rondo_err copy_source(const struct rondo_config_cache *from, const char *without,
                                  struct rondo_config_cache *to) {
    *to = (struct rondo_config_cache){.name = from->name, .line = from->line};
    to->options.writes = from->options.writes;
    to->params = from->params;
    to->n_params = from->n_params;
    to->source_type = from->source_type;
    for (size_t i = 0; i < from->n_settings; i++) {
        const struct rondo_source_setting *s = &from->settings[i];
        if (strcmp(s->name, without) == 0) continue;
        enum rondo_err err = rondo_cache_source_add(to, s->name, s->value, s->line);
        if (err) return err;
    }
    return RONDO_OK;
}

/* Exchanges settings and source; the rest is shared. */
static void swap_source(struct rondo_config_cache *a, struct rondo_config_cache *b) {
    struct rondo_config_cache old = *a;
    a->settings = b->settings;
    a->n_settings = b->n_settings;
    a->options.source = b->options.source;
    b->settings = old.settings;
    b->n_settings = old.n_settings;
    b->options.source = old.options.source;
}

enum rondo_err rondo_config_set(struct rondo_config *config, struct rondo_config_cache *cache,
                                const char *setting, const char *value, rondo_config_report_fn fn,
                                void *arg) {
    struct rondo_report report = {.path = config->path, .fn = fn, .arg = arg};
    struct rondo_config_cache changed;
    RONDO_CHECK(cache->source_type != NULL);
    enum rondo_err err = copy_source(cache, setting, &changed);
    if (!err && value) err = rondo_cache_source_add(&changed, setting, value, 0);
    if (!err)
        err =
            rondo_cache_source_open(&changed, config->base_dir, cache->line, cache->line, &report);
    rondo_report_flush(&report);
    if (!err) swap_source(cache, &changed);
    changed.params = NULL;
    changed.n_params = 0;
    changed.source_type = NULL;
    rondo_cache_source_fini(&changed);
    return err;
}
