/* SPDX-License-Identifier: MIT */
#include "config/cache_source.h"

#include "base/check.h"
#include "base/mem.h"
#include "cache/pattern.h"
#include "source/source.h"

/* Where a mistake is, "caches.users.source.load". */
struct place {
    struct rondo_config_cache *cache;
    struct rondo_report *report;
    unsigned line, type_line;
};

static void tell(void *arg, const char *setting, const char *text) {
    const struct place *p = arg;
    unsigned line = p->line;
    char place[256];
    if (setting && strcmp(setting, "type") == 0) line = p->type_line;
    for (size_t i = 0; setting && i < p->cache->n_settings; i++)
        if (strcmp(p->cache->settings[i].name, setting) == 0) line = p->cache->settings[i].line;
    snprintf(place, sizeof place, "caches.%.64s.source%s%.128s", p->cache->name, setting ? "." : "",
             setting ? setting : "");
    rondo_report_mistake(p->report, line, place, "%s", text);
}

/* --------------------------------------------------------------- pattern --- */

static enum rondo_err keep_params(struct rondo_config_cache *cache,
                                  const struct rondo_pattern *pattern) {
    cache->params = rondo_zalloc((pattern->n_params + 1) * sizeof *cache->params);
    if (!cache->params) return RONDO_ERR_NOMEM;
    for (size_t i = 0; i < pattern->n_params; i++) {
        cache->params[i] = rondo_strdup(pattern->params[i]);
        if (!cache->params[i]) return RONDO_ERR_NOMEM;
        cache->n_params++;
    }
    return RONDO_OK;
}

enum rondo_err rondo_cache_source_pattern(struct rondo_config_cache *cache, const char *text,
                                          unsigned line, struct rondo_report *report) {
    struct rondo_pattern pattern;
    struct rondo_pattern_error why;
    char place[96];
    snprintf(place, sizeof place, "caches.%.64s.keys", cache->name);
    enum rondo_err err = rondo_pattern_init(&pattern, text, &why);
    if (err == RONDO_ERR_CONFIG)
        rondo_report_mistake(report, line, place, "found \"%s\": %s", text, why.text);
    if (err) return err;
    err = keep_params(cache, &pattern);
    rondo_pattern_fini(&pattern);
    if (err) return err;
    cache->pattern = rondo_strdup(text);
    if (!cache->pattern) return RONDO_ERR_NOMEM;
    cache->options.pattern = cache->pattern;
    return RONDO_OK;
}

/* -------------------------------------------------------------- settings --- */

enum rondo_err rondo_cache_source_add(struct rondo_config_cache *cache, const char *name,
                                      const char *value, unsigned line) {
    size_t size;
    if (!rondo_size_mul(cache->n_settings + 1, sizeof *cache->settings, &size))
        return RONDO_ERR_NOMEM;
    struct rondo_source_setting *grown = rondo_realloc(cache->settings, size);
    if (!grown) return RONDO_ERR_NOMEM;
    cache->settings = grown;
    char *n = rondo_strdup(name), *v = rondo_strdup(value);
    if (!n || !v) {
        rondo_free(n);
        rondo_free(v);
        return RONDO_ERR_NOMEM;
    }
    cache->settings[cache->n_settings++] = (struct rondo_source_setting){n, v, line};
    return RONDO_OK;
}

/* The names and values in settings are ours; the public struct says const. */
static void free_const(const char *p) {
    rondo_free((void *)(uintptr_t)p);
}

void rondo_cache_source_fini(struct rondo_config_cache *cache) {
    rondo_source_close(&cache->options.source);
    for (size_t i = 0; i < cache->n_settings; i++) {
        free_const(cache->settings[i].name);
        free_const(cache->settings[i].value);
    }
    for (size_t i = 0; i < cache->n_params; i++) rondo_free(cache->params[i]);
    rondo_free(cache->params);
    rondo_free(cache->settings);
    rondo_free(cache->source_type);
    rondo_free(cache->pattern);
}

/* ------------------------------------------------------------------ open --- */

static unsigned writes_of(const struct rondo_source *source) {
    const struct rondo_source_ops *ops = source->ops;
    if (ops->writes) return ops->writes(source->self);
    return (ops->store ? RONDO_SOURCE_STORES : 0u) | (ops->erase ? RONDO_SOURCE_ERASES : 0u);
}

/* `writes: through` promises that both reach the source. */
static enum rondo_err check_writes(struct place *p, const struct rondo_source *source) {
    unsigned writes = writes_of(source);
    if (p->cache->options.writes != RONDO_WRITES_THROUGH) return RONDO_OK;
    if (!(writes & RONDO_SOURCE_STORES))
        tell(p, NULL, "`writes: through` needs a source that stores (a `store` statement)");
    if (!(writes & RONDO_SOURCE_ERASES))
        tell(p, NULL, "`writes: through` needs a source that erases (an `erase` statement)");
    return writes == (RONDO_SOURCE_STORES | RONDO_SOURCE_ERASES) ? RONDO_OK : RONDO_ERR_CONFIG;
}

enum rondo_err rondo_cache_source_open(struct rondo_config_cache *cache, const char *base_dir,
                                       unsigned line, unsigned type_line,
                                       struct rondo_report *report) {
    struct place place = {cache, report, line, type_line};
    struct rondo_source_context context = {.base_dir = base_dir};
    struct rondo_source_config config = {
        .size = sizeof config,
        .cache = cache->name,
        .params = (const char *const *)cache->params,
        .n_params = cache->n_params,
        .settings = cache->settings,
        .n_settings = cache->n_settings,
        .mistake = tell,
        .mistake_arg = &place,
    };
    struct rondo_source source;
    enum rondo_err err = rondo_source_open(cache->source_type, &config, &context, &source);
    if (err) return err;
    err = check_writes(&place, &source);
    if (err)
        rondo_source_close(&source);
    else
        cache->options.source = source;
    return err;
}
