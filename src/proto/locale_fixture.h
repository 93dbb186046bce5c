/* SPDX-License-Identifier: MIT */
/* locale_fixture.h - for tests: a locale whose decimals have a comma, from the
 * system or from the directory that RONDO_TEST_LOCALES names. */
#ifndef RONDO_PROTO_LOCALE_FIXTURE_H
#define RONDO_PROTO_LOCALE_FIXTURE_H

#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>

/* Sets it for the process; false if there is none. */
static inline bool rondo_set_comma_locale(void) {
    const char *path = getenv("RONDO_TEST_LOCALES");
    if (path && setenv("LOCPATH", path, 1) != 0) return false;
    return setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8");
}

#endif
