/* SPDX-License-Identifier: MIT */
#include "server/ttl.h"

static const struct rondo_ttl_unit units[] = {
    {"EX", 1000, false}, {"PX", 1, false}, {"EXAT", 1000, true}, {"PXAT", 1, true}};

const struct rondo_ttl_unit *rondo_ttl_unit_of(const struct rondo_cmd *call, size_t i) {
    for (size_t k = 0; k < RONDO_COUNT_OF(units); k++)
        if (rondo_cmd_is(call, i, units[k].option)) return &units[k];
    return NULL;
}

enum { STEP_MS = 2 }; /* what two readings of two clocks may differ by */

/* Two clocks read one after the other never agree twice, so their distance is held
 * until the wall clock is set: a moment that is given twice is the same moment. */
uint64_t rondo_ttl_wall_ns(const struct rondo_cmd *call) {
    struct rondo_service *s = call->session->service;
    uint64_t held = rondo_load_relaxed(&s->wall_offset_ns); /* partner: the store below */
    uint64_t now = rondo_clock_wall(s->clock) - rondo_runtime_now_ns(s->rt);
    int64_t off_ms = (int64_t)(now - held) / (int64_t)RONDO_MS;
    if (off_ms > STEP_MS || off_ms < -STEP_MS) {
        held = now - now % RONDO_MS;
        rondo_store_relaxed(&s->wall_offset_ns, held);
    }
    return call->now_ns + held;
}

static bool refuse(struct rondo_cmd *call) {
    (void)rondo_cmd_error(call, "ERR invalid expire time in '%s' command", call->command->name);
    return false;
}

/* The last moment that 64 bits of nanoseconds can tell, in the year 2262. */
enum { LAST_DAY = 106751 };
static const int64_t last_ms = (int64_t)LAST_DAY * 24 * 3600 * 1000;

/* Nanoseconds from now, 0 for what is past.  False after an error reply. */
static bool read_time(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                      bool may_be_past, uint64_t *from_now_ns) {
    int64_t n, ms, wall_ns = (int64_t)rondo_ttl_wall_ns(call);
    if (!rondo_slice_to_int(call->argv[i], &n)) {
        (void)rondo_cmd_error(call, "ERR value is not an integer or out of range");
        return false;
    }
    if (n <= 0 && !may_be_past) return refuse(call);
    if (__builtin_mul_overflow(n, unit->unit_ms, &ms)) return refuse(call);
    if (!unit->is_absolute && ms > last_ms - wall_ns / (int64_t)RONDO_MS) return refuse(call);
    if (ms > last_ms) ms = last_ms;
    int64_t ns = ms > 0 ? ms * (int64_t)RONDO_MS : 0;
    if (unit->is_absolute) ns -= wall_ns;
    *from_now_ns = ns > 0 ? (uint64_t)ns : 0;
    return true;
}

bool rondo_ttl_read(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                    uint64_t *ttl_ns) {
    uint64_t ns;
    if (!read_time(call, i, unit, false, &ns)) return false;
    *ttl_ns = ns > 0 ? ns : RONDO_TTL_PAST;
    return true;
}

bool rondo_ttl_read_moment(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                           uint64_t *moment_ns) {
    uint64_t ns;
    if (!read_time(call, i, unit, true, &ns)) return false;
    *moment_ns = ns > 0 ? rondo_deadline(call->now_ns, ns) : 0;
    return true;
}
