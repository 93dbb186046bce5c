/* SPDX-License-Identifier: MIT */
#include "runtime/sizer.h"
#include "base/clock.h"

enum { JOBS_A_THREAD = 10, MAX_PAUSE = 64, PER_CENT = 5 };

static const uint64_t WINDOW_NS = 100 * RONDO_MS;

void rondo_sizer_init(struct rondo_sizer *s, unsigned min, unsigned max) {
    *s = (struct rondo_sizer){.min = min, .max = max};
    rondo_sizer_reset(s);
}

void rondo_sizer_reset(struct rondo_sizer *s) {
    *s = (struct rondo_sizer){.min = s->min, .max = s->max, .cap = s->max, .pause = 1};
}

static void try(struct rondo_sizer *s, unsigned n, uint64_t rate) {
    unsigned step = n / 4 ? n / 4 : 1;
    bool can_fewer = n > s->min, can_more = n < s->max;
    if (!can_fewer && !can_more) return;
    s->base_n = n;
    s->base_rate = rate;
    s->was_fewer = can_fewer && (!can_more || !s->was_fewer);
    s->mode = s->was_fewer ? RONDO_SIZER_FEWER : RONDO_SIZER_MORE;
    s->cap = s->was_fewer ? n - step : n + step;
    if (s->cap < s->min) s->cap = s->min;
    if (s->cap > s->max) s->cap = s->max;
}

static void judge(struct rondo_sizer *s, uint64_t rate) {
    uint64_t margin = s->base_rate / 100 * PER_CENT;
    bool is_fewer = s->mode == RONDO_SIZER_FEWER;
    bool is_better = is_fewer ? rate >= s->base_rate - margin : rate > s->base_rate + margin;
    s->mode = RONDO_SIZER_STEADY;
    s->paused = 0;
    if (is_better) {
        s->was_fewer = !is_fewer; /* so that the next goes the same way */
        s->pause = 1;
        return;
    }
    s->cap = s->base_n;
    s->pause = s->pause * 2 < MAX_PAUSE ? s->pause * 2 : MAX_PAUSE;
}

static void close_window(struct rondo_sizer *s, uint64_t took_ns) {
    uint64_t rate = s->window_done * RONDO_SEC / took_ns;
    unsigned n = s->window_n;
    s->window_n = 0;
    if (s->mode == RONDO_SIZER_STEADY) {
        if (++s->paused >= s->pause) try(s, n, rate);
    } else if (n == s->cap) {
        judge(s, rate);
    }
}

void rondo_sizer_done(struct rondo_sizer *s, uint64_t now_ns, unsigned n_threads, bool is_queued) {
    if (s->min == s->max) return;
    if (!is_queued || n_threads > s->cap) {
        s->window_n = 0; /* not all that it could do, or not yet down to what is tried */
        return;
    }
    if (s->window_n != n_threads) {
        s->window_n = n_threads;
        s->window_ns = now_ns;
        s->window_done = 0;
        return;
    }
    s->window_done++;
    uint64_t took_ns = now_ns - s->window_ns;
    if (took_ns >= WINDOW_NS && s->window_done >= (uint64_t)JOBS_A_THREAD * n_threads)
        close_window(s, took_ns);
}
