/* SPDX-License-Identifier: MIT */
/*
 * A loading cache in a program of one's own, with a source of one's own: here
 * squares, which take their time.  The first read of a key waits for the source,
 * the second comes from memory.
 */
#include <rondo/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_calls; /* one thread calls the source, see `threads` */

/* One call for one or several keys: each is answered by its index. */
static void load_squares(void *self, const struct rondo_load *load) {
    (void)self;
    n_calls++;
    for (size_t i = 0; i < load->n; i++) {
        struct rondo_slice id = load->keys[i].params[0];
        char digits[16] = "", text[32];
        if (id.len == 0 || id.len >= sizeof digits) {
            rondo_load_absent(load, i);
            continue;
        }
        memcpy(digits, id.data, id.len);
        long n = strtol(digits, NULL, 10);
        int len = snprintf(text, sizeof text, "%ld", n * n);
        rondo_load_value(load, i, text, (size_t)len, 0);
    }
}

static const struct rondo_source_ops squares = {
    .abi = RONDO_SOURCE_ABI, .type = "squares", .help = "squares of numbers", .load = load_squares};

static int read_and_print(rondo_cache *cache, const char *name) {
    struct rondo_key key = {.data = name, .len = strlen(name)};
    struct rondo_read read = {.wait_ns = 0};
    struct rondo_answer answer;
    enum rondo_outcome outcome = rondo_cache_get_wait(cache, &key, &read, &answer);
    if (outcome != RONDO_VALUE) return 0;
    printf("%s is %.*s (%s)\n", name, (int)answer.value.len, (const char *)answer.value.data,
           answer.was_hit ? "from memory" : "from the source");
    rondo_answer_release(&answer);
    return 1;
}

int main(void) {
    struct rondo_cache_options o = {.size = sizeof o,
                                    .name = "squares",
                                    .pattern = "square:{n}",
                                    .source = {&squares, NULL},
                                    .threads = {RONDO_THREADS_FIXED, 0, 1}};
    rondo_runtime *rt = NULL;
    rondo_cache *cache = NULL;
    if (rondo_runtime_new(NULL, &rt) != RONDO_OK) return 1;
    if (rondo_cache_open(rt, &o, &cache) != RONDO_OK) return 1;
    int ok = read_and_print(cache, "square:12") && read_and_print(cache, "square:12") &&
             read_and_print(cache, "square:7");
    rondo_cache_close(cache);
    rondo_runtime_free(rt);
    printf("the source was called %d times\n", n_calls);
    return ok && n_calls == 2 ? 0 : 1;
}
