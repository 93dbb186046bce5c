/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include "base/check.h"
#include "base/clock.h"
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_WIDTH = 200, MIN_BAR = 10, REDRAW_MS = 100 };

void rondo_progress_init(struct rondo_progress *p, const char *what, bool enabled) {
    p->what = what;
    p->start_ns = rondo_clock_now(&rondo_clock_real);
    p->drawn_ns = 0;
    p->is_on = enabled && isatty(STDERR_FILENO) == 1;
}

int rondo_progress_format(char *out, unsigned size, unsigned width, const char *what, uint64_t done,
                          uint64_t total, uint64_t elapsed_ns) {
    if (done > total) done = total;
    double share = total ? (double)done / (double)total : 0;
    double left_s = done ? (double)elapsed_ns / 1e9 * (1 - share) / share : 0;
    char tail[96];
    int n = snprintf(tail, sizeof tail, " %3.0f %%  %llu of %llu %s, %.0f s left", share * 100,
                     (unsigned long long)done, (unsigned long long)total, what, left_s);
    unsigned text = n < 0 ? 0 : (unsigned)n < sizeof tail ? (unsigned)n : (unsigned)sizeof tail - 1;
    unsigned bar = width > text + 2 + MIN_BAR ? width - text - 2 : MIN_BAR;
    if (bar > MAX_WIDTH) bar = MAX_WIDTH;
    char cells[MAX_WIDTH + 1];
    unsigned full = (unsigned)(share * bar);
    for (unsigned i = 0; i < bar; i++) cells[i] = i < full ? '#' : '.';
    cells[bar] = 0;
    return snprintf(out, size, "[%s]%s", cells, tail);
}

static unsigned terminal_width(void) {
    struct winsize w;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0) return 80;
    return w.ws_col;
}

void rondo_progress_show(struct rondo_progress *p, uint64_t done, uint64_t total) {
    if (!p->is_on) return;
    uint64_t now = rondo_clock_now(&rondo_clock_real);
    if (p->drawn_ns && now - p->drawn_ns < REDRAW_MS * RONDO_MS) return;
    p->drawn_ns = now;
    char line[MAX_WIDTH + 128];
    rondo_progress_format(line, sizeof line, terminal_width(), p->what, done, total,
                          now - p->start_ns);
    fprintf(stderr, "\r%s", line);
    fflush(stderr);
}

void rondo_progress_wipe(struct rondo_progress *p) {
    if (!p->is_on || !p->drawn_ns) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->drawn_ns = 0;
}
