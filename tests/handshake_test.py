#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What client libraries send when they connect, byte for byte, and the types of the
replies that let them go on.

Each handshake is sent as the library does (a burst in one write), and again one byte
a write.  Of the expected words "$", ":" and the like stand for any value of that
type; a longer word stands for itself; "%7", "*2" count pairs or elements, "%..." leaves them open.

usage: handshake_test.py RONDO
"""
import os
import sys
import unittest

from rondo_server import Connection, Server

RONDO = os.path.abspath(sys.argv.pop(1))

HELLO_3 = ["%7", "$server", "$redis", "$version", "$7.0.15", "$proto", ":3", "$id", ":",
           "$mode", "$standalone", "$role", "$master", "$modules", "*0"]
HELLO_2 = ["*14", *HELLO_3[1:6], ":2", *HELLO_3[7:]]
OK = ["+OK"]
NO_MAINT = ["-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."]

# library: [(what it sends in one go, the replies to it), ...]
HANDSHAKES = {
    "redis-cli -3": [
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", [HELLO_3]),
        (b"*2\r\n$4\r\ninfo\r\n$6\r\nserver\r\n", [["="]]),
        (b"*2\r\n$7\r\nCOMMAND\r\n$4\r\nDOCS\r\n", [["%..."]]),
    ],
    "redis-cli, RESP2": [
        (b"*2\r\n$4\r\nINFO\r\n$6\r\nSERVER\r\n", [["$"]]),
        (b"*2\r\n$7\r\nCOMMAND\r\n$4\r\nDOCS\r\n", [["*..."]]),
        (b"*1\r\n$7\r\nCOMMAND\r\n", [["*..."]]),
    ],
    "redis-benchmark": [
        (b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$4\r\nsave\r\n"
         b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$10\r\nappendonly\r\n",
         [["*2", "$save", "$"], ["*2", "$appendonly", "$no"]]),
    ],
    "redis-py 8": [
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", [HELLO_3]),
        (b"*4\r\n$6\r\nCLIENT\r\n$19\r\nMAINT_NOTIFICATIONS\r\n$2\r\nON\r\n"
         b"$20\r\nmoving-endpoint-type\r\n", [NO_MAINT]),
        (b"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$3\r\napp\r\n", [OK]),
        (b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$8\r\nredis-py\r\n", [OK]),
        (b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nLIB-VER\r\n$5\r\n8.1.0\r\n", [OK]),
        (b"*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n", [OK]),
        (b"*1\r\n$4\r\nPING\r\n", [["+PONG"]]),
    ],
    "node-redis 6": [
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
         b"*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n"
         b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nLIB-VER\r\n$5\r\n6.3.1\r\n"
         b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$10\r\nnode-redis\r\n"
         b"*5\r\n$6\r\nCLIENT\r\n$19\r\nMAINT_NOTIFICATIONS\r\n$2\r\nON\r\n"
         b"$20\r\nmoving-endpoint-type\r\n$4\r\nnone\r\n",
         [HELLO_3, OK, OK, OK, NO_MAINT]),
    ],
    "ioredis 6": [
        (b"*2\r\n$5\r\nhello\r\n$1\r\n3\r\n"
         b"*2\r\n$6\r\nselect\r\n$1\r\n3\r\n"
         b"*3\r\n$6\r\nclient\r\n$7\r\nsetname\r\n$3\r\napp\r\n"
         b"*4\r\n$6\r\nclient\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$7\r\nioredis\r\n"
         b"*4\r\n$6\r\nclient\r\n$7\r\nSETINFO\r\n$7\r\nLIB-VER\r\n$5\r\n6.0.0\r\n"
         b"*1\r\n$4\r\ninfo\r\n", [HELLO_3, OK, OK, OK, OK, ["=loading:0"]]),
    ],
    "go-redis 9": [
        (b"*2\r\n$5\r\nhello\r\n$1\r\n3\r\n", [HELLO_3]),
        (b"*2\r\n$6\r\nselect\r\n$1\r\n1\r\n"
         b"*3\r\n$6\r\nclient\r\n$7\r\nsetname\r\n$3\r\napp\r\n", [OK, OK]),
        (b"*5\r\n$6\r\nclient\r\n$19\r\nmaint_notifications\r\n$2\r\non\r\n"
         b"$20\r\nmoving-endpoint-type\r\n$11\r\ninternal-ip\r\n",
         [["-ERR unknown subcommand 'maint_notifications'. Try CLIENT HELP."]]),
        (b"*4\r\n$6\r\nclient\r\n$7\r\nsetinfo\r\n$8\r\nLIB-NAME\r\n$17\r\ngo-redis(,go1.24)\r\n"
         b"*4\r\n$6\r\nclient\r\n$7\r\nsetinfo\r\n$7\r\nLIB-VER\r\n$5\r\n9.9.0\r\n", [OK, OK]),
    ],
    "lettuce 7": [
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", [HELLO_3]),
        (b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nlib-name\r\n$7\r\nLettuce\r\n"
         b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nlib-ver\r\n$5\r\n7.0.0\r\n", [OK, OK]),
        (b"*1\r\n$4\r\nPING\r\n", [["+PONG"]]),
    ],
    "jedis 8": [
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", [HELLO_3]),
        (b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nlib-name\r\n$5\r\njedis\r\n"
         b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nlib-ver\r\n$5\r\n8.0.2\r\n", [OK, OK]),
    ],
    "StackExchange.Redis": [
        (b"*4\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n$3\r\nweb\r\n"
         b"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$3\r\nweb\r\n"
         b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nlib-name\r\n$8\r\nSE.Redis\r\n"
         b"*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$7\r\nlib-ver\r\n$5\r\n2.8.0\r\n"
         b"*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n"
         b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$7\r\ntimeout\r\n"
         b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$17\r\nreplica-read-only\r\n"
         b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$9\r\ndatabases\r\n"
         b"*2\r\n$8\r\nSENTINEL\r\n$7\r\nMASTERS\r\n"
         b"*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n"
         b"*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n"
         b"*6\r\n$3\r\nSET\r\n$36\r\n0c4d0f1e-9c2b-4f0a-8d3e-1b2a3c4d5e6f\r\n$1\r\nx\r\n"
         b"$2\r\nPX\r\n$1\r\n1\r\n$2\r\nNX\r\n"
         b"*2\r\n$7\r\nCLUSTER\r\n$5\r\nNODES\r\n"
         b"*2\r\n$4\r\nECHO\r\n$16\r\n"
         b"\x00\xff\r\n\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\r\n",
         [HELLO_3, OK, OK, OK, [":"], ["%1", "$timeout", "$"], ["%1", "$replica-read-only", "$yes"],
          ["%1", "$databases", "$16"],
          ["-ERR unknown command 'SENTINEL', with args beginning with: 'MASTERS' "],
          ["=role:master"], ["=redis_version:7.0.15"], OK,
          ["-ERR This instance has cluster support disabled"],
          ["$\x00\xff\r\n\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"]]),
        (b"*2\r\n$9\r\nSUBSCRIBE\r\n$26\r\n__Booksleeve_MasterChanged\r\n",
         [[">3", "$subscribe", "$__Booksleeve_MasterChanged", ":1"]]),
    ],
    "older: HELLO without a version, then RESP2": [
        (b"*1\r\n$5\r\nHELLO\r\n", [HELLO_2]),
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n", [HELLO_2]),
    ],
    "newer: a protocol that does not exist": [
        (b"*2\r\n$5\r\nHELLO\r\n$1\r\n4\r\n", [["-NOPROTO unsupported protocol version"]]),
        (b"PING\r\n", [["+PONG"]]),
    ],
    "with a password that nobody set": [
        (b"*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$4\r\npass\r\n", [OK]),
        (b"*2\r\n$4\r\nAUTH\r\n$4\r\npass\r\n",
         [["-ERR AUTH <password> called without any password configured for the default user. "
           "Are you sure your configuration is correct?"]]),
        (b"*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$4\r\npass\r\n",
         [HELLO_3]),
    ],
}


# What clients of newer servers send too: Redis 7.0.15 does not know it, so there is
# nothing to compare it with but what those servers say. Each with its whole reply.
NEWER = [
    ([b"CLIENT", b"SETINFO", b"LIB-NAME", b"a b"],
     b"-ERR lib-name cannot contain spaces, newlines or special characters.\r\n"),
    ([b"CLIENT", b"SETINFO", b"lib-ver", b"1.0\n"],
     b"-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n"),
    ([b"CLIENT", b"SETINFO", b"LIB-VER", b""], b"+OK\r\n"),
    ([b"CLIENT", b"SETINFO", b"LIB-WHAT", b"x"], b"-ERR Unrecognized option 'LIB-WHAT'\r\n"),
    ([b"CLIENT", b"SETINFO", b"LIB-NAME"],
     b"-ERR wrong number of arguments for 'client|setinfo' command\r\n"),
    ([b"CLIENT", b"NO-TOUCH", b"ON"], b"+OK\r\n"),
    ([b"client", b"no-touch", b"off"], b"+OK\r\n"),
    ([b"CLIENT", b"NO-TOUCH", b"what"], b"-ERR syntax error\r\n"),
    ([b"CLIENT", b"NO-TOUCH"], b"-ERR wrong number of arguments for 'client|no-touch' command\r\n"),
    ([b"CLIENT", b"TRACKING", b"ON"], b"-ERR unknown subcommand 'TRACKING'. Try CLIENT HELP.\r\n"),
    ([b"HGET", b"h", b"f"],
     b"-ERR unknown command 'HGET', with args beginning with: 'h' 'f' \r\n"),
    ([b"EVAL", b"return 1", b"0"],
     b"-ERR unknown command 'EVAL', with args beginning with: 'return 1' '0' \r\n"),
    ([b"LPUSH"], b"-ERR unknown command 'LPUSH', with args beginning with: \r\n"),
]


class Flat(Connection):
    """Reads replies as the words of HANDSHAKES: (type and text) of each element."""

    def words(self):
        line = self._line().decode("latin-1")
        if line[0] in "$=" and line[1:] != "-1":
            return [line[0] + self._exactly(int(line[1:])).decode("latin-1")]
        if line[0] not in "*%~>" or line[1:] == "-1":
            return [line]
        n = int(line[1:]) * (2 if line[0] == "%" else 1)
        return [line] + [w for _ in range(n) for w in self.words()]


def is_match(expected, words):
    if expected[0] in ("%...", "*..."):
        return words[0][0] == expected[0][0]
    return len(expected) == len(words) and all(
        want in (word, word[0]) or (want[0] == word[0] == "=" and want[1:] in word)
        for want, word in zip(expected, words))


class Handshakes(unittest.TestCase):
    def setUp(self):
        self.server = Server(RONDO)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__, None, None, None)

    def shake(self, name, send):
        with Flat(self.server.port) as c:
            for request, expected in HANDSHAKES[name]:
                send(c, request)
                for n, words in enumerate(expected):
                    got = c.words()
                    self.assertTrue(is_match(words, got), f"{name}, reply {n}: {got}, not {words}")

    def test_in_one_write(self):
        for name in HANDSHAKES:
            with self.subTest(name):
                self.shake(name, lambda c, request: c.send_raw(request))

    def test_byte_by_byte(self):
        def send(c, request):
            for i in range(len(request)):
                c.send_raw(request[i:i + 1])
        for name in HANDSHAKES:
            with self.subTest(name):
                with self.server.connect() as c:
                    c.command("FLUSHALL")
                self.shake(name, send)

    def test_newer_commands(self):
        for command, reply in NEWER:
            with self.subTest(command=command), self.server.connect() as c:
                c.send_raw(c.encode(*command) + c.encode("PING"))
                got = b""
                while not got.endswith(b"+PONG\r\n"):
                    got += c.socket.recv(1000)
                self.assertEqual(got, reply + b"+PONG\r\n")

    def test_all_at_once(self):
        """A hundred clients of every kind, interleaved."""
        for _ in range(100):
            for name in HANDSHAKES:
                if "Stack" not in name:  # its probe is there once a millisecond
                    self.shake(name, lambda c, request: c.send_raw(request))


if __name__ == "__main__":
    unittest.main()
