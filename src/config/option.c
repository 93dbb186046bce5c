/* SPDX-License-Identifier: MIT */
#include "config/option.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "source/quantity.h"
#include "source/suggest.h"

/* --------------------------------------------------------------- readers --- */

static const char *read_duration(const char *text, void *at) {
    return rondo_quantity_duration(text, at);
}

static const char *read_duration_or_off(const char *text, void *at) {
    if (!rondo_quantity_is_off(text)) return rondo_quantity_duration(text, at);
    *(uint64_t *)at = RONDO_OFF;
    return NULL;
}

static const char *read_ttl(const char *text, void *at) {
    struct rondo_cache_options *options = at;
    if (strcmp(text, "from-source") != 0) return read_duration_or_off(text, &options->ttl_ns);
    options->ttl_from_source = true;
    return NULL;
}

static const char *read_jitter(const char *text, void *at) {
    if (!rondo_quantity_is_off(text)) return rondo_quantity_percent(text, at);
    *(unsigned *)at = 101; /* as cache.h says */
    return NULL;
}

static const char *read_refresh_ahead(const char *text, void *at) {
    unsigned percent = 0;
    if (rondo_quantity_is_off(text)) {
        *(unsigned *)at = 0;
        return NULL;
    }
    if (rondo_quantity_percent(text, &percent) || percent > 99)
        return "a share of the entry's life, 1% to 99%, or off";
    *(unsigned *)at = percent;
    return NULL;
}

static const char *read_percent(const char *text, void *at) {
    return rondo_quantity_percent(text, at);
}

static const char *read_size(const char *text, void *at) {
    return rondo_quantity_size(text, at);
}

static const char *read_memory(const char *text, void *at) {
    uint64_t bytes;
    const char *wrong = rondo_quantity_size(text, &bytes);
    if (wrong) return wrong;
    if (bytes < UINT64_C(1) << 20) return "at least 1mb";
    *(uint64_t *)at = bytes;
    return NULL;
}

static const char *read_value_size(const char *text, void *at) {
    uint64_t bytes;
    const char *wrong = rondo_quantity_size(text, &bytes);
    if (wrong) return wrong;
    if (bytes > UINT64_C(512) << 20) return "at most 512mb";
    *(uint64_t *)at = bytes;
    return NULL;
}

static bool count_within(const char *text, uint64_t lo, uint64_t hi, void *at) {
    uint64_t n;
    if (rondo_quantity_count(text, &n) || n < lo || n > hi) return false;
    *(uint32_t *)at = (uint32_t)n;
    return true;
}

static const char *read_bound(const char *text, void *at) {
    return count_within(text, 1, 10000000, at) ? NULL : "a whole number from 1 to 10000000";
}

static const char *read_stuck(const char *text, void *at) {
    return count_within(text, 1, 1024, at) ? NULL : "a whole number from 1 to 1024";
}

static const char *read_batch(const char *text, void *at) {
    return count_within(text, 1, 1000, at) ? NULL : "a whole number from 1 to 1000";
}

static const char *read_connections(const char *text, void *at) {
    return count_within(text, 1, 1000000, at) ? NULL : "a whole number from 1 to 1000000";
}

static const char *read_threads(const char *text, void *at) {
    return rondo_quantity_threads(text, at);
}

/* cache.h: a runtime takes no range. */
static const char *read_workers(const char *text, void *at) {
    struct rondo_threads t;
    if (rondo_quantity_threads(text, &t) || t.kind == RONDO_THREADS_RANGE ||
        t.kind == RONDO_THREADS_NONE)
        return "auto (one a core) or a number from 1 to 1024";
    *(struct rondo_threads *)at = t;
    return NULL;
}

static const char *read_bool(const char *text, void *at) {
    return rondo_quantity_bool(text, at);
}

static const char *read_single_flight(const char *text, void *at) {
    bool on;
    const char *wrong = rondo_quantity_bool(text, &on);
    if (!wrong) *(bool *)at = !on;
    return wrong;
}

static const char *read_writes(const char *text, void *at) {
    static const char *const words[] = {
        [RONDO_WRITES_MEMORY] = "memory",
        [RONDO_WRITES_REFUSE] = "refuse",
        [RONDO_WRITES_THROUGH] = "through",
    };
    for (unsigned i = 0; i < RONDO_COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *(enum rondo_writes *)at = (enum rondo_writes)i;
        return NULL;
    }
    return "memory, through or refuse";
}

static const char *read_log_level(const char *text, void *at) {
    static const char *const words[] = {
        [RONDO_LOG_ERROR] = "error",
        [RONDO_LOG_WARN] = "warning",
        [RONDO_LOG_INFO] = "info",
        [RONDO_LOG_DEBUG] = "debug",
    };
    for (unsigned i = 0; i < RONDO_COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *(enum rondo_log_level *)at = (enum rondo_log_level)i;
        return NULL;
    }
    return "error, warning, info or debug";
}

static const char *read_log_format(const char *text, void *at) {
    bool is_json = strcmp(text, "json") == 0;
    if (!is_json && strcmp(text, "text") != 0) return "text or json";
    *(bool *)at = is_json;
    return NULL;
}

static const char *read_unmatched(const char *text, void *at) {
    bool refuse = strcmp(text, "refuse") == 0;
    if (!refuse && strcmp(text, "keep") != 0) return "keep or refuse";
    *(bool *)at = refuse;
    return NULL;
}

static const char *read_address(const char *text, void *at) {
    return rondo_config_address_parse(text, at);
}

static const char *read_password(const char *text, void *at) {
    if (strlen(text) < 1 || strlen(text) > 512) return "1 to 512 bytes";
    char *copy = rondo_strdup(text);
    if (!copy) return "out of memory";
    rondo_free(*(char **)at);
    *(char **)at = copy;
    return NULL;
}

/* ----------------------------------------------------------------- table --- */

#define SERVER(field) RONDO_CONFIG_SERVER, offsetof(struct rondo_config, field)
#define CACHE(field) RONDO_CONFIG_CACHE, offsetof(struct rondo_cache_options, field)
#define ROW(name, read, place, allowed, standard, help)                                            \
    ROW_(name, read, place, allowed, standard, help)
#define ROW_(name, read, scope, offset, allowed, standard, help)                                   \
    { name, scope, read, offset, allowed, standard, help }

static const struct rondo_config_option table[] = {
    ROW("listen", read_address, SERVER(listen), "address:port", "127.0.0.1:6380",
        "where Redis clients connect"),
    ROW("admin", read_address, SERVER(admin), "address:port", "off",
        "where metrics and health are served over HTTP"),
    ROW("workers", read_workers, SERVER(workers), "auto or 1 to 1024", "auto: one a core",
        "threads that serve connections"),
    ROW("memory", read_memory, SERVER(memory_bytes), "a size, at least 1mb",
        "half of the cgroup's limit or of the RAM", "what all caches may hold, overhead included"),
    ROW("max_connections", read_connections, SERVER(max_connections), "1 to 1000000", "10000",
        "connections at the same time"),
    ROW("drain_timeout", read_duration, SERVER(drain_timeout_ns), "a duration", "10s",
        "how long a stop waits for loads and writes under way"),
    ROW("idle_timeout", read_duration_or_off, SERVER(idle_timeout_ns), "a duration or off", "off",
        "connections that are idle so long are closed"),
    ROW("password", read_password, SERVER(password), "1 to 512 bytes", "none",
        "what clients must give with AUTH"),
    ROW("insecure", read_bool, SERVER(insecure), "yes or no", "no",
        "serve beyond loopback without a password"),
    ROW("unmatched", read_unmatched, SERVER(refuse_unmatched), "keep or refuse", "keep",
        "keys that no cache claims: kept in memory without a source, or an error"),
    ROW("log_level", read_log_level, SERVER(log_level), "error, warning, info or debug", "info",
        "the least important lines that are logged"),
    ROW("log_format", read_log_format, SERVER(log_json), "text or json", "text",
        "lines for people or for what collects logs"),
    ROW("caches", NULL, SERVER(caches), "a map of names", "none", "the caches, by name"),

    ROW("keys", NULL, CACHE(pattern), "a pattern such as \"user:{id}\"", "required",
        "which keys the cache claims"),
    ROW("source", NULL, CACHE(source), "a map with a type", "none: a plain cache",
        "where missing keys come from"),
    ROW("ttl", read_ttl, CACHE(size), "a duration, off or from-source", "10m",
        "the life of an entry, from the end of its load"),
    ROW("ttl_jitter", read_jitter, CACHE(ttl_jitter_percent), "1% to 100% or off", "10%",
        "how far lives are spread"),
    ROW("miss_ttl", read_duration_or_off, CACHE(miss_ttl_ns), "a duration or off", "off",
        "how long an absence is remembered"),
    ROW("error_ttl", read_duration_or_off, CACHE(error_ttl_ns), "a duration or off", "off",
        "how long a failure is remembered"),
    ROW("refresh_ahead", read_refresh_ahead, CACHE(refresh_ahead_percent), "1% to 99% or off",
        "off", "in this last part of its life a read entry is loaded anew in the background"),
    ROW("stale_while_revalidate", read_duration_or_off, CACHE(stale_while_revalidate_ns),
        "a duration or off", "off", "how long past its life an entry answers while it is loaded"),
    ROW("stale_if_error", read_duration_or_off, CACHE(stale_if_error_ns), "a duration or off",
        "off", "how long past its life an entry answers when its load fails"),
    ROW("threads", read_threads, CACHE(threads), "auto, 1 to 1024, MIN..MAX or 0", "auto: 1..16",
        "threads that call the source; 0: one that makes all calls, one at a time"),
    ROW("max_stuck", read_stuck, CACHE(max_stuck), "1 to 1024", "as many as threads",
        "threads beyond load_timeout that are replaced; then the breaker opens"),
    ROW("load_timeout", read_duration, CACHE(load_timeout_ns), "a duration", "30s",
        "the longest call of the source"),
    ROW("wait", read_duration, CACHE(wait_ns), "a duration", "30s",
        "the longest that a reader waits, queueing included"),
    ROW("queue", read_bound, CACHE(queue), "1 to 10000000", "10000",
        "loads that may wait for a thread"),
    ROW("waiters", read_bound, CACHE(waiters), "1 to 10000000", "10000",
        "readers that may wait for one key"),
    ROW("batch", read_batch, CACHE(batch), "1 to 1000", "128", "keys in one call of the source"),
    ROW("single_flight", read_single_flight, CACHE(no_single_flight), "yes or no", "yes",
        "one load a key however many ask; no: every reader that misses loads"),
    ROW("breaker_failures", read_bound, CACHE(breaker_failures), "1 to 10000000", "10",
        "failed calls in a row after which the source is left alone"),
    ROW("breaker_probe", read_duration, CACHE(breaker_probe_ns), "a duration", "1s",
        "until it is tried again, growing to 30s"),
    ROW("memory", read_size, CACHE(memory_bytes), "a size", "no limit of its own",
        "what this cache may hold, overhead included"),
    ROW("max_value", read_value_size, CACHE(max_value_bytes), "a size, at most 512mb", "512mb",
        "the largest value"),
    ROW("miss_memory", read_percent, CACHE(miss_memory_percent), "1% to 100%", "5%",
        "of the memory, for remembered absences and failures"),
    ROW("writes", read_writes, CACHE(writes), "memory, through or refuse", "memory",
        "what SET and DEL do: memory alone, the source first, or an error"),
};

const struct rondo_config_option *rondo_config_options(size_t *n) {
    *n = RONDO_COUNT_OF(table);
    return table;
}

const struct rondo_config_option *rondo_config_option(enum rondo_config_scope scope,
                                                      const char *name) {
    for (size_t i = 0; i < RONDO_COUNT_OF(table); i++)
        if (table[i].scope == scope && strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

const char *rondo_config_option_near(enum rondo_config_scope scope, const char *name) {
    struct rondo_suggest s;
    rondo_suggest_init(&s, name);
    for (size_t i = 0; i < RONDO_COUNT_OF(table); i++)
        if (table[i].scope == scope) rondo_suggest_offer(&s, table[i].name);
    return s.best;
}

void rondo_config_option_list(enum rondo_config_scope scope, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < RONDO_COUNT_OF(table); i++) {
        if (table[i].scope != scope || used >= size) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", table[i].name);
    }
}
