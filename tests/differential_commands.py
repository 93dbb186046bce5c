# SPDX-License-Identifier: MIT
"""Random commands for differential_test.py: right ones, and all the ways to be wrong.

COMMANDS says for each command how to make its arguments; most are right, `spoil`
sees to the others.  Relative times are all different and far away, so that no
answer depends on the millisecond in which a command runs.
"""

KEYS = [b"a", b"b", b"c", b"d", b"key:1", b"key:2", b"", b"bin\0\r\n\xff", b"*", b"k[x]?\\",
        "ключ".encode(), b"sp ace", b"L" * 300]
INTEGERS = [b"0", b"1", b"-1", b"7", b"42", b"-17", b"9223372036854775807",
            b"-9223372036854775808", b"9223372036854775808", b"-9223372036854775809",
            b"18446744073709551616", b"1.5", b"1e3", b"x", b"", b" 1", b"1 ", b"01", b"-0", b"+1",
            b"--1", b"0x10", b"1\0", b"4294967296", b"2147483648"]
FLOATS = [b"0.5", b"-1.25", b"3", b"1e2", b"x", b"inf", b"-inf", b"nan", b"", b" 1", b"1 ",
          b"0.1", b"1e400", b"1e-400", b"5.0e3", b"-0", b"0x1p3", b"1.7976931348623157e308", b".5",
          b"5.", b"3.14159265358979323846", b"1e17", b"1e18", b"123456789012345678"]
VALUES = [b"", b"v", b"hello world", b"\0\xff\r\n", bytes(range(256)), b"10", b"-5", b"3.25",
          b"9223372036854775807", b"-9223372036854775808", b"012", b"1e2", b" 5", b"x" * 2000,
          b"44", b"$5\r\nhello\r\n"]
BIG = b"0123456789abcdef" * 8192
FOREVER = b"9223372036854775807"
BAD_TIMES = [b"0", b"-1", b"x", b"", b"1.5", FOREVER, b"-9223372036854775808",
             b"9223372036854775808"]
PATTERNS = [b"*", b"k*", b"[ab]", b"key:?", b"[^a]", b"[a-c]", b"\\*", b"*\\", b"[", b"[]", b"[a",
            b"", b"a**", b"?", b"nothing", b"k\\[x]?\\\\", b"a*b", "к*".encode(), b"[z-a]"]
CHANNELS = [b"news", b"chat", b"x y", b"bin\0\r\n", b"n"]
SECTIONS = [b"server", b"clients", b"memory", b"stats", b"replication", b"cpu", b"keyspace",
            b"all", b"default", b"everything", b"SERVER", b"nothing-like-it"]


class Maker:
    """Makes commands from one source of randomness."""

    def __init__(self, random, known):
        """`known`: the names that the server under test has."""
        self.random, self.n_times = random, 0
        self.table = [name for name in COMMANDS if name.split("|")[0] in known]
        self.inside = [n for n in self.table
                       if n not in NOT_INSIDE and not n.startswith("CLUSTER")]
        self.weights = [WEIGHTS.get(name, 1) for name in self.table]

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, p):
        return self.random.random() < p

    def key(self):
        return self.random.choice(KEYS[:4] if self.chance(0.6) else KEYS)

    def keys(self, most=4):
        return [self.key() for _ in range(self.random.randint(1, most))]

    def value(self):
        return BIG if self.chance(0.004) else self.random.choice(VALUES)

    def integer(self):
        return self.random.choice(INTEGERS)

    def delta(self):
        return self.random.choice(INTEGERS[:6] if self.chance(0.6) else INTEGERS)

    def _unique(self):
        self.n_times += 1
        return 1000 + (self.n_times * 7919) % 90000 * 10

    def seconds(self):
        if self.chance(0.15):
            return self.random.choice(BAD_TIMES)
        return b"%d" % self._unique()

    def milliseconds(self):
        if self.chance(0.15):
            return self.random.choice(BAD_TIMES)
        return b"%d" % (self._unique() * 1000)

    def at_seconds(self):
        if self.chance(0.2):
            return self.random.choice(BAD_TIMES)
        return self.pick(b"4102444800", b"4102444801", b"4200000000")

    def at_milliseconds(self):
        if self.chance(0.2):
            return self.random.choice([t for t in BAD_TIMES if t != FOREVER])
        return self.pick(b"4102444800000", b"4102444800001", b"4200000000000")

    def case(self, word):
        if self.chance(0.8):
            return word
        return self.pick(word.lower(), word.title())

    def expiry(self):
        """An option that says when: EX 10, PXAT ..., sometimes without its argument."""
        word, time = self.pick((b"EX", self.seconds()), (b"PX", self.milliseconds()),
                               (b"EXAT", self.at_seconds()), (b"PXAT", self.at_milliseconds()))
        return [self.case(word)] + ([] if self.chance(0.04) else [time])

    def options(self, *words):
        """Some of the words, an expiry perhaps: rightly combined or not."""
        out = self.expiry() if self.chance(0.4) else []
        for _ in range(self.pick(0, 0, 1, 1, 2)):
            out += [self.case(self.random.choice(words))]
        if self.chance(0.05):
            out += self.expiry()
        if self.chance(0.04):
            out.insert(self.random.randint(0, len(out)), self.pick(b"WHAT", b"", b"EX", b"5"))
        return out

    def conditions(self):
        return [self.case(self.pick(b"NX", b"XX", b"GT", b"LT"))
                for _ in range(self.pick(0, 0, 0, 1, 1, 2))]

    def scan(self):
        out = []
        if self.chance(0.5):
            out += [self.case(b"MATCH"), self.random.choice(PATTERNS)]
        if self.chance(0.2):
            out += [self.case(b"TYPE"), self.pick(b"string", b"STRING", b"hash", b"what")]
        count = self.pick(b"1000", b"1000", b"1000", b"0", b"-1", b"x", b"1")
        out += [self.case(b"COUNT"), count]
        if self.chance(0.05):
            out += [self.pick(b"WHAT", b"MATCH")]
        return [self.pick(b"0", b"0", b"0", b"0", b"x", b"")] + out

    def pairs(self):
        return [x for _ in range(self.random.randint(1, 3)) for x in (self.key(), self.value())]

    def spoil(self, args):
        """Now and then: too few, too many, something odd in between, other letters."""
        if self.chance(0.04):
            args = args[:self.random.randint(1, len(args))]
        if self.chance(0.03):
            args = args + [self.random.choice(VALUES)]
        if self.chance(0.02) and len(args) > 1:
            at = self.random.randint(1, len(args) - 1)
            args = args[:at] + [self.pick(b"", b"x", b"-1", b"\0", b"NX")] + args[at + 1:]
        if self.chance(0.1):
            args = [self.pick(args[0].lower(), args[0].title())] + args[1:]
        return args

    def command(self, names=None):
        """One command: of those named, or of all that make one reply each."""
        if names is None and self.chance(0.01):
            return self.unknown()
        name = (self.random.choice([n for n in names if n in self.table]) if names else
                self.random.choices(self.table, self.weights)[0])
        args = [w.encode() for w in name.split("|")] + COMMANDS[name](self)
        return args if name == "HELLO" else self.spoil(args)

    def unknown(self):
        name = self.pick(b"NOSUCH", b"GETT", b"", b"bad\r\nname", b"N" * 200, b"it's", b"\0\xff")
        args = [self.pick(b"a", b"two words", b"\r\n", b"x" * 130, b"\0\xff", b"")
                for _ in range(self.random.randint(0, 5))]
        return [name] + args


def nothing(_):
    return []


def key(m):
    return [m.key()]


def keys(m):
    return m.keys()


# "container|sub" stands for two words.  Those in SPECIAL are made by scenarios alone.
COMMANDS = {
    "GET": key,
    "SET": lambda m: [m.key(), m.value(), *m.options(b"NX", b"XX", b"KEEPTTL", b"GET")],
    "MGET": keys,
    "MSET": lambda m: m.pairs(),
    "MSETNX": lambda m: m.pairs(),
    "GETEX": lambda m: [m.key(), *m.options(b"PERSIST")],
    "GETDEL": key,
    "GETSET": lambda m: [m.key(), m.value()],
    "SETEX": lambda m: [m.key(), m.seconds(), m.value()],
    "PSETEX": lambda m: [m.key(), m.milliseconds(), m.value()],
    "SETNX": lambda m: [m.key(), m.value()],
    "APPEND": lambda m: [m.key(), m.value()],
    "STRLEN": key,
    "GETRANGE": lambda m: [m.key(), m.integer(), m.integer()],
    "SUBSTR": lambda m: [m.key(), m.integer(), m.integer()],
    "SETRANGE": lambda m: [m.key(), m.pick(b"0", b"3", b"20", b"5000", b"-1", b"x", b"536870912",
                                           b"1099511627776", b""), m.value()],
    "INCR": key,
    "DECR": key,
    "INCRBY": lambda m: [m.key(), m.delta()],
    "DECRBY": lambda m: [m.key(), m.delta()],
    "INCRBYFLOAT": lambda m: [m.key(), m.random.choice(FLOATS)],
    "DEL": keys,
    "UNLINK": keys,
    "EXISTS": keys,
    "TOUCH": keys,
    "TYPE": key,
    "EXPIRE": lambda m: [m.key(), m.seconds(), *m.conditions()],
    "PEXPIRE": lambda m: [m.key(), m.milliseconds(), *m.conditions()],
    "EXPIREAT": lambda m: [m.key(), m.pick(m.at_seconds(), m.at_seconds(), b"1"), *m.conditions()],
    "PEXPIREAT": lambda m: [m.key(), m.pick(m.at_milliseconds(), m.at_milliseconds(), b"1"),
                            *m.conditions()],
    "TTL": key,
    "PTTL": key,
    "EXPIRETIME": key,
    "PEXPIRETIME": key,
    "PERSIST": key,
    "RENAME": lambda m: [m.key(), m.key()],
    "RENAMENX": lambda m: [m.key(), m.key()],
    "COPY": lambda m: [m.key(), m.key(), *m.pick([], [b"REPLACE"], [b"DB", b"1"], [b"DB", b"99"],
                                                 [b"DB", b"x"], [b"DB", b"1", b"replace"])],
    "KEYS": lambda m: [m.random.choice(PATTERNS)],
    "SCAN": lambda m: m.scan(),
    "RANDOMKEY": nothing,
    "DBSIZE": nothing,
    "FLUSHDB": lambda m: m.pick([], [b"ASYNC"], [b"SYNC"], [b"what"]),
    "FLUSHALL": lambda m: m.pick([], [b"async"], [b"sync"], [b"what"]),
    "SELECT": lambda m: [m.pick(b"0", b"0", b"1", b"15", b"16", b"-1", b"x", b"")],
    "PING": lambda m: m.pick([], [m.value()]),
    "ECHO": lambda m: [m.value()],
    "TIME": nothing,
    "ROLE": nothing,
    "READONLY": nothing,
    "READWRITE": nothing,
    "WAIT": lambda m: m.pick([b"0", b"0"], [b"0", b"10"], [b"x", b"0"], [b"0", b"-1"]),
    "LOLWUT": nothing,
    "AUTH": lambda m: m.pick([b"pass"], [b"default", b"pass"], [b"nobody", b"pass"]),
    "HELLO": lambda m: m.pick([], [b"1"], [b"4"], [b"x"], [b"2"], [b"3"], [b"3", b"WHAT"],
                              [b"2", b"SETNAME", m.pick(b"me", b"a b", b"")],
                              [b"3", b"setname"], [b"3", b"AUTH", b"default"],
                              [b"3", b"AUTH", b"nobody", b"pass"]),
    "CLIENT|SETNAME": lambda m: [m.pick(b"me", b"a b", b"", b"x\ny", b"n" * 100, b"\xff")],
    "CLIENT|GETNAME": nothing,
    "CLIENT|ID": nothing,
    "CLIENT|INFO": nothing,
    "CLIENT|LIST": lambda m: m.pick([], [b"TYPE", b"normal"], [b"TYPE", b"what"], [b"ID", b"x"],
                                    [b"WHAT"]),
    "CLIENT|KILL": lambda m: m.pick([b"127.0.0.1:1"], [b"ID", b"99999999"], [b"ID", b"x"],
                                    [b"TYPE", b"what"], [b"WHAT", b"x"], [b"SKIPME", b"what"],
                                    [b"ADDR", b"127.0.0.1:1"], [b"ID", b"0"]),
    "CLIENT|NO-EVICT": lambda m: [m.pick(b"on", b"OFF", b"what")],
    "CLIENT|REPLY": lambda m: [m.pick(b"ON", b"what")],
    "CLIENT|HELP": nothing,
    "CLIENT|NOSUCH": lambda m: m.pick([], [m.value()]),
    "COMMAND": nothing,
    "COMMAND|COUNT": nothing,
    "COMMAND|LIST": lambda m: m.pick([], [b"FILTERBY", b"PATTERN", b"get"],
                                     [b"FILTERBY", b"MODULE", b"x"],
                                     [b"FILTERBY", b"WHAT", b"x"], [b"WHAT"]),
    "COMMAND|INFO": lambda m: [m.pick(b"get", b"SET", b"nosuch", b"mget", b"client|id", b"ping")
                               for _ in range(m.random.randint(1, 3))],
    "COMMAND|DOCS": lambda m: [m.pick(b"get", b"SET", b"nosuch", b"client|id")],
    "COMMAND|GETKEYS": lambda m: m.pick([b"GET", m.key()], [b"MSET", b"a", b"1", b"b", b"2"],
                                        [b"PING"], [b"NOSUCH", b"x"], [b"GET"],
                                        [b"MGET", b"x", b"y"], [b"set", b"k", b"v", b"EX", b"1"],
                                        [b"DEL", b"a", b"a"]),
    "COMMAND|NOSUCH": nothing,
    "INFO": lambda m: m.pick([], [m.random.choice(SECTIONS)], [b"server", b"memory"]),
    "CONFIG|GET": lambda m: m.pick([b"save"], [b"nothing-like-it"], [b"appendonly"],
                                   [b"databases"], [b"DATABASES"], [b"a", b"b"], [b"timeout"]),
    "CONFIG|SET": lambda m: m.pick([b"nosuch", b"1"], [b"databases", b"17"], [b"timeout", b"x"],
                                   [b"timeout", b"0"], [b"timeout", b"0", b"timeout", b"0"],
                                   [b"databases"], [b"timeout", b"-1"], [b"TIMEOUT", b"0"],
                                   [b"timeout", b"0", b"nosuch", b"1"]),
    "CONFIG|RESETSTAT": nothing,
    "CONFIG|NOSUCH": nothing,
    "SLOWLOG|GET": lambda m: m.pick([], [b"10"], [b"-1"], [b"x"], [b"-2"]),
    "SLOWLOG|LEN": nothing,
    "SLOWLOG|RESET": nothing,
    "SLOWLOG|NOSUCH": nothing,
    "LATENCY|LATEST": nothing,
    "LATENCY|HISTORY": lambda m: [b"command"],
    "LATENCY|RESET": nothing,
    "LATENCY|NOSUCH": nothing,
    "MEMORY|USAGE": lambda m: [m.key(), *m.pick([], [b"SAMPLES", b"5"], [b"SAMPLES", b"x"],
                                                [b"WHAT", b"5"])],
    "MEMORY|STATS": nothing,
    "MEMORY|NOSUCH": nothing,
    "OBJECT|ENCODING": key,
    "OBJECT|IDLETIME": key,
    "OBJECT|FREQ": key,
    "OBJECT|REFCOUNT": key,
    "OBJECT|NOSUCH": key,
    "MODULE|LIST": nothing,
    "MODULE|NOSUCH": nothing,
    "ACL|WHOAMI": nothing,
    "ACL|NOSUCH": nothing,
    "CLUSTER|INFO": nothing,
    "CLUSTER|NODES": nothing,
    "CLUSTER|SLOTS": nothing,
    "CLUSTER|NOSUCH": nothing,
    "PUBLISH": lambda m: [m.random.choice(CHANNELS), m.value()],
    "PUBSUB|CHANNELS": lambda m: m.pick([], [m.random.choice(PATTERNS)]),
    "PUBSUB|NUMSUB": lambda m: m.pick([], [b"news"], [b"news", b"", b"news"]),
    "PUBSUB|NUMPAT": nothing,
    "PUBSUB|NOSUCH": nothing,
    "UNWATCH": nothing,
    "DISCARD": nothing,
    "EXEC": nothing,
}
# Of blocks: what ends them, or would change what their replies are.
# And those that are refused inside, or queued by another rule (docs/differences.md).
NOT_INSIDE = {"EXEC", "DISCARD", "CLIENT|REPLY", "HELLO", "COMMAND", "DBSIZE", "FLUSHDB",
              "FLUSHALL", "INFO", "KEYS", "SCAN", "RANDOMKEY", "MEMORY|STATS"}
SPECIAL = {"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "QUIT", "RESET", "MULTI",
           "WATCH"}
STRINGS = ["GET", "SET", "INCR", "APPEND", "DEL", "MGET", "MSET", "TYPE", "EXPIRE", "GETDEL",
           "INCRBYFLOAT", "RENAME", "EXISTS", "PTTL", "ECHO"]
WEIGHTS = {"SET": 14, "GET": 6, "GETEX": 5, "EXPIRE": 5, "PEXPIRE": 4, "EXPIREAT": 5,
           "PEXPIREAT": 4, "PTTL": 3, "TTL": 2, "SETRANGE": 4, "GETRANGE": 4, "INCR": 3,
           "INCRBY": 4, "DECRBY": 4, "INCRBYFLOAT": 5, "APPEND": 3, "MSET": 3, "DEL": 2, "SCAN": 3,
           "KEYS": 3, "COPY": 4, "RENAME": 3, "FLUSHALL": 0.2, "FLUSHDB": 0.2, "COMMAND": 0.05,
           "HELLO": 0.5, "INFO": 0.5, "COMMAND|DOCS": 0.3, "CLIENT|REPLY": 0.3}


def multi(m):
    """Steps of a transaction on connection 0, with another's writes in between."""
    steps = []
    watched = m.keys(2)
    flush = m.chance(0.2)
    if flush:  # of keys that are there: see docs/differences.md
        steps.append((0, [[b"SELECT", b"0"]]))
        steps.append((1, [[b"SELECT", b"0"]] + [[b"SET", key, m.value()] for key in watched]))
    if m.chance(0.6):
        steps.append((0, [[b"WATCH", *watched] if flush else m.spoil([b"WATCH", *watched])]))
        if m.chance(0.3):
            steps.append((0, [m.command(["SET", "DEL", "GET"]), [b"SELECT", m.pick(b"0", b"1")]]))
    if m.chance(0.6):
        change = m.pick([b"SET", watched[0], m.value()], [b"DEL", watched[0]], [b"PERSIST", b"a"],
                        [b"GET", watched[0]], [b"EXPIRE", watched[0], b"1000"],
                        [b"EXPIREAT", watched[0], b"1"], [b"APPEND", watched[0], b""],
                        [b"GETEX", watched[0]], [b"TOUCH", watched[0]],
                        [b"SETRANGE", watched[0], b"0", b""], [b"COPY", b"a", watched[0]],
                        [b"RENAME", watched[0], b"b"], [b"SET", watched[0], b"x", b"XX"],
                        m.command(["SET", "DEL", "INCR", "MSET"]))
        steps.append((1, [m.pick([b"FLUSHALL"], [b"FLUSHDB"]) if flush else change]))
    inside = STRINGS if m.chance(0.5) else m.inside
    body = [[b"MULTI"]] + [m.command(inside) for _ in range(m.random.randint(0, 6))]
    if m.chance(0.1):
        body.insert(m.random.randint(1, len(body)),
                    m.pick([b"MULTI"], [b"WATCH", b"a"], [b"NOSUCH"], [b"GET"], [b"UNWATCH"],
                           [b"SUBSTR", b"a", b"x", b"y"], [b"SELECT", b"1"], [b"SELECT", b"77"]))
    body.append(m.pick([b"EXEC"], [b"EXEC"], [b"EXEC"], [b"DISCARD"], [b"RESET"]))
    if m.chance(0.3):
        at = m.random.randint(1, len(body) - 1)
        other = [m.command(["SET", "DEL", "INCR", "MSET"])]
        return steps + [(0, body[:at]), (1, other), (0, body[at:])]
    return steps + [(0, body)]


def listen(m):
    """Steps in which connection 1 listens and connection 0 publishes."""
    def some(kind):
        words = PATTERNS[:6] if kind.startswith(b"P") else CHANNELS
        return [kind, *(m.random.choice(words) for _ in range(m.random.randint(1, 3)))]

    def talk():
        return m.pick([b"PUBLISH", m.random.choice(CHANNELS), m.value()],
                      [b"PUBSUB", b"NUMPAT"], [b"PUBSUB", b"NUMSUB", b"news", b"chat"],
                      [b"PUBSUB", b"CHANNELS"], [b"PUBSUB", b"CHANNELS", b"n*"])

    def listener():
        return m.pick(some(b"SUBSCRIBE"), some(b"PSUBSCRIBE"), some(b"UNSUBSCRIBE"),
                      some(b"PUNSUBSCRIBE"), [b"UNSUBSCRIBE"], [b"PUNSUBSCRIBE"], [b"PING"],
                      [b"GET", b"a"], [b"ECHO", b"x"], [b"SUBSCRIBE"])

    steps = [(1, [some(b"SUBSCRIBE"), some(b"PSUBSCRIBE")])]
    for _ in range(m.random.randint(1, 3)):
        steps.append((0, [talk() for _ in range(m.random.randint(1, 4))]))
        steps.append((1, [listener() for _ in range(m.random.randint(1, 3))]))
    return steps + [(1, [m.pick([b"RESET"], [b"QUIT"])])]


def odd(m):
    """Steps whose commands answer nothing, or for the last time."""
    some = [c for c in (m.command(["GET", "SET", "PING"]) for _ in range(3)) if BIG not in c]
    return [(0, m.pick(some + [[b"QUIT"]] + some, some + [[b"QUIT", b"x"]],
                       [[b"CLIENT", b"REPLY", b"OFF"]] + some,
                       [[b"CLIENT", b"REPLY", b"SKIP"]] + some,
                       [[b"CLIENT", b"REPLY", b"SKIP"], [b"CLIENT", b"REPLY", b"OFF"]] + some,
                       [[b"RESET"], [b"PING"]], [[b"CLIENT", b"SETNAME", b"x"], [b"RESET"],
                                                 [b"CLIENT", b"GETNAME"]],
                       [[b"SELECT", b"3"], [b"RESET"], [b"DBSIZE"]], [[b"RESET", b"x"]]))]


def sequence(random, known, n):
    """Steps of about n commands: [(connection, [command, ...]), ...]."""
    m = Maker(random, known)
    steps = [(c, [m.pick([b"HELLO", b"3"], [b"HELLO", b"2"], [b"PING"])]) for c in (0, 1)]
    n_commands = 0
    while n_commands < n:
        kind = random.random()
        if kind < 0.06 and "MULTI" in known:
            more = multi(m)
        elif kind < 0.09:
            more = listen(m)
        elif kind < 0.11:
            more = odd(m)
        else:
            length = random.choice((1, 1, 1, 2, 5, 20, 60))
            more = [(int(random.random() < 0.2), [m.command() for _ in range(length)])]
        steps += more
        n_commands += sum(len(commands) for _, commands in more)
    return steps
