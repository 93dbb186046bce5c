#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a slow source does to those who need it and to those who do not.

A caller asks one key at a time, as fast as it is answered: hot keys, which are in
memory, and a share of cold ones, each wanted by up to eight callers in a row.
The callers are actors in a program (library) or connections to `rondo serve` on
the loopback interface (server).

    10ms-1 ... 5s-50   by the source's delay and the share of misses in percent:
                       hits per second and their latency, loads per cold key, and
                       how long those waited who needed the source
    saturated          p99 of hits while every thread that could load hangs in the
                       source, over p99 without any misses; phases take turns
    crowd              everybody asks for one cold key: milliseconds from the end of
                       its load until the last one is answered
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import lib  # noqa: E402

RELEASE = os.path.join(lib.TOP, "build", "release")
C_PROGRAMS = os.environ.get("BENCH_PROGRAMS", os.path.join(RELEASE, "bench"))
RONDO = os.environ.get("BENCH_RONDO", os.path.join(RELEASE, "src", "cli", "rondo"))
DELAYS_MS, PERCENTS = {"10ms": 10, "100ms": 100, "5s": 5000}, (1, 10, 50)
# A run has to be longer than the source's delay to see a load end.
LONG_DELAY_MS, LONG_RUN = 5000, 5.5
PAIRS = 15
CROWD = {"library": (1000, 100000), "server": (1000, 10000)}
CROWD_DELAY_MS = 2000


def field(name, divisor=1.0):
    return lambda s: s[name] / divisor if name in s else None


HITS = lib.Unit("hits/s", field("hits_per_s"), True, None)
RATIO = lib.Unit("p99 with a hanging source over p99 without misses", field("p99_ratio"),
                 time_field=None)
AFTER = lib.Unit("ms from the end of the load until all are answered", field("after_load_ns", 1e6),
                 time_field=None)
MIX = [("hit p50 us", field("hit_p50_ns", 1000)), ("p99 us", field("hit_p99_ns", 1000)),
       ("p99.9 us", field("hit_p999_ns", 1000)), ("misses %", field("miss_percent")),
       ("loads/key", field("loads_per_key")), ("waited p50 ms", field("wait_p50_ns", 1e6)),
       ("p99 ms", field("wait_p99_ns", 1e6)), ("waiting at the end", field("waiting"))]
PAIR = [("lowest pair", field("p99_ratio_min")), ("highest pair", field("p99_ratio_max")),
        ("p99 us without", field("without_p99_ns", 1000)), ("with", field("with_p99_ns", 1000)),
        ("blocked reads", field("blocked"))]


def mix_job(delay, percent):
    return lib.Job("%s-%d" % (delay, percent),
                   "a source that takes %s, %d %% misses" % (delay, percent), HITS, MIX)


JOBS = [mix_job(d, p) for d in DELAYS_MS for p in PERCENTS] + [
    lib.Job("saturated", "hits while the source hangs", RATIO, PAIR),
    lib.Job("crowd", "everybody asks for one cold key", AFTER, [("loads", field("loads"))])]


def mix_of(job):
    """(the source's delay in ms, misses in %) or None"""
    delay, _, percent = job.partition("-")
    return (DELAYS_MS[delay], int(percent)) if percent else None


def scale(job, callers, seconds):
    """Milliseconds of a run, or of the load of a crowd."""
    mix, ms = mix_of(job), int(seconds * 1000)
    if job == "crowd":
        return min(CROWD_DELAY_MS, 200 + callers // 20)
    if mix and mix[0] == LONG_DELAY_MS:
        return int(ms * LONG_RUN)
    return ms


def arguments(job, callers, ms):
    if job == "saturated":
        return [job, callers, ms // 4, PAIRS]
    if job == "crowd":
        return [job, callers, ms]
    delay_ms, percent = mix_of(job)
    return ["mix", callers, ms, percent, 1000 * delay_ms]


def peer(name, start):
    program = os.path.join(C_PROGRAMS, "bench_herd_" + name)
    jobs = {j.name: (1, 1000) if j.name.startswith("5s") else (1, 10, 100, 1000)
            for j in JOBS if mix_of(j.name)}

    def build():
        for path in (program, RONDO):
            if not os.access(path, os.X_OK):
                raise lib.Skip("%s is not built (./scripts/bench does it)" % path)
    return lib.Peer(name, [], {**jobs, "saturated": (20,), "crowd": CROWD[name]},
                    lambda *a: start(program) + [str(x) for x in arguments(*a)], scale, build)


def peers():
    return [peer("library", lambda program: [program]),
            peer("server", lambda program: [sys.executable, os.path.join(HERE, "serve.py"), RONDO,
                                            program])]


# ------------------------------------------------------------------- goals ---

MOST_RATIO, MOST_MS = 1.2, 50


def goals(entries):
    lines = []
    for e in (e for e in entries if e.samples):
        value = lib.spread(e.figures())[0]
        if e.job.name == "saturated":
            lines.append("%s: hit p99 with a source that hangs at most %g times that without "
                         "misses: %s, %sreached" % (e.peer.name, MOST_RATIO, lib.number(value),
                                                    "" if value <= MOST_RATIO else "NOT "))
        if e.job.name == "crowd" and e.workers > 1000:
            lines.append("%s: {:,} callers of one cold key, all answered at most %d ms after its "
                         "load: %s, %sreached".format(e.workers)
                         % (e.peer.name, MOST_MS, lib.number(value),
                            "" if value <= MOST_MS else "NOT "))
    loads = [s["loads_per_key"] for e in entries for s in e.samples if "loads_per_key" in s]
    if loads:
        lines.append("one load a key: at most %s, %sreached"
                     % (lib.number(max(loads)), "" if max(loads) <= 1 else "NOT "))
    return lines


if __name__ == "__main__":
    sys.exit(lib.main(
        "herd", "The herd", __doc__, JOBS, peers(), lambda: None, None, goals,
        ("bench_herd_library", "bench_herd_server", "rondo"),
        style=lib.Style(count="callers", repeat=(1, 1), seconds=(1.0, 0.2),
                        is_quick=lambda e: e.workers > 1 or not e.job.name.startswith("5s"))))
