/* SPDX-License-Identifier: MIT */
#include "source/settings.h"

#include "base/check.h"
#include "source/quantity.h"
#include "source/suggest.h"
#include <inttypes.h>
#include <stdarg.h>

const char *rondo_settings_get(const struct rondo_source_config *config, const char *name) {
    for (size_t i = 0; i < config->n_settings; i++)
        if (strcmp(config->settings[i].name, name) == 0) return config->settings[i].value;
    return NULL;
}

void rondo_settings_mistake(const struct rondo_source_config *config, const char *setting,
                            const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    config->mistake(config->mistake_arg, setting, text);
}

bool rondo_settings_duration(const struct rondo_source_config *config, const char *name,
                             uint64_t *ns) {
    const char *value = rondo_settings_get(config, name);
    if (!value) return true;
    if (rondo_quantity_is_off(value)) {
        *ns = 0;
        return true;
    }
    const char *allowed = rondo_quantity_duration(value, ns);
    if (allowed) rondo_settings_mistake(config, name, "found \"%s\": %s", value, allowed);
    return !allowed;
}

bool rondo_settings_count(const struct rondo_source_config *config, const char *name, uint64_t lo,
                          uint64_t hi, uint64_t *n) {
    const char *value = rondo_settings_get(config, name);
    uint64_t count;
    if (!value) return true;
    if (rondo_quantity_count(value, &count) || count < lo || count > hi) {
        rondo_settings_mistake(config, name,
                               "found \"%s\": a whole number from %" PRIu64 " to %" PRIu64, value,
                               lo, hi);
        return false;
    }
    *n = count;
    return true;
}

/* --------------------------------------------------- against the table --- */

/* Whether a setting's name is an option's; a map's settings are "map.name". */
static bool belongs(const char *setting, const struct rondo_source_option *option) {
    size_t len = strlen(option->name);
    if (option->kind != RONDO_SETTING_MAP) return strcmp(setting, option->name) == 0;
    return strncmp(setting, option->name, len) == 0 && setting[len] == '.';
}

const struct rondo_source_option *rondo_settings_option(const struct rondo_source_option *options,
                                                        const char *setting) {
    for (; options->name; options++)
        if (belongs(setting, options)) return options;
    return NULL;
}

static void unknown(const struct rondo_source_config *config,
                    const struct rondo_source_option *options, const char *name) {
    char allowed[512] = "none";
    size_t used = 0;
    struct rondo_suggest near;
    rondo_suggest_init(&near, name);
    for (const struct rondo_source_option *o = options; o->name; o++) {
        rondo_suggest_offer(&near, o->name);
        if (used < sizeof allowed)
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s",
                                     o == options ? "" : " ", o->name);
    }
    if (near.best)
        rondo_settings_mistake(config, name, "unknown setting, did you mean \"%s\"? allowed: %s",
                               near.best, allowed);
    else
        rondo_settings_mistake(config, name, "unknown setting, allowed: %s", allowed);
}

/* A map's own name, which only stands in front of its entries. */
static bool is_map(const struct rondo_source_option *options, const char *name) {
    for (; options->name; options++)
        if (options->kind == RONDO_SETTING_MAP && strcmp(options->name, name) == 0) return true;
    return false;
}

/* What is wrong with a value, NULL if nothing. */
static const char *wrong_kind(enum rondo_setting_kind kind, const char *value) {
    uint64_t n;
    bool b;
    switch (kind) {
    case RONDO_SETTING_DURATION:
        return rondo_quantity_is_off(value) ? NULL : rondo_quantity_duration(value, &n);
    case RONDO_SETTING_COUNT:
        return rondo_quantity_count(value, &n);
    case RONDO_SETTING_BOOL:
        return rondo_quantity_bool(value, &b);
    case RONDO_SETTING_PATH:
        return value[0] ? NULL : "a path is not empty";
    case RONDO_SETTING_TEXT:
    case RONDO_SETTING_TEMPLATE:
    case RONDO_SETTING_MAP:
        break;
    }
    return NULL;
}

/* Whether setting i is right; else the mistake was told. */
static bool check_one(const struct rondo_source_config *config,
                      const struct rondo_source_option *options, size_t i) {
    const struct rondo_source_setting *s = &config->settings[i];
    const struct rondo_source_option *option = rondo_settings_option(options, s->name);
    if (!option) {
        if (is_map(options, s->name))
            rondo_settings_mistake(config, s->name, "found \"%s\": a table of names and texts",
                                   s->value);
        else
            unknown(config, options, s->name);
        return false;
    }
    for (size_t k = 0; k < i; k++) {
        if (strcmp(config->settings[k].name, s->name) != 0) continue;
        rondo_settings_mistake(config, s->name, "given twice");
        return false;
    }
    const char *allowed = wrong_kind(option->kind, s->value);
    if (!allowed) return true;
    if (option->secret)
        rondo_settings_mistake(config, s->name, "%s", allowed);
    else
        rondo_settings_mistake(config, s->name, "found \"%s\": %s", s->value, allowed);
    return false;
}

static bool is_given(const struct rondo_source_setting *settings, size_t n,
                     const struct rondo_source_option *option) {
    for (size_t i = 0; i < n; i++)
        if (belongs(settings[i].name, option)) return true;
    return false;
}

size_t rondo_settings_check(const struct rondo_source_config *config,
                            const struct rondo_source_option *options,
                            struct rondo_source_setting *good, size_t *n_good, bool *can_open) {
    size_t mistakes = 0, n = 0;
    for (size_t i = 0; i < config->n_settings; i++) {
        if (check_one(config, options, i))
            good[n++] = config->settings[i];
        else
            mistakes++;
    }
    *can_open = true;
    for (const struct rondo_source_option *o = options; o->name; o++) {
        if (!o->required || is_given(good, n, o)) continue;
        *can_open = false;
        if (is_given(config->settings, config->n_settings, o)) continue;
        rondo_settings_mistake(config, NULL, "`%s` is missing: %s", o->name, o->help);
        mistakes++;
    }
    *n_good = n;
    return mistakes;
}
