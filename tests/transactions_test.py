#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Blocks of commands of many clients at once: nobody sees half of one, and of two
clients that change what both watch one starts again.

usage: transactions_test.py RONDO
"""
import random
import sys
import threading

from rondo_server import Server

ACCOUNTS = ["account:%d" % i for i in range(4)]
START = 100


def transfer(server, seed, times, troubles):
    """Moves money as the manual says: WATCH, read, MULTI, write, EXEC; again if refused."""
    r = random.Random(seed)
    with server.connect() as c:
        done = 0
        while done < times:
            a, b = r.sample(ACCOUNTS, 2)
            c.command("WATCH", a, b)
            x, y = int(c.command("GET", a)), int(c.command("GET", b))
            replies = c.pipeline(("MULTI",), ("SET", a, x - 1), ("SET", b, y + 1), ("EXEC",))
            if replies[-1] not in (None, ["OK", "OK"]):
                troubles.append(replies)
            done += replies[-1] is not None


def count(server, times, troubles):
    """Two counters that only ever change together."""
    with server.connect() as c:
        for _ in range(times):
            x, y = c.pipeline(("MULTI",), ("INCR", "left"), ("INCR", "right"), ("EXEC",))[-1]
            if x != y:
                troubles.append(("counters", x, y))


def look(server, stop, troubles):
    with server.connect() as c:
        while not stop.is_set():
            money = c.pipeline(("MULTI",), ("MGET", *ACCOUNTS), ("MGET", "left", "right"),
                               ("PUBLISH", "seen", "x"), ("EXEC",))[-1]
            if sum(int(m) for m in money[0]) != START * len(ACCOUNTS):
                troubles.append(("money", money))
            if money[1][0] != money[1][1]:
                troubles.append(("counters", money))


def main():
    stop, troubles = threading.Event(), []
    with Server(sys.argv[1]) as server:
        with server.connect() as c:
            c.command("MSET", *(w for a in ACCOUNTS for w in (a, START)))
        workers = [threading.Thread(target=transfer, args=(server, s, 150, troubles))
                   for s in range(3)]
        workers += [threading.Thread(target=count, args=(server, 300, troubles)) for _ in range(2)]
        looker = threading.Thread(target=look, args=(server, stop, troubles))
        for thread in [looker, *workers]:
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        looker.join()
        with server.connect() as c:
            money = [int(m) for m in c.command("MGET", *ACCOUNTS)]
            counters = c.command("MGET", "left", "right")
    assert not troubles, troubles[:3]
    assert sum(money) == START * len(ACCOUNTS), money
    assert counters == [b"600", b"600"], counters


if __name__ == "__main__":
    main()
