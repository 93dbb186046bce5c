#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rondo serve` logs, and that it does not need to.

usage: serve_log_test.py RONDO [unittest arguments]
"""
import json
import os
import sys
import unittest

from rondo_server import Server, ServerError, until

RONDO = os.path.abspath(sys.argv[1])

FAILING = """
caches:
  failing:
    keys: "failing:{id}"
    breaker_failures: 2
    source: {type: scripted, fail: always}
"""


def fail(server, n=20):
    with server.connect() as c:
        for i in range(n):
            try:
                c.command("GET", f"failing:{i}")
            except ServerError:
                pass


class Log(unittest.TestCase):
    def test_text(self):
        with Server(RONDO, FAILING) as server:
            server.signal()
            self.assertEqual(server.wait(), 0)
            self.assertEqual(server.stderr(), "rondo: info: SIGTERM: stopping\n")

    def test_json(self):
        with Server(RONDO, "log_format: json\n" + FAILING) as server:
            fail(server)
            server.signal()
            self.assertEqual(server.wait(), 0)
            events = [json.loads(line) for line in server.stderr().splitlines()]
        self.assertEqual(events[-1]["message"], "SIGTERM: stopping")
        for e in events:
            self.assertIn(e["level"], ("error", "warning", "info", "debug"))
            self.assertRegex(e["time"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")

    def test_level(self):
        with Server(RONDO, "log_level: error\n" + FAILING) as server:
            server.signal()
            self.assertEqual(server.wait(), 0)
            self.assertEqual(server.stderr(), "")

    def test_a_full_disk_stops_nothing(self):
        for form in ("text", "json"):
            server = Server(RONDO, f"log_level: debug\nlog_format: {form}\n" + FAILING)
            server.rondo = server.path("full")
            with open(server.rondo, "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\nexec "{RONDO}" "$@" 2>/dev/full\n')
            os.chmod(server.rondo, 0o755)
            with server:
                fail(server)
                with server.connect() as c:
                    self.assertEqual(c.command("PING"), "PONG")
                until(lambda s=server: s.stats("failing")["loads_error"] > 0)
                self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
