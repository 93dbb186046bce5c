/* SPDX-License-Identifier: MIT */
/* A C++ program that uses librondo.  `public_headers.h` is made by the tests and
 * includes every header of include/rondo. */
#include "public_headers.h"
#include <cstdio>
#include <cstring>

int main() {
    rondo_slice bytes = {"abc", 3};
    rondo_threads threads = {};
    rondo_log_set(nullptr, nullptr, RONDO_LOG_INFO);
    std::printf("%s, %s\n", rondo_version(), rondo_err_text(RONDO_ERR_NOMEM));
    return bytes.len == 3 && threads.kind == RONDO_THREADS_AUTO &&
                   std::strcmp(rondo_version(), RONDO_VERSION) == 0
               ? 0
               : 1;
}
