/* SPDX-License-Identifier: MIT */
/*
 * sm.h - state machines as declared tables.
 *
 * A machine lists its states' names and, per state, a bit set of the states
 * that may follow.  rondo_sm_move checks the move; an illegal one is a bug and
 * fails a check that names both states.
 */
#ifndef RONDO_BASE_SM_H
#define RONDO_BASE_SM_H

#include "base/check.h"
#include <stdint.h>

struct rondo_sm {
    const char *name;
    unsigned n_states; /* at most 32 */
    const char *const *state_names;
    const uint32_t *moves; /* moves[from] has bit `to` set if allowed */
};

#define RONDO_SM_TO(state) (UINT32_C(1) << (state))

_Noreturn void rondo_sm_illegal(const struct rondo_sm *sm, unsigned from, unsigned to);

static inline void rondo_sm_move(const struct rondo_sm *sm, uint8_t *state, unsigned to) {
    if (RONDO_UNLIKELY(to >= sm->n_states || !(sm->moves[*state] & RONDO_SM_TO(to))))
        rondo_sm_illegal(sm, *state, to);
    *state = (uint8_t)to;
}

#endif
