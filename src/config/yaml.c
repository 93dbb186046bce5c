/* SPDX-License-Identifier: MIT */
/*
 * Read from libyaml's events, not from its documents: an alias or a deep nest is
 * refused when it appears, before anything is made of it.
 */
#include "config/yaml.h"

#include "base/check.h"
#include "base/mem.h"
#include <stdarg.h>
#include <yaml.h>

struct level {
    struct rondo_yaml *node;
    struct rondo_yaml **tail; /* where its next child goes */
    size_t n_children;
};

struct reader {
    yaml_parser_t yaml;
    rondo_yaml_mistake_fn mistake;
    void *arg;
    struct rondo_yaml *root;
    struct level levels[RONDO_YAML_DEPTH_MAX];
    int depth; /* open maps and lists */
    char *key; /* of the map entry whose value comes next */
    unsigned key_line;
    bool has_document, done;
};

static enum rondo_err refuse(struct reader *r, unsigned line, const char *fmt, ...)
    RONDO_PRINTF(3, 4);

static enum rondo_err refuse(struct reader *r, unsigned line, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->mistake(r->arg, line, text);
    return RONDO_ERR_CONFIG;
}

static unsigned line_of(const yaml_mark_t *mark) {
    return (unsigned)mark->line + 1;
}

/* ------------------------------------------------------------------ tree --- */

/* The tree is freed from its leaves up along the parents: no recursion. */
void rondo_yaml_free(struct rondo_yaml *root) {
    struct rondo_yaml *node = root;
    while (node) {
        if (node->child) {
            struct rondo_yaml *child = node->child;
            node->child = child->next;
            child->next = NULL;
            node = child;
            continue;
        }
        struct rondo_yaml *parent = node == root ? NULL : node->parent;
        rondo_free(node->key);
        rondo_free(node->text);
        rondo_free(node);
        node = parent;
    }
}

const struct rondo_yaml *rondo_yaml_get(const struct rondo_yaml *map, const char *key) {
    for (const struct rondo_yaml *n = map->child; n; n = n->next)
        if (n->key && strcmp(n->key, key) == 0) return n;
    return NULL;
}

static struct level *top(struct reader *r) {
    return r->depth ? &r->levels[r->depth - 1] : NULL;
}

static bool awaits_key(struct reader *r) {
    struct level *in = top(r);
    return in && in->node->kind == RONDO_YAML_MAP && !r->key;
}

/* Makes a node where the next one belongs. */
static enum rondo_err add(struct reader *r, enum rondo_yaml_kind kind, unsigned line,
                          struct rondo_yaml **out) {
    struct level *in = top(r);
    if (in && in->n_children == RONDO_YAML_ENTRIES_MAX)
        return refuse(r, line, "more than %d entries in one place", RONDO_YAML_ENTRIES_MAX);
    struct rondo_yaml *node = rondo_zalloc(sizeof *node);
    if (!node) return RONDO_ERR_NOMEM;
    node->kind = kind;
    node->line = line;
    node->key = r->key;
    node->key_line = r->key_line;
    r->key = NULL;
    if (in) {
        node->parent = in->node;
        *in->tail = node;
        in->tail = &node->next;
        in->n_children++;
    } else {
        r->root = node;
    }
    *out = node;
    return RONDO_OK;
}

/* ---------------------------------------------------------------- events --- */

static enum rondo_err check_extras(struct reader *r, unsigned line, const yaml_char_t *anchor,
                                   const yaml_char_t *tag) {
    if (anchor) return refuse(r, line, "found an anchor (&%.32s): write it out", anchor);
    if (tag) return refuse(r, line, "found a tag (%.32s): write the value alone", tag);
    return RONDO_OK;
}

static bool is_null(const char *text, yaml_scalar_style_t style) {
    return style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static enum rondo_err on_key(struct reader *r, const char *text, unsigned line) {
    const struct rondo_yaml *before = rondo_yaml_get(top(r)->node, text);
    if (before) refuse(r, line, "`%.64s` is given twice, first in line %u", text, before->key_line);
    r->key = rondo_strdup(text);
    r->key_line = line;
    return r->key ? RONDO_OK : RONDO_ERR_NOMEM;
}

static enum rondo_err on_scalar(struct reader *r, const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    unsigned line = line_of(&e->start_mark);
    enum rondo_err err = check_extras(r, line, e->data.scalar.anchor, e->data.scalar.tag);
    if (err) return err;
    if (strlen(text) != e->data.scalar.length) return refuse(r, line, "found a NUL character");
    if (awaits_key(r)) return on_key(r, text, line);
    struct rondo_yaml *node = NULL;
    err = add(r, RONDO_YAML_SCALAR, line, &node);
    if (err || is_null(text, e->data.scalar.style)) return err;
    node->text = rondo_strdup(text);
    return node->text ? RONDO_OK : RONDO_ERR_NOMEM;
}

static enum rondo_err on_start(struct reader *r, enum rondo_yaml_kind kind, const yaml_event_t *e) {
    bool map = kind == RONDO_YAML_MAP;
    unsigned line = line_of(&e->start_mark);
    enum rondo_err err =
        check_extras(r, line, map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor,
                     map ? e->data.mapping_start.tag : e->data.sequence_start.tag);
    if (err) return err;
    if (awaits_key(r))
        return refuse(r, line,
                      "found a %s as a name: a name is one word (a text that begins with "
                      "\"{\" or \"[\" needs quotes)",
                      map ? "map" : "list");
    if (r->depth == RONDO_YAML_DEPTH_MAX)
        return refuse(r, line, "nested deeper than %d levels", RONDO_YAML_DEPTH_MAX);
    struct rondo_yaml *node = NULL;
    err = add(r, kind, line, &node);
    if (err) return err;
    r->levels[r->depth++] = (struct level){node, &node->child, 0};
    return RONDO_OK;
}

static enum rondo_err on_event(struct reader *r, const yaml_event_t *e) {
    unsigned line = line_of(&e->start_mark);
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_MAPPING_START_EVENT:
        return on_start(r, RONDO_YAML_MAP, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(r, RONDO_YAML_LIST, e);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        r->depth--;
        return RONDO_OK;
    case YAML_ALIAS_EVENT:
        return refuse(r, line, "found an alias (*%.32s): write it out", e->data.alias.anchor);
    case YAML_DOCUMENT_START_EVENT:
        if (r->has_document)
            return refuse(r, line, "found a second document (---): one is allowed");
        r->has_document = true;
        return RONDO_OK;
    case YAML_STREAM_END_EVENT:
        r->done = true;
        return RONDO_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return RONDO_OK;
}

static enum rondo_err syntax_error(struct reader *r) {
    const yaml_parser_t *y = &r->yaml;
    if (y->error == YAML_MEMORY_ERROR) return RONDO_ERR_NOMEM;
    if (y->error == YAML_READER_ERROR)
        return refuse(r, 0, "not YAML: %s (at byte %zu)", y->problem, y->problem_offset);
    return refuse(r, line_of(&y->problem_mark), "not YAML: %s%s%s", y->context ? y->context : "",
                  y->context ? ": " : "", y->problem ? y->problem : "unknown");
}

static enum rondo_err read_all(struct reader *r) {
    while (!r->done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->yaml, &event)) return syntax_error(r);
        enum rondo_err err = on_event(r, &event);
        yaml_event_delete(&event);
        if (err) return err;
    }
    return RONDO_OK;
}

enum rondo_err rondo_yaml_parse(const char *text, size_t len, rondo_yaml_mistake_fn mistake,
                                void *arg, struct rondo_yaml **out) {
    struct reader r = {.mistake = mistake, .arg = arg};
    if (len > RONDO_YAML_BYTES_MAX)
        return refuse(&r, 0, "larger than %d bytes", RONDO_YAML_BYTES_MAX);
    if (!yaml_parser_initialize(&r.yaml)) return RONDO_ERR_NOMEM;
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
    enum rondo_err err = read_all(&r);
    yaml_parser_delete(&r.yaml);
    rondo_free(r.key);
    if (err)
        rondo_yaml_free(r.root);
    else
        *out = r.root;
    return err;
}
