/* SPDX-License-Identifier: MIT */
#include "source/finder.h"

#include "base/mem.h"
#include <dlfcn.h>
#include <unistd.h>

/* RONDO_SOURCE_LIBDIR ("lib/x86_64-linux-gnu") and RONDO_SOURCE_PREFIX_LIBDIR (the
 * same, absolute) come from the build. */

enum { MAX_PATH_BYTES = 4096, LEVELS_UP = 4 };

static bool is_file(const char *path) {
    return access(path, R_OK) == 0;
}

/* Writes dir/rondo-source-type.so; false if it does not fit or is not there. */
static bool try_dir(const char *dir, const char *type, char *out) {
    int n = snprintf(out, MAX_PATH_BYTES, "%s/rondo-source-%s.so", dir, type);
    return n > 0 && n < MAX_PATH_BYTES && is_file(out);
}

/* The directory of the running program; false if it cannot be known. */
static bool program_dir(char *out) {
    ssize_t n = readlink("/proc/self/exe", out, MAX_PATH_BYTES - 1);
    if (n <= 0) return false;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

/* A build tree is known by CMake's cache at its root, a few levels above the
 * program. */
static bool try_build_tree(const char *program, const char *type, char *out) {
    char dir[MAX_PATH_BYTES], path[MAX_PATH_BYTES];
    snprintf(dir, sizeof dir, "%s", program);
    for (int i = 0; i < LEVELS_UP; i++) {
        int n = snprintf(path, sizeof path, "%s/CMakeCache.txt", dir);
        if (n < 0 || (size_t)n >= sizeof path) return false;
        if (is_file(path)) {
            n = snprintf(path, sizeof path, "%s/lib/rondo", dir);
            return n > 0 && (size_t)n < sizeof path && try_dir(path, type, out);
        }
        char *slash = strrchr(dir, '/');
        if (!slash) return false;
        *slash = '\0';
    }
    return false;
}

static bool search(const char *type, const char *search_dir, char *out) {
    char program[MAX_PATH_BYTES], dir[MAX_PATH_BYTES];
    const char *env = secure_getenv("RONDO_SOURCE_DIR");
    if (search_dir || (env && env[0])) return try_dir(search_dir ? search_dir : env, type, out);
    if (program_dir(program)) {
        if (try_build_tree(program, type, out)) return true;
        int n = snprintf(dir, sizeof dir, "%s/../" RONDO_SOURCE_LIBDIR "/rondo", program);
        if (n > 0 && (size_t)n < sizeof dir && try_dir(dir, type, out)) return true;
    }
    return try_dir(RONDO_SOURCE_PREFIX_LIBDIR "/rondo", type, out);
}

enum rondo_err rondo_finder_path(const char *type, const char *search_dir, char **out) {
    char path[MAX_PATH_BYTES];
    if (!search(type, search_dir, path)) return RONDO_ERR_NOT_FOUND;
    char *copy = rondo_strdup(path);
    if (!copy) return RONDO_ERR_NOMEM;
    *out = copy;
    return RONDO_OK;
}

static enum rondo_err fail(struct rondo_source_error *why, enum rondo_err err, const char *path,
                           const char *what) {
    snprintf(why->text, sizeof why->text, "%s: %s", path, what);
    return err;
}

static enum rondo_err check_ops(const struct rondo_source_ops *ops, const char *path,
                                const char *type, struct rondo_source_error *why) {
    char text[128];
    if (!ops) return fail(why, RONDO_ERR_CONFIG, path, "it offers no source");
    if (ops->abi != RONDO_SOURCE_ABI) {
        snprintf(text, sizeof text, "built for source interface %u, this is %d", ops->abi,
                 RONDO_SOURCE_ABI);
        return fail(why, RONDO_ERR_ABI, path, text);
    }
    if (!ops->type || !ops->options || !ops->open || !ops->load)
        return fail(why, RONDO_ERR_CONFIG, path, "it lacks a type, options, open or load");
    if (type && strcmp(ops->type, type) != 0) {
        snprintf(text, sizeof text, "it is a source of type \"%.32s\", not \"%.32s\"", ops->type,
                 type);
        return fail(why, RONDO_ERR_CONFIG, path, text);
    }
    return RONDO_OK;
}

enum rondo_err rondo_finder_load(const char *path, const char *type, struct rondo_source_error *why,
                                 const struct rondo_source_ops **out) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(why->text, sizeof why->text, "%s", dlerror());
        return RONDO_ERR_NOT_FOUND;
    }
    rondo_source_plugin_fn plugin = NULL;
    void *symbol = dlsym(object, RONDO_SOURCE_PLUGIN_SYMBOL);
    if (!symbol)
        return fail(why, RONDO_ERR_CONFIG, path,
                    "no source: " RONDO_SOURCE_PLUGIN_SYMBOL " is not exported");
    memcpy(&plugin, &symbol, sizeof plugin); /* POSIX allows it, ISO C has no cast for it */
    const struct rondo_source_ops *ops = plugin();
    enum rondo_err err = check_ops(ops, path, type, why);
    if (!err) *out = ops;
    return err;
}
