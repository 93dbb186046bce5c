/* SPDX-License-Identifier: MIT */
#include "base/check.h"

void rondo_check_failed(const char *file, int line, const char *what) {
    char text[RONDO_CHECK_TEXT];
    snprintf(text, sizeof text, "check failed: %s:%d: %s", file, line, what);
    rondo_check_abort(text);
}

void rondo_check_abort(const char *text) {
    rondo_check_report(text);
    abort();
}
