/* SPDX-License-Identifier: MIT */
#include "server/glob.h"
#include "base/check.h"

struct cursor {
    const unsigned char *at, *end;
};

static unsigned char fold(unsigned char c, bool ignore_case) {
    return ignore_case && c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

static bool in_range(unsigned char c, unsigned char low, unsigned char high) {
    return low <= high ? c >= low && c <= high : c >= high && c <= low;
}

/* `p` is behind the '['; ends behind the ']' or, as in Redis, at the end of a
 * class that is never closed. */
static bool match_class(struct cursor *p, unsigned char c, bool ignore_case) {
    bool negated = p->at < p->end && *p->at == '^';
    if (negated) p->at++;
    bool found = false;
    for (; p->at < p->end && *p->at != ']'; p->at++) {
        if (*p->at == '\\' && p->end - p->at >= 2) {
            p->at++;
            if (fold(*p->at, ignore_case) == c) found = true;
        } else if (p->end - p->at >= 3 && p->at[1] == '-') {
            if (in_range(c, fold(p->at[0], ignore_case), fold(p->at[2], ignore_case))) found = true;
            p->at += 2;
        } else if (fold(*p->at, ignore_case) == c) {
            found = true;
        }
    }
    if (p->at < p->end) p->at++;
    return found != negated;
}

/* One pattern element against one character; moves behind the element. */
static bool match_one(struct cursor *p, unsigned char c, bool ignore_case) {
    c = fold(c, ignore_case);
    switch (*p->at++) {
    case '?':
        return true;
    case '[':
        return match_class(p, c, ignore_case);
    case '\\':
        if (p->at < p->end) return fold(*p->at++, ignore_case) == c;
        return c == '\\';
    default:
        return fold(p->at[-1], ignore_case) == c;
    }
}

/* On a mismatch only the last star can help: it takes one character more. */
bool rondo_glob_match(struct rondo_slice pattern, struct rondo_slice text, bool ignore_case) {
    const unsigned char *pat = pattern.data, *s = text.data;
    struct cursor p = {pat, pat ? pat + pattern.len : pat};
    const unsigned char *end = s ? s + text.len : s;
    const unsigned char *star = NULL, *star_text = NULL;

    while (s < end) {
        if (p.at < p.end && *p.at == '*') {
            star = ++p.at;
            star_text = s;
        } else if (p.at < p.end && match_one(&p, *s, ignore_case)) {
            s++;
        } else if (star) {
            p.at = star;
            s = ++star_text;
        } else {
            return false;
        }
    }
    while (p.at < p.end && *p.at == '*') p.at++;
    return p.at == p.end;
}

bool rondo_glob_is_literal(struct rondo_slice pattern) {
    const char *p = pattern.data;
    for (size_t i = 0; i < pattern.len; i++)
        if (p[i] == '*' || p[i] == '?' || p[i] == '[' || p[i] == '\\') return false;
    return true;
}
