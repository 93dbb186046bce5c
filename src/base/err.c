/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "rondo/rondo.h"

enum field { TEXT, WORD, NAME };

static const char *lookup(enum rondo_err err, enum field field) {
    /* Indexed by code: a gap in the table would show as a NULL, which the test
     * for every number below RONDO_ERR_COUNT_ finds. */
#define ROW(name, code, word, text) [code] = {text, word, #name},
    static const char *const table[RONDO_ERR_COUNT_][3] = {RONDO_ERRORS(ROW)};
#undef ROW
    static const char *const unknown[3] = {"unknown error", "ERR", "RONDO_ERR_?"};

    unsigned code = (unsigned)err;
    return code < RONDO_COUNT_OF(table) ? table[code][field] : unknown[field];
}

const char *rondo_err_text(enum rondo_err err) {
    return lookup(err, TEXT);
}

const char *rondo_err_word(enum rondo_err err) {
    return lookup(err, WORD);
}

const char *rondo_err_name(enum rondo_err err) {
    return lookup(err, NAME);
}

const char *rondo_version(void) {
    return RONDO_VERSION;
}
