/* SPDX-License-Identifier: MIT */
#include "cache/policy.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/entry.h"
#include "cache/waiter.h"

enum {
    DEFAULT_JITTER_PERCENT = 10,
    NO_JITTER = 101, /* as an option; 0 is the default */
    DEFAULT_QUEUE = 10000,
    DEFAULT_WAITERS = 10000,
    DEFAULT_BATCH = 128,
    DEFAULT_BREAKER = 10,
    DEFAULT_MISS_MEMORY_PERCENT = 5,
    THREADS_MAX = 1024,
    NAME_MAX_BYTES = 200
};

static const char *const texts[RONDO_TEXT_COUNT_] = {
    [RONDO_TEXT_TIMEOUT] = "time is up",
    [RONDO_TEXT_QUEUE] = "too many loads are waiting",
    [RONDO_TEXT_WAITERS] = "too many wait for this key",
    [RONDO_TEXT_CLOSED] = "is closed",
    [RONDO_TEXT_DEADLOCK] = "the source asked for the key that it is loading",
    [RONDO_TEXT_BREAKER] = "the source failed too often; it is asked again soon",
    [RONDO_TEXT_NOMEM] = "out of memory",
    [RONDO_TEXT_NO_MATCH] = "does not claim this key",
    [RONDO_TEXT_KEY] = "the key is longer than 65536 bytes",
    [RONDO_TEXT_VALUE] = "the value is larger than the limit",
    [RONDO_TEXT_REFUSED] = "takes no writes",
};

static enum rondo_err invalid(const char *option, const char *allowed) {
    rondo_log(RONDO_LOG_ERROR, "cache option %s: %s", option, allowed);
    return RONDO_ERR_INVALID;
}

static enum rondo_err check_threads(const struct rondo_threads *t) {
    switch (t->kind) {
    case RONDO_THREADS_AUTO:
    case RONDO_THREADS_NONE:
        return RONDO_OK;
    case RONDO_THREADS_FIXED:
        if (t->max >= 1 && t->max <= THREADS_MAX) return RONDO_OK;
        break;
    case RONDO_THREADS_RANGE:
        if (t->min >= 1 && t->min <= t->max && t->max <= THREADS_MAX) return RONDO_OK;
        break;
    }
    return invalid("threads", "auto, 0, a number up to 1024 or a range min..max of such");
}

/* Which writes a source takes: of enum rondo_source_writes. */
static unsigned writes_of(const struct rondo_source *source) {
    const struct rondo_source_ops *ops = source->ops;
    if (!ops) return 0;
    unsigned there = (ops->store ? (unsigned)RONDO_SOURCE_STORES : 0) |
                     (ops->erase ? (unsigned)RONDO_SOURCE_ERASES : 0);
    return ops->writes ? there & ops->writes(source->self) : there;
}

static enum rondo_err check(const struct rondo_cache_options *o) {
    if (o->size < sizeof *o) return invalid("size", "must be sizeof(struct rondo_cache_options)");
    if (o->name && (!*o->name || strlen(o->name) > NAME_MAX_BYTES))
        return invalid("name", "1 to 200 bytes");
    if (o->ttl_jitter_percent > NO_JITTER)
        return invalid("ttl_jitter", "1 to 100, or 101 for none");
    if (o->refresh_ahead_percent > 99) return invalid("refresh_ahead", "1 to 99, or 0 for off");
    if (o->miss_memory_percent > 100) return invalid("miss_memory", "1 to 100");
    if (o->max_stuck > THREADS_MAX) return invalid("max_stuck", "1 to 1024, or 0 for the default");
    if (o->writes > RONDO_WRITES_THROUGH) return invalid("writes", "memory, refuse or through");
    if (o->source.ops && (o->source.ops->abi != RONDO_SOURCE_ABI || !o->source.ops->load))
        return invalid("source", "built for another version of rondo, or without a load function");
    if (o->writes == RONDO_WRITES_THROUGH && !(writes_of(&o->source) & RONDO_SOURCE_STORES))
        return invalid("writes", "through needs a source that takes writes");
    return check_threads(&o->threads);
}

static void or_default64(uint64_t *v, uint64_t def) {
    if (*v == 0) *v = def;
}
static void or_default32(uint32_t *v, uint32_t def) {
    if (*v == 0) *v = def;
}

static void fill_in(struct rondo_cache_options *o) {
    or_default64(&o->ttl_ns, 600 * RONDO_SEC);
    if (o->ttl_jitter_percent == 0) o->ttl_jitter_percent = DEFAULT_JITTER_PERCENT;
    if (o->ttl_jitter_percent == NO_JITTER) o->ttl_jitter_percent = 0;
    or_default64(&o->miss_ttl_ns, RONDO_OFF);
    or_default64(&o->error_ttl_ns, RONDO_OFF);
    or_default64(&o->stale_while_revalidate_ns, RONDO_OFF);
    or_default64(&o->stale_if_error_ns, RONDO_OFF);
    or_default64(&o->load_timeout_ns, 30 * RONDO_SEC);
    or_default64(&o->wait_ns, 30 * RONDO_SEC);
    or_default32(&o->queue, DEFAULT_QUEUE);
    or_default32(&o->waiters, DEFAULT_WAITERS);
    or_default32(&o->batch, DEFAULT_BATCH);
    or_default32(&o->breaker_failures, DEFAULT_BREAKER);
    or_default64(&o->breaker_probe_ns, RONDO_SEC);
    or_default64(&o->max_value_bytes, UINT64_C(512) << 20);
    if (o->miss_memory_percent == 0) o->miss_memory_percent = DEFAULT_MISS_MEMORY_PERCENT;
}

static enum rondo_err init_pattern(struct rondo_policy *p, const char *pattern) {
    struct rondo_pattern_error why;
    enum rondo_err err = rondo_pattern_init(&p->pattern, pattern, &why);
    if (err == RONDO_ERR_CONFIG) {
        rondo_log(RONDO_LOG_ERROR, "cache %s: keys \"%s\": %s", p->name, pattern, why.text);
        return RONDO_ERR_INVALID;
    }
    return err;
}

static enum rondo_err init_texts(struct rondo_policy *p) {
    for (unsigned i = 0; i < RONDO_TEXT_COUNT_; i++) {
        char line[NAME_MAX_BYTES + 64];
        int len = snprintf(line, sizeof line, "%s %s", p->name, texts[i]);
        RONDO_CHECK(len > 0 && (size_t)len < sizeof line);
        p->texts[i] = rondo_blob_copy(line, (size_t)len);
        if (!p->texts[i]) return RONDO_ERR_NOMEM;
    }
    return RONDO_OK;
}

enum rondo_err rondo_policy_init(struct rondo_policy *p, const struct rondo_cache_options *options,
                                 uint64_t total_bytes) {
    *p = (struct rondo_policy){.opt = *options};
    enum rondo_err err = check(options);
    if (err) return err;
    fill_in(&p->opt);
    p->can_erase = writes_of(&options->source) & RONDO_SOURCE_ERASES;
    p->opt.name = p->opt.pattern = NULL;
    p->opt.keyspace = NULL;
    p->budget.limit = options->memory_bytes ? options->memory_bytes : UINT64_MAX;
    uint64_t basis = options->memory_bytes ? options->memory_bytes : total_bytes;
    p->negative.limit = basis / 100 * p->opt.miss_memory_percent;
    p->name = rondo_strdup(options->name ? options->name : "default");
    err = p->name ? init_pattern(p, options->pattern) : RONDO_ERR_NOMEM;
    if (!err) err = init_texts(p);
    if (err) rondo_policy_fini(p);
    return err;
}

void rondo_policy_fini(struct rondo_policy *p) {
    for (unsigned i = 0; i < RONDO_TEXT_COUNT_; i++) rondo_blob_unref(p->texts[i]);
    rondo_pattern_fini(&p->pattern);
    rondo_free(p->name);
    *p = (struct rondo_policy){0};
}

struct rondo_answer rondo_policy_failure(const struct rondo_policy *p, enum rondo_err err,
                                         enum rondo_policy_text text) {
    return rondo_answer_failed(err, p->texts[text], "");
}

/* Only ever shorter, so that nothing outlives the time that was asked for. */
static uint64_t jittered(uint64_t ttl_ns, unsigned percent, uint64_t seed) {
    uint64_t spread = ttl_ns / 100 * percent;
    return spread ? ttl_ns - rondo_random_below(&seed, spread + 1) : ttl_ns;
}

uint64_t rondo_policy_expiry_ms(const struct rondo_policy *p, uint64_t ttl_ns, uint64_t now_ns,
                                uint64_t seed) {
    if (ttl_ns == 0 && p->opt.ttl_ns != RONDO_OFF)
        ttl_ns = jittered(p->opt.ttl_ns, p->opt.ttl_jitter_percent, seed);
    else if (ttl_ns == 0)
        ttl_ns = RONDO_OFF;
    if (ttl_ns == RONDO_OFF) return RONDO_ENTRY_NEVER;
    /* Up, so that nothing ends early; what lives for less than one has ended. */
    uint64_t up = ttl_ns < RONDO_MS ? 0 : RONDO_MS - 1;
    uint64_t ms = (rondo_deadline(now_ns, ttl_ns) + up) / RONDO_MS;
    return ms < RONDO_ENTRY_NEVER ? ms : RONDO_ENTRY_NEVER;
}

static uint64_t window_ms(uint64_t ns) {
    return ns == RONDO_OFF ? 0 : ns / RONDO_MS;
}

struct rondo_stale rondo_policy_stale(const struct rondo_policy *p) {
    struct rondo_stale stale = {.revalidate_ms = window_ms(p->opt.stale_while_revalidate_ns),
                                .error_ms = window_ms(p->opt.stale_if_error_ns)};
    stale.keep_ms = stale.revalidate_ms > stale.error_ms ? stale.revalidate_ms : stale.error_ms;
    return stale;
}
