/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include "base/mem.h"
#include "source/exec.h"
#include "source/finder.h"
#include "source/scripted.h"
#include "source/settings.h"
#include "source/suggest.h"

static const struct rondo_source_type types[] = {
    {"scripted", NULL},
    {"sqlite", "libsqlite3-dev and libjansson-dev"},
    {"postgres", "libpq-dev and libjansson-dev"},
    {"mysql", "libmariadb-dev and libjansson-dev"},
    {"http", "libcurl4-openssl-dev"},
    {"exec", NULL},
    {"plugin", NULL},
};

const struct rondo_source_type *rondo_source_type_at(size_t i) {
    return i < RONDO_COUNT_OF(types) ? &types[i] : NULL;
}

static const struct rondo_source_type *find_type(const char *name) {
    for (size_t i = 0; i < RONDO_COUNT_OF(types); i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

/* ------------------------------------------------------------- built in --- */

/* What `type: plugin` needs before the object's own table is known. */
static const struct rondo_source_option plugin_options[] = {
    {"path", RONDO_SETTING_PATH, true, false,
     "the shared object; every other setting is checked against the object's own table"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

static const struct rondo_source_ops plugin_ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "plugin",
    .help = "a source of your own, by its path",
    .options = plugin_options,
};

static const struct rondo_source_ops *built_in(const char *type) {
    if (strcmp(type, "scripted") == 0) return rondo_scripted_ops();
    if (strcmp(type, "exec") == 0) return rondo_exec_ops();
    return strcmp(type, "plugin") == 0 ? &plugin_ops : NULL;
}

/* ---------------------------------------------------------- find a type --- */

/* The name becomes part of a path. */
static bool is_type_name(const char *type) {
    size_t n = 0;
    for (; type[n]; n++) {
        char c = type[n];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
    }
    return n > 0 && n <= 32;
}

static void unknown_type(const char *type, struct rondo_source_error *why) {
    char known[160] = "";
    size_t used = 0;
    struct rondo_suggest near;
    rondo_suggest_init(&near, type);
    for (size_t i = 0; i < RONDO_COUNT_OF(types); i++) {
        rondo_suggest_offer(&near, types[i].name);
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, " %s", types[i].name);
    }
    if (near.best)
        snprintf(why->text, sizeof why->text, "found \"%.40s\", did you mean \"%s\"? allowed:%s",
                 type, near.best, known);
    else
        snprintf(why->text, sizeof why->text, "found \"%.40s\", allowed:%s", type, known);
}

static enum rondo_err not_found(const char *type, struct rondo_source_error *why) {
    const struct rondo_source_type *known = find_type(type);
    if (!known) {
        unknown_type(type, why);
        return RONDO_ERR_INVALID;
    }
    snprintf(why->text, sizeof why->text, "rondo-source-%s.so is not there (building it takes %s)",
             type, known->needs);
    return RONDO_ERR_NOT_FOUND;
}

enum rondo_err rondo_source_find(const char *type, const char *search_dir,
                                 struct rondo_source_error *why,
                                 const struct rondo_source_ops **out) {
    if (!is_type_name(type)) {
        unknown_type(type, why);
        return RONDO_ERR_INVALID;
    }
    *out = built_in(type);
    if (*out) return RONDO_OK;
    char *path;
    enum rondo_err err = rondo_finder_path(type, search_dir, &path);
    if (err == RONDO_ERR_NOT_FOUND) return not_found(type, why);
    if (err) return err;
    err = rondo_finder_load(path, type, why, out);
    rondo_free(path);
    return err;
}

/* ----------------------------------------------------------------- open --- */

/* What open is told: the settings that are right, with paths made absolute, and
 * a count of the mistakes that open tells in its turn. */
struct opening {
    struct rondo_source_config config;
    const struct rondo_source_config *asked;
    struct rondo_source_setting *settings;
    char **paths; /* one per setting, NULL where the value was taken as it is */
    size_t n_mistakes;
};

static void count_mistake(void *arg, const char *setting, const char *text) {
    struct opening *o = arg;
    o->n_mistakes++;
    o->asked->mistake(o->asked->mistake_arg, setting, text);
}

static enum rondo_err opening_init(struct opening *o, const struct rondo_source_config *config) {
    size_t room = config->n_settings + 1; /* never 0, which malloc may answer with NULL */
    *o = (struct opening){.config = *config, .asked = config};
    o->config.mistake = count_mistake;
    o->config.mistake_arg = o;
    o->settings = rondo_zalloc(room * sizeof *o->settings);
    o->paths = rondo_zalloc(room * sizeof *o->paths);
    o->config.settings = o->settings;
    return o->settings && o->paths ? RONDO_OK : RONDO_ERR_NOMEM;
}

static void opening_fini(struct opening *o) {
    for (size_t i = 0; o->paths && i < o->config.n_settings; i++) rondo_free(o->paths[i]);
    rondo_free(o->paths);
    rondo_free(o->settings);
}

/* "./" in front of what has no directory: a driver may take a name that starts
 * with "file:" or ":" for something else than a file's. */
static char *absolute_path(const char *base_dir, const char *path) {
    struct rondo_buf b = {0};
    enum rondo_err err = RONDO_OK;
    if (path[0] == '/') return rondo_strdup(path);
    err = rondo_buf_printf(&b, "%s/%s", base_dir ? base_dir : ".", path);
    char *out = err ? NULL : rondo_strndup(b.data, b.len);
    rondo_buf_fini(&b);
    return out;
}

static enum rondo_err resolve_paths(struct opening *o, const struct rondo_source_option *options,
                                    const char *base_dir) {
    for (size_t i = 0; i < o->config.n_settings; i++) {
        struct rondo_source_setting *s = &o->settings[i];
        if (rondo_settings_option(options, s->name)->kind != RONDO_SETTING_PATH) continue;
        o->paths[i] = absolute_path(base_dir, s->value);
        if (!o->paths[i]) return RONDO_ERR_NOMEM;
        s->value = o->paths[i];
    }
    return RONDO_OK;
}

static enum rondo_err check_and_open(struct opening *o, const struct rondo_source_ops *ops,
                                     const char *base_dir, struct rondo_source *out) {
    bool can_open;
    size_t mistakes =
        rondo_settings_check(o->asked, ops->options, o->settings, &o->config.n_settings, &can_open);
    if (!can_open) return RONDO_ERR_CONFIG;
    enum rondo_err err = resolve_paths(o, ops->options, base_dir);
    if (err) return err;

    struct rondo_source source = {ops, NULL};
    err = ops->open(&o->config, &source.self);
    if (err) {
        if (err != RONDO_ERR_NOMEM && o->n_mistakes == 0)
            rondo_settings_mistake(o->asked, NULL, "%s", rondo_err_text(err));
        return err;
    }
    if (mistakes + o->n_mistakes > 0) {
        rondo_source_close(&source);
        return RONDO_ERR_CONFIG;
    }
    *out = source;
    return RONDO_OK;
}

static enum rondo_err open_with(const struct rondo_source_ops *ops,
                                const struct rondo_source_config *config, const char *base_dir,
                                struct rondo_source *out) {
    struct opening o;
    enum rondo_err err = opening_init(&o, config);
    if (!err) err = check_and_open(&o, ops, base_dir, out);
    opening_fini(&o);
    return err;
}

/* The settings without `path`, which is not the object's. */
static size_t without_path(const struct rondo_source_config *config,
                           struct rondo_source_setting *rest) {
    size_t n = 0;
    for (size_t i = 0; i < config->n_settings; i++)
        if (strcmp(config->settings[i].name, "path") != 0) rest[n++] = config->settings[i];
    return n;
}

static enum rondo_err open_plugin(const struct rondo_source_config *config, const char *base_dir,
                                  struct rondo_source *out) {
    struct rondo_source_config inner = *config;
    struct rondo_source_setting *rest = rondo_zalloc((config->n_settings + 1) * sizeof *rest);
    const char *path = rondo_settings_get(config, "path");
    char *absolute = absolute_path(base_dir, path ? path : "");
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops;
    enum rondo_err err = rest && absolute ? RONDO_OK : RONDO_ERR_NOMEM;
    if (!err && !path) {
        rondo_settings_mistake(config, NULL, "`path` is missing: %s", plugin_options[0].help);
        err = RONDO_ERR_CONFIG;
    }
    if (!err && rondo_finder_load(absolute, NULL, &why, &ops) != RONDO_OK) {
        rondo_settings_mistake(config, "path", "%s", why.text);
        err = RONDO_ERR_CONFIG;
    }
    if (!err) {
        inner.settings = rest;
        inner.n_settings = without_path(config, rest);
        err = open_with(ops, &inner, base_dir, out);
    }
    rondo_free(absolute);
    rondo_free(rest);
    return err;
}

enum rondo_err rondo_source_open(const char *type, const struct rondo_source_config *config,
                                 const struct rondo_source_context *context,
                                 struct rondo_source *out) {
    struct rondo_source_error why = {""};
    const struct rondo_source_ops *ops;
    const char *base_dir = context ? context->base_dir : NULL;
    enum rondo_err err = rondo_source_find(type, context ? context->search_dir : NULL, &why, &ops);
    if (err == RONDO_ERR_NOMEM) return err;
    if (err) {
        rondo_settings_mistake(config, "type", "%s", why.text);
        return RONDO_ERR_CONFIG;
    }
    if (ops == &plugin_ops) return open_plugin(config, base_dir, out);
    return open_with(ops, config, base_dir, out);
}

void rondo_source_close(struct rondo_source *source) {
    if (source->ops && source->ops->close) source->ops->close(source->self);
    *source = (struct rondo_source){0};
}

/* ------------------------------------------------------------- describe --- */

static enum rondo_err describe_one(const struct rondo_source_type *type, struct rondo_buf *out) {
    if (!type->needs) return rondo_buf_printf(out, "%-10s built in\n", type->name);
    char *path;
    enum rondo_err err = rondo_finder_path(type->name, NULL, &path);
    if (err == RONDO_ERR_NOT_FOUND)
        return rondo_buf_printf(out, "%-10s missing (building it takes %s)\n", type->name,
                                type->needs);
    if (err) return err;
    err = rondo_buf_printf(out, "%-10s %s\n", type->name, path);
    rondo_free(path);
    return err;
}

enum rondo_err rondo_source_describe(struct rondo_buf *out) {
    for (size_t i = 0; i < RONDO_COUNT_OF(types); i++) {
        enum rondo_err err = describe_one(&types[i], out);
        if (err) return err;
    }
    return RONDO_OK;
}
