#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts a server, stores entries in it and prints what one takes:
`server.py rondo-serve|redis|memcached SERVER FILL ENTRIES`."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import servers  # noqa: E402

BYTES_A_ENTRY, LEAST_MB = 400, 64


def command(name, program, entries):
    """(what starts the server, its port or None if it tells)"""
    megabytes = LEAST_MB + entries * BYTES_A_ENTRY // 1000000
    if name == "rondo-serve":
        return servers.rondo(program, "memory: %dmb\n" % megabytes), None
    port = servers.free_port()
    if name == "redis":
        return (lambda folder: [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                "--appendonly", "no", "--dir", folder]), port
    return (lambda folder: [program, "-u", "nobody" if os.getuid() == 0 else str(os.getuid()),
                            "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "2",
                            "-m", str(megabytes)]), port


def main(name, program, fill, entries):
    start, port = command(name, program, int(entries))
    try:
        with servers.running(start, port) as (port, child):
            run = subprocess.run(
                [fill, "memcached" if name == "memcached" else "redis", str(port), entries,
                 str(child.pid)], capture_output=True, text=True)
            print(run.stdout.strip() or json.dumps({"wrong": run.stderr.strip(), "ok": False}))
            return run.returncode
    except servers.Failed as e:
        print(json.dumps({"wrong": str(e), "ok": False}))
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
