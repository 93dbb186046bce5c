/* SPDX-License-Identifier: MIT */
/*
 * The object is written piece by piece and not built with jansson, which would put
 * numbers through a double and lose digits of NUMERIC, and would reorder or merge
 * what a JSON column holds.  What jansson does is to judge: strings and JSON.
 */
#include "source/column.h"

#include "source/utf8.h"
#include <jansson.h>

/* ---------------------------------------------------------------- numbers --- */

static size_t digits_at(const char *s, size_t i, size_t len) {
    size_t n = 0;
    while (i + n < len && s[i + n] >= '0' && s[i + n] <= '9') n++;
    return n;
}

bool rondo_column_is_number(struct rondo_slice text) {
    const char *s = text.data;
    size_t i = text.len && s[0] == '-' ? 1 : 0, n = digits_at(s, i, text.len);
    if (n == 0 || (n > 1 && s[i] == '0')) return false;
    i += n;
    if (i < text.len && s[i] == '.') {
        n = digits_at(s, i + 1, text.len);
        if (n == 0) return false;
        i += 1 + n;
    }
    if (i < text.len && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < text.len && (s[i] == '+' || s[i] == '-')) i++;
        n = digits_at(s, i, text.len);
        if (n == 0) return false;
        i += n;
    }
    return i == text.len;
}

/* Zeros in front, which MySQL's ZEROFILL prints and JSON forbids. */
static struct rondo_slice without_zeros(struct rondo_slice text) {
    const char *s = text.data;
    size_t i = 0;
    while (i + 1 < text.len && s[i] == '0' && s[i + 1] >= '0' && s[i + 1] <= '9') i++;
    return i ? rondo_slice_of(s + i, text.len - i) : text;
}

/* ----------------------------------------------------------------- pieces --- */

static enum rondo_err complain(struct rondo_source_error *why, const char *name, const char *what) {
    snprintf(why->text, sizeof why->text, "column \"%.64s\" %s", name, what);
    return RONDO_ERR_LOAD;
}

/* Out of memory alone can stop the dump of a string. */
static int append_piece(const char *piece, size_t len, void *arg) {
    return rondo_buf_append(arg, piece, len) ? -1 : 0;
}

static enum rondo_err put_string(struct rondo_buf *out, struct rondo_slice s) {
    json_t *json = json_stringn_nocheck(s.len ? s.data : "", s.len);
    if (!json) return RONDO_ERR_NOMEM;
    int rc = json_dump_callback(json, append_piece, out, JSON_ENCODE_ANY | JSON_COMPACT);
    json_decref(json);
    return rc == 0 ? RONDO_OK : RONDO_ERR_NOMEM;
}

static enum rondo_err put_text(struct rondo_buf *out, const struct rondo_column *c,
                               struct rondo_source_error *why) {
    if (!rondo_utf8_is_valid(c->bytes))
        return complain(why, c->name, "is not UTF-8: take hex() of it, or it alone");
    return put_string(out, c->bytes);
}

static enum rondo_err put_number(struct rondo_buf *out, const struct rondo_column *c,
                                 struct rondo_source_error *why) {
    struct rondo_slice text = without_zeros(c->bytes);
    if (!rondo_column_is_number(text)) return complain(why, c->name, "is not a finite number");
    return rondo_buf_append(out, text.data, text.len);
}

static enum rondo_err put_bool(struct rondo_buf *out, const struct rondo_column *c) {
    bool is_false = rondo_slice_is(c->bytes, "f") || rondo_slice_is(c->bytes, "0");
    return rondo_buf_append_str(out, is_false ? "false" : "true");
}

static enum rondo_err put_json(struct rondo_buf *out, const struct rondo_column *c,
                               struct rondo_source_error *why) {
    json_t *json = json_loadb(c->bytes.data, c->bytes.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json) return complain(why, c->name, "is not JSON, which its type promises");
    json_decref(json);
    return rondo_buf_append(out, c->bytes.data, c->bytes.len);
}

static enum rondo_err put_value(struct rondo_buf *out, const struct rondo_column *c,
                                struct rondo_source_error *why) {
    if (c->is_null) return rondo_buf_append_str(out, "null");
    switch (c->kind) {
    case RONDO_COLUMN_NUMBER:
        return put_number(out, c, why);
    case RONDO_COLUMN_BOOL:
        return put_bool(out, c);
    case RONDO_COLUMN_JSON:
        return put_json(out, c, why);
    case RONDO_COLUMN_TEXT:
        break;
    }
    return put_text(out, c, why);
}

/* ----------------------------------------------------------------- object --- */

static enum rondo_err check_name(const struct rondo_column *columns, size_t i,
                                 struct rondo_source_error *why) {
    const char *name = columns[i].name;
    if (!rondo_utf8_is_valid(rondo_slice_str(name)))
        return complain(why, name, "has a name that is not UTF-8");
    for (size_t k = 0; k < i; k++)
        if (strcmp(columns[k].name, name) == 0)
            return complain(why, name, "occurs twice: name them apart with AS");
    return RONDO_OK;
}

static enum rondo_err put_object(const struct rondo_column *columns, size_t n,
                                 struct rondo_buf *out, struct rondo_source_error *why) {
    for (size_t i = 0; i < n; i++) {
        enum rondo_err err = check_name(columns, i, why);
        if (!err) err = rondo_buf_append_str(out, i ? "," : "{");
        if (!err) err = put_string(out, rondo_slice_str(columns[i].name));
        if (!err) err = rondo_buf_append_str(out, ":");
        if (!err) err = put_value(out, &columns[i], why);
        if (err) return err;
    }
    return rondo_buf_append_str(out, "}");
}

enum rondo_err rondo_column_value(const struct rondo_column *columns, size_t n,
                                  struct rondo_buf *out, bool *is_null,
                                  struct rondo_source_error *why) {
    *is_null = n == 1 && columns[0].is_null;
    if (*is_null) return RONDO_OK;
    if (n > 1) return put_object(columns, n, out, why);
    return rondo_buf_append(out, columns[0].bytes.data, columns[0].bytes.len);
}
