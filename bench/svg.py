# SPDX-License-Identifier: MIT
"""Draws a benchmark: a panel for each job, a bar for each entry, logarithmic.

The bar ends at the median, the line across it spans minimum to maximum.
"""
import math
import statistics
from xml.sax.saxutils import escape

WIDTH, LABEL, BAR, GAP, HEAD = 620, 170, 14, 4, 56
COLOURS = {"rondo": "#c8442e", "plain-c": "#666666"}
OTHERS = "#5b87b0"


def text(x, y, content, size=11, anchor="start", weight="normal", fill="#222"):
    return ('<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" font-weight="%s" '
            'fill="%s">%s</text>' % (x, y, size, anchor, weight, fill, escape(content)))


def short(x):
    if x >= 1000:
        return "{:,.0f}".format(x)
    return "%.3g" % x


def axis(values):
    """The powers of ten around all values; at least one step."""
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def panel(job, entries, x, y):
    """(lines of SVG, height)"""
    figures = [e.figures() for e in entries]
    low, high = axis([v for f in figures for v in f])
    span = WIDTH - LABEL - 70
    height = HEAD + len(entries) * (BAR + GAP) + 14

    def at(value):
        return x + LABEL + (math.log10(value) - low) / (high - low) * span

    better = "more" if job.unit.more_is_better else "less"
    out = [text(x, y + 16, "%s: %s" % (job.name, job.title), 13, weight="bold"),
           text(x, y + 32, "%s, %s is better" % (job.unit.name, better), 11, fill="#555")]
    for power in range(low, high + 1):
        px = at(10.0 ** power)
        out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>'
                   % (px, y + HEAD - 6, px, y + height - 14))
        out.append(text(px, y + HEAD - 9, short(10.0 ** power), 9, "middle", fill="#777"))
    for i, (e, f) in enumerate(zip(entries, figures)):
        top = y + HEAD + i * (BAR + GAP)
        mid, middle = statistics.median(f), top + BAR / 2
        colour = COLOURS.get(e.peer.name, OTHERS)
        out.append(text(x + LABEL - 6, top + 11, "%s, %d" % (e.peer.name, e.workers), 11, "end",
                        "bold" if e.peer.name == "rondo" else "normal"))
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>'
                   % (x + LABEL, top, max(1.0, at(mid) - x - LABEL), BAR, colour))
        out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#111"/>'
                   % (at(min(f)), middle, at(max(f)), middle))
        out.append(text(max(at(mid), at(max(f))) + 5, top + 11, short(mid), 10))
    return out, height


def plot(title, subtitle, entries, count="workers"):
    """The whole picture: two columns of panels."""
    by_job = {}
    for e in entries:
        if e.samples:
            by_job.setdefault(e.job, []).append(e)
    body, bottoms = [], [70, 70]
    for job, group in by_job.items():
        column = 0 if bottoms[0] <= bottoms[1] else 1
        lines, height = panel(job, group, 20 + column * (WIDTH + 20), bottoms[column])
        body += lines
        bottoms[column] += height + 10
    width, height = 2 * WIDTH + 40, max(bottoms) + 10
    head = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
            'viewBox="0 0 %d %d" font-family="sans-serif">' % (width, height, width, height),
            '<!-- SPDX-License-Identifier: MIT -->',
            '<rect width="100%" height="100%" fill="white"/>',
            text(20, 30, title, 18, weight="bold"),
            text(20, 50, subtitle + "; bar: median, line: min to max; number: " + count, 11,
                 fill="#555")]
    return "\n".join(head + body + ["</svg>", ""])
