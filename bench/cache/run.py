#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a hit in rondo's cache with other tables and caches.

    hit      all of 1 M string keys fit; ns per hit and thread, zipf 0.99
    ratio    room for 10 % of them, a read that misses stores the key: hits in %
    memory   bytes of resident memory per entry (16-byte key, 32-byte value)

All read the same keys in the same order, copy each value out and add it up; the
sums are checked, and a wrong one fails the run.  docs/bench.md says how to read
the figures.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import lib  # noqa: E402

JDK = "openjdk-17-jdk-headless"
CAFFEINE = "/usr/share/java/caffeine.jar"
OUT = os.environ.get("BENCH_OUT", os.path.join(lib.TOP, "build", "bench", "cache"))
RELEASE = os.path.join(lib.TOP, "build", "release")
C_PROGRAMS = os.environ.get("BENCH_PROGRAMS", os.path.join(RELEASE, "bench"))
RONDO = os.environ.get("BENCH_RONDO", os.path.join(RELEASE, "src", "cli", "rondo"))
THETA, SEED, READS_A_KEY = 0.99, 42, 4

NS = lib.Unit("ns per hit and thread", lambda s: s["ns_per_hit"], time_field="ns_per_hit")
PERCENT = lib.Unit("hits in %", lambda s: s["hit_percent"], True, None)
BYTES = lib.Unit("bytes per entry", lambda s: s["bytes_per_entry"], time_field=None)
ENTRIES = [("entries", lambda s: s.get("entries"))]
JOBS = [
    lib.Job("hit", "zipf 0.99, everything fits", NS),
    lib.Job("ratio", "zipf 0.99, room for 10 % of the keys", PERCENT, ENTRIES, most=1),
    lib.Job("memory", "growth of the resident memory", BYTES, ENTRIES, most=1),
]


class Sizes:
    """What --keys and --entries and --quick say."""

    def __init__(self):
        self.keys, self.entries = 1000000, 10000000

    def take(self, args):
        if args.quick:
            self.keys, self.entries = 200000, 500000
        self.keys = args.keys or self.keys
        self.entries = args.entries or self.entries

    def trace(self):
        """The trace's file, written if it is not there."""
        path = os.path.join(OUT, "zipf-%d.trace" % self.keys)
        if not os.path.exists(path):
            os.makedirs(OUT, exist_ok=True)
            lib.compile_with([c_program("trace"), path + ".part", str(self.keys),
                              str(READS_A_KEY * self.keys), str(THETA), str(SEED)])
            os.rename(path + ".part", path)
        return path


SIZES = Sizes()


def scale_by(ns_per_hit):
    """Reads for a run of so many seconds, or entries to store."""
    def scale(job, threads, seconds):
        if job == "memory":
            return SIZES.entries
        if job == "ratio":
            return READS_A_KEY * SIZES.keys
        return max(1000, int(seconds * 1e9 / ns_per_hit))
    return scale


def arguments(job, threads, scale):
    tail = [] if job == "memory" else [SIZES.trace(), SIZES.keys]
    return [str(a) for a in [job, threads, scale] + tail]


# ------------------------------------------------------------------- peers ---

def c_program(name):
    return os.path.join(C_PROGRAMS, "bench_cache_" + name)


def c_peer(name, program, packages, jobs):
    path = c_program(program)

    def build():
        if not os.access(path, os.X_OK):
            raise lib.Skip("%s is not built, it needs the package %s"
                           % (path, " ".join(packages) or "of rondo itself"))
    return lib.Peer(name, packages, jobs, lambda *a: [path] + arguments(*a), scale_by(250), build)


def caffeine():
    source, out = os.path.join(HERE, "java", "CachePeer.java"), os.path.join(OUT, "java")

    def build():
        lib.needs_file(CAFFEINE, "libcaffeine-java")
        lib.tool("java", JDK)
        if not lib.is_fresh(os.path.join(out, "CachePeer.class"), [source]):
            lib.compile_with([lib.tool("javac", JDK), "-cp", CAFFEINE, "-d", out, source])

    def command(*a):
        return [lib.tool("java", JDK), "-cp", out + ":" + CAFFEINE, "CachePeer"] + arguments(*a)
    return lib.Peer("caffeine", [JDK, "libcaffeine-java"], {"hit": (1, 2), "ratio": (1,)}, command,
                    scale_by(300), build)


def server(name, program, package):
    def build():
        if program is RONDO and not os.access(RONDO, os.X_OK):
            raise lib.Skip("%s is not built" % RONDO)
        if program is not RONDO:
            lib.tool(program, package[0])

    def command(job, threads, scale):
        path = program if program is RONDO else lib.tool(program, package[0])
        return [sys.executable, os.path.join(HERE, "server.py"), name, path, c_program("fill"),
                str(scale)]
    return lib.Peer(name, package, {"memory": (1,)}, command, scale_by(1), build)


def peers():
    both = {"hit": (1, 2), "memory": (1,)}
    return [
        c_peer("rondo", "rondo", [], {**both, "ratio": (1,)}),
        c_peer("lfht", "lfht", ["liburcu-dev"], both),
        c_peer("ck_hs", "ck", ["libck-dev"], both),
        c_peer("glib", "glib", ["libglib2.0-dev"], both),
        caffeine(),
        server("rondo-serve", RONDO, []),
        server("redis", "redis-server", ["redis-server"]),
        server("memcached", "memcached", ["memcached"]),
    ]


# ------------------------------------------------------------------- goals ---

MOST_BYTES = 96


def goals(entries):
    by_key, lines = {e.key: e for e in entries if e.samples}, []

    def say(what, value, is_met):
        lines.append("%s: %s, %s" % (what, lib.number(value), "reached" if is_met else "NOT reached"))

    for threads in (1, 2):
        rondo = by_key.get("hit rondo %d" % threads)
        for name in ("lfht", "ck_hs", "glib", "caffeine"):
            other = by_key.get("hit %s %d" % (name, threads))
            if rondo and other:
                value = lib.ratio(rondo, other)
                say("hit, %d thread%s: time over that of %s, below 1"
                    % (threads, "" if threads == 1 else "s", name), value, value < 1)
    rondo, other = by_key.get("ratio rondo 1"), by_key.get("ratio caffeine 1")
    if rondo and other:
        value = rondo.figures()[0] - other.figures()[0]
        say("hit ratio: points more than caffeine, at least 0", value, value >= 0)
    rondo = by_key.get("memory rondo 1")
    if rondo:
        value = rondo.figures()[0]
        say("memory: at most %d bytes per entry" % MOST_BYTES, value, value <= MOST_BYTES)
    return lines


if __name__ == "__main__":
    sys.exit(lib.main(
        "cache", "Hits of a cache", __doc__, JOBS, peers(),
        lib.handover_program(os.path.join(C_PROGRAMS, "bench_pingpong")), "rondo", goals,
        ("bench_cache_trace", "bench_cache_fill", "bench_cache_rondo", "bench_pingpong", "rondo"),
        style=lib.Style(
            count="threads", take=SIZES.take, seconds=(1.0, 0.2),
            options=[(["--keys"], {"type": int, "metavar": "N",
                                   "help": "keys of hit and ratio (1,000,000; quick: 200,000)"}),
                     (["--entries"], {"type": int, "metavar": "N", "help":
                                      "entries of memory (10,000,000; quick: 500,000)"})])))
