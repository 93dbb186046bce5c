/* SPDX-License-Identifier: MIT */
/*
 * source.h - what a source implements: the thing a cache asks for keys that it
 * does not have.
 *
 * A source makes one call and honours its time limit, nothing else: queues,
 * batches, retries, breakers and remembering are the cache's.  A source of your
 * own is a shared object that exports one function, rondo_source_plugin; it
 * links to nothing of rondo's.
 *
 * Life of a source:  open (checks its settings, does no I/O that can block)
 *   → per pool thread, when first needed: connect → load / store / erase, one at
 *   a time per connection → disconnect  → close, after the last disconnect.
 * Threads: open and close run on the thread that opens and closes the cache;
 * connect, load, store, erase and disconnect of one connection on one pool
 * thread; different connections at the same time; cancel on any thread.
 */
#ifndef RONDO_SOURCE_H
#define RONDO_SOURCE_H

#include "rondo/rondo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below changes its meaning; another number is refused
 * when the source is opened. */
#define RONDO_SOURCE_ABI 1

/* ------------------------------------------------------------- settings --- */

enum rondo_setting_kind {
    RONDO_SETTING_TEXT = 0,
    RONDO_SETTING_TEMPLATE, /* text with `{parameter}` places; checked against the key pattern */
    RONDO_SETTING_DURATION, /* "5s", "100ms", "off" where the source says so */
    RONDO_SETTING_COUNT,    /* a whole number */
    RONDO_SETTING_BOOL,     /* yes, no, on, off, true, false */
    RONDO_SETTING_MAP,      /* names to texts; arrives as one setting a name, "answers.Cthulhu" */
    RONDO_SETTING_PATH      /* a file; arrives absolute, relative ones start at the config file */
};

/* A setting that a source takes.  A table of them ends with a NULL name.  The first
 * is what `type:target` on the command line sets, the second the statement after
 * it. */
struct rondo_source_option {
    const char *name;
    enum rondo_setting_kind kind;
    bool required;
    bool secret;      /* never shown in logs or CONFIG GET */
    const char *help; /* what it is and what is allowed, one line */
};

/* A setting as somebody wrote it.  `line` is where (0: not from a file). */
struct rondo_source_setting {
    const char *name;
    const char *value;
    unsigned line;
};

struct rondo_source_config {
    size_t size;
    const char *cache;         /* the cache's name */
    const char *const *params; /* the key pattern's parameters in order, e.g. {"id"} */
    size_t n_params;
    const struct rondo_source_setting *settings;
    size_t n_settings;
    /* Tells a mistake in `setting` (one of the names above; NULL: in none in
     * particular): what was found and what is allowed, one line.  May be called
     * several times, so that all mistakes come out at once; open then fails with
     * RONDO_ERR_CONFIG. */
    void (*mistake)(void *arg, const char *setting, const char *text);
    void *mistake_arg;
};

/* ---------------------------------------------------------------- calls --- */

/* Room for why something failed, in words for people, without secrets. */
struct rondo_source_error {
    char text[256]; /* NUL-terminated */
};

struct rondo_load_key {
    struct rondo_slice key;           /* the whole key */
    const struct rondo_slice *params; /* values of the pattern's parameters, n_params of them */
    struct rondo_slice client;        /* who asked (the first, if several); empty if unknown */
};

struct rondo_load;

/* How a load answers; see the inline functions below. */
struct rondo_load_answers {
    void (*value)(const struct rondo_load *load, size_t i, const void *data, size_t len,
                  uint64_t ttl_ns);
    void (*absent)(const struct rondo_load *load, size_t i);
    void (*fail)(const struct rondo_load *load, size_t i, enum rondo_err err, const char *text);
};

/*
 * One call for one or several different keys.  Answer each key once, by its
 * index; a key left without an answer is absent, a second answer to a key is
 * ignored and counted.  Everything is lent until load returns.
 */
struct rondo_load {
    const struct rondo_load_answers *answers;
    const struct rondo_load_key *keys;
    size_t n;
    uint64_t timeout_ns; /* the call should end within this time from its start */
};

enum { RONDO_LOAD_ALL = -1 };

/* Key i has this value (copied).  `ttl_ns`: the source's own idea of its life, 0
 * for none (used with `ttl: from-source`). */
static inline void rondo_load_value(const struct rondo_load *load, size_t i, const void *data,
                                    size_t len, uint64_t ttl_ns) {
    load->answers->value(load, i, data, len, ttl_ns);
}

/* The source has no key i. */
static inline void rondo_load_absent(const struct rondo_load *load, size_t i) {
    load->answers->absent(load, i);
}

/* Key i failed; i = (size_t)RONDO_LOAD_ALL: the whole call.  `err` is LOAD (this
 * question failed; a batch is then asked again key by key), CONNECT (the
 * connection is broken: it is remade before the next call), TIMEOUT or NOMEM. */
static inline void rondo_load_fail(const struct rondo_load *load, size_t i, enum rondo_err err,
                                   const char *text) {
    load->answers->fail(load, i, err, text);
}

/* A write or a removal to be made in the source. */
struct rondo_store {
    struct rondo_load_key key;
    struct rondo_slice value; /* of store; empty for erase */
    uint64_t timeout_ns;
};

/* --------------------------------------------------------------- source --- */

enum rondo_source_writes { RONDO_SOURCE_STORES = 1, RONDO_SOURCE_ERASES = 2 };

struct rondo_source_ops {
    uint32_t abi;     /* RONDO_SOURCE_ABI */
    const char *type; /* "sqlite" */
    const char *help; /* one line */
    const struct rondo_source_option *options;

    /* Errors: CONFIG (mistakes were told), NOMEM, UNSUPPORTED. */
    enum rondo_err (*open)(const struct rondo_source_config *config, void **out);
    void (*close)(void *source); /* NULL: nothing to close */

    /* How many keys one load may ask for, at least 1.  NULL: 1. */
    size_t (*batch)(const void *source);

    /* Makes what a pool thread needs.  NULL: nothing is needed, and load gets the
     * source itself as its connection.  Errors: CONNECT, NOMEM, with `why`. */
    enum rondo_err (*connect)(void *source, struct rondo_source_error *why, void **out);
    void (*disconnect)(void *connection);

    void (*load)(void *connection, const struct rondo_load *load); /* required */

    /* NULL where the source takes no writes, however it is configured.
     * Errors: STORE, CONNECT, TIMEOUT (outcome unknown), with `why`. */
    enum rondo_err (*store)(void *connection, const struct rondo_store *store,
                            struct rondo_source_error *why);
    enum rondo_err (*erase)(void *connection, const struct rondo_store *store,
                            struct rondo_source_error *why);

    /* Asks the call that runs on a connection to end soon; called at its deadline
     * from another thread, perhaps more than once.  Must not block: a lock is held,
     * so that the connection is there.  NULL: cannot. */
    void (*cancel)(void *connection);

    /* Which writes the source takes as it is configured, enum rondo_source_writes.
     * NULL: what `store` and `erase` being there say. */
    unsigned (*writes)(const void *source);
};

/* An opened source, as a cache takes it. */
struct rondo_source {
    const struct rondo_source_ops *ops; /* NULL: no source */
    void *self;
};

/*
 * The one symbol that a shared object with a source exports: its table, static.
 *
 *     const struct rondo_source_ops *rondo_source_plugin(void) { return &my_ops; }
 */
#define RONDO_SOURCE_PLUGIN_SYMBOL "rondo_source_plugin"
typedef const struct rondo_source_ops *(*rondo_source_plugin_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
