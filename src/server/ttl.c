/* SPDX-License-Identifier: MIT */
#include "server/ttl.h"

static const struct rondo_ttl_unit units[] = {
    {"EX", 1000, false}, {"PX", 1, false}, {"EXAT", 1000, true}, {"PXAT", 1, true}};

const struct rondo_ttl_unit *rondo_ttl_unit_of(const struct rondo_cmd *call, size_t i) {
    for (size_t k = 0; k < RONDO_COUNT_OF(units); k++)
        if (rondo_cmd_is(call, i, units[k].option)) return &units[k];
    return NULL;
}

static int64_t wall_ms(const struct rondo_cmd *call) {
    return (int64_t)(rondo_clock_wall(call->session->service->clock) / RONDO_MS);
}

/* The farthest that a moment may lie ahead, in milliseconds. */
static int64_t farthest_ms(int64_t now_ms) {
    return INT64_MAX / (int64_t)RONDO_MS - now_ms;
}

static bool refuse(struct rondo_cmd *call) {
    (void)rondo_cmd_error(call, "ERR invalid expire time in '%s' command", call->command->name);
    return false;
}

/* Milliseconds from now, negative for what is past.  False after an error reply. */
static bool read_ms(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                    bool may_be_past, int64_t *from_now_ms) {
    int64_t n, ms, now_ms = wall_ms(call);
    if (!rondo_slice_to_int(call->argv[i], &n)) {
        (void)rondo_cmd_error(call, "ERR value is not an integer or out of range");
        return false;
    }
    if (n <= 0 && !may_be_past) return refuse(call);
    if (__builtin_mul_overflow(n, unit->unit_ms, &ms)) return refuse(call);
    if (!unit->is_absolute && ms > farthest_ms(now_ms)) return refuse(call);
    if (unit->is_absolute && __builtin_sub_overflow(ms, now_ms, &ms)) return refuse(call);
    *from_now_ms = ms < farthest_ms(now_ms) ? ms : farthest_ms(now_ms);
    return true;
}

bool rondo_ttl_read(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                    uint64_t *ttl_ns) {
    int64_t ms;
    if (!read_ms(call, i, unit, false, &ms)) return false;
    *ttl_ns = ms > 0 ? (uint64_t)ms * RONDO_MS : 1;
    return true;
}

bool rondo_ttl_read_moment(struct rondo_cmd *call, size_t i, const struct rondo_ttl_unit *unit,
                           uint64_t *moment_ns) {
    int64_t ms;
    if (!read_ms(call, i, unit, true, &ms)) return false;
    *moment_ns = ms > 0 ? rondo_deadline(call->now_ns, (uint64_t)ms * RONDO_MS) : 0;
    return true;
}
