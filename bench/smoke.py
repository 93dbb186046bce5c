#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that the benchmark's C programs give right answers, that they notice a
wrong one, and that the driver does.  Tiny runs: no figure means anything.

    smoke.py --rondo FILE --plain-c FILE --pingpong FILE
"""
import argparse
import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import lib  # noqa: E402

FAILURES = []
SCALE = {"J3b": 100000, "J5b": 100000, "J8a": 300, "J8b": 30}


def check(is_true, what):
    if not is_true:
        FAILURES.append(what)
        print("FAILED: " + what)


def call(*command):
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    lines = run.stdout.strip().splitlines()
    return run.returncode, json.loads(lines[-1]) if lines else {}


def check_jobs(program, name, workers_of):
    for job, all_workers in workers_of.items():
        for workers in all_workers:
            scale = SCALE.get(job, 2000)
            code, answer = call(program, job, workers, scale)
            what = "%s %s %d" % (name, job, workers)
            check(code == 0 and answer.get("ok") is True, "%s: %d %s" % (what, code, answer))
            check(answer.get("messages", 0) >= scale, what + ": too few messages")
            check(answer.get("ns_per_message", 0) > 0, what + ": took no time")


def check_faults(program, name):
    for job, workers, fault in itertools.product(("J5", "J5b"), (1, 2), ("lose", "double")):
        code, answer = call(program, job, workers, 5000, fault)
        what = "%s %s %d %s" % (name, job, workers, fault)
        check(code == 1 and answer.get("ok") is False, what + ": not noticed")
        check("wrong" in answer, what + ": does not say what is wrong")
    for arguments in (("J99", 1, 10), ("J1", 0, 10), ("J1", 1, "ten"), ("J1",)):
        code, _ = call(program, *arguments)
        check(code == 2, "%s takes %s" % (name, arguments))


def check_driver(programs):
    """The real driver over the two programs, results in a folder of its own."""
    with tempfile.TemporaryDirectory() as results:
        run = subprocess.run(
            [sys.executable, os.path.join(lib.BENCH, "actors", "run.py"), "--jobs", "J1,J6,J8",
             "--peers", "plain-c,rondo", "--repeat", "2", "--seconds", "0.002",
             "--results", results],
            env={**os.environ, "BENCH_PROGRAMS": programs}, capture_output=True, text=True)
        check(run.returncode == 0, "the driver failed: " + run.stdout + run.stderr)
        with open(os.path.join(results, "actors.json")) as f:
            saved = json.load(f)
        check(len(saved["entries"]) == 5 + 3 + 8, "wrong number of entries in the JSON")
        check(all(len(e["samples"]) == 2 for e in saved["entries"]), "a run is missing")
        xml.etree.ElementTree.parse(os.path.join(results, "actors.svg"))
        for text in ("J8b:", "time / plain-c", "bytes/actor", "Goals"):
            check(text in run.stdout, "the report lacks '%s'" % text)


def fake(said, code=0):
    return [sys.executable, "-c", "import sys; print(%r); sys.exit(%d)" % (said, code)]


def drive(commands):
    """Exit code and output of a driver whose peer answers with these commands."""
    left = list(commands)
    job = lib.Job("J1", "a job", lib.NS)
    peer = lib.Peer("fake", [], {"J1": (1,)}, lambda *a: left.pop(0), lambda *a: 1)
    gone = lib.Peer("gone", [], {"J1": (1,)}, None, None, lambda: lib.tool("no-such-tool", "foo"))
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as results, contextlib.redirect_stdout(out):
        def run(*argv):
            return lib.main("fake", "Fake", "", [job], [peer, gone], lambda: None, "fake",
                            argv=["--results", results, *argv])
        code = run("--repeat", str(len(commands)))
        check(run("--report") == code, "the report of a saved run has another verdict")
    check("gone: skipped, needs the package foo\n" in out.getvalue(), "a peer vanished silently")
    return code, out.getvalue()


def check_verdicts():
    right = fake('{"ns_per_message": 2.5, "ok": true}')
    slow = fake('{"ns_per_message": 5, "ok": true}')
    wrong = fake('{"ns_per_message": 2.5, "wrong": "lost", "ok": false}')
    code, out = drive([slow, right, right])
    # Twice each: the run, and the report of it.
    check(code == 0 and out.count("5.00") == 2 and out.count("2.50") == 4,
          "right answers: %d %s" % (code, out))
    for bad in (wrong, fake("no JSON"), fake(""), fake('{"ns_per_message": 1, "ok": true}', 3),
                fake("[1]"), fake('{"ns_per_message": 1}')):
        code, out = drive([right, bad])
        check(code == 1 and "WRONG: J1 fake 1" in out, "%s passed: %s" % (bad[-1], out))
    late = lib.run_program([sys.executable, "-c", "import time; time.sleep(600)"], 0.1)
    check("no answer" in late.get("wrong", ""), "a program that hangs passed")


def main():
    p = argparse.ArgumentParser()
    for name in ("--rondo", "--plain-c", "--pingpong"):
        p.add_argument(name, required=True)
    args = p.parse_args()
    pairs = {j: (1, 2) for j in ("J1", "J2", "J3", "J3b", "J4", "J5", "J5b", "J6", "J8a", "J8b")}
    plain = {**{j: (1,) for j in pairs}, "J5": (1, 2), "J5b": (1, 2), "J7": (2,), "J8a": (1, 2)}
    check_jobs(args.plain_c, "plain-c", plain)
    check_jobs(args.rondo, "rondo", {**pairs, "J1": (1, 2, 5), "J7": (2,)})
    check_faults(args.plain_c, "plain-c")
    check_faults(args.rondo, "rondo")
    code, answer = call(args.pingpong)
    check(code == 0 and answer["handover_ns"] > 0, "pingpong: %d %s" % (code, answer))
    check_driver(os.path.dirname(args.rondo))
    check_verdicts()
    print("%d failures" % len(FAILURES))
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
