/* SPDX-License-Identifier: MIT */
/*
 * model.h - what a configuration is once it is read: plain structs.
 *
 * config.h makes and frees them; who reads them includes that.
 */
#ifndef RONDO_CONFIG_MODEL_H
#define RONDO_CONFIG_MODEL_H

#include "config/address.h"
#include "rondo/cache.h"
#include "rondo/source.h"

/* One cache of the file.  `options` is ready for rondo_cache_open but for
 * `keyspace`; its name and pattern point into this struct.  Who opens a cache with
 * it has given the source away and says so by zeroing options.source. */
struct rondo_config_cache {
    struct rondo_cache_options options;
    unsigned line; /* of its name in the file; 0: not from a file */
    char *name;
    char *pattern;                         /* "user:{id}" */
    char **params;                         /* the pattern's parameters, in order */
    size_t n_params;                       /* at most 16 */
    char *source_type;                     /* "sqlite"; NULL: no source, a plain cache */
    struct rondo_source_setting *settings; /* of the source, `type` not among them */
    size_t n_settings;
};

struct rondo_config {
    char *path;     /* of the file, as given; "command line" without one */
    char *base_dir; /* where relative paths start; NULL: the working directory */

    struct rondo_config_address listen; /* [127.0.0.1:6380] */
    struct rondo_config_address admin;  /* not set: no admin port */
    struct rondo_threads workers;       /* that serve connections [auto: one a core] */
    uint64_t memory_bytes;              /* of all caches; 0: half of what the machine has */
    uint32_t max_connections;           /* [10,000] */
    uint64_t drain_timeout_ns;          /* 0: what the server takes [10 s] */
    uint64_t idle_timeout_ns;           /* of a connection; 0, RONDO_OFF: none */
    char *password;                     /* NULL: none */
    bool insecure;                      /* serve beyond loopback without a password */
    bool refuse_unmatched;              /* `unmatched: refuse` */
    enum rondo_log_level log_level;     /* the most that is written [info] */
    bool log_json;                      /* `log_format: json` */

    struct rondo_config_cache *caches; /* in the file's order */
    size_t n_caches;
};

/* Gets each mistake as one line, "users.yaml:7: …", without a newline. */
typedef void (*rondo_config_report_fn)(void *arg, const char *line);

#endif
