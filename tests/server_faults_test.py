#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rondo serve` when things go wrong: bad input, bad clients, bad ends.

usage: server_faults_test.py RONDO [unittest arguments]
"""
import os
import resource
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

from rondo_server import Connection, Server, ServerError, until

RONDO = os.path.abspath(sys.argv[1])

CONFIG = """
caches:
  slow:
    keys: "slow:{id}"
    threads: 4
    source: {type: scripted, delay: 200ms, value: "{id} {count}"}
  hanging:
    keys: "hanging:{id}"
    threads: 2
    load_timeout: 1h
    wait: 1h
    source: {type: scripted, hang: always}
"""


def start(config=CONFIG, args=("--drain-timeout", "200ms"), **options):
    return Server(RONDO, config, args, **options)


def run(*args, **options):
    return subprocess.run([RONDO, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False, **options)


def reset(c):
    """Closes a connection by a reset."""
    c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = start()
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def breaks(self, data, text):
        with self.server.connect() as c:
            c.send_raw(Connection.encode("PING") + data)
            self.assertEqual(c.read(), "PONG")
            reply = c.read()
            self.assertIsInstance(reply, ServerError)
            self.assertEqual(str(reply), text)
            self.assertTrue(c.is_closed())
        with self.server.connect() as c:
            self.assertEqual(c.command("PING"), "PONG")

    def test_protocol_errors(self):
        self.breaks(b"*1\r\n$629145600\r\n", "ERR Protocol error: invalid bulk length")
        self.breaks(b"*1\r\n$-5\r\n", "ERR Protocol error: invalid bulk length")
        self.breaks(b"*99999999999\r\n", "ERR Protocol error: invalid multibulk length")
        self.breaks(b"*1\r\n:1\r\n", "ERR Protocol error: expected '$', got ':'")
        self.breaks(b"GET \"a\r\n", "ERR Protocol error: unbalanced quotes in request")
        self.breaks(b"x" * 100000, "ERR Protocol error: too big inline request")

    def test_an_error_reply_survives_what_follows_it(self):
        # megabytes behind the mistake: a reset must not overtake the reply
        self.breaks(b"*1\r\n$629145600\r\n" + b"y" * 500000,
                    "ERR Protocol error: invalid bulk length")

    def test_answers_come_before_the_error(self):
        with self.server.connect() as c:
            c.send_raw(Connection.encode("GET", "slow:e") + b"*1\r\n$x\r\n")
            self.assertEqual(c.read(), b"e 1")
            self.assertEqual(str(c.read()), "ERR Protocol error: invalid bulk length")
            self.assertTrue(c.is_closed())

    def test_rubbish(self):
        rubbish = os.urandom(100000)
        for i in range(20):
            with self.server.connect() as c:
                try:
                    c.send_raw(rubbish[i * 5000:(i + 1) * 5000])
                    c.socket.shutdown(socket.SHUT_WR)
                except ConnectionError:
                    pass
                self.assertTrue(c.is_closed())
        with self.server.connect() as c:
            self.assertEqual(c.command("PING"), "PONG")


class BadClients(unittest.TestCase):
    def setUp(self):
        self.server = start()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__, None, None, None)

    def clients(self):
        return int(self.server.info("clients")["connected_clients"])

    def test_a_half_closed_client_gets_its_answers(self):
        with self.server.connect() as c:
            c.send_raw(Connection.encode("GET", "slow:half") + Connection.encode("PING"))
            c.socket.shutdown(socket.SHUT_WR)
            self.assertEqual([c.read(), c.read()], [b"half 1", "PONG"])
            self.assertTrue(c.is_closed())

    def test_clients_that_leave_during_a_load(self):
        for i in range(60):
            c = self.server.connect()
            c.send("GET", f"slow:{i % 3}")
            c.send("GET", f"hanging:{i}")
            c.send_raw(b"*2\r\n$3\r\nGET\r\n$100\r\nhalf a comm")
            if i % 2:
                reset(c)
            else:
                c.close()
        with self.server.connect() as c:
            self.assertEqual(c.command("GET", "slow:1"), b"1 1")
        # Those that only closed wait for answers; those that reset are gone.
        until(lambda: self.clients() <= 31, what="the reset connections to go")

    def test_a_client_that_does_not_read(self):
        with self.server.connect() as c, self.server.connect() as other:
            other.command("SET", "big", b"x" * 1000000)
            request = Connection.encode("GET", "big")
            c.socket.setblocking(False)
            sent = 0
            stalls = lambda: int(self.server.info("stats")["rondo_output_stalls"])
            while not stalls():
                try:
                    sent += c.socket.send(request * 50)
                except BlockingIOError:
                    pass
                self.assertEqual(other.command("PING"), "PONG")
            c.socket.settimeout(30)
            for _ in range(sent // len(request)):
                self.assertEqual(len(c.read()), 1000000)

    def test_more_waiting_than_one_connection_may(self):
        n = 3000
        with self.server.connect() as c:
            c.send_raw(b"".join(Connection.encode("GET", f"hanging:{i}") for i in range(n)))
            until(lambda: int(self.server.info("stats")["rondo_waiting_commands"]) >= 1024)
            self.assertEqual(int(self.server.info("stats")["rondo_waiting_commands"]), 1024)
            with self.server.connect() as other:
                self.assertEqual(other.command("PING"), "PONG")


class Limits(unittest.TestCase):
    def test_too_many_clients(self):
        with start("max_connections: 3\n") as server:
            with server.connections(3) as connections:
                for c in connections:
                    self.assertEqual(c.command("PING"), "PONG")
                with server.connect() as c:
                    self.assertEqual(str(c.read()), "ERR max number of clients reached")
                    self.assertTrue(c.is_closed())
            def reconnect():
                with server.connect() as c:
                    c.send("PING")
                    return c.read() == "PONG"
            until(reconnect, what="room for a client")

    def test_idle_clients_are_closed(self):
        for config, args in ((CONFIG, ("--idle-timeout", "50ms")),
                             ("idle_timeout: 50ms\n" + CONFIG, ())):
            with start(config, args) as server, server.connect() as c:
                self.assertTrue(c.is_closed())
                self.assertEqual(server.info("stats")["rondo_idle_disconnections"], "1")

    def test_no_descriptors_left(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            server = start().__enter__()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        try:
            many = [server.connect() for _ in range(80)]
            until(lambda: "cannot accept connections" in server.stderr(), what="the warning")
            self.assertEqual(many[0].command("PING"), "PONG")
            for c in many:
                c.close()
            with server.connect() as c:
                self.assertEqual(c.command("PING"), "PONG")
        finally:
            server.__exit__(None, None, None)

    def test_a_password(self):
        with start("password: secret\n") as server, server.connect() as c:
            for args in (("GET", "k"), ("CONFIG", "GET", "*"), ("PING",)):
                c.send(*args)
                self.assertEqual(str(c.read()), "NOAUTH Authentication required.")
            c.send("HELLO", "3")
            self.assertTrue(str(c.read()).startswith("NOAUTH HELLO must be called"))
            c.send("AUTH", "secreT")
            self.assertTrue(str(c.read()).startswith("WRONGPASS "))
            c.send("AUTH", "root", "secret")
            self.assertTrue(str(c.read()).startswith("WRONGPASS "))
            c.send_raw(b"*20\r\n")
            self.assertEqual(str(c.read()),
                             "ERR Protocol error: unauthenticated multibulk length")
            with server.connect() as d:
                self.assertEqual(d.command("AUTH", "secret"), "OK")
                self.assertEqual(d.command("AUTH", "default", "secret"), "OK")
                self.assertNotIn(b"secret", str(d.command("CONFIG", "GET", "*")).encode())
            with server.connect() as d:
                self.assertEqual(d.command("HELLO", "3", "AUTH", "default", "secret")["proto"], 3)


class Ends(unittest.TestCase):
    def test_a_stop_answers_what_waits(self):
        with start(args=()) as server, server.connect() as c:
            c.send_raw(Connection.encode("PING") + Connection.encode("GET", "slow:end"))
            self.assertEqual(c.read(), "PONG")
            server.signal()
            self.assertEqual(c.read(), b"end 1")
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)

    def test_a_stop_fails_what_takes_too_long(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with start() as server, server.connect() as c, server.connect() as idle:
                c.send("GET", "hanging:1")
                self.assertEqual(idle.command("PING"), "PONG")
                until(lambda: server.info("stats")["rondo_waiting_commands"] == "1")
                server.signal(number)
                self.assertEqual(str(c.read()), "ERR the server is shutting down")
                self.assertTrue(c.is_closed())
                self.assertTrue(idle.is_closed())
                self.assertEqual(server.wait(), 0)

    def test_a_stop_waits_for_a_command_that_runs_long(self):
        with start(config="workers: 2\n", args=("--drain-timeout", "1ms")) as server, \
                server.connect() as c:
            c.command("SET", "a" * 65536, "v")
            c.send("RONDO.INVALIDATE", "*" + "a" * 8000 + "b")  # for seconds
            server.signal()
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)

    def test_a_second_signal_ends_at_once(self):
        with start(args=("--drain-timeout", "1h"), expect_code=-signal.SIGTERM) as server:
            with server.connect() as c:
                c.send("GET", "hanging:1")
                until(lambda: server.info("stats")["rondo_waiting_commands"] == "1")
                server.signal()
                until(lambda: "stopping" in server.stderr(), what="the first signal")
                server.signal()
                self.assertEqual(server.wait(), -signal.SIGTERM)

    def test_killed_and_started_again_on_the_same_port(self):
        with start() as server:
            with server.connect() as c:
                c.command("SET", "k", "v")
                c.send("GET", "hanging:1")
                server.kill()
                self.assertTrue(c.is_closed())
            port = server.port
            server.start()
            self.assertEqual(server.port, port)
            with server.connect() as c:
                self.assertIsNone(c.command("GET", "k"))

    def test_a_port_in_use(self):
        with start() as server:
            r = run("serve", "--listen", f"127.0.0.1:{server.port}")
            self.assertEqual(r.returncode, 1)
            self.assertEqual(r.stdout, "")
            self.assertEqual(r.stderr, f"rondo: cannot listen on 127.0.0.1:{server.port}: "
                                       "Address already in use (bind)\n")


class BadStarts(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "rondo.yaml")

    def config(self, text):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)
        return self.path

    def test_three_mistakes_at_once(self):
        path = self.config("lisen: 127.0.0.1:0\n"
                           "caches:\n"
                           "  users:\n"
                           "    keys: \"user:{id}\"\n"
                           "    ttl: -5m\n"
                           "    threads: many\n"
                           "    source: {type: scripted}\n")
        for args in (("check", path), ("serve", "-c", path)):
            r = run(*args)
            self.assertEqual((r.returncode, r.stdout), (1, ""))
            for line in (1, 5, 6):
                self.assertIn(f"rondo.yaml:{line}:", r.stderr)

    def test_missing_things(self):
        r = run("serve", "-c", "/nonexistent/rondo.yaml")
        self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (1, "", 1))
        self.assertIn("/nonexistent/rondo.yaml", r.stderr)
        r = run("check", "/nonexistent/rondo.yaml")
        self.assertEqual(r.returncode, 1)

    def test_a_right_file(self):
        r = run("check", self.config(CONFIG))
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertIn("no mistakes; 2 caches", r.stdout)

    def test_a_database_that_does_not_exist(self):
        r = run("serve", "--listen", "127.0.0.1:0", "user:{id}", "sqlite:nowhere.db",
                "SELECT name FROM users WHERE id = {id}")
        self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (1, "", 1))
        self.assertIn("nowhere.db", r.stderr)

    def test_a_database_that_goes_away(self):
        server = Server(RONDO, args=("user:{id}", "sqlite:users.db",
                                     "SELECT name FROM users WHERE id = {id}"))
        db = sqlite3.connect(server.path("users.db"))
        db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
        db.close()
        with server, server.connect() as c:
            os.unlink(server.path("users.db"))
            c.send("GET", "user:1")
            self.assertRegex(str(c.read()), r"\ALOADERR user .*")
            self.assertEqual(c.command("SET", "plain", "v"), "OK")

    def test_closed_standard_descriptors(self):
        port_file = self.path + ".port"
        with subprocess.Popen([RONDO, "serve", "--listen", "127.0.0.1:0", "--port-file", port_file],
                              stdout=subprocess.PIPE,
                              preexec_fn=lambda: (os.close(0), os.close(2))) as p:
            try:
                until(lambda: os.path.exists(port_file), what="the port file")
                for fd in (0, 2):
                    self.assertEqual(os.readlink(f"/proc/{p.pid}/fd/{fd}"), "/dev/null")
            finally:
                p.terminate()
            self.assertEqual(p.wait(30), 0)

    def test_open_to_the_network(self):
        r = run("serve", "--listen", "0.0.0.0:0")
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertIn("password", r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1)

    def test_usage(self):
        for args in (("--listen", "nowhere"), ("--listen", "127.0.0.1:99999"), ("user:{id}",),
                     ("--what",), ("-c", "x.yaml", "user:{id}", "sqlite:x"),
                     ("--drain-timeout", "soon"), ("--workers", "0")):
            r = run("serve", *args)
            self.assertEqual((r.returncode, r.stdout), (2, ""), args)
            self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        self.assertEqual(run("check").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
