/* SPDX-License-Identifier: MIT */
#include "source/http_age.h"

#include "base/check.h"
#include "base/clock.h"
#include <strings.h>

static const uint64_t most_seconds = UINT64_C(3650) * 86400;

/* Digits, with or without quotes, up to the end of a directive; saturates. */
static bool seconds(const char *p, uint64_t *out) {
    uint64_t n = 0;
    if (*p == '"') p++;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (n < most_seconds) n = n * 10 + (uint64_t)(*p - '0');
    p += strspn(p, "\" \t");
    *out = n < most_seconds ? n : most_seconds;
    return *p == '\0' || *p == ',';
}

static bool is_directive(const char *p, const char *name, size_t len) {
    return strncasecmp(p, name, len) == 0 && (p[len] == '\0' || strchr(",= \t", p[len]));
}

static uint64_t life(uint64_t n) {
    return n ? n * RONDO_SEC : RONDO_HTTP_AT_ONCE;
}

static void one_directive(const char *p, uint64_t *ttl_ns, bool *is_shared) {
    uint64_t n;
    if (is_directive(p, "no-store", 8) || is_directive(p, "no-cache", 8)) {
        *ttl_ns = RONDO_HTTP_AT_ONCE;
        *is_shared = true;
    } else if (*ttl_ns == RONDO_HTTP_AT_ONCE && *is_shared) {
        return;
    } else if (strncasecmp(p, "s-maxage=", 9) == 0 && seconds(p + 9, &n)) {
        *ttl_ns = life(n);
        *is_shared = true;
    } else if (!*is_shared && strncasecmp(p, "max-age=", 8) == 0 && seconds(p + 8, &n)) {
        *ttl_ns = life(n);
    }
}

/* A comma in quotes would end a directive too early; none that counts has one. */
void rondo_http_age_control(const char *value, uint64_t *ttl_ns, bool *is_shared) {
    for (const char *p = value; p; p = strchr(p, ',')) {
        p += strspn(p, ", \t");
        one_directive(p, ttl_ns, is_shared);
    }
}

uint64_t rondo_http_age_spent(uint64_t ttl_ns, const char *age) {
    uint64_t n;
    if (ttl_ns == 0 || !seconds(age, &n)) return ttl_ns;
    n *= RONDO_SEC;
    return n < ttl_ns ? ttl_ns - n : RONDO_HTTP_AT_ONCE;
}
