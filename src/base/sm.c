/* SPDX-License-Identifier: MIT */
#include "base/sm.h"

static const char *state_name(const struct rondo_sm *sm, unsigned state) {
    return state < sm->n_states ? sm->state_names[state] : "(no state)";
}

void rondo_sm_illegal(const struct rondo_sm *sm, unsigned from, unsigned to) {
    char text[RONDO_CHECK_TEXT];
    snprintf(text, sizeof text, "check failed: %s: illegal move from %s (%u) to %s (%u)", sm->name,
             state_name(sm, from), from, state_name(sm, to), to);
    rondo_check_abort(text);
}
