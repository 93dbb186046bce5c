# SPDX-License-Identifier: MIT
"""Servers that a benchmark starts on 127.0.0.1, each with a folder of its own,
and stops by their process id."""
import contextlib
import os
import socket
import subprocess
import tempfile
import time

START_S, STOP_S = 20, 0.5


class Failed(Exception):
    """The server does not come up; the text says why."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_listening(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def port_in(path):
    with contextlib.suppress(OSError, ValueError), open(path) as f:
        return int(f.read())
    return None


@contextlib.contextmanager
def running(command_of, port=None):
    """Runs the command that `command_of(folder)` gives; yields (port, process).
    With no `port` the server writes the one that it got to folder/port."""
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
        child = subprocess.Popen(command_of(folder), stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=log, cwd=folder)
        try:
            limit, found = time.monotonic() + START_S, port
            while found is None or not is_listening(found):
                if child.poll() is not None or time.monotonic() > limit:
                    log.seek(0)
                    raise Failed("does not start: " + log.read()[-500:])
                time.sleep(0.01)
                found = port or port_in(os.path.join(folder, "port"))
            yield found, child
        finally:
            stop(child)


def stop(child):
    """A server that waits for its slow source is not waited for."""
    child.terminate()
    try:
        child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def rondo(program, config):
    """The command of a rondo with this configuration."""
    def command(folder):
        path = os.path.join(folder, "bench.yaml")
        with open(path, "w") as f:
            f.write(config)
        return [program, "serve", "-c", path, "--listen", "127.0.0.1:0",
                "--port-file", os.path.join(folder, "port")]
    return command
