#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that the programs of this benchmark give right answers and notice a
wrong one, and that the driver makes its report.  Tiny runs: no figure means
anything.

    smoke.py --programs DIRECTORY --rondo FILE
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
FAILURES = []
KEYS, READS = 20000, 80000


def check(is_true, what):
    if not is_true:
        FAILURES.append(what)
        print("FAILED: " + what)


def call(*command):
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    lines = run.stdout.strip().splitlines()
    return run.returncode, json.loads(lines[-1]) if lines else {}


def check_peer(program, trace):
    for job, threads, scale, field in (("hit", 1, 20000, "ns_per_hit"),
                                       ("hit", 2, 20000, "ns_per_hit"),
                                       ("memory", 1, 20000, "bytes_per_entry")):
        tail = [] if job == "memory" else [trace, KEYS]
        code, answer = call(program, job, threads, scale, *tail)
        check(code == 0 and answer.get("ok") is True and answer.get(field, 0) > 0,
              "%s %s %d: %d %s" % (program, job, threads, code, answer))
    code, answer = call(program, "hit", 2, 20000, trace, KEYS, "forget")
    check(code == 1 and "not there" in answer.get("wrong", ""), program + ": a lost key passes")
    for arguments in (("hit", 1, 10, trace, KEYS - 1), ("hit", 0, 10, trace, KEYS), ("hit", 1, 10),
                      ("hit", 1, 10, trace + "x", KEYS), ("swim", 1, 10, trace, KEYS)):
        code, _ = call(program, *arguments)
        check(code == 2, "%s takes %s" % (program, arguments))


def check_ratio(program, trace):
    code, answer = call(program, "ratio", 1, READS, trace, KEYS)
    check(code == 0 and 30 < answer.get("hit_percent", 0) < 100, "ratio: %d %s" % (code, answer))
    check(0 < answer.get("entries", 0) <= KEYS / 10, "ratio: too many entries: %s" % answer)


def check_driver(args):
    """The real driver, with a server too, results in a folder of its own."""
    with tempfile.TemporaryDirectory() as results:
        run = subprocess.run(
            [sys.executable, os.path.join(HERE, "run.py"), "--peers", "rondo,rondo-serve",
             "--repeat", "2", "--seconds", "0.002", "--keys", str(KEYS), "--entries", "5000",
             "--results", results],
            env={**os.environ, "BENCH_PROGRAMS": args.programs, "BENCH_RONDO": args.rondo,
                 "BENCH_OUT": results}, capture_output=True, text=True)
        check(run.returncode == 0, "the driver failed: " + run.stdout + run.stderr)
        with open(os.path.join(results, "cache.json")) as f:
            saved = {(e["peer"], e["job"], e["workers"]): len(e["samples"])
                     for e in json.load(f)["entries"]}
        check(saved == {("rondo", "hit", 1): 2, ("rondo", "hit", 2): 2, ("rondo", "ratio", 1): 1,
                        ("rondo", "memory", 1): 1, ("rondo-serve", "memory", 1): 1},
              "other runs than expected: %s" % saved)
        xml.etree.ElementTree.parse(os.path.join(results, "cache.svg"))
        for text in ("threads", "bytes per entry", "Goals"):
            check(text in run.stdout, "the report lacks '%s'" % text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--programs", required=True)
    p.add_argument("--rondo", required=True)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        run = subprocess.run([os.path.join(args.programs, "bench_cache_trace"), trace, str(KEYS),
                              str(READS), "0.99", "1"])
        check(run.returncode == 0 and os.path.getsize(trace) == 4 * READS, "no trace")
        for peer in ("rondo", "lfht", "ck", "glib"):
            program = os.path.join(args.programs, "bench_cache_" + peer)
            if os.path.exists(program):
                check_peer(program, trace)
        check_ratio(os.path.join(args.programs, "bench_cache_rondo"), trace)
    check_driver(args)
    print("%d failures" % len(FAILURES))
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
