#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the actor runtime with others and with plain C loops.

Every program is called `PROGRAM JOB WORKERS SCALE`, checks its own answer (each
actor's count of messages, their order where there is one) and prints one line
of JSON.  A wrong answer fails the run.  docs/bench.md says what the jobs are
and how to read the figures.
"""
import glob
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import lib  # noqa: E402

JDK = "openjdk-17-jdk-headless"
OUT = os.path.join(lib.TOP, "build", "bench")
C_PROGRAMS = os.environ.get("BENCH_PROGRAMS", os.path.join(lib.TOP, "build", "release", "bench"))


def us(field):
    return lambda s: s[field] / 1000 if field in s else None


def field(name):
    return lambda s: s.get(name)


ACTORS = lib.Unit("million actors/s", lib.RATE.of, True)
LATENCY = lib.Unit("us of latency, p50", us("p50_ns"), False, "p50_ns")
P99 = [("p99 us", us("p99_ns"))]
JOBS = [
    lib.Job("J1", "ring of 100 actors, one token", lib.NS),
    lib.Job("J2", "ring of 503 actors, one token", lib.NS),
    lib.Job("J3", "ring of 1,000 actors, 100 tokens", lib.RATE,
            [("messages/turn", field("messages_per_turn"))]),
    lib.Job("J3b", "the same with 200 ns of work per message", lib.NS,
            [("messages/turn", field("messages_per_turn"))]),
    lib.Job("J4", "ping-pong between two actors", lib.NS),
    lib.Job("J5", "fan-in: 8 producers, one consumer", lib.RATE,
            [("peak MB", lambda s: s["peak_bytes"] / 1e6)]),
    lib.Job("J5b", "fan-in with a bounded mailbox", lib.RATE,
            [("peak MB", lambda s: s["peak_bytes"] / 1e6)]),
    lib.Job("J6", "spawn an actor and send it one message", ACTORS,
            [("bytes/actor", field("bytes_per_actor"))]),
    lib.Job("J7", "ring of 100, every hop to another core", lib.NS),
    lib.Job("J8a", "1 us of work per message, half the load", LATENCY, P99),
    lib.Job("J8b", "100 us of work per message, half the load", LATENCY, P99),
]

# --------------------------------------------------------- length of a run ---

WORK_NS = {"J3b": 200, "J8a": 1000, "J8b": 100000}
MOST = {"J5": 8000000, "J5b": 8000000, "J6": 1000000}  # messages; actors
LEAST = {"J6": 20000, "J8b": 100}


def scale_by(**costs):
    """Messages for a run of so many seconds, from what one roughly costs (ns).
    J2, J3b and J5b follow from J1, J3 and J5."""
    def scale(job, workers, seconds):
        if job in ("J8a", "J8b"):
            n = seconds * 1e9 * workers / (2 * WORK_NS[job])
        else:
            same = {"J2": "J1", "J3b": "J3", "J5b": "J5"}
            cost = costs[same.get(job, job)] + WORK_NS.get(job, 0)
            n = seconds * 1e9 / cost
        return int(max(LEAST.get(job, 1000), min(n, MOST.get(job, n))))
    return scale


def jobs(*workers, without=(), **others):
    """The jobs of a peer: all but J5b and J7, and `others`."""
    names = [j.name for j in JOBS if j.name not in ("J5b", "J7", *without)]
    return {**{n: workers for n in names}, **others}


# ------------------------------------------------------------------- peers ---

def c_program(name):
    path = os.path.join(C_PROGRAMS, name)

    def build():
        if not os.access(path, os.X_OK):
            raise lib.Skip("%s is not built (./scripts/bench does it)" % name)
    return build, lambda *args: [path] + [str(a) for a in args]


def java():
    source, out = os.path.join(HERE, "java", "Peers.java"), os.path.join(OUT, "java")

    def build():
        lib.tool("java", JDK)
        javac = lib.tool("javac", JDK)
        if not lib.is_fresh(os.path.join(out, "Peers.class"), [source]):
            lib.compile_with([javac, "-d", out, source])

    def command(variant):
        return lambda *args: [lib.tool("java", JDK), "-cp", out, "Peers", variant] + [
            str(a) for a in args]
    return build, command


def scala():
    jars = ["/usr/share/java/scala-%s.jar" % j for j in ("library", "actors")]
    source, out = os.path.join(HERE, "scala", "ScalaActors.scala"), os.path.join(OUT, "scala")

    def build():
        scalac = lib.tool("scalac", "scala")
        for jar in jars:
            lib.needs_file(jar, "scala-library")
        if not lib.is_fresh(os.path.join(out, "ScalaActors.class"), [source]):
            os.makedirs(out, exist_ok=True)
            lib.compile_with([scalac, "-nowarn", "-d", out, "-classpath", jars[1], source])
    return build, lambda *args: ([lib.tool("java", JDK), "-cp", ":".join([out] + jars),
                                  "ScalaActors"] + [str(a) for a in args])


def erlang():
    source, out = os.path.join(HERE, "erlang", "bench_peer.erl"), os.path.join(OUT, "erlang")

    def build():
        erlc = lib.tool("erlc", "erlang-base")
        if not lib.is_fresh(os.path.join(out, "bench_peer.beam"), [source]):
            os.makedirs(out, exist_ok=True)
            lib.compile_with([erlc, "-Wall", "-o", out, source])

    def command(job, workers, scale):
        # The sender of J8 is no worker: it has a scheduler to itself.
        n = workers + 1 if job.startswith("J8") else workers
        return ["erl", "+S", "%d:%d" % (n, n), "+P", "4000000", "-noshell", "-pa", out,
                "-run", "bench_peer", "main", job, str(workers), str(scale)]
    return build, command


def go():
    source, out = os.path.join(HERE, "go", "main.go"), os.path.join(OUT, "go", "go_peer")

    def build():
        if not lib.is_fresh(out, [source]):
            lib.compile_with([lib.tool("go", "golang-go"), "build", "-o", out, source],
                             {"GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local",
                              "GOCACHE": os.path.join(OUT, "go", "cache")})
    return build, lambda *args: [out] + [str(a) for a in args]


def caf():
    source, out = os.path.join(HERE, "caf", "caf_peer.cpp"), os.path.join(OUT, "caf", "caf_peer")

    def build():
        lib.needs_file("/usr/include/caf/all.hpp", "libcaf-dev")
        if not lib.is_fresh(out, [source]):
            os.makedirs(os.path.dirname(out), exist_ok=True)
            lib.compile_with([lib.tool("g++", "g++"), "-std=c++17", "-O2", "-o", out, source,
                              "-lcaf_core", "-lpthread"])
    return build, lambda *args: [out] + [str(a) for a in args]


def tokio():
    source, work = os.path.join(HERE, "tokio"), os.path.join(OUT, "tokio")
    out = os.path.join(work, "target", "release", "tokio_peer")
    files = [os.path.join(source, f) for f in ("Cargo.toml", "src/main.rs")]
    registry = "/usr/share/cargo/registry"

    def build():
        cargo, rustc = lib.tool("cargo", "cargo"), lib.tool("rustc", "rustc")
        if not glob.glob(os.path.join(registry, "tokio-1.*")):
            raise lib.Skip("needs the package librust-tokio-dev")
        if lib.is_fresh(out, files):
            return
        # Away from the sources: cargo writes beside them.
        shutil.copytree(source, work, dirs_exist_ok=True)
        lib.compile_with([cargo, "--config", 'source.crates-io.replace-with="debian"',
                          "--config", 'source.debian.directory="%s"' % registry,
                          "build", "--release", "--offline", "--quiet"],
                         {"CARGO_HOME": os.path.join(work, "home"), "RUSTC": rustc,
                          "CARGO_TARGET_DIR": os.path.join(work, "target")}, work)
    return build, lambda *args: [out] + [str(a) for a in args]


def peers():
    (plain_build, plain), (rondo_build, rondo) = c_program("bench_plain_c"), c_program("bench_rondo")
    java_build, java_of = java()
    ring_1_2_4_5, ring_1_4_5 = (1, 2, 4, 5), (1, 4, 5)
    result = [
        lib.Peer("plain-c", [], {**jobs(1), "J5": (1, 2), "J5b": (1, 2), "J7": (2,), "J8a": (1, 2), "J8b": (1, 2)},
                 plain, scale_by(J1=6, J3=8, J4=6, J5=35, J6=110, J7=94), plain_build),
        lib.Peer("rondo", [], jobs(1, 2, J1=ring_1_2_4_5, J2=ring_1_2_4_5, J5b=(1, 2), J7=(2,)),
                 rondo, scale_by(J1=9, J3=5, J4=9, J5=25, J6=170, J7=120), rondo_build),
        lib.Peer("java-pool", [JDK], jobs(1, 2, J1=ring_1_4_5, J2=ring_1_4_5, J7=(2,)),
                 java_of("pool"), scale_by(J1=60, J3=150, J4=90, J5=190, J6=770, J7=2000),
                 java_build),
        lib.Peer("java-threads", [JDK], jobs(1, without=("J6",)), java_of("threads"),
                 scale_by(J1=11300, J3=1700, J4=12300, J5=120), java_build),
        lib.Peer("java-forkjoin", [JDK], jobs(1, 2), java_of("forkjoin"),
                 scale_by(J1=60, J3=20, J4=55, J5=80, J6=330), java_build),
    ]
    for name, packages, (build, command), scale in [
            ("scala-actors", [JDK, "scala"], scala(),
             scale_by(J1=640, J3=750, J4=900, J5=700, J6=1700)),
            ("erlang", ["erlang-base"], erlang(),
             scale_by(J1=165, J3=100, J4=155, J5=125, J6=3500)),
            ("go", ["golang-go"], go(), scale_by(J1=110, J3=26, J4=100, J5=26, J6=4000)),
            ("caf", ["g++", "libcaf-dev"], caf(),
             scale_by(J1=320, J3=100, J4=360, J5=155, J6=5000)),
            ("tokio", ["rustc", "cargo", "librust-tokio-dev"], tokio(),
             scale_by(J1=50, J3=25, J4=43, J5=60, J6=450))]:
        result.append(lib.Peer(name, packages, jobs(1, 2), command, scale, build))
    return result


# ------------------------------------------------------------------- goals ---

# (what, entry, base, limit, is_at_most): the time of `entry` over that of `base`.
# Where a goal was set in nanoseconds, it is over what plain C took on that day.
GOALS = [
    ("J1, 1 worker: at most 1.5 times plain C", "J1 rondo 1", "J1 plain-c 1", 1.5),
    ("J2, 1 worker: at most 1.5 times plain C", "J2 rondo 1", "J2 plain-c 1", 1.5),
] + [
    ("%s, %d workers: at most 1.1 times one worker" % (j, w), "%s rondo %d" % (j, w),
     "%s rondo 1" % j, 1.1) for j in ("J1", "J2") for w in (2, 4, 5)
] + [
    ("J3, 2 workers: at most 0.64 times plain C", "J3 rondo 2", "J3 plain-c 1", 128 / 200),
    ("J3b, 2 workers: at most 1/1.8 times one worker", "J3b rondo 2", "J3b rondo 1", 1 / 1.8),
    ("J4, 1 worker: at most 1.7 times plain C", "J4 rondo 1", "J4 plain-c 1", 10 / 5.8),
    ("J4, 2 workers: at most 1.7 times plain C", "J4 rondo 2", "J4 plain-c 1", 10 / 5.8),
    ("J5, 2 workers: at most 0.64 times plain C", "J5 rondo 2", "J5 plain-c 2", 28.6 / 45),
    ("J6, 1 worker: at most 1.6 times plain C", "J6 rondo 1", "J6 plain-c 1", 9.8 / 6),
    ("J7: at most 1.3 times plain C", "J7 rondo 2", "J7 plain-c 2", 1.3),
]
MOST_BYTES, MOST_MB = 160, 64


def goals(entries):
    by_key, lines = {e.key: e for e in entries if e.samples}, []

    def say(what, value, is_met):
        lines.append("%s: %s, %s" % (what, lib.number(value), "reached" if is_met else "NOT reached"))

    for what, entry, base, limit in GOALS:
        if entry in by_key and base in by_key:
            value = lib.ratio(by_key[entry], by_key[base])
            if value is not None:
                say(what, value, value <= limit)
    for workers in (1, 2):
        e = by_key.get("J5b rondo %d" % workers)
        if e:
            value = lib.median_of(e.samples, lambda s: s["peak_bytes"] / 1e6)
            say("J5b, %d worker%s: at most %d MB" % (workers, "" if workers == 1 else "s", MOST_MB),
                value, value <= MOST_MB)
    for workers in (1, 2):
        e = by_key.get("J6 rondo %d" % workers)
        if e:
            value = lib.median_of(e.samples, field("bytes_per_actor"))
            say("J6, %d worker%s: at most %d bytes per actor"
                % (workers, "" if workers == 1 else "s", MOST_BYTES), value, value <= MOST_BYTES)
    return lines


if __name__ == "__main__":
    sys.exit(lib.main(
        "actors", "Actor runtimes", __doc__, JOBS, peers(),
        lib.handover_program(os.path.join(C_PROGRAMS, "bench_pingpong")), "plain-c", goals,
        ("bench_plain_c", "bench_rondo", "bench_pingpong")))
