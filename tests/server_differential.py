#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same random commands to `rondo serve` and to a real redis-server: every
reply must be the same, type for type and text for text.

What differs on purpose is in DIFFERS.  Without redis-server the test is skipped.

usage: server_differential.py RONDO [--commands N] [--seed N]
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

from rondo_server import Connection, Server, ServerError, until

KEYS = [b"a", b"b", b"c", b"key:1", b"key:2", b"", b"bin\0\r\n"]
NUMBERS = ["0", "1", "-1", "7", "42", "-17", "9223372036854775807", "-9223372036854775808",
           "9223372036854775808", "1.5", "-0.25", "1e3", "x", "", " 1", "01", "-0", "+1"]
VALUES = [b"", b"v", b"hello world", b"\0\xff\r\n", b"10", b"-5", b"3.25", b"x" * 2000]
# Long enough, in milliseconds too, that nothing expires while the test runs.
TIMES = ["1000000", "2000000", "0", "-1", "x", "9223372036854775807", "9000000"]
GOOD_TIMES = [b"1000000", b"2000000", b"9000000"]
WORDS = ["NX", "XX", "GT", "LT", "EX", "PX", "KEEPTTL", "GET", "PERSIST", "nx", "Ex", "WHAT"]

# Texts and shapes that differ on purpose: (condition on the command, why).
DIFFERS = [
    (lambda a: a[0] == b"GETEX" and any(t not in GOOD_TIMES for t in a[3::2]),
     "a bad time is refused before the key is looked up, so that no source is asked for it"),
    (lambda a: a[0] == b"SCAN" and a[1:2] == [b"-5"], "a cursor has no sign"),
    (lambda a: a == [b"COMMAND"], "there are fewer commands"),
]


def pick(r, *choices):
    return r.choice(choices)


def make(r):
    """A random command: mostly right, sometimes not."""
    def key():
        return r.choice(KEYS)

    def value():
        return r.choice(VALUES)

    def number():
        return r.choice(NUMBERS)

    def words():
        return [w for _ in range(r.randrange(3)) for w in (
            [r.choice(WORDS)] + ([r.choice(TIMES)] if r.random() < 0.6 else []))]

    table = [
        lambda: ["GET", key()], lambda: ["SET", key(), value()],
        lambda: ["SET", key(), value(), *words()], lambda: ["DEL", key(), key()],
        lambda: ["UNLINK", key()], lambda: ["EXISTS", key(), key()], lambda: ["TYPE", key()],
        lambda: ["TOUCH", key(), key()],
        lambda: ["MGET", key(), key(), key()], lambda: ["MSET", key(), value(), key(), value()],
        lambda: ["MSET", key(), value(), key()],
        lambda: ["MSETNX", key(), value(), key(), value()], lambda: ["RENAME", key(), key()],
        lambda: ["RENAMENX", key(), key()], lambda: ["COPY", key(), key()],
        lambda: ["COPY", key(), key(), "REPLACE", "DB", pick(r, "0", "1", "16", "x")],
        lambda: ["SETNX", key(), value()], lambda: ["SETEX", key(), r.choice(TIMES), value()],
        lambda: ["PSETEX", key(), pick(r, "1000000", "0", "-1", "x"), value()],
        lambda: ["STRLEN", key()], lambda: ["GETRANGE", key(), number(), number()],
        lambda: ["SUBSTR", key(), "0", "-2"], lambda: ["INCR", key()], lambda: ["DECR", key()],
        lambda: ["INCRBY", key(), number()], lambda: ["DECRBY", key(), number()],
        lambda: ["INCRBYFLOAT", key(), pick(r, "0.5", "-1.25", "3", "1e2", "x", "inf", "nan", "")],
        lambda: ["APPEND", key(), value()],
        lambda: ["SETRANGE", key(), pick(r, "0", "3", "20", "-1", "x", "1099511627776"), value()],
        lambda: ["GETSET", key(), value()], lambda: ["GETDEL", key()],
        lambda: ["GETEX", key(), *words()], lambda: ["GETEX", key()],
        lambda: ["EXPIRE", key(), r.choice(TIMES), *words()],
        lambda: ["PEXPIRE", key(), r.choice(TIMES)],
        lambda: ["EXPIREAT", key(), pick(r, "4102444800", "1", "x", "-5")],
        lambda: ["PEXPIREAT", key(), pick(r, "4102444800000", "1", "x")],
        lambda: ["TTL", key()], lambda: ["PTTL", key()], lambda: ["EXPIRETIME", key()],
        lambda: ["PEXPIRETIME", key()], lambda: ["PERSIST", key()],
        lambda: ["DBSIZE"], lambda: ["KEYS", pick(r, "*", "k*", "[ab]", "key:?")],
        lambda: ["SCAN", "0", "COUNT", "1000"],
        lambda: ["SCAN", "0", "MATCH", "k*", "COUNT", "1000"],
        lambda: ["SCAN", pick(r, "x", "0"), pick(r, "COUNT", "WHAT"), pick(r, "0", "x")],
        lambda: ["PING"], lambda: ["PING", value()], lambda: ["ECHO", value()],
        lambda: ["SELECT", pick(r, "0", "0", "1", "15", "16", "-1", "x")],
        lambda: ["CLIENT", "GETNAME"], lambda: ["CLIENT", "SETNAME", pick(r, "me", "a b", "")],
        lambda: ["CLIENT", "WHAT"], lambda: ["CONFIG", "GET", "save"],
        lambda: ["CONFIG", "GET", "nothing-like-it"], lambda: ["NOSUCH", key(), value()],
        lambda: ["COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2"],
        lambda: ["WAIT", "0", "0"], lambda: ["ROLE"], lambda: ["PUBLISH", "c", "m"],
        lambda: ["PUBSUB", "NUMSUB", "c"], lambda: ["PUBSUB", "NUMPAT"],
        lambda: ["HELLO", pick(r, "1", "4", "x")],
    ]
    args = r.choice(table)()
    if r.random() < 0.03:
        args = args[:r.randrange(1, len(args) + 1)]
    if r.random() < 0.03:
        args.append(value())
    if r.random() < 0.002:
        args = [pick(r, "FLUSHDB", "FLUSHALL")]
    return [a if isinstance(a, bytes) else a.encode() for a in args]


def shape(command, reply):
    """What must be equal of a reply."""
    name = command[0].upper()
    if isinstance(reply, ServerError):
        return "error", str(reply)
    if name == b"KEYS" and isinstance(reply, list):
        return sorted(reply)
    if name == b"SCAN" and isinstance(reply, list):  # where a cursor points is one's own affair
        return sorted(reply[1]) if reply[0] == b"0" and b"1000" in command else "cursor"
    if name == b"HELLO" and isinstance(reply, (list, dict)):
        pairs = reply.items() if isinstance(reply, dict) else zip(reply[0::2], reply[1::2])
        return [p for p in pairs if p[0] not in (b"id", "id")]
    if name in (b"TTL", b"PTTL", b"EXPIRETIME", b"PEXPIRETIME") and isinstance(reply, int):
        unit = 1 if name in (b"TTL", b"EXPIRETIME") else 1000
        return reply if reply < 0 else round(reply / unit / 10)
    if {b"GT", b"LT"} & set(command) and isinstance(reply, int):
        return "met or not: equal times differ by the millisecond in which they were set"
    return type(reply), reply


def is_close(a, b):
    return a == b or (isinstance(a, int) and isinstance(b, int) and min(a, b) >= 0
                      and abs(a - b) <= 1)


def redis_server(directory):
    path = os.path.join(directory, "redis.sock")
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no",
         "--dir", directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: os.path.exists(path), what="redis-server")
    return process, path


def compare(r, n, ours, theirs):
    for i in range(n):
        if r.random() < 0.001:
            proto = r.choice(("2", "3"))
            for c in (ours, theirs):
                c.command("HELLO", proto)
        command = make(r)
        if any(differs(command) for differs, _ in DIFFERS):
            continue
        for c in (ours, theirs):
            c.send(*command)
        a, b = shape(command, ours.read()), shape(command, theirs.read())
        if not is_close(a, b):
            return f"command {i}: {command!s:.300}\n  rondo {a!s:.300}\n  redis {b!s:.300}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rondo")
    parser.add_argument("--commands", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not shutil.which("redis-server"):
        print("skipped: no redis-server")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        process, path = redis_server(directory)
        try:
            with Server(os.path.abspath(args.rondo)) as server, server.connect() as ours, \
                    Connection(path) as theirs:
                trouble = compare(random.Random(args.seed), args.commands, ours, theirs)
        finally:
            process.terminate()
            process.wait(30)
    if trouble:
        sys.exit(f"seed {args.seed}: {trouble}")
    print(f"{args.commands} commands, the same replies")


if __name__ == "__main__":
    main()
