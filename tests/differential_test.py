#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same random commands to `rondo serve` and to a real redis-server: every
reply must be the same, type for type and byte for byte, in RESP2 and RESP3.

Sequences of commands (differential_commands.py) start from empty servers and new
connections, so each stands alone; one that shows a difference is shortened while
the difference stays, then printed with its seed.  What may differ is listed in
docs/differences.md and, as code, in LOOSE.

usage: differential_test.py RONDO [--commands N] [--seed S] [--length N]
Exit code: 0 the same, 1 a difference, 77 skipped, since there is no redis-server.
"""
import argparse
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import differential_commands as commands
from rondo_server import Closed, Connection, Server, until

SLACK_MS = 5000  # a loaded machine stalls; the times are minutes apart
END = b"the-end-of-the-step"


class Wire(Connection):
    """A connection whose replies keep the types they have on the wire."""

    def read(self):
        """(type, bytes) or (type, [replies]); None for what is null."""
        line = self._line()
        kind, rest = line[:1].decode("latin-1"), line[1:]
        if kind in "$=!" and rest != b"-1":
            return kind, self._exactly(int(rest))
        if kind in "*~>%" and rest != b"-1":
            n = int(rest) * (2 if kind == "%" else 1)
            return kind, [self.read() for _ in range(n)]
        return kind, None if rest == b"-1" and kind in "$*" else rest


# ---- what may differ -------------------------------------------------------------------

def number(reply):
    return int(reply[1]) if reply[0] == ":" else None


def same_time(slack):
    def same(_, a, b):
        x, y = number(a), number(b)
        if x is None or y is None or x < 0 or y < 0:
            return a == b
        return abs(x - y) <= slack
    return same


def same_type(_, a, b):
    return a[0] == b[0] and (a[1] is None) == (b[1] is None) and (a[0] != "-" or a == b)


def same_members(_, a, b):
    return a == b or (a[0] == b[0] and a[0] in "*~" and sorted(a[1]) == sorted(b[1]))


def same_scan(command, a, b):
    """Cursors are one's own affair, and so is how much a call returns; all keys if it is
    the last call on both sides."""
    if a == ("-", b"ERR invalid cursor") and not command[1].isdigit():
        return True
    if a[0] != "*" or b[0] != "*":
        return a == b
    (cursor_a, keys_a), (cursor_b, keys_b) = a[1], b[1]
    whole = cursor_a == cursor_b == ("$", b"0") and command[1] in (b"0", b"")
    return cursor_a[0] == cursor_b[0] == "$" and keys_a[0] == keys_b[0] and (
        not whole or sorted(keys_a[1]) == sorted(keys_b[1]))


def same_hello(command, a, b):
    if a[0] == b[0] == "-" and len(command) > 4:
        return True
    if a[0] not in "*%" or a[0] != b[0]:
        return a == b
    x, y = (dict(zip([k[1] for k in r[1][0::2]], r[1][1::2])) for r in (a, b))
    return list(x) == list(y) and all(
        x[k][0] == y[k][0] if k in (b"server", b"version", b"id") else x[k] == y[k] for k in x)


def same_commands(command, a, b):
    """COMMAND INFO: name, arity and the places of the keys; of the rest the types."""
    if len(command) == 2:
        return same_type(command, a, b)
    if a[0] != "*" or b[0] != "*" or len(a[1]) != len(b[1]):
        return a == b
    def brief(entry):
        if not entry[1]:
            return entry
        return [e if i in (0, 1, 3, 4, 5) else e[0] for i, e in enumerate(entry[1])]
    return all(brief(x) == brief(y) for x, y in zip(a[1], b[1]))


def same_names(_, a, b):
    """CONFIG GET: the same settings, whatever their values."""
    if a[0] not in "*%":
        return a == b
    return a[0] == b[0] and a[1][0::2] == b[1][0::2]


def same_getex(_, a, b):
    """A bad time is an error before the key is looked up."""
    return a == b or (is_null(b) and a[0] == "-" and
                      (b"invalid expire time" in a[1] or b"not an integer" in a[1]))


def both_errors(_, a, b):
    return a[0] == b[0] == "-"


# Which comparison stands for equality; docs/differences.md gives the reasons.
LOOSE = {
    b"TTL": same_time(SLACK_MS // 1000), b"PTTL": same_time(SLACK_MS),
    b"EXPIRETIME": same_time(SLACK_MS // 1000), b"PEXPIRETIME": same_time(SLACK_MS),
    b"KEYS": same_members, b"PUBSUB CHANNELS": same_members, b"SCAN": same_scan,
    b"RANDOMKEY": same_type, b"TIME": same_type, b"INFO": same_type, b"HELLO": same_hello,
    b"CLIENT ID": same_type, b"CLIENT INFO": same_type, b"CLIENT LIST": same_type,
    b"CLIENT HELP": same_type, b"SLOWLOG LEN": same_type, b"COMMAND": same_type,
    b"COMMAND COUNT": same_type,
    b"COMMAND LIST": same_type, b"COMMAND DOCS": same_type, b"COMMAND INFO": same_commands,
    b"CONFIG GET": same_names, b"SLOWLOG GET": same_type, b"MEMORY USAGE": same_type,
    b"MEMORY STATS": same_type, b"OBJECT IDLETIME": same_type, b"OBJECT REFCOUNT": same_type,
    b"OBJECT ENCODING": same_type, b"GETEX": same_getex, b"CLUSTER": both_errors,
}


def is_same(command, a, b):
    words = [w.upper() for w in command[:2]]
    if a == b or not words:
        return a == b
    if a[0] == b[0] == "-" and len(b[1]) > 90 and b[1].startswith(a[1].rstrip(b"'")):
        return True  # what it quotes is cut
    same = LOOSE.get(b" ".join(words)) or (LOOSE.get(words[0]) if words != [b"COMMAND"] or
                                           len(command) == 1 else None)
    return bool(same and same(command, a, b))


# ---- running a sequence ----------------------------------------------------------------

class Side:
    """One of the two servers, with two connections to it."""

    def __init__(self, where):
        self.where, self.wires, self.n_alarms = where, [None, None], 0

    def reset(self):
        for i in (0, 1):
            self.reconnect(i)
        self.wires[0].command("FLUSHALL")

    def reconnect(self, i):
        if self.wires[i]:
            self.wires[i].close()
        self.wires[i] = Wire(self.where, timeout=10)

    def send(self, i, data):
        try:
            self.wires[i].send_raw(data)
        except OSError:
            pass  # it was closed: reading says so

    def close(self):
        for wire in self.wires:
            if wire:
                wire.close()


def read(wire, n):
    """n replies, or with None all until the mark; "closed" and "silent" are replies too."""
    out = []
    try:
        while n is None or len(out) < n:
            reply = wire.read()
            if n is None and (reply == ("$", END) or reply[1:] == ([("$", b"pong"), ("$", END)],)):
                break
            out.append(reply)
    except socket.timeout:
        out.append(("silent", b""))
    except (Closed, OSError):
        out.append(("closed", b""))
    return out


def is_null(reply):
    return reply in (("*", None), ("$", None), ("_", b""))


def in_one_order(replies):
    """Redis leaves channels, and serves patterns, in the order of its hash table: among
    neighbours that say `unsubscribe` the names are sorted, and messages by patterns."""
    out, group = [], []

    def kind(reply):
        word = reply[1][0][1] if reply[0] in "*>" and reply[1] else None
        return word if word in (b"unsubscribe", b"punsubscribe", b"pmessage") else None

    def flush():
        if group and kind(group[0]) == b"pmessage":
            out.extend(sorted(group, key=str))
        else:
            names = sorted((r[1][1] for r in group), key=str)
            out.extend((r[0], [r[1][0], name, r[1][2]]) for r, name in zip(group, names))
        group.clear()

    for reply in replies:
        if not kind(reply):
            flush()
            out.append(reply)
            continue
        if group and (kind(group[0]) != kind(reply) or kind(reply) == b"pmessage" and
                      group[0][1][2:] != reply[1][2:]):
            flush()
        group.append(reply)
    flush()
    return out


ODD = {b"SUBSCRIBE", b"UNSUBSCRIBE", b"PSUBSCRIBE", b"PUNSUBSCRIBE", b"QUIT", b"RESET"}


def is_odd(step):
    """Does it make any other number of replies than one a command?"""
    return any(c[0].upper() in ODD or [w.upper() for w in c[:2]] == [b"CLIENT", b"REPLY"]
               for c in step if c)


class FalseAlarm(Exception):
    """A watched key counts as changed for want of better knowledge: the sequence ends."""


class Run:
    """One sequence on both servers; step() says what differs, or None."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = ours, theirs
        self.listening, self.queued = [False, False], [None, None]
        for side in (ours, theirs):
            side.reset()

    def step(self, i, step):
        if self.queued[i] is None and (self.listening[i] or is_odd(step)):
            return self._marked(i, step)
        data = b"".join(Wire.encode(*c) for c in step)
        self.ours.send(i, data)
        self.theirs.send(i, data)
        theirs = read(self.theirs.wires[i], len(step))
        ours = read(self.ours.wires[i], len(step))
        for at, command in enumerate(step):
            a, b = (r[at] if at < len(r) else ("nothing", b"") for r in (ours, theirs))
            if not self._is_same(i, command, a, b):
                return command, a, b
        return None

    def _is_same(self, i, command, a, b):
        """Knows what was queued, so that EXEC's replies are compared one by one."""
        name, queue = command[0].upper(), self.queued[i]
        if b == ("+", b"QUEUED"):
            queue.append(command)
        elif name == b"MULTI" and b[0] == "+":
            self.queued[i] = []
        elif name in (b"EXEC", b"DISCARD", b"RESET") and len(command) == 1:
            self.queued[i] = None
            if name == b"EXEC" and is_null(a) and b[0] == "*" and b[1] is not None:
                raise FalseAlarm()
            if name == b"EXEC" and b[0] == "*" and b[1] and a[0] == "*" and a[1]:
                return len(a[1]) == len(b[1]) and all(
                    is_same(c, x, y) for c, x, y in zip(queue, a[1], b[1]))
        return is_same(command, a, b)

    def _marked(self, i, step):
        """All replies and messages until that of a mark, or until the connection closes."""
        for command in step:
            if command[0].upper() in (b"SUBSCRIBE", b"PSUBSCRIBE"):
                self.listening[i] = True
            elif command[0].upper() == b"RESET" and len(command) == 1:
                self.listening[i] = False
        end = [[b"CLIENT", b"REPLY", b"ON"]] if any(c[:1] == [b"CLIENT"] for c in step) else []
        data = b"".join(Wire.encode(*c) for c in step + end + [[b"PING", END]])
        replies = []
        for side in (self.theirs, self.ours):
            side.send(i, data)
            replies.append(read(side.wires[i], None))
        if any(r and r[-1][0] == "closed" for r in replies):
            self.listening[i] = False
            for side in (self.theirs, self.ours):
                side.reconnect(i)
        theirs, ours = replies
        if len(theirs) == len(ours) == len(step + end) and not self.listening[i]:
            return next(((c, x, y) for c, x, y in zip(step, ours, theirs)
                         if not is_same(c, x, y)), None)
        theirs, ours = in_one_order(theirs), in_one_order(ours)
        if ours != theirs:
            at = next((n for n, (x, y) in enumerate(zip(ours, theirs)) if x != y),
                      min(len(ours), len(theirs)))
            return step[0], ours[at:at + 3], theirs[at:at + 3]
        return None


def run(ours, theirs, steps):
    """(index of the step, its difference), or None."""
    sequence = Run(ours, theirs)
    try:
        for n, (i, step) in enumerate(steps):
            trouble = sequence.step(i, step)
            if trouble:
                return n, trouble
    except FalseAlarm:
        ours.n_alarms += 1
    return None


# ---- shortening ------------------------------------------------------------------------

def shorten(ours, theirs, steps, seconds=60):
    """Drops what the difference does not need: runs of steps, then commands."""
    end = time.monotonic() + seconds

    def differs(some):
        found = run(ours, theirs, some)
        # a sequence that makes no sense any more leaves Redis silent
        return found if found and found[1][2] not in (("silent", b""), ("nothing", b"")) else None

    first = differs(steps)
    if not first:
        return steps, None
    steps = steps[:first[0] + 1]
    size = max(1, len(steps) // 2)
    while size and time.monotonic() < end:
        at = 0
        while at < len(steps) and time.monotonic() < end:
            fewer = steps[:at] + steps[at + size:]
            if fewer and differs(fewer):
                steps = fewer
            else:
                at += size
        size //= 2
    for at in range(len(steps) - 1, -1, -1):
        command = len(steps[at][1]) - 1
        while command >= 0 and len(steps[at][1]) > 1 and time.monotonic() < end:
            i, step = steps[at]
            fewer = steps[:at] + [(i, step[:command] + step[command + 1:])] + steps[at + 1:]
            if differs(fewer):
                steps = fewer
            command -= 1
    return steps, differs(steps)


def explain(seed, steps, found):
    def text(value):
        return repr(value) if len(repr(value)) < 600 else repr(value)[:600] + "..."

    lines = [f"a difference; --seed {seed} --sequences 1 repeats it; shortened:"]
    for i, step in steps:
        lines += [f"  connection {i}: " + " | ".join(
            " ".join(text(w)[1:] for w in command) for command in step)]
    command, a, b = found[1]
    lines += [f"  at {text(command)}", f"  rondo: {text(a)}", f"  redis: {text(b)}"]
    return "\n".join(lines)


# ---- times that run out ----------------------------------------------------------------

SHORT = [
    [b"SET", b"k", b"v", b"PX", b"40"], [b"SET", b"k", b"v"], [b"PEXPIRE", b"k", b"40"],
    [b"PSETEX", b"k", b"40", b"v"], [b"SET", b"k", b"v"], [b"GETEX", b"k", b"PX", b"40"],
    [b"SET", b"k", b"5", b"PX", b"40"], [b"INCR", b"k"],
    [b"SET", b"k", b"5", b"PX", b"40"], [b"APPEND", b"k", b"5"],
    [b"SET", b"k", b"5", b"PX", b"40"], [b"SET", b"k", b"6", b"KEEPTTL"],
    [b"SET", b"k", b"v", b"PXAT", b"1"], [b"GET", b"k"],
    [b"SET", b"k", b"v"], [b"GETEX", b"k", b"EXAT", b"1"], [b"GET", b"k"],
]
AFTER = [[b"GET", b"k"], [b"EXISTS", b"k"], [b"TYPE", b"k"], [b"TTL", b"k"], [b"STRLEN", b"k"],
         [b"KEYS", b"*"], [b"SCAN", b"0", b"COUNT", b"1000"], [b"DEL", b"k"], [b"DBSIZE"],
         [b"SET", b"k", b"new", b"XX"], [b"SET", b"k", b"new", b"NX", b"GET"], [b"GET", b"k"],
         [b"TTL", b"k"], [b"FLUSHALL"]]


def run_short(ours, theirs):
    """Keys that expire while one watches: what is said of them afterwards."""
    sequence = Run(ours, theirs)
    sets = [SHORT[0:1], SHORT[1:3], SHORT[3:4], SHORT[4:6], SHORT[6:8], SHORT[8:10], SHORT[10:12],
            SHORT[12:14], SHORT[14:17]]
    for before in sets:
        found = sequence.step(0, before)
        for side in (ours, theirs):
            until(lambda w=side.wires[0]: w.command("PTTL", "k") == (":", b"-2"), what="the end")
        found = found or sequence.step(0, AFTER)
        if found:
            return explain(0, [(0, before), (0, AFTER)], (0, found))
    return None


# ---- the servers -----------------------------------------------------------------------

def redis_server(directory):
    """A real redis-server on a Unix socket of its own."""
    path = os.path.join(directory, "redis.sock")
    process = subprocess.Popen(  # pylint: disable=consider-using-with
        ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no",
         "--dir", directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_up():
        try:
            with Connection(path) as c:
                return c.command("PING")
        except OSError:
            return process.poll() is not None
    until(is_up, what="redis-server")
    return process, path


def all_commands(side):
    """What the server has; each must be among those that can be made."""
    names = {name[1].decode().upper() for name in side.wires[0].command("COMMAND", "LIST")[1]}
    names = {n for n in names if not n.startswith("RONDO.")}
    made = {n.split("|")[0] for n in commands.COMMANDS} | commands.SPECIAL
    unmade = {n.split("|")[0] for n in names} - made
    if unmade:
        sys.exit(f"no command is ever made of: {sorted(unmade)}")
    return names


def compare(args, ours, theirs):
    """The text of the first difference, or None; and how many commands were run."""
    ours.reset()
    known = all_commands(ours)
    trouble, total, seed = run_short(ours, theirs), 0, args.seed
    while not trouble and total < args.commands and seed - args.seed < args.sequences:
        steps = commands.sequence(random.Random(seed), known, args.length)
        found = run(ours, theirs, steps)
        if found:
            fewer, again = shorten(ours, theirs, steps)
            trouble = explain(seed, fewer, again or found)
        if not trouble and ours.n_alarms > 2 + (seed - args.seed) // 20:
            trouble = f"{ours.n_alarms} times EXEC did nothing, though no watched key had changed"
        total += sum(len(step) for _, step in steps)
        seed += 1
    return trouble, total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rondo")
    parser.add_argument("--commands", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=sys.maxsize)
    parser.add_argument("--length", type=int, default=250)
    args = parser.parse_args()
    if not shutil.which("redis-server"):
        print("skipped: no redis-server")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        process, path = redis_server(directory)
        try:
            with Server(os.path.abspath(args.rondo)) as server:
                ours, theirs = Side(server.port), Side(path)
                trouble, total = compare(args, ours, theirs)
                ours.close()
                theirs.close()
        finally:
            process.terminate()
            process.wait(30)
    if trouble:
        sys.exit(trouble)
    print(f"{total} commands, the same replies")


if __name__ == "__main__":
    main()
