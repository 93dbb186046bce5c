/* SPDX-License-Identifier: MIT */
#include "source/template.h"

#include "base/mem.h"
#include <stdarg.h>

static enum rondo_err mistake(struct rondo_source_error *why, const char *fmt, ...)
    RONDO_PRINTF(2, 3);

static enum rondo_err mistake(struct rondo_source_error *why, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(why->text, sizeof why->text, fmt, args);
    va_end(args);
    return RONDO_ERR_CONFIG;
}

static bool is_name_char(char c, bool first) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && c >= '0' && c <= '9');
}

static size_t name_length(const char *s) {
    size_t n = 0;
    while (is_name_char(s[n], n == 0)) n++;
    return n;
}

static const char *name_at(const struct rondo_template_names *names, size_t i) {
    return i < names->n_params ? names->params[i] : names->words[i - names->n_params];
}

static int find_name(const struct rondo_template_names *names, const char *s, size_t len) {
    size_t n = names->n_params + names->n_words;
    for (size_t i = 0; i < n && i < RONDO_TEMPLATE_NAMES; i++) {
        const char *name = name_at(names, i);
        if (strncmp(name, s, len) == 0 && name[len] == '\0') return (int)i;
    }
    return -1;
}

static enum rondo_err unknown_name(const struct rondo_template_names *names, const char *s,
                                   size_t len, struct rondo_source_error *why) {
    char allowed[192] = "none";
    size_t used = 0, n = names->n_params + names->n_words;
    for (size_t i = 0; i < n && used < sizeof allowed; i++) {
        int more = snprintf(allowed + used, sizeof allowed - used, "%s{%s}", i ? " " : "",
                            name_at(names, i));
        used += (size_t)more;
    }
    return mistake(why, "found {%.*s}, allowed: %s", len > 32 ? 32 : (int)len, s, allowed);
}

/* While parsing: room for the parts, and where literal text is written next. */
struct builder {
    struct rondo_template_part *parts;
    size_t n;
    char *text;  /* end of what was written */
    char *start; /* of the current part's literal */
    uint32_t used;
};

static void end_part(struct builder *b, int name) {
    b->parts[b->n].text = rondo_slice_of(b->start, (size_t)(b->text - b->start));
    b->parts[b->n].name = name;
    b->n++;
    b->start = b->text;
    if (name >= 0) b->used |= UINT32_C(1) << name;
}

/* Reads the place that begins at `s` (a brace); *rest is what follows it. */
static enum rondo_err parse_place(const struct rondo_template_names *names, struct builder *b,
                                  const char *s, struct rondo_source_error *why,
                                  const char **rest) {
    size_t len = name_length(s + 1);
    if (len == 0 || s[1 + len] != '}')
        return mistake(why, "found \"%.12s\": a place is {name}, a brace alone is {{", s);
    int name = find_name(names, s + 1, len);
    if (name < 0) return unknown_name(names, s + 1, len, why);
    if (b->n + 1 == RONDO_TEMPLATE_PARTS)
        return mistake(why, "more than %d places", RONDO_TEMPLATE_PARTS - 1);
    end_part(b, name);
    *rest = s + len + 2;
    return RONDO_OK;
}

static enum rondo_err parse(const char *s, const struct rondo_template_names *names,
                            struct builder *b, struct rondo_source_error *why) {
    while (*s) {
        if (s[0] == '{' && s[1] != '{') {
            enum rondo_err err = parse_place(names, b, s, why, &s);
            if (err) return err;
            continue;
        }
        if (s[0] == '{') s++;
        *b->text++ = *s++;
    }
    end_part(b, -1);
    return RONDO_OK;
}

static size_t count_braces(const char *s) {
    size_t n = 0;
    for (; *s; s++) n += *s == '{';
    return n < RONDO_TEMPLATE_PARTS ? n : RONDO_TEMPLATE_PARTS - 1;
}

/* One block: the struct, the parts, the text. */
enum rondo_err rondo_template_new(const char *text, const struct rondo_template_names *names,
                                  struct rondo_source_error *why, struct rondo_template **out) {
    RONDO_CHECK(names->n_params + names->n_words <= RONDO_TEMPLATE_NAMES);
    size_t parts_size = (count_braces(text) + 1) * sizeof(struct rondo_template_part);
    size_t size;
    if (!rondo_size_add(sizeof(struct rondo_template) + parts_size, strlen(text), &size))
        return RONDO_ERR_NOMEM;
    char *block = rondo_alloc(size);
    if (!block) return RONDO_ERR_NOMEM;

    struct rondo_template *t = (struct rondo_template *)(void *)block;
    struct builder b = {.parts = (void *)(block + sizeof *t)};
    b.text = b.start = block + sizeof *t + parts_size;
    enum rondo_err err = parse(text, names, &b, why);
    if (err) {
        rondo_free(block);
        return err;
    }
    *t = (struct rondo_template){.parts = b.parts, .n_parts = b.n, .used = b.used};
    *out = t;
    return RONDO_OK;
}

void rondo_template_free(struct rondo_template *t) {
    rondo_free(t);
}

enum rondo_err rondo_template_render(const struct rondo_template *t,
                                     const struct rondo_slice *values, struct rondo_buf *out) {
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct rondo_template_part *part = &t->parts[i];
        enum rondo_err err = rondo_buf_append(out, part->text.data, part->text.len);
        if (!err && part->name >= 0)
            err = rondo_buf_append(out, values[part->name].data, values[part->name].len);
        if (err) return err;
    }
    return RONDO_OK;
}

/* ------------------------------------------------------------------ URL --- */

static bool is_unreserved(unsigned char c) {
    return is_name_char((char)c, false) || c == '-' || c == '.' || c == '~';
}

static enum rondo_err append_encoded(struct rondo_buf *out, struct rondo_slice value) {
    static const char hex[] = "0123456789ABCDEF";
    const unsigned char *p = value.data;
    size_t room;
    if (!rondo_size_mul(value.len, 3, &room)) return RONDO_ERR_NOMEM;
    enum rondo_err err = rondo_buf_reserve(out, room);
    if (err) return err;
    for (size_t i = 0; i < value.len; i++) {
        if (is_unreserved(p[i])) {
            out->data[out->len++] = (char)p[i];
            continue;
        }
        out->data[out->len++] = '%';
        out->data[out->len++] = hex[p[i] >> 4];
        out->data[out->len++] = hex[p[i] & 15];
    }
    return RONDO_OK;
}

enum rondo_err rondo_template_render_url(const struct rondo_template *t,
                                         const struct rondo_slice *values, struct rondo_buf *out) {
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct rondo_template_part *part = &t->parts[i];
        enum rondo_err err = rondo_buf_append(out, part->text.data, part->text.len);
        if (!err && part->name >= 0) err = append_encoded(out, values[part->name]);
        if (err) return err;
    }
    return RONDO_OK;
}

/* ------------------------------------------------------------------ SQL --- */

/* What the text so far has left open: 0 is plain SQL, else the character that
 * closes it; '-' is a comment to the end of the line, '/' one to its star. */
static char next_state(char open, char c, char next, bool *skip) {
    *skip = false;
    if (open == '-') return c == '\n' ? 0 : open;
    if (open == '/') {
        *skip = c == '*' && next == '/';
        return *skip ? 0 : open;
    }
    if (open) return c == open ? 0 : open; /* a doubled quote closes and opens again */
    if (c == '\'' || c == '"' || c == '`') return c;
    *skip = (c == '-' && next == '-') || (c == '/' && next == '*');
    return *skip ? c : 0;
}

static char scan_sql(struct rondo_slice text, char open) {
    const char *s = text.data;
    for (size_t i = 0; i < text.len; i++) {
        bool skip;
        open = next_state(open, s[i], i + 1 < text.len ? s[i + 1] : '\0', &skip);
        if (skip) i++;
    }
    return open;
}

static enum rondo_err not_bindable(char open, struct rondo_source_error *why) {
    if (open == '-' || open == '/')
        return mistake(why, "a {place} inside a comment: nothing could be bound to it");
    return mistake(why,
                   "a {place} inside quotes (%c…%c): write it bare, it is bound as a "
                   "parameter and needs no quotes",
                   open, open);
}

static unsigned number_of(struct rondo_template_sql *sql, unsigned name) {
    for (unsigned i = 0; i < sql->n_bind; i++)
        if (sql->bind[i] == name) return i + 1;
    sql->bind[sql->n_bind++] = name;
    return sql->n_bind;
}

static enum rondo_err write_sql(const struct rondo_template *t, char sign,
                                struct rondo_source_error *why, struct rondo_template_sql *sql,
                                struct rondo_buf *text) {
    char open = 0;
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct rondo_template_part *part = &t->parts[i];
        open = scan_sql(part->text, open);
        enum rondo_err err = rondo_buf_append(text, part->text.data, part->text.len);
        if (err) return err;
        if (part->name < 0) break;
        if (open) return not_bindable(open, why);
        err = rondo_buf_printf(text, "%c%u", sign, number_of(sql, (unsigned)part->name));
        if (err) return err;
    }
    return RONDO_OK;
}

enum rondo_err rondo_template_to_sql(const struct rondo_template *t, char sign,
                                     struct rondo_source_error *why,
                                     struct rondo_template_sql *out) {
    struct rondo_template_sql sql = {0};
    struct rondo_buf text = {0};
    enum rondo_err err = write_sql(t, sign, why, &sql, &text);
    if (!err) {
        sql.text = rondo_strndup(text.data ? text.data : "", text.len);
        if (!sql.text) err = RONDO_ERR_NOMEM;
    }
    rondo_buf_fini(&text);
    if (!err) *out = sql;
    return err;
}

void rondo_template_sql_fini(struct rondo_template_sql *sql) {
    rondo_free(sql->text);
    sql->text = NULL;
}
