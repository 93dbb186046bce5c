#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The admin port of `rondo serve` from outside: metrics through Prometheus's own
parser, probes, and what strangers send.

usage: admin_test.py RONDO [unittest arguments]
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import unittest

from rondo_server import Server, until

RONDO = os.path.abspath(sys.argv[1])
TOP = pathlib.Path(__file__).resolve().parent.parent

CONFIG = """
admin: 127.0.0.1:0
password: hunter2-in-the-metrics
caches:
  users:
    keys: "user:{id}"
    source: {type: scripted, value: "{id} {count}"}
  slow:
    keys: "slow:{id}"
    threads: 1
    wait: 1h
    load_timeout: 1h
    source: {type: scripted, hang: always}
"""


def port_of(server):
    return int(re.search(r"; admin on 127\.0\.0\.1:(\d+)$", server.stdout().strip()).group(1))


def ask(port, path, method="GET", body=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        c.request(method, path, body)
        r = c.getresponse()
        return r.status, r.read().decode(), r.headers
    finally:
        c.close()


def samples(port):
    from prometheus_client.parser import text_string_to_metric_families
    families = list(text_string_to_metric_families(ask(port, "/metrics")[1]))
    return families, {(s.name, s.labels.get("cache")): s.value for f in families
                      for s in f.samples}


class Admin(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.server = self.stack.enter_context(
            Server(RONDO, CONFIG, ("--drain-timeout", "200ms")))
        self.port = port_of(self.server)

    def login(self):
        c = self.stack.enter_context(self.server.connect())
        self.assertEqual(c.command("AUTH", "hunter2-in-the-metrics"), "OK")
        return c

    def test_metrics(self):
        c = self.login()
        for _ in range(3):
            c.command("GET", "user:7")
        flat = c.command("RONDO.STATS", "users")
        stats = [s.decode() for s in flat[::2]]
        families, values = samples(self.port)
        self.assertEqual(values["rondo_cache_hits_total", "users"], 2)
        self.assertEqual(values["rondo_cache_misses_total", "users"], 1)
        self.assertEqual(values["rondo_cache_entries", "users"], 1)
        self.assertEqual(values["rondo_cache_hits_total", "default"], 0)
        self.assertEqual(values["rondo_clients", None], 1)
        self.assertEqual(values["rondo_connections_total", None], 1)
        self.assertGreaterEqual(values["rondo_commands_total", None], 4)
        self.assertGreater(values["process_resident_memory_bytes", None], 0)
        names = {name for name, _ in values}
        counters = set(re.findall(r"    X\((\w+),",
                                  (TOP / "include/rondo/cache.h").read_text(encoding="utf-8")))
        for name in stats:
            if name in counters:
                self.assertTrue({f"rondo_cache_{name}", f"rondo_cache_{name}_total"} & names, name)
        for f in families:
            self.assertTrue(f.documentation, f.name)
            self.assertIn(f.type, ("counter", "gauge", "histogram"))
            for s in f.samples:
                self.assertEqual(f.type == "counter", s.name.endswith("_total"), s.name)

    def test_what_contrib_asks_for_exists(self):
        names = {name for name, _ in samples(self.port)[1]}
        for file in ("contrib/prometheus/rondo-alerts.yml", "contrib/grafana/rondo.json"):
            text = (TOP / file).read_text(encoding="utf-8")
            asked = set(re.findall(r"\b(?:rondo|process)_[a-z_]+\b", text))
            self.assertGreater(len(asked), 5, file)
            self.assertEqual(asked - names, set(), file)
        json.loads(text)

    def test_format(self):
        status, text, headers = ask(self.port, "/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertTrue(text.endswith("\n"))
        self.assertNotIn("hunter2", text)
        seen = re.findall(r"^# TYPE (\S+)", text, re.M)
        self.assertEqual(len(seen), len(set(seen)))

    def test_paths_and_methods(self):
        self.assertEqual(ask(self.port, "/healthz")[:2], (200, "ok\n"))
        self.assertEqual(ask(self.port, "/readyz")[:2], (200, "ready\n"))
        self.assertEqual(ask(self.port, "/readyz", "HEAD")[:2], (200, ""))
        self.assertEqual(ask(self.port, "/metrics?x=1")[0], 200)
        for path in ("/", "/metrics/", "/../etc/passwd"):
            self.assertEqual(ask(self.port, path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, _, headers = ask(self.port, "/metrics", method)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)
        self.assertEqual(ask(self.port, "/metrics", "POST", b"x" * 1000)[0], 405)

    def test_garbage(self):
        for data in (b"\0" * 100, b"GET\r\n\r\n", b"*1\r\n$4\r\nPING\r\n",
                     b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nX: " + b"b" * 100000 + b"\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), timeout=30) as s:
                with contextlib.suppress(OSError):
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(4096):
                        pass
        self.assertEqual(ask(self.port, "/healthz")[0], 200)

    def test_slow_client_delays_nobody(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as s:
            s.sendall(b"GET /metr")
            self.assertEqual(ask(self.port, "/healthz")[0], 200)
            self.assertEqual(self.login().command("PING"), "PONG")
            s.sendall(b"ics HTTP/1.0\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1."))

    def test_a_thousand_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with contextlib.ExitStack() as crowd:
            for _ in range(1000):
                crowd.enter_context(socket.create_connection(("127.0.0.1", self.port), 30))
            self.assertEqual(self.login().command("GET", "user:1"), b"1 1")
            # 64 are served at a time; the others wait with the kernel.
            fds = len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
            self.assertLess(fds, 200)
        self.assertEqual(until(lambda: ask(self.port, "/healthz")[0]), 200)

    def test_a_crowd_that_left_is_forgotten(self):
        crowd = [socket.create_connection(("127.0.0.1", self.port), 30) for _ in range(300)]
        for s in crowd:
            s.sendall(b"GET /met")
        for s in crowd:
            s.close()
        self.assertEqual(ask(self.port, "/metrics")[0], 200)

    def test_not_ready_while_it_stops(self):
        server = self.stack.enter_context(
            Server(RONDO, CONFIG, ("--drain-timeout", "1h"), expect_code=-15))
        port = port_of(server)
        with server.connect() as c:
            c.command("AUTH", "hunter2-in-the-metrics")
            c.send("GET", "slow:1")
            until(lambda: samples(port)[1]["rondo_cache_waiting", "slow"] == 1)
            server.signal()
            until(lambda: ask(port, "/readyz")[:2] == (503, "stopping\n"))
            self.assertEqual(ask(port, "/healthz")[0], 200)
            self.assertIn("rondo_cache_hits_total", ask(port, "/metrics")[1])
            server.signal()  # the second one waits for nothing
            self.assertEqual(server.wait(), -15)


class Refused(unittest.TestCase):
    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as d:
            file = os.path.join(d, "a.yaml")
            with open(file, "w", encoding="utf-8") as f:
                f.write(f"listen: 127.0.0.1:0\nadmin: 127.0.0.1:{taken.getsockname()[1]}\n")
            r = subprocess.run([RONDO, "serve", "-c", file], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"\Arondo: cannot listen on 127.0.0.1:\d+: Address already")


if __name__ == "__main__":
    version = subprocess.run([RONDO, "--version"], capture_output=True, text=True, check=True)
    if "admin port: no" in version.stdout:
        print("skipped: this build has no admin port")
        sys.exit(77)
    try:
        import prometheus_client.parser  # noqa: F401
    except ImportError:
        print("skipped: no python3-prometheus-client")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
