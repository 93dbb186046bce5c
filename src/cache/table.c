/* SPDX-License-Identifier: MIT */
#include "cache/table.h"

#include "base/mem.h"

enum {
    WORDS = 7,
    SEGMENT = 128,   /* buckets: 8 KiB, so growing costs no long pause */
    FIRST_ROUND = 8, /* buckets of a new table */
    LOAD = 4         /* entries per bucket on average; more is divided */
};

struct rondo_line {
    uint64_t words[WORDS];
    struct rondo_line *more;
};
_Static_assert(sizeof(struct rondo_line) == RONDO_CACHE_LINE, "a bucket is a line");

#define TAG_SHIFT 48
#define ADDRESS_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)

static uint64_t word_of(const struct rondo_entry *e, uint64_t tag) {
    return tag << TAG_SHIFT | (uintptr_t)e;
}

static struct rondo_entry *entry_of(uint64_t word) {
    return (struct rondo_entry *)(uintptr_t)(word & ADDRESS_MASK);
}

static uint32_t index_of(const struct rondo_table *t, uint32_t hash) {
    uint32_t i = hash & (2 * t->round - 1);
    return i < t->round + t->split ? i : i & (t->round - 1);
}

static struct rondo_line *line_at(const struct rondo_table *t, uint32_t i) {
    return &t->segments[i / SEGMENT][i % SEGMENT];
}

static struct rondo_line *lines_new(struct rondo_table *t, size_t n) {
    struct rondo_line *lines = rondo_alloc_aligned(RONDO_CACHE_LINE, n * sizeof *lines);
    if (!lines) return NULL;
    memset(lines, 0, n * sizeof *lines);
    t->bytes += n * sizeof *lines;
    return lines;
}

static void line_free(struct rondo_table *t, struct rondo_line *line) {
    t->bytes -= sizeof *line;
    rondo_free(line);
}

static void chain_free(struct rondo_line *line) {
    while (line) {
        struct rondo_line *next = line->more;
        rondo_free(line);
        line = next;
    }
}

void rondo_table_fini(struct rondo_table *t) {
    for (uint32_t s = 0; s < t->n_segments; s++) {
        for (uint32_t i = 0; i < SEGMENT; i++) chain_free(t->segments[s][i].more);
        rondo_free(t->segments[s]);
    }
    rondo_free(t->segments);
    *t = (struct rondo_table){0};
}

static enum rondo_err add_segment(struct rondo_table *t) {
    if (t->n_segments == t->cap_segments) {
        uint32_t cap = t->cap_segments ? 2 * t->cap_segments : 4;
        struct rondo_line **segments = rondo_realloc(t->segments, cap * sizeof(void *));
        if (!segments) return RONDO_ERR_NOMEM;
        t->bytes += (cap - t->cap_segments) * sizeof(void *);
        t->segments = segments;
        t->cap_segments = cap;
    }
    struct rondo_line *lines = lines_new(t, SEGMENT);
    if (!lines) return RONDO_ERR_NOMEM;
    t->segments[t->n_segments++] = lines;
    return RONDO_OK;
}

struct rondo_entry *rondo_table_find(const struct rondo_table *t, uint64_t hash, unsigned space,
                                     struct rondo_slice key) {
    if (RONDO_UNLIKELY(t->count == 0)) return NULL;
    uint64_t tag = hash >> TAG_SHIFT;
    const struct rondo_line *line = line_at(t, index_of(t, (uint32_t)hash));
    do {
        for (unsigned i = 0; i < WORDS; i++) {
            uint64_t word = line->words[i];
            if (word >> TAG_SHIFT != tag || word == 0) continue;
            struct rondo_entry *e = entry_of(word);
            if (RONDO_LIKELY(rondo_entry_is(e, hash, space, key))) return e;
        }
        line = line->more;
    } while (RONDO_UNLIKELY(line != NULL));
    return NULL;
}

void rondo_table_prefetch(const struct rondo_table *t, uint64_t hash) {
    if (t->count) __builtin_prefetch(line_at(t, index_of(t, (uint32_t)hash)));
}

/* A header, a key and a small value are two lines more often than one. */
void rondo_table_prefetch_entry(const struct rondo_table *t, uint64_t hash) {
    if (!t->count) return;
    const struct rondo_line *line = line_at(t, index_of(t, (uint32_t)hash));
    for (unsigned i = 0; i < WORDS; i++) {
        if (line->words[i] >> TAG_SHIFT != hash >> TAG_SHIFT || line->words[i] == 0) continue;
        const char *e = (const char *)entry_of(line->words[i]);
        __builtin_prefetch(e);
        __builtin_prefetch(e + RONDO_CACHE_LINE);
        return;
    }
}

/* Words are dense: the first empty one ends a chain. */
static enum rondo_err chain_add(struct rondo_table *t, struct rondo_line *line, uint64_t word) {
    for (;;) {
        for (unsigned i = 0; i < WORDS; i++) {
            if (line->words[i]) continue;
            line->words[i] = word;
            return RONDO_OK;
        }
        if (!line->more) line->more = lines_new(t, 1);
        if (!line->more) return RONDO_ERR_NOMEM;
        line = line->more;
    }
}

static uint64_t *chain_find(struct rondo_line *line, const struct rondo_entry *e) {
    for (;;) {
        for (unsigned i = 0; i < WORDS; i++)
            if (entry_of(line->words[i]) == e) return &line->words[i];
        RONDO_CHECK(line->more != NULL); /* it is in its chain */
        line = line->more;
    }
}

/* Takes the last word of a chain off and frees a further line that it leaves
 * empty. */
static uint64_t chain_take_last(struct rondo_table *t, struct rondo_line *line) {
    struct rondo_line **link = NULL;
    while (line->more) {
        link = &line->more;
        line = line->more;
    }
    unsigned n = WORDS;
    while (n > 0 && !line->words[n - 1]) n--;
    RONDO_CHECK(n > 0);
    uint64_t word = line->words[n - 1];
    line->words[n - 1] = 0;
    if (n == 1 && link) {
        *link = NULL;
        line_free(t, line);
    }
    return word;
}

static void chain_remove(struct rondo_table *t, struct rondo_line *line,
                         const struct rondo_entry *e) {
    uint64_t last = chain_take_last(t, line);
    if (entry_of(last) != e) *chain_find(line, e) = last;
}

/* Makes the further lines that `n` words will need behind an empty bucket. */
static enum rondo_err chain_reserve(struct rondo_table *t, struct rondo_line *line, size_t n) {
    for (; n > WORDS; n -= WORDS, line = line->more) {
        line->more = lines_new(t, 1);
        if (!line->more) return RONDO_ERR_NOMEM;
    }
    return RONDO_OK;
}

static void chain_trim(struct rondo_table *t, struct rondo_line *line) {
    RONDO_CHECK(line != NULL);
    while (line->more) {
        struct rondo_line *more = line->more;
        line->more = more->more;
        line_free(t, more);
    }
}

static size_t count_moving(const struct rondo_line *line, uint32_t bit) {
    size_t n = 0;
    for (; line; line = line->more)
        for (unsigned i = 0; i < WORDS && line->words[i]; i++)
            n += (entry_of(line->words[i])->hash & bit) != 0;
    return n;
}

/* Takes out the words that `fn` says, closes the gaps and frees the further lines
 * that are left over. */
static size_t chain_sweep(struct rondo_table *t, struct rondo_line *line, rondo_table_sweep_fn fn,
                          void *arg) {
    struct rondo_line *keep = line;
    unsigned n_keep = 0;
    size_t n_out = 0;
    for (; line; line = line->more) {
        for (unsigned i = 0; i < WORDS && line->words[i]; i++) {
            uint64_t word = line->words[i];
            line->words[i] = 0;
            if (fn(arg, entry_of(word), word)) {
                n_out++;
                continue;
            }
            if (n_keep == WORDS) {
                keep = keep->more;
                n_keep = 0;
            }
            keep->words[n_keep++] = word;
        }
    }
    chain_trim(t, keep);
    return n_out;
}

struct division {
    struct rondo_table *table;
    struct rondo_line *to;
    uint32_t bit;
};

static bool divide(void *arg, struct rondo_entry *e, uint64_t word) {
    struct division *d = arg;
    if (!(e->hash & d->bit)) return false;
    RONDO_CHECK(chain_add(d->table, d->to, word) == RONDO_OK);
    return true;
}

/* Divides one bucket.  Growing is an optimisation: without memory it waits. */
static void grow(struct rondo_table *t) {
    uint32_t to = t->round + t->split;
    if (to >= UINT32_C(1) << 30) return;
    if (to / SEGMENT >= t->n_segments && add_segment(t)) return;
    struct rondo_line *source = line_at(t, t->split), *target = line_at(t, to);
    if (chain_reserve(t, target, count_moving(source, t->round))) {
        chain_trim(t, target);
        return;
    }
    struct division division = {t, target, t->round};
    (void)chain_sweep(t, source, divide, &division);
    if (++t->split == t->round) {
        t->round *= 2;
        t->split = 0;
    }
}

enum rondo_err rondo_table_insert(struct rondo_table *t, struct rondo_entry *e, uint64_t hash) {
    if (RONDO_UNLIKELY(t->round == 0)) {
        if (add_segment(t)) return RONDO_ERR_NOMEM;
        t->round = FIRST_ROUND;
    }
    enum rondo_err err =
        chain_add(t, line_at(t, index_of(t, e->hash)), word_of(e, hash >> TAG_SHIFT));
    if (err) return err;
    t->count++;
    if (t->count > (uint64_t)LOAD * (t->round + t->split)) grow(t);
    return RONDO_OK;
}

void rondo_table_replace(struct rondo_table *t, struct rondo_entry *old, struct rondo_entry *e,
                         uint64_t hash) {
    *chain_find(line_at(t, index_of(t, old->hash)), old) = word_of(e, hash >> TAG_SHIFT);
}

void rondo_table_remove(struct rondo_table *t, struct rondo_entry *e) {
    chain_remove(t, line_at(t, index_of(t, e->hash)), e);
    t->count--;
}

static void visit(const struct rondo_table *t, uint32_t i, rondo_table_fn fn, void *arg) {
    for (const struct rondo_line *line = line_at(t, i); line; line = line->more)
        for (unsigned w = 0; w < WORDS && line->words[w]; w++) fn(arg, entry_of(line->words[w]));
}

static uint32_t reverse(uint32_t v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}

/*
 * The cursor names a bucket of the round; a bucket that has been divided is
 * visited together with its other half, so a scan sees the table as if it had
 * `round` buckets.  Counting with the bits reversed, the buckets that a doubled
 * round makes out of those already visited all lie behind the cursor.
 */
uint32_t rondo_table_scan(const struct rondo_table *t, uint32_t cursor, rondo_table_fn fn,
                          void *arg) {
    if (t->round == 0) return 0;
    uint32_t mask = t->round - 1, i = cursor & mask;
    visit(t, i, fn, arg);
    if (i < t->split) visit(t, i + t->round, fn, arg);
    return reverse(reverse(cursor | ~mask) + 1);
}

uint64_t rondo_table_sweep(struct rondo_table *t, rondo_table_sweep_fn fn, void *arg) {
    uint64_t before = t->count;
    if (t->round == 0) return 0;
    for (uint32_t i = 0; i < t->round + t->split; i++)
        t->count -= chain_sweep(t, line_at(t, i), fn, arg);
    return before - t->count;
}
