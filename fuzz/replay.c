/* SPDX-License-Identifier: MIT */
/* replay.c - runs every file of the directories named on the command line through
 * a fuzzer's function: the corpus as a plain test, without libFuzzer. */
#include "base/buf.h"
#include "base/mem.h"
#include "fuzz.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

static bool read_file(const char *path, struct rondo_buf *buf) {
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = 0;
    enum rondo_err err;
    do {
        buf->len += n;
        err = rondo_buf_reserve(buf, 4096);
        n = err ? 0 : fread(buf->data + buf->len, 1, 4096, f);
    } while (n > 0);
    bool is_read = !err && !ferror(f);
    fclose(f);
    return is_read;
}

/* The input in a block of exactly its size, for the sanitizers. */
static bool run_file(const char *path) {
    struct rondo_buf buf = {0};
    bool is_read = read_file(path, &buf);
    uint8_t *exact = is_read ? rondo_alloc(buf.len) : NULL;
    if (exact) {
        memcpy(exact, buf.data, buf.len);
        LLVMFuzzerTestOneInput(exact, buf.len);
    } else {
        fprintf(stderr, "%s: cannot read it\n", path);
    }
    bool has_run = exact != NULL;
    rondo_free(exact);
    rondo_buf_fini(&buf);
    return has_run;
}

static bool run_directory(const char *name, unsigned *n_files) {
    DIR *dir = opendir(name);
    if (!dir) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        return false;
    }
    bool is_good = true;
    struct dirent *entry;
    while (is_good && (entry = readdir(dir))) {
        struct rondo_buf path = {0};
        if (entry->d_name[0] == '.') continue;
        is_good = rondo_buf_printf(&path, "%s/%s", name, entry->d_name) == RONDO_OK;
        const char *path_str = is_good ? rondo_buf_cstr(&path) : NULL;
        is_good = path_str && run_file(path_str);
        rondo_buf_fini(&path);
        ++*n_files;
    }
    closedir(dir);
    return is_good;
}

int main(int argc, char **argv) {
    unsigned n_files = 0;
    for (int i = 1; i < argc; i++)
        if (!run_directory(argv[i], &n_files)) return 1;
    printf("%u inputs replayed\n", n_files);
    return n_files > 0 ? 0 : 1;
}
