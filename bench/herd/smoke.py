#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that the programs of this benchmark give right answers and notice wrong
ones, and that the driver makes its report.  Tiny runs: no figure means anything.

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
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import serve  # noqa: E402
import servers  # noqa: E402

FAILURES = []


def check(is_true, what):
    if not is_true:
        FAILURES.append(what)
        print("FAILED: " + what)


def call(*command):
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    lines = run.stdout.strip().splitlines()
    return run.returncode, json.loads(lines[-1]) if lines else {}


def check_modes(command):
    code, answer = call(*command, "mix", 20, 300, 10, 2000)
    check(code == 0 and answer.get("ok") is True, "mix: %d %s" % (code, answer))
    check(answer.get("hits", 0) > 0 and answer.get("waits", 0) > 0, "mix: nothing done: %s" % answer)
    check(answer.get("loads_per_key") == 1, "mix: not one load a key: %s" % answer)
    check(answer.get("wait_p99_ns", 0) >= 1900000, "mix: answered before the source: %s" % answer)
    code, answer = call(*command, "saturated", 10, 120, 1)
    check(code == 0 and answer.get("blocked", 0) > 0 and answer.get("p99_ratio", 0) > 0,
          "saturated: %d %s" % (code, answer))
    code, answer = call(*command, "crowd", 200, 500)
    check(code == 0 and answer.get("loads") == 1, "crowd: %d %s" % (code, answer))


def check_library_notices(program):
    code, answer = call(program, "crowd", 50000, 1)
    check(code == 1 and "wrong" in answer, "a crowd that came too late passes: %s" % answer)
    for arguments in (("mix", 0, 1, 1, 1), ("mix", 1, 1, 101, 1), ("swim", 1, 1), ("crowd", 1),
                      ("saturated", 1, 1, 0)):
        code, _ = call(program, *arguments)
        check(code == 2, "%s is taken" % (arguments,))


def check_server_notices(rondo, program):
    with servers.running(servers.rondo(rondo, serve.config(value="other"))) as (port, _):
        code, answer = call(program, "mix", port, 5, 200, 50)
        check(code == 1 and "not that of its key" in answer.get("wrong", ""),
              "a wrong value passes: %s" % answer)
        code, answer = call(program, "saturated", port, port, 5, 50, 1)
        check(code == 1, "a pool that nothing saturates passes: %s" % answer)
        code, answer = call(program, "crowd", port, 5, 500)
        check(code == 1, "a crowd with a wrong answer passes: %s" % answer)
    code, _ = call(program, "mix", servers.free_port(), 1, 1, 1)
    check(code == 2, "a server that is not there passes")


def check_driver(args):
    with tempfile.TemporaryDirectory() as results:
        run = subprocess.run(
            [sys.executable, os.path.join(HERE, "run.py"), "--seconds", "0.1", "--jobs",
             "10ms-10,saturated", "--results", results],
            env={**os.environ, "BENCH_PROGRAMS": args.programs, "BENCH_RONDO": args.rondo},
            capture_output=True, text=True)
        check(run.returncode == 0, "the driver failed: " + run.stdout + run.stderr)
        with open(os.path.join(results, "herd.json")) as f:
            saved = [(e["job"], e["peer"]) for e in json.load(f)["entries"]]
        check(len(saved) == 2 * 4 + 2, "other runs than expected: %s" % saved)
        xml.etree.ElementTree.parse(os.path.join(results, "herd.svg"))
        for text in ("callers", "waited p50 ms", "loads/key", "Goals"):
            check(text in run.stdout, "the report lacks '%s'" % text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--programs", required=True)
    p.add_argument("--rondo", required=True)
    args = p.parse_args()
    library, server = (os.path.join(args.programs, "bench_herd_" + n) for n in ("library", "server"))
    check_modes([library])
    check_modes([sys.executable, os.path.join(HERE, "serve.py"), args.rondo, server])
    check_library_notices(library)
    check_server_notices(args.rondo, server)
    check_driver(args)
    print("%d failures" % len(FAILURES))
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
