#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rondo serve` under random clients: they pipeline, leave in the middle, read
slowly and send rubbish, while sources take their time, fail and hang.

What must hold: one reply per command, in order; never a wrong value; no
descriptor stays behind; a clean end.

usage: server_soak.py RONDO [--seconds N] [--seed N]
"""
import argparse
import os
import random
import socket
import struct
import sys
import threading
import time

from rondo_server import Connection, Server, ServerError, until

CONFIG = """
caches:
  slow:
    keys: "slow:{id}"
    threads: 8
    ttl: 200ms
    source: {type: scripted, delay: 3ms, value: "v{id}"}
  flaky:
    keys: "flaky:{id}"
    threads: 4
    ttl: 100ms
    load_timeout: 100ms
    wait: 150ms
    source: {type: scripted, fail: 20%, absent: 20%, hang: 1%, value: "v{id}"}
"""


class Client(threading.Thread):
    """One thread of random behaviour; `error` says what was wrong."""

    def __init__(self, server, seed, end):
        super().__init__()
        self.server, self.random, self.end = server, random.Random(seed), end
        self.error, self.replies = None, 0
        self.own = f"own:{seed}:"
        self.model = {}

    def run(self):
        try:
            while time.monotonic() < self.end:
                with self.server.connect() as c:
                    self.session(c)
        except Exception as e:  # pylint: disable=broad-except
            self.error = repr(e)

    def session(self, c):
        for _ in range(self.random.randrange(1, 20)):
            what = self.random.random()
            if what < 0.05:
                return self.rubbish(c)
            if what < 0.10:
                return self.leave(c)
            self.pipeline(c)
        return None

    def rubbish(self, c):
        try:
            c.send_raw(self.random.randbytes(self.random.randrange(1, 5000)))
            c.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        c.is_closed()

    def leave(self, c):
        commands = [self.command(False)[0] for _ in range(self.random.randrange(1, 50))]
        data = b"".join(Connection.encode(*a) for a in commands)
        c.send_raw(data[:self.random.randrange(len(data) + 1)])
        if self.random.random() < 0.5:
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def command(self, keeps_model=True):
        """A command, and what its reply may be (a function)."""
        r = self.random
        k = r.randrange(40)
        kind = r.randrange(8)
        if kind == 0:
            return ("GET", f"slow:{k}"), lambda v: v == b"v%d" % k
        if kind == 1:
            return ("GET", f"flaky:{k}"), lambda v: (
                v in (None, b"v%d" % k) or (isinstance(v, ServerError) and str(v).startswith(
                    ("LOADERR flaky", "LOADTIMEOUT flaky", "OVERLOADED flaky"))))
        if kind == 2:
            return ("MGET", f"slow:{k}", f"slow:{k + 1}"), lambda v: (
                v == [b"v%d" % k, b"v%d" % (k + 1)])
        if kind == 3:
            text = r.randbytes(r.randrange(20))
            return ("ECHO", text), lambda v: v == text
        if not keeps_model:
            return ("PING",), lambda v: v == "PONG"
        key = f"{self.own}{k}"
        if kind == 4:
            value = r.randbytes(r.choice((3, 30, 3000)))
            self.model[key] = value
            return ("SET", key, value), lambda v: v == "OK"
        if kind == 5:
            was = int(self.model.pop(key, None) is not None)
            return ("DEL", key), lambda v: v == was
        value = self.model.get(key)
        return ("GET", key), lambda v: v == value

    def pipeline(self, c):
        both = [self.command() for _ in range(self.random.randrange(1, 60))]
        c.send_raw(b"".join(Connection.encode(*a) for a, _ in both))
        if self.random.random() < 0.1:
            time.sleep(0.01)  # a slow reader
        for args, is_right in both:
            reply = c.read()
            self.replies += 1
            if not is_right(reply):
                raise AssertionError(f"{args}: {reply!r}")


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rondo")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with Server(os.path.abspath(args.rondo), CONFIG, ("--drain-timeout", "1s")) as server:
        with server.connect() as c:
            c.command("PING")
            before = descriptors(server)
        end = time.monotonic() + args.seconds
        clients = [Client(server, args.seed * 1000 + i, end) for i in range(12)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        errors = [c.error for c in clients if c.error]
        if errors:
            sys.exit(f"seed {args.seed}: " + "; ".join(errors) + "\n" + server.stderr())
        until(lambda: int(server.info("clients")["connected_clients"]) == 1, what="all to be gone")
        until(lambda: descriptors(server) <= before, what="the descriptors to be closed")
        print(f"{sum(c.replies for c in clients)} replies, all right and in order")


if __name__ == "__main__":
    main()
