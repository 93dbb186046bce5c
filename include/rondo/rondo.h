/* SPDX-License-Identifier: MIT */
/*
 * rondo.h - what every other public header needs: version, errors, slices, and
 * where log lines go.
 *
 * Conventions of all public headers
 * ---------------------------------
 * Pointers are *borrowed* (valid until the call returns) unless a comment says
 * *given* (the callee owns it from now on), *lent* (valid until a callback), or
 * *shared* (the callee takes a reference of its own).  Results come back by
 * out-parameter and are written only on success.  Durations and points in time
 * are nanoseconds (`_ns`), monotonic unless the name says `wall`.  An option
 * struct begins with its own size; zeroed fields mean the documented default,
 * so `struct rondo_x_options o = { .size = sizeof o };` is always a valid start.
 */
#ifndef RONDO_RONDO_H
#define RONDO_RONDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RONDO_API __attribute__((visibility("default")))
#define RONDO_NODISCARD __attribute__((warn_unused_result))
#define RONDO_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RONDO_API
#define RONDO_NODISCARD
#define RONDO_PRINTF(fmt, args)
#endif

#define RONDO_VERSION_MAJOR 0
#define RONDO_VERSION_MINOR 1
#define RONDO_VERSION_PATCH 0
#define RONDO_VERSION "0.1.0"

/*
 * The one error table: X(name, code, RESP word, text).  The word is what a
 * Redis client sees in front of the text of an error reply.  Codes are part of
 * the ABI and never change their number.
 */
#define RONDO_ERRORS(X)                                                                            \
    X(RONDO_OK, 0, "OK", "success")                                                                \
    X(RONDO_ERR_NOMEM, 1, "OOM", "out of memory")                                                  \
    X(RONDO_ERR_INVALID, 2, "ERR", "invalid argument")                                             \
    X(RONDO_ERR_SYSTEM, 3, "ERR", "the operating system refused")                                  \
    X(RONDO_ERR_PROTOCOL, 4, "ERR", "Protocol error")                                              \
    X(RONDO_ERR_FULL, 5, "OVERLOADED", "a bounded queue is full")                                  \
    X(RONDO_ERR_CLOSED, 6, "ERR", "closed")                                                        \
    X(RONDO_ERR_CANCELLED, 7, "ERR", "cancelled")                                                  \
    X(RONDO_ERR_TIMEOUT, 8, "LOADTIMEOUT", "time is up")                                           \
    X(RONDO_ERR_LOAD, 9, "LOADERR", "the source failed")                                           \
    X(RONDO_ERR_CONNECT, 10, "LOADERR", "the source cannot be reached")                            \
    X(RONDO_ERR_STORE, 11, "STOREERR", "the source refused the write")                             \
    X(RONDO_ERR_REFUSED, 12, "WRITEREFUSED", "this cache takes no writes")                         \
    X(RONDO_ERR_UNSUPPORTED, 13, "ERR", "not supported here")                                      \
    X(RONDO_ERR_ABI, 14, "ERR", "built for another version of rondo")                              \
    X(RONDO_ERR_DEADLOCK, 15, "LOADERR", "the source asked for the key that it is loading")        \
    X(RONDO_ERR_TOO_LARGE, 16, "ERR", "larger than the limit")                                     \
    X(RONDO_ERR_CONFIG, 17, "ERR", "mistake in the configuration")                                 \
    X(RONDO_ERR_STALLED, 18, "ERR", "nothing can happen any more, yet actors are waiting")         \
    X(RONDO_ERR_EXISTS, 19, "ERR", "already there")                                                \
    X(RONDO_ERR_NOT_FOUND, 20, "ERR", "not found")

enum rondo_err {
#define RONDO_ERR_ENUM_(name, code, word, text) name = code,
    RONDO_ERRORS(RONDO_ERR_ENUM_)
#undef RONDO_ERR_ENUM_
        RONDO_ERR_COUNT_
};

/* The text, RESP word and symbol of an error; of an unknown number: "unknown
 * error", "ERR", "RONDO_ERR_?".  Static strings; any thread. */
RONDO_API const char *rondo_err_text(enum rondo_err err);
RONDO_API const char *rondo_err_word(enum rondo_err err);
RONDO_API const char *rondo_err_name(enum rondo_err err);

/* The version that is linked, e.g. "0.1.0", which may be newer than the
 * header's RONDO_VERSION.  Static; any thread. */
RONDO_API const char *rondo_version(void);

/* Bytes that somebody else owns.  `data` may be NULL when `len` is 0; bytes may
 * be anything, NUL included. */
struct rondo_slice {
    const void *data;
    size_t len;
};

/* How many threads.  Zeroed memory means auto: no option that counts threads
 * ever defaults to none. */
enum rondo_threads_kind {
    RONDO_THREADS_AUTO = 0, /* sized by what the owner documents */
    RONDO_THREADS_FIXED,    /* exactly `max` */
    RONDO_THREADS_RANGE,    /* between `min` and `max`, sized by load */
    RONDO_THREADS_NONE      /* "threads: 0": see the owner's documentation */
};

struct rondo_threads {
    enum rondo_threads_kind kind;
    unsigned min, max; /* used by FIXED (max) and RANGE; 1 <= min <= max <= 1024 */
};

/*
 * Where log lines go.  The library writes nothing to any stream by itself,
 * but to standard error when an internal check fails and no function is set.  `fn`
 * is called on whatever thread has something to say, with no lock held that a
 * caller could want; `line` is NUL-terminated, without a newline, borrowed.
 */
enum rondo_log_level { RONDO_LOG_ERROR = 0, RONDO_LOG_WARN, RONDO_LOG_INFO, RONDO_LOG_DEBUG };

typedef void (*rondo_log_fn)(void *arg, enum rondo_log_level level, const char *line);

/* Sets the process's log function (NULL: silence, the default) and the most
 * talkative level that reaches it.  Call before anything else runs: not
 * synchronised with threads that log at the same time. */
RONDO_API void rondo_log_set(rondo_log_fn fn, void *arg, enum rondo_log_level max_level);

#ifdef __cplusplus
}
#endif
#endif
