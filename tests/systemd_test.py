#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rondo serve` under a service manager, without one: the test is the manager.

usage: systemd_test.py RONDO [unittest arguments]
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from rondo_server import Connection, Server

RONDO = os.path.abspath(sys.argv[1])
UNITS = pathlib.Path(__file__).resolve().parent.parent / "contrib/systemd"

# The variables name the process, so something has to know its own number before
# it becomes the server.
ACTIVATE = """
import os, sys
fd, n = int(sys.argv[1]), sys.argv[2]
if fd != 3:
    os.dup2(fd, 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=n, LISTEN_FDNAMES="rondo.socket")
os.execv(sys.argv[3], sys.argv[3:])
"""


def activate(sock, *args, n="1"):
    return subprocess.Popen(
        [sys.executable, "-c", ACTIVATE, str(sock.fileno()), n, RONDO, "serve", *args],
        pass_fds=[sock.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


class Notify(unittest.TestCase):
    def check(self, address, name):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(address)
            manager.settimeout(60)
            with Server(RONDO, env={**os.environ, "NOTIFY_SOCKET": name}) as server:
                self.assertEqual(manager.recv(100), b"READY=1")
                with server.connect() as c:
                    self.assertEqual(c.command("PING"), "PONG")
                self.assertEqual(server.stop(), 0)
                self.assertEqual(manager.recv(100), b"STOPPING=1")
                self.assertNotIn("cannot tell", server.stderr())

    def test_path(self):
        with tempfile.TemporaryDirectory() as d:
            self.check(f"{d}/notify", f"{d}/notify")

    def test_abstract(self):
        name = f"rondo-test-{os.getpid()}"
        self.check("\0" + name, "@" + name)

    def test_a_manager_that_is_gone(self):
        for name in ("/nonexistent/notify", "relative", "@", "/" + "x" * 200):
            with Server(RONDO, env={**os.environ, "NOTIFY_SOCKET": name}) as server:
                self.assertEqual(server.stop(), 0)
                self.assertIn("cannot tell the service manager READY=1", server.stderr())


class Activation(unittest.TestCase):
    def test_socket(self):
        with socket.create_server(("127.0.0.1", 0)) as sock:
            port = sock.getsockname()[1]
            # Connected before there is a server: it waits in the socket.
            with Connection(port) as c:
                c.send("PING")
                p = activate(sock, "--listen", "127.0.0.1:1")
                self.assertEqual(c.read(), "PONG")
            p.terminate()
            out, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 0, err)
        self.assertIn(f"listens on 127.0.0.1:{port},", out)

    def refused(self, sock, n="1"):
        p = activate(sock, n=n)
        _, err = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 1)
        return err

    def test_what_is_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as sock:
            self.assertIn("gave 2 sockets: one is allowed", self.refused(sock, "2"))
        with socket.socket() as sock:
            self.assertIn("something else than a listening TCP", self.refused(sock))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            self.assertIn("something else than a listening TCP", self.refused(sock))

    def test_exposure_is_judged_by_the_socket(self):
        # Bound to every address but reached by nobody: it never serves.
        with socket.create_server(("0.0.0.0", 0)) as sock:
            self.assertIn("can be reached from other machines", self.refused(sock))

    def test_variables_of_another_process(self):
        env = {**os.environ, "LISTEN_PID": "1", "LISTEN_FDS": "1"}
        with Server(RONDO, env=env) as server, server.connect() as c:
            self.assertEqual(c.command("PING"), "PONG")


class Units(unittest.TestCase):
    def test_options_exist(self):
        text = (UNITS / "rondo.service").read_text(encoding="utf-8")
        words = re.search(r"^ExecStart=/usr/bin/rondo (.*)$", text, re.M).group(1).split()
        help_text = subprocess.run([RONDO, words[0], "--help"], capture_output=True, text=True,
                                   timeout=60, check=True).stdout
        for word in words[1:]:
            if word.startswith("--"):
                self.assertIn(word, help_text)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_analyze(self):
        with tempfile.TemporaryDirectory() as d:
            text = (UNITS / "rondo.service").read_text(encoding="utf-8")
            text = text.replace("/usr/bin/rondo", RONDO).replace("man:rondo(1)", "")
            text = text.replace("man:rondo.yaml(5)", "")
            file = os.path.join(d, "rondo.service")
            with open(file, "w", encoding="utf-8") as f:
                f.write(text)
            r = subprocess.run(["systemd-analyze", "verify", "--man=no", file],
                               capture_output=True, text=True, timeout=120, check=False)
        lines = [line for line in r.stderr.splitlines() if "rondo" in line]
        self.assertEqual(lines, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
