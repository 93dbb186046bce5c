/* SPDX-License-Identifier: MIT */
#include "config/report.h"

#include "base/check.h"
#include "base/mem.h"
#include <stdarg.h>

enum { LINE_BYTES = 2048 };

static bool make_room(struct rondo_report *r) {
    if (r->n_kept < r->room) return true;
    size_t room = r->room ? r->room * 2 : 16, size;
    if (!rondo_size_mul(room, sizeof *r->kept, &size)) return false;
    struct rondo_report_line *grown = rondo_realloc(r->kept, size);
    if (!grown) return false;
    r->kept = grown;
    r->room = room;
    return true;
}

static void keep(struct rondo_report *r, unsigned line, const char *text) {
    char *copy = rondo_strdup(text);
    if (copy && make_room(r)) {
        r->kept[r->n_kept++] = (struct rondo_report_line){line, copy};
        return;
    }
    rondo_free(copy);
    r->fn(r->arg, text);
}

void rondo_report_mistake(struct rondo_report *r, unsigned line, const char *place, const char *fmt,
                          ...) {
    char text[LINE_BYTES], number[16] = "";
    if (line) snprintf(number, sizeof number, ":%u", line);
    int used = snprintf(text, sizeof text, "%.1024s%s: %s%s", r->path, number, place ? place : "",
                        place ? ": " : "");
    RONDO_CHECK(used > 0);
    if ((size_t)used < sizeof text) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(text + used, sizeof text - (size_t)used, fmt, args);
        va_end(args);
    }
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    r->n_mistakes++;
    keep(r, line, text);
}

/* Insertion: stable, and mistakes come nearly in order. */
static void sort(struct rondo_report_line *lines, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct rondo_report_line x = lines[i];
        size_t k = i;
        for (; k > 0 && lines[k - 1].line > x.line; k--) lines[k] = lines[k - 1];
        lines[k] = x;
    }
}

void rondo_report_flush(struct rondo_report *r) {
    if (r->n_kept) sort(r->kept, r->n_kept);
    for (size_t i = 0; i < r->n_kept; i++) {
        r->fn(r->arg, r->kept[i].text);
        rondo_free(r->kept[i].text);
    }
    rondo_free(r->kept);
    r->kept = NULL;
    r->n_kept = r->room = 0;
}
