/* SPDX-License-Identifier: MIT */
/*
 * Loadable objects that are wrong in one way each, for source_test.c: built several
 * times with another ODD.
 */
#include "rondo/source.h"

#define ODD_ABI 1       /* built for another interface */
#define ODD_TYPE 2      /* another type than its name says */
#define ODD_NOTHING 3   /* offers no table */
#define ODD_NO_LOAD 4   /* a table without load */
#define ODD_NO_SYMBOL 5 /* exports something else */
#define ODD_FAILS 6     /* open fails and says nothing */
#define ODD_GOOD 7      /* nothing is wrong with it */

const struct rondo_source_ops *rondo_source_plugin(void);

static enum rondo_err odd_open(const struct rondo_source_config *config, void **out) {
    (void)config;
    *out = NULL;
    return ODD == ODD_FAILS ? RONDO_ERR_UNSUPPORTED : RONDO_OK;
}

#if ODD != ODD_NO_LOAD
static void odd_load(void *connection, const struct rondo_load *load) {
    (void)connection;
    for (size_t i = 0; i < load->n; i++) rondo_load_value(load, i, "odd", 3, 0);
}
#endif

static const struct rondo_source_option options[] = {
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

static const struct rondo_source_ops ops = {
    .abi = ODD == ODD_ABI ? RONDO_SOURCE_ABI + 1 : RONDO_SOURCE_ABI,
    .type = ODD == ODD_TYPE ? "even" : "odd",
    .help = "odd",
    .options = options,
    .open = odd_open,
#if ODD != ODD_NO_LOAD
    .load = odd_load,
#endif
};

#if ODD == ODD_NO_SYMBOL
#define rondo_source_plugin rondo_source_something_else
const struct rondo_source_ops *rondo_source_something_else(void);
#endif

__attribute__((visibility("default"))) const struct rondo_source_ops *rondo_source_plugin(void) {
    return ODD == ODD_NOTHING ? NULL : &ops;
}
