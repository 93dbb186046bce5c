# SPDX-License-Identifier: MIT
"""Starts the real `rondo serve` for tests, and talks to it.

    with Server(rondo, config="caches: ...") as server:
        with server.connect() as c:
            c.command("GET", "user:1")

Every server listens on a port that the kernel chose and is stopped by its own
process id.  Stopping checks that it ends cleanly.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class ServerError(Exception):
    """An error reply."""


class Closed(Exception):
    """The server closed the connection."""


def until(condition, seconds=30, what="a condition"):
    """Waits until a condition holds; its value.  Fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.005)


class Connection:
    """A blocking client of RESP2 and RESP3 in a few lines."""

    def __init__(self, port, timeout=30):
        """`port` on 127.0.0.1, or the path of a Unix socket."""
        if isinstance(port, str):
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.settimeout(timeout)
            self.socket.connect(port)
        else:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    @staticmethod
    def encode(*args):
        out = b"*%d\r\n" % len(args)
        for a in args:
            a = a if isinstance(a, bytes) else str(a).encode()
            out += b"$%d\r\n%s\r\n" % (len(a), a)
        return out

    def send(self, *args):
        self.socket.sendall(self.encode(*args))

    def send_raw(self, data):
        self.socket.sendall(data)

    def _fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise Closed()
        self.buffer += data

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def _exactly(self, n):
        while len(self.buffer) < n + 2:
            self._fill()
        data, self.buffer = self.buffer[:n], self.buffer[n + 2:]
        return data

    def read(self):
        """The next reply; an error reply is returned as ServerError, not raised."""
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return ServerError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind in b"$=":
            if rest == b"-1":
                return None
            data = self._exactly(int(rest))
            return data[4:] if kind == b"=" else data
        if kind in b"*~>":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return dict((self._key(), self.read()) for _ in range(int(rest)))
        raise AssertionError(f"not the protocol: {line!r}")

    def _key(self):
        key = self.read()
        return key.decode() if isinstance(key, bytes) else key

    def command(self, *args):
        """Sends a command and returns its reply; raises error replies."""
        self.send(*args)
        reply = self.read()
        if isinstance(reply, ServerError):
            raise reply
        return reply

    def pipeline(self, *commands):
        self.send_raw(b"".join(self.encode(*c) for c in commands))
        return [self.read() for _ in commands]

    def is_closed(self):
        """Reads until the end; True if the end came (a reset counts)."""
        try:
            while True:
                self._fill()
        except (Closed, ConnectionError):
            return True


class Server:
    """`rondo serve` on a port of the kernel's choice."""

    def __init__(self, rondo, config=None, args=(), port=0, expect_code=0, env=None):
        self.rondo, self.config, self.args, self.port = rondo, config, list(args), port
        self.expect_code, self.env = expect_code, env
        self.directory = tempfile.mkdtemp(prefix="rondo-test-")
        self.process = None

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self):
        if os.path.exists(self.path("port")):
            os.unlink(self.path("port"))
        args = [self.rondo, "serve", "--listen", f"127.0.0.1:{self.port}", "--port-file",
                self.path("port"), *self.args]
        if self.config is not None:
            with open(self.path("rondo.yaml"), "w", encoding="utf-8") as f:
                f.write(self.config)
            args += ["-c", self.path("rondo.yaml")]
        with open(self.path("out"), "ab") as out, open(self.path("err"), "ab") as err:
            self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, cwd=self.directory, env=self.env)
        try:
            until(self._is_up, 60, "the server's port")
        except BaseException:
            self.kill()
            raise
        return self

    def _is_up(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}: "
                                 + self.stderr())
        if not os.path.exists(self.path("port")):
            return False
        with open(self.path("port"), encoding="ascii") as f:
            self.port = int(f.read())
        return True

    def stdout(self):
        with open(self.path("out"), encoding="utf-8") as f:
            return f.read()

    def stderr(self):
        with open(self.path("err"), encoding="utf-8") as f:
            return f.read()

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, timeout=60):
        return self.process.wait(timeout)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)

    def stop(self):
        """Stops it and returns the exit code."""
        if self.process.poll() is None:
            self.signal()
        try:
            return self.wait()
        finally:
            self.kill()

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def __exit__(self, kind, *unused):
        try:
            was_running = self.process.poll() is None
            code = self.stop()
            if kind is None and was_running and code != self.expect_code:
                raise AssertionError(f"the server ended with {code}: {self.stderr()}")
        finally:
            self.kill()
            shutil.rmtree(self.directory, ignore_errors=True)

    def connect(self, timeout=30):
        return Connection(self.port, timeout)

    @contextlib.contextmanager
    def connections(self, n):
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.connect()) for _ in range(n)]

    def stats(self, cache):
        with self.connect() as c:
            flat = c.command("RONDO.STATS", cache)
        return {flat[i].decode(): flat[i + 1] for i in range(0, len(flat), 2)}

    def info(self, *sections):
        with self.connect() as c:
            text = c.command("INFO", *sections).decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
