#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts the servers that a run of bench_herd_server needs, runs it, stops them:

    serve.py RONDO PROGRAM mix CALLERS MS MISS_PERCENT DELAY_US
    serve.py RONDO PROGRAM saturated CALLERS MS PAIRS
    serve.py RONDO PROGRAM crowd CALLERS DELAY_MS
"""
import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import servers  # noqa: E402

CONFIG = """memory: 1gb
max_connections: 20000
caches:
  herd:
    keys: "k:{id}"
    waiters: 200000
    queue: 1000000
    load_timeout: 10m
    wait: %(wait)s
    source:
      type: scripted
"""


def config(wait="10m", **source):
    return CONFIG % {"wait": wait} + "".join("      %s: %s\n" % s for s in source.items())


def plan(mode, arguments):
    """(a configuration for each server, what follows the ports)"""
    if mode == "mix":
        return [config(delay=arguments[3] + "us")], arguments[:3]
    if mode == "saturated":
        return [config(), config(wait="50ms", hang="always")], arguments
    return [config(delay=arguments[1] + "ms", value='"{count}"')], arguments


def main(rondo, program, mode, *arguments):
    configs, rest = plan(mode, list(arguments))
    try:
        with contextlib.ExitStack() as stack:
            ports = [str(stack.enter_context(servers.running(servers.rondo(rondo, c)))[0])
                     for c in configs]
            run = subprocess.run([program, mode, *ports, *rest], capture_output=True, text=True)
            print(run.stdout.strip() or json.dumps({"wrong": run.stderr.strip(), "ok": False}))
            return run.returncode
    except servers.Failed as e:
        print(json.dumps({"wrong": str(e), "ok": False}))
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
