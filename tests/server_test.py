#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rondo serve` from outside: protocol, commands, read-through, real clients.

usage: server_test.py RONDO [unittest arguments]
"""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import unittest

from rondo_server import Closed, Connection, Server, ServerError, until

RONDO = os.path.abspath(sys.argv[1])

SCRIPTED = """
caches:
  quick:
    keys: "quick:{id}"
    source: {type: scripted, value: "{id} {count} {client}"}
  slow:
    keys: "slow:{id}"
    threads: 4
    source: {type: scripted, delay: 150ms, value: "{id} {count}"}
  hanging:
    keys: "hanging:{id}"
    threads: 4
    load_timeout: 1h
    wait: 1h
    source: {type: scripted, hang: always}
  empty:
    keys: "empty:{id}"
    source: {type: scripted, absent: always}
  broken:
    keys: "broken:{id}"
    source: {type: scripted, fail: always, error: "no such table"}
  locked:
    keys: "locked:{id}"
    writes: refuse
    source: {type: scripted, value: "{id}"}
"""


class Served(unittest.TestCase):
    config = SCRIPTED
    args = ("--drain-timeout", "100ms")

    @classmethod
    def setUpClass(cls):
        cls.server = Server(RONDO, cls.config, cls.args)
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.c = self.server.connect()

    def tearDown(self):
        self.c.close()

    def refused(self, text, *args):
        with self.assertRaises(ServerError) as caught:
            self.c.command(*args)
        self.assertEqual(str(caught.exception), text)


class Commands(Served):
    config = None

    def setUp(self):
        super().setUp()
        self.c.command("FLUSHALL")

    def test_strings(self):
        c = self.c
        self.assertEqual(c.command("SET", "k", "v"), "OK")
        self.assertEqual(c.command("get", "k"), b"v")
        self.assertIsNone(c.command("GET", "none"))
        self.assertEqual(c.command("STRLEN", "k"), 1)
        self.assertEqual(c.command("SETNX", "k", "w"), 0)
        self.assertEqual(c.command("SETNX", "n", "w"), 1)
        self.assertEqual(c.command("MSET", "a", "1", "b", "2"), "OK")
        self.assertEqual(c.command("MGET", "a", "none", "b", "a"), [b"1", None, b"2", b"1"])
        binary = bytes(range(256)) * 40
        c.command("SET", binary, binary)
        self.assertEqual(c.command("GET", binary), binary)
        c.command("SET", "r", "This is a string")
        for start, end, part in ((0, 3, b"This"), (-3, -1, b"ing"), (0, -1, b"This is a string"),
                                 (10, 100, b"string"), (5, 2, b""), (-1, -5, b"")):
            self.assertEqual(c.command("GETRANGE", "r", start, end), part)
        self.assertEqual(c.command("GETRANGE", "none", 0, -1), b"")

    def test_set_options(self):
        c = self.c
        self.assertIsNone(c.command("SET", "k", "v", "XX"))
        self.assertEqual(c.command("SET", "k", "v", "nx", "EX", "100"), "OK")
        self.assertIsNone(c.command("SET", "k", "w", "NX"))
        self.assertEqual(c.command("SET", "k", "w", "XX", "KEEPTTL"), "OK")
        self.assertEqual(c.command("GET", "k"), b"w")
        self.assertEqual(c.command("SETEX", "k", "10", "x"), "OK")
        self.assertEqual(c.command("PSETEX", "k", "10000", "x"), "OK")
        self.refused("ERR syntax error", "SET", "k", "v", "NX", "XX")
        self.refused("ERR syntax error", "SET", "k", "v", "EX", "1", "PX", "1")
        self.refused("ERR syntax error", "SET", "k", "v", "EX")
        self.refused("ERR syntax error", "SET", "k", "v", "KEEPTTL", "EX", "1")
        self.refused("ERR syntax error", "SET", "k", "v", "SOON")
        self.refused("ERR invalid expire time in 'set' command", "SET", "k", "v", "EX", "0")
        self.refused("ERR invalid expire time in 'setex' command", "SETEX", "k", "-1", "v")
        self.refused("ERR invalid expire time in 'set' command", "SET", "k", "v", "EX",
                     "9223372036854775807")
        self.refused("ERR value is not an integer or out of range", "SET", "k", "v", "PX", "1x")

    def test_a_value_expires(self):
        self.c.command("SET", "k", "v", "PX", "20")
        until(lambda: self.c.command("GET", "k") is None, what="expiry")
        self.c.command("SET", "k", "v", "EXAT", "1")
        until(lambda: self.c.command("EXISTS", "k") == 0, what="expiry")

    def test_keys(self):
        c = self.c
        c.command("MSET", "a", 1, "b", 2)
        self.assertEqual(c.command("EXISTS", "a", "b", "a", "x"), 3)
        self.assertEqual(c.command("TYPE", "a"), "string")
        self.assertEqual(c.command("TYPE", "x"), "none")
        self.assertEqual(c.command("DBSIZE"), 2)
        self.assertEqual(c.command("DEL", "a", "x"), 1)
        self.assertEqual(c.command("UNLINK", "b"), 1)
        self.assertEqual(c.command("DBSIZE"), 0)

    def test_updates(self):
        c = self.c
        self.assertEqual(c.command("INCR", "n"), 1)
        self.assertEqual(c.command("INCRBY", "n", "41"), 42)
        self.assertEqual(c.command("DECR", "n"), 41)
        self.assertEqual(c.command("DECRBY", "n", "-9"), 50)
        self.assertEqual(c.command("GET", "n"), b"50")
        self.assertEqual(c.command("INCRBYFLOAT", "n", "0.5"), b"50.5")
        self.assertEqual(c.command("INCRBYFLOAT", "n", "-50.5"), b"0")
        self.assertEqual(c.command("APPEND", "s", "Hello"), 5)
        self.assertEqual(c.command("APPEND", "s", " World"), 11)
        self.assertEqual(c.command("SETRANGE", "s", 6, "Redis"), 11)
        self.assertEqual(c.command("SETRANGE", "p", 5, "x"), 6)
        self.assertEqual(c.command("GET", "p"), b"\0\0\0\0\0x")
        self.assertEqual(c.command("SETRANGE", "none", 5, ""), 0)
        self.assertEqual(c.command("GETSET", "s", "new"), b"Hello Redis")
        self.assertIsNone(c.command("GETSET", "fresh", "1"))
        self.assertEqual(c.command("SET", "s", "newer", "GET"), b"new")
        self.assertEqual(c.command("SET", "s", "no", "NX", "GET"), b"newer")
        self.assertEqual(c.command("GETDEL", "s"), b"newer")
        self.assertIsNone(c.command("GETDEL", "s"))
        self.assertIsNone(c.command("SET", "s", "no", "XX", "GET"))
        self.assertEqual(c.command("EXISTS", "s"), 0)
        c.command("SET", "max", str(2**63 - 1))
        self.refused("ERR increment or decrement would overflow", "INCR", "max")
        c.command("SET", "text", "abc")
        self.refused("ERR value is not an integer or out of range", "INCR", "text")
        self.refused("ERR value is not an integer or out of range", "INCRBY", "n", "x")
        self.refused("ERR value is not a valid float", "INCRBYFLOAT", "text", "1")
        self.refused("ERR offset is out of range", "SETRANGE", "n", "-1", "x")
        self.refused("ERR string exceeds maximum allowed size (proto-max-bulk-len)", "SETRANGE",
                     "n", str(2**40), "x")

    def test_expiry(self):
        c = self.c
        c.command("SET", "k", "v")
        self.assertEqual(c.command("TTL", "k"), -1)
        self.assertEqual(c.command("TTL", "none"), -2)
        self.assertEqual(c.command("EXPIRE", "none", "10"), 0)
        self.assertEqual(c.command("EXPIRE", "k", "100", "XX"), 0)
        self.assertEqual(c.command("EXPIRE", "k", "100", "GT"), 0)
        self.assertEqual(c.command("EXPIRE", "k", "100", "NX"), 1)
        self.assertIn(c.command("TTL", "k"), (99, 100))
        self.assertEqual(c.command("EXPIRE", "k", "50", "GT"), 0)
        self.assertEqual(c.command("PEXPIRE", "k", "200000", "GT"), 1)
        self.assertEqual(c.command("EXPIRE", "k", "500", "LT"), 0)
        self.assertTrue(190000 < c.command("PTTL", "k") <= 200000)
        now = int(c.command("TIME")[0])
        self.assertTrue(abs(c.command("EXPIRETIME", "k") - now - 200) <= 2)
        self.assertTrue(abs(c.command("PEXPIRETIME", "k") - 1000 * (now + 200)) <= 2000)
        self.assertEqual(c.command("INCR", "n"), 1)
        self.assertEqual(c.command("EXPIREAT", "n", now + 1000), 1)
        c.command("INCR", "n")
        self.assertGreater(c.command("TTL", "n"), 900)
        self.assertEqual(c.command("PERSIST", "k"), 1)
        self.assertEqual(c.command("PERSIST", "k"), 0)
        self.assertEqual(c.command("GETEX", "k", "EX", "10"), b"v")
        self.assertIn(c.command("TTL", "k"), (9, 10))
        self.assertEqual(c.command("GETEX", "k", "PERSIST"), b"v")
        self.assertEqual(c.command("TTL", "k"), -1)
        self.assertEqual(c.command("EXPIRE", "k", "-1"), 1)
        self.assertEqual(c.command("EXISTS", "k"), 0)
        self.refused("ERR NX and XX, GT or LT options at the same time are not compatible",
                     "EXPIRE", "n", "1", "NX", "XX")
        self.refused("ERR GT and LT options at the same time are not compatible", "EXPIRE", "n",
                     "1", "GT", "LT")
        self.refused("ERR Unsupported option SOON", "EXPIRE", "n", "1", "SOON")
        self.refused("ERR invalid expire time in 'expire' command", "EXPIRE", "n",
                     "9223372036854775807")
        self.refused("ERR syntax error", "GETEX", "n", "SOON")

    def test_walks(self):
        c = self.c
        self.assertIsNone(c.command("RANDOMKEY"))
        keys = {b"key:%d" % i for i in range(3000)}
        c.pipeline(*(("SET", k, "v") for k in keys))
        self.assertEqual(set(c.command("KEYS", "*")), keys)
        self.assertEqual(len(c.command("KEYS", "key:29??")), 100)
        self.assertIn(c.command("RANDOMKEY"), keys)
        seen, cursor = [], b"0"
        while True:
            cursor, some = c.command("SCAN", cursor, "COUNT", "100")
            seen += some
            if cursor == b"0":
                break
        self.assertEqual(set(seen), keys)
        self.assertEqual(c.command("SCAN", "0", "COUNT", "100000", "TYPE", "list"), [b"0", []])
        found = c.command("SCAN", "0", "COUNT", "100000", "MATCH", "*:17")[1]
        self.assertEqual(found, [b"key:17"])
        self.refused("ERR invalid cursor", "SCAN", "x")
        self.refused("ERR syntax error", "SCAN", "0", "COUNT", "0")
        self.assertEqual(c.command("RONDO.INVALIDATE", "key:1*"), 1111)
        self.assertEqual(c.command("DBSIZE"), 3000 - 1111)

    def test_databases_are_apart(self):
        c = self.c
        c.command("SET", "k", "zero")
        self.assertEqual(c.command("SELECT", "15"), "OK")
        self.assertIsNone(c.command("GET", "k"))
        c.command("SET", "k", "fifteen")
        self.assertEqual(c.command("FLUSHDB"), "OK")
        c.command("SELECT", "0")
        self.assertEqual(c.command("GET", "k"), b"zero")
        self.refused("ERR DB index is out of range", "SELECT", "16")
        self.refused("ERR value is not an integer or out of range", "SELECT", "x")

    def test_texts_of_refusals(self):
        self.refused("ERR unknown command 'FOO', with args beginning with: 'a' 'b' ", "FOO", "a",
                     "b")
        self.refused("ERR unknown command 'foo', with args beginning with: ", "foo")
        self.refused("ERR wrong number of arguments for 'get' command", "GET")
        self.refused("ERR wrong number of arguments for 'mset' command", "MSET", "a", "1", "b")
        self.refused("ERR wrong number of arguments for 'client' command", "CLIENT")
        self.refused("ERR wrong number of arguments for 'client|setname' command", "CLIENT",
                     "SETNAME")
        self.refused("ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.", "CLIENT",
                     "MAINT_NOTIFICATIONS", "on")
        self.refused("ERR This instance has cluster support disabled", "CLUSTER", "NODES")

    def test_hello(self):
        flat = self.c.command("HELLO")
        self.assertEqual(flat[0::2], [b"server", b"version", b"proto", b"id", b"mode", b"role",
                                      b"modules"])
        self.assertEqual((flat[1], flat[5], flat[13]), (b"redis", 2, []))
        m = self.c.command("HELLO", "3", "SETNAME", "me")
        self.assertEqual(list(m), ["server", "version", "proto", "id", "mode", "role", "modules"])
        self.assertEqual((m["proto"], m["version"], m["role"]), (3, b"7.0.15", b"master"))
        self.assertIsNone(self.c.command("GET", "none"))
        self.assertEqual(self.c.command("CLIENT", "GETNAME"), b"me")
        self.refused("NOPROTO unsupported protocol version", "HELLO", "4")
        self.refused("ERR Protocol version is not an integer or out of range", "HELLO", "x")
        self.refused("ERR Syntax error in HELLO option 'WHAT'", "HELLO", "3", "WHAT")
        self.assertEqual(self.c.command("RESET"), "RESET")
        self.assertIsInstance(self.c.command("HELLO"), list)

    def test_client(self):
        c = self.c
        self.assertIsNone(c.command("CLIENT", "GETNAME"))
        self.assertEqual(c.command("CLIENT", "SETNAME", "tester"), "OK")
        self.assertEqual(c.command("CLIENT", "SETINFO", "lib-name", "mine"), "OK")
        self.refused("ERR Client names cannot contain spaces, newlines or special characters.",
                     "CLIENT", "SETNAME", "a b")
        number = c.command("CLIENT", "ID")
        line = c.command("CLIENT", "LIST", "ID", str(number)).decode()
        self.assertRegex(line, rf"\Aid={number} addr=127\.0\.0\.1:\d+ .*name=tester .*db=0 .*"
                               rf"cmd=client\|list .*lib-name=mine .*\n\Z")
        self.assertEqual(c.command("CLIENT", "NO-EVICT", "on"), "OK")
        self.assertIn("id=", c.command("CLIENT", "INFO").decode())
        with self.server.connect() as other:
            other_id = other.command("CLIENT", "ID")
            self.assertEqual(c.command("CLIENT", "KILL", "ID", other_id), 1)
            self.assertTrue(other.is_closed())
        self.assertEqual(c.command("CLIENT", "KILL", "ID", other_id), 0)

    def test_client_reply(self):
        c = self.c
        c.send("CLIENT", "REPLY", "SKIP")
        c.send("SET", "k", "v")
        self.assertEqual(c.command("GET", "k"), b"v")
        c.send("CLIENT", "REPLY", "OFF")
        c.send("GET", "k")
        c.send("NONSENSE")
        self.assertEqual(c.command("CLIENT", "REPLY", "ON"), "OK")
        self.assertEqual(c.command("GET", "k"), b"v")

    def test_command(self):
        c = self.c
        n = c.command("COMMAND", "COUNT")
        entries = c.command("COMMAND")
        self.assertEqual(len(entries), n)
        self.assertEqual({len(e) for e in entries}, {10})
        get = c.command("COMMAND", "INFO", "get", "nonsense")
        self.assertEqual(get[0][:2] + get[0][3:6], [b"get", 2, 1, 1, 1])
        self.assertIsNone(get[1])
        self.assertEqual(len(c.command("COMMAND", "DOCS")), 2 * n)
        self.assertEqual(sorted(c.command("COMMAND", "LIST")), sorted(e[0] for e in entries))
        self.assertEqual(c.command("COMMAND", "GETKEYS", "MSET", "a", 1, "b", 2), [b"a", b"b"])

    def test_config_and_info(self):
        c = self.c
        self.assertEqual(c.command("CONFIG", "GET", "save"), [b"save", b""])
        self.assertEqual(c.command("CONFIG", "GET", "no-such-setting"), [])
        self.assertEqual(len(c.command("CONFIG", "GET", "max*")), 6)
        info = self.server.info()
        for field in ("redis_version", "redis_mode", "os", "process_id", "run_id", "tcp_port",
                      "loading", "role", "connected_clients", "maxclients", "used_memory",
                      "maxmemory", "maxmemory_policy", "keyspace_hits", "keyspace_misses",
                      "expired_keys", "evicted_keys", "total_commands_processed",
                      "instantaneous_ops_per_sec"):
            self.assertIn(field, info)
        # The default is a share of the machine's memory: never 0, which means no limit.
        self.assertGreater(int(info["maxmemory"]), 0)
        self.assertEqual(c.command("CONFIG", "GET", "maxmemory"),
                         [b"maxmemory", info["maxmemory"].encode()])
        self.assertEqual(info["tcp_port"], str(self.server.port))
        self.assertEqual(info["process_id"], str(self.server.process.pid))
        c.command("SET", "k", "v")
        self.assertIn("db0", self.server.info("keyspace"))
        self.assertNotIn("redis_version", self.server.info("keyspace"))
        c.command("CONFIG", "RESETSTAT")
        self.assertLess(int(self.server.info("stats")["total_commands_processed"]), 5)

    def test_small_ones(self):
        c = self.c
        self.assertEqual(c.command("PING"), "PONG")
        self.assertEqual(c.command("PING", "hi"), b"hi")
        self.assertEqual(c.command("ECHO", b"\r\n\0"), b"\r\n\0")
        self.assertEqual(len(c.command("TIME")), 2)
        self.assertEqual(c.command("ROLE"), [b"master", 0, []])
        self.assertEqual(c.command("WAIT", 0, 0), 0)
        self.assertEqual(c.command("MODULE", "LIST"), [])
        self.assertEqual(c.command("ACL", "WHOAMI"), b"default")
        self.assertEqual(c.command("SLOWLOG", "GET", "10"), [])
        self.assertEqual(c.command("SLOWLOG", "LEN"), 0)
        self.assertEqual(c.command("LATENCY", "LATEST"), [])
        self.refused("ERR Unknown option or number of arguments for CONFIG SET - 'what'",
                     "CONFIG", "SET", "what", "1")
        self.refused("ERR CONFIG SET failed (possibly related to argument 'port') - can't set "
                     "immutable config", "CONFIG", "SET", "port", "1")
        c.send_raw(b"PING\r\n  echo \"a b\"\r\n\r\nping\r\n")
        self.assertEqual([c.read() for _ in range(3)], ["PONG", b"a b", "PONG"])
        self.refused("ERR AUTH <password> called without any password configured for the default "
                     "user. Are you sure your configuration is correct?", "AUTH", "x")

    def test_quit(self):
        self.c.send_raw(Connection.encode("SET", "k", "v") + Connection.encode("QUIT") +
                        Connection.encode("SET", "k", "never"))
        self.assertEqual([self.c.read(), self.c.read()], ["OK", "OK"])
        self.assertTrue(self.c.is_closed())
        with self.server.connect() as other:
            self.assertEqual(other.command("GET", "k"), b"v")

    def test_a_large_value_and_a_long_pipeline(self):
        big = os.urandom(8 << 20)
        self.c.command("SET", "big", big)
        self.assertEqual(self.c.command("GET", "big"), big)
        n = 20000
        writer = threading.Thread(target=self.c.send_raw,
                                  args=(Connection.encode("GET", "big2") * n,))
        self.c.command("SET", "big2", b"x" * 1000)
        writer.start()
        for _ in range(n):
            self.assertEqual(len(self.c.read()), 1000)
        writer.join()

    def test_cut_at_every_byte(self):
        request = (Connection.encode("SET", "cut", "value") + Connection.encode("GET", "cut"))
        for i in range(1, len(request)):
            self.c.send_raw(request[:i])
            self.c.send_raw(request[i:])
            self.assertEqual([self.c.read(), self.c.read()], ["OK", b"value"])


class ReadThrough(Served):
    def test_a_miss_loads_once_and_then_is_a_hit(self):
        before = self.server.stats("quick")
        self.c.command("CLIENT", "SETNAME", "cultist-3")
        self.assertEqual(self.c.command("GET", "quick:1"), b"1 1 cultist-3")
        self.assertEqual(self.c.command("GET", "quick:1"), b"1 1 cultist-3")
        after = self.server.stats("quick")
        self.assertEqual(after["loads"] - before["loads"], 1)
        self.assertEqual(after["hits"] - before["hits"], 1)
        self.c.command("DEL", "quick:1")
        self.assertEqual(self.c.command("GET", "quick:1"), b"1 2 cultist-3")

    def test_absent_and_failed(self):
        self.assertIsNone(self.c.command("GET", "empty:1"))
        self.refused("LOADERR broken no such table", "GET", "broken:1")
        self.refused("LOADERR broken no such table", "MGET", "quick:9", "broken:1")
        with self.assertRaises(ServerError) as caught:
            self.c.command("SET", "locked:1", "v")
        self.assertTrue(str(caught.exception).startswith("WRITEREFUSED locked"))
        self.assertEqual(self.c.command("GET", "locked:1"), b"1")

    def test_many_keys_of_several_caches(self):
        self.c.command("SET", "plain", "p")
        for i in range(20):
            keys = [f"quick:m{i}", "plain", f"slow:m{i}", f"empty:m{i}", f"quick:m{i}"]
            values = self.c.command("MGET", *keys)
            self.assertEqual(values[1:4], [b"p", f"m{i} 1".encode(), None])
            self.assertEqual(values[0], values[4])
            self.assertTrue(values[0].startswith(f"m{i} 1".encode()))

    def test_memory_alone(self):
        self.assertEqual(self.c.command("EXISTS", "quick:memory"), 0)
        self.assertEqual(self.c.command("TYPE", "quick:memory"), "none")
        self.assertEqual(self.c.command("STRLEN", "slow:len"), len("len 1"))
        self.assertEqual(self.c.command("EXISTS", "slow:len"), 1)
        # the load that the connection waits for comes first, as in a serial run
        self.assertEqual(self.c.pipeline(("GET", "slow:x"), ("EXISTS", "slow:x")), [b"x 1", 1])

    def test_updates_load_first(self):
        c = self.c
        self.assertEqual(c.command("APPEND", "slow:append", "!"), len("append 1!"))
        self.assertEqual(c.command("GETSET", "slow:getset", "mine"), b"getset 1")
        self.assertEqual(c.command("GETDEL", "slow:getdel"), b"getdel 1")
        self.assertEqual(c.command("SET", "slow:set", "mine", "GET"), b"set 1")
        self.assertEqual(c.command("GETEX", "slow:getex", "PERSIST"), b"getex 1")
        self.assertEqual(c.command("TTL", "slow:getex"), -1)
        self.assertEqual(c.command("GET", "slow:append"), b"append 1!")
        self.assertEqual(c.command("INCR", "empty:n"), 1)
        self.refused("LOADERR broken no such table", "INCR", "broken:n")

    def test_refresh_and_invalidate(self):
        first = self.c.command("GET", "quick:r")
        self.assertTrue(first.startswith(b"r 1"))
        self.assertEqual(self.c.command("RONDO.REFRESH", "quick:r"), "OK")
        until(lambda: self.c.command("GET", "quick:r").startswith(b"r 2"), what="the refresh")
        self.assertEqual(self.c.command("RONDO.INVALIDATE", "quick:r"), 1)
        self.assertEqual(self.c.command("RONDO.INVALIDATE", "quick:r"), 0)
        self.refused("ERR cache default has no source", "RONDO.REFRESH", "plain")

    def test_what_there_is(self):
        sources = self.c.command("RONDO.SOURCES")
        self.assertEqual(sources[0], [b"cache", b"quick", b"keys", b"quick:{id}", b"source",
                                      b"scripted", b"writes", b"memory"])
        self.c.command("HELLO", "3")
        stats = self.c.command("RONDO.STATS")
        self.assertEqual(sorted(stats), sorted(["default", "quick", "slow", "hanging", "empty",
                                                "broken", "locked"]))
        self.refused("ERR no such cache", "RONDO.STATS", "nobody")
        info = self.server.info("caches")
        self.assertIn("cache_quick_loads", info)

    def test_the_line_at_the_start(self):
        line = self.server.stdout()
        self.assertEqual(line.count("\n"), 1)
        self.assertRegex(line, rf"\Arondo \d+\.\d+\.\d+ listens on 127\.0\.0\.1:{self.server.port}"
                               r", \d+ workers?; caches: quick \(scripted, up to 16 threads\), "
                               r"slow \(scripted, 4 threads\), .*; source threads: at most 72\n")

    def test_a_pipeline_gives_the_answers_of_a_serial_run(self):
        for i in range(5):
            k = f"slow:p{i}"
            self.assertEqual(
                self.c.pipeline(("GET", k), ("SET", k, "1"), ("GET", k), ("GET", f"slow:q{i}"),
                                ("DEL", k), ("GET", k), ("PING",), ("GET", f"quick:p{i}")),
                [f"p{i} 1".encode(), "OK", b"1", f"q{i} 1".encode(), 1, f"p{i} 2".encode(),
                 "PONG", f"p{i} 1 somebody".encode()])

    def test_a_hanging_source_blocks_no_hit(self):
        c = self.c
        c.command("GET", "quick:hit")
        waiting = int(self.server.info("stats")["rondo_waiting_commands"])
        with self.server.connect() as stuck, self.server.connect() as other:
            for i in range(8):  # more than the cache has threads
                stuck.send("GET", f"hanging:{i}")
            until(lambda: int(self.server.info("stats")["rondo_waiting_commands"]) >= waiting + 8)
            for _ in range(200):
                self.assertEqual(other.command("GET", "quick:hit"), b"hit 1 somebody")
                self.assertTrue(c.command("GET", "quick:hit"))
            # On the same connection: run, though its reply waits for its turn.
            stuck.send("SET", "behind", "a miss")
            until(lambda: other.command("GET", "behind") == b"a miss")
            stuck.socket.settimeout(0.05)
            with self.assertRaises(TimeoutError):
                stuck.read()

    def test_two_hundred_clients_one_cold_key_one_load(self):
        before = self.server.stats("slow")
        with self.server.connections(200) as connections:
            for c in connections:
                c.send("GET", "slow:herd")
            self.assertEqual({c.read() for c in connections}, {b"herd 1"})
        after = self.server.stats("slow")
        self.assertEqual(after["loads"] - before["loads"], 1)
        total = sum(after[k] - before[k] for k in ("hits", "misses"))
        self.assertEqual(total, 200)


class PublishSubscribe(Served):
    config = None

    def test_channels_and_patterns(self):
        c = self.c
        with self.server.connect() as listener:
            self.assertEqual(listener.command("SUBSCRIBE", "news", "sport"),
                             [b"subscribe", b"news", 1])
            self.assertEqual(listener.read(), [b"subscribe", b"sport", 2])
            self.assertEqual(listener.command("PSUBSCRIBE", "n?ws"), [b"psubscribe", b"n?ws", 3])
            self.assertEqual(c.command("PUBLISH", "news", "hello"), 2)
            self.assertEqual(listener.read(), [b"message", b"news", b"hello"])
            self.assertEqual(listener.read(), [b"pmessage", b"n?ws", b"news", b"hello"])
            self.assertEqual(c.command("PUBLISH", "nobody", "hello"), 0)
            self.assertEqual(sorted(c.command("PUBSUB", "CHANNELS")), [b"news", b"sport"])
            self.assertEqual(c.command("PUBSUB", "CHANNELS", "s*"), [b"sport"])
            self.assertEqual(c.command("PUBSUB", "NUMSUB", "news", "x"), [b"news", 1, b"x", 0])
            self.assertEqual(c.command("PUBSUB", "NUMPAT"), 1)
            self.assertIn(b" sub=2 psub=1 ", c.command("CLIENT", "LIST"))
            # RESP2: only what has to do with listening
            self.assertEqual(listener.command("PING"), [b"pong", b""])
            self.assertEqual(listener.command("PING", "x"), [b"pong", b"x"])
            listener.send("GET", "k")
            self.assertEqual(str(listener.read()),
                             "ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
                             "PING / QUIT / RESET are allowed in this context")
            self.assertEqual(listener.command("UNSUBSCRIBE", "sport"),
                             [b"unsubscribe", b"sport", 2])
            self.assertEqual(listener.command("UNSUBSCRIBE"), [b"unsubscribe", b"news", 1])
            self.assertEqual(listener.command("UNSUBSCRIBE"), [b"unsubscribe", None, 1])
            self.assertEqual(listener.command("PUNSUBSCRIBE"), [b"punsubscribe", b"n?ws", 0])
            self.assertIsNone(listener.command("GET", "k"))
        self.assertEqual(c.command("PUBLISH", "news", "hello"), 0)

    def test_resp3_and_pipelines(self):
        c = self.c
        c.command("HELLO", "3")
        replies = c.pipeline(("SUBSCRIBE", "me"), ("SET", "k", "v"), ("PUBLISH", "me", "1"),
                             ("GET", "k")) + [c.read()]
        replies.remove([b"message", b"me", b"1"])  # a push, wherever it came
        self.assertEqual(replies, [[b"subscribe", b"me", 1], "OK", 1, b"v"])
        self.assertEqual(c.command("RESET"), "RESET")
        self.assertEqual(c.command("PUBLISH", "me", "2"), 0)
        # RESP2: what follows SUBSCRIBE in a pipeline is refused
        first, second = c.pipeline(("SUBSCRIBE", "me"), ("GET", "k"))
        self.assertEqual(first, [b"subscribe", b"me", 1])
        self.assertTrue(str(second).startswith("ERR Can't execute 'get'"))

    def test_who_leaves_is_forgotten(self):
        listener = self.server.connect()
        listener.command("SUBSCRIBE", "gone")
        listener.close()
        until(lambda: self.c.command("PUBSUB", "NUMSUB", "gone") == [b"gone", 0])

    def test_all_see_one_order(self):
        n, size = 400, 6
        with self.server.connections(size) as listeners, \
                self.server.connections(4) as publishers:
            for c in listeners:
                c.command("SUBSCRIBE", "order")
            threads = [threading.Thread(target=lambda c=c, i=i: [
                c.command("PUBLISH", "order", f"{i}-{k}") for k in range(n)])
                for i, c in enumerate(publishers)]
            for t in threads:
                t.start()
            seen = [[c.read()[2] for _ in range(4 * n)] for c in listeners]
            for t in threads:
                t.join()
        for one in seen:
            self.assertEqual(one, seen[0])
        for i in range(4):
            mine = [m for m in seen[0] if m.startswith(b"%d-" % i)]
            self.assertEqual(mine, [b"%d-%d" % (i, k) for k in range(n)])


class Sqlite(unittest.TestCase):
    def setUp(self):
        self.server = Server(RONDO, args=())
        path = self.server.path("users.db")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
        db.executemany("INSERT INTO users VALUES (?, ?)", [(i, f"user {i}") for i in range(1000)])
        db.commit()
        db.close()

    def test_a_real_database_without_a_file(self):
        self.server.args = ["user:{id}", "sqlite:users.db",
                            "SELECT name FROM users WHERE id = {id}"]
        with self.server as server, server.connect() as c:
            self.assertEqual(c.command("GET", "user:42"), b"user 42")
            self.assertIsNone(c.command("GET", "user:4242"))
            self.assertEqual(c.command("MGET", "user:1", "user:2", "x"), [b"user 1", b"user 2",
                                                                          None])
            self.assertEqual(server.stats("user")["loads_ok"], 3)


class RealClients(Served):
    def redis(self, program, *args):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")
        r = subprocess.run([program, "-h", "127.0.0.1", "-p", str(self.server.port), *args],
                           capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(r.returncode, 0, r)
        self.assertEqual(r.stderr, "")
        return r.stdout

    def test_redis_cli(self):
        for proto in ("-2", "-3"):
            self.assertEqual(self.redis("redis-cli", proto, "SET", "cli", "v"), "OK\n")
            self.assertEqual(self.redis("redis-cli", proto, "GET", "cli"), "v\n")
            self.assertEqual(self.redis("redis-cli", proto, "GET", "slow:cli"), "cli 1\n")
            self.assertEqual(self.redis("redis-cli", proto, "GET", "empty:cli"), "\n")
            self.assertIn("ERR unknown command", self.redis("redis-cli", proto, "NONSENSE"))
            self.assertIn("redis_version:", self.redis("redis-cli", proto, "INFO"))

    def test_redis_benchmark(self):
        for more in ((), ("-P", "16"), ("-3", "-P", "16")):
            out = self.redis("redis-benchmark", "-t", "get,set", "-n", "10000", "-q", *more)
            self.assertEqual(len(re.findall(r"requests per second", out)), 2, out)
            self.assertNotIn("rror", out)
        out = self.redis("redis-benchmark", "-c", "200", "-n", "2000", "-q", "GET", "slow:bench")
        self.assertIn("requests per second", out)

    def test_redis_py(self):
        try:
            import redis  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("python3-redis is not installed")
        r = redis.Redis(port=self.server.port, client_name="py")
        self.assertTrue(r.set("py", b"\0v"))
        self.assertEqual(r.get("py"), b"\0v")
        self.assertEqual(r.mget("py", "none"), [b"\0v", None])
        with r.pipeline(transaction=False) as p:
            p.set("a", 1).get("a").delete("a").get("a")
            self.assertEqual(p.execute(), [True, b"1", 1, None])
        self.assertEqual(r.client_getname(), "py")
        self.assertEqual(r.info()["redis_mode"], "standalone")
        r.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
