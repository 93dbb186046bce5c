/* SPDX-License-Identifier: MIT */
#include "source/quantity.h"

#include "base/check.h"
#include <inttypes.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Largest first: printing takes the first that divides. */
static const struct unit durations[] = {
    {"d", UINT64_C(86400000000000)},
    {"h", UINT64_C(3600000000000)},
    {"m", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},
    {"ns", UINT64_C(1)},
    {NULL, 0},
};

static const struct unit sizes[] = {
    {"tb", UINT64_C(1) << 40}, {"gb", UINT64_C(1) << 30}, {"mb", UINT64_C(1) << 20},
    {"kb", UINT64_C(1) << 10}, {"b", UINT64_C(1)},        {NULL, 0},
};

enum { MAX_THREADS = 1024 };
static const uint64_t max_duration_ns = UINT64_C(3650) * UINT64_C(86400000000000);
static const uint64_t max_size_bytes = UINT64_C(8191) << 40;

/* Digits only: no sign, no space.  Saturates. NULL if there is no digit. */
static const char *digits(const char *text, uint64_t *out) {
    const char *p = text;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (__builtin_mul_overflow(n, UINT64_C(10), &n) || __builtin_add_overflow(n, digit, &n))
            n = UINT64_MAX; /* stays there: the next digit overflows again */
    }
    *out = n;
    return p == text ? NULL : p;
}

/* False if the text is not a number and one of the units; saturates. */
static bool measure(const char *text, const struct unit *units, uint64_t *out) {
    uint64_t n;
    const char *rest = digits(text, &n);
    if (!rest) return false;
    for (; units->name; units++) {
        if (strcmp(rest, units->name) != 0) continue;
        if (__builtin_mul_overflow(n, units->factor, out)) *out = UINT64_MAX;
        return true;
    }
    return false;
}

const char *rondo_quantity_duration(const char *text, uint64_t *ns) {
    uint64_t n;
    if (!measure(text, durations, &n))
        return "a duration is a whole number and a unit (ns us ms s m h d), such as 10m";
    if (n == 0) return "a duration is more than zero";
    if (n > max_duration_ns) return "a duration is at most 3650d";
    *ns = n;
    return NULL;
}

const char *rondo_quantity_size(const char *text, uint64_t *bytes) {
    uint64_t n;
    if (!measure(text, sizes, &n))
        return "a size is a whole number and a unit (b kb mb gb tb), such as 64mb";
    if (n == 0) return "a size is more than zero";
    if (n > max_size_bytes) return "a size is at most 8191tb";
    *bytes = n;
    return NULL;
}

const char *rondo_quantity_percent(const char *text, unsigned *percent) {
    uint64_t n;
    const char *rest = digits(text, &n);
    if (!rest || strcmp(rest, "%") != 0 || n == 0 || n > 100)
        return "a share is 1% to 100%, such as 20%";
    *percent = (unsigned)n;
    return NULL;
}

const char *rondo_quantity_count(const char *text, uint64_t *n) {
    uint64_t value;
    const char *rest = digits(text, &value);
    if (!rest || *rest != '\0' || value > INT64_MAX) return "a whole number";
    *n = value;
    return NULL;
}

const char *rondo_quantity_bool(const char *text, bool *b) {
    static const char *const words[] = {"yes", "on", "true", "no", "off", "false"};
    for (size_t i = 0; i < RONDO_COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *b = i < 3;
        return NULL;
    }
    return "yes or no (also on, off, true, false)";
}

const char *rondo_quantity_threads(const char *text, struct rondo_threads *threads) {
    static const char allowed[] = "auto, a number, MIN..MAX (1 to 1024), or 0";
    struct rondo_threads t = {RONDO_THREADS_AUTO, 0, 0};
    if (strcmp(text, "auto") == 0) {
        *threads = t;
        return NULL;
    }
    uint64_t min, max;
    const char *rest = digits(text, &min);
    if (!rest) return allowed;
    if (strncmp(rest, "..", 2) == 0) {
        rest = digits(rest + 2, &max);
        t.kind = RONDO_THREADS_RANGE;
        if (!rest || min == 0 || min > max) return allowed;
    } else {
        max = min;
        t.kind = max ? RONDO_THREADS_FIXED : RONDO_THREADS_NONE;
    }
    if (*rest != '\0' || max > MAX_THREADS) return allowed;
    t.min = (unsigned)min;
    t.max = (unsigned)max;
    *threads = t;
    return NULL;
}

bool rondo_quantity_is_off(const char *text) {
    return strcmp(text, "off") == 0;
}

void rondo_quantity_print_duration(uint64_t ns, char *out) {
    const struct unit *unit = durations;
    while (ns % unit->factor != 0) unit++;
    snprintf(out, 24, "%" PRIu64 "%s", ns / unit->factor, unit->name);
}
