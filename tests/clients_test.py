#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real client libraries and programs against `rondo serve`.

usage: clients_test.py RONDO python            redis-py, redis-cli, redis-benchmark
       clients_test.py RONDO hiredis PROGRAM   the program of hiredis_client.c
       clients_test.py RONDO node DIRECTORY    node-redis and ioredis, installed there

Exit code 77 (skipped) if what a part needs is not there.
"""
import os
import shutil
import subprocess
import sys
import unittest

from rondo_server import Server, until

RONDO = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))

CONFIG = """
caches:
  quick:
    keys: "quick:{id}"
    source: {type: scripted, value: "{id}"}
  slow:
    keys: "slow:{id}"
    threads: 4
    source: {type: scripted, delay: 400ms, value: "{id} {count}"}
  hanging:
    keys: "hanging:{id}"
    threads: 4
    load_timeout: 1h
    wait: 1h
    source: {type: scripted, hang: always}
  broken:
    keys: "broken:{id}"
    source: {type: scripted, fail: always, error: "no such table"}
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def new_server():
    return Server(RONDO, CONFIG, ("--drain-timeout", "100ms"))


def restart(server):
    """Not stopped: killed, as a crash would."""
    server.kill()
    server.start()


def converse(server, command, **more):
    """Runs a client program, which may ask for a new server; its output if it fails."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more) as process:
        said = []
        try:
            for line in process.stdout:
                said.append(line)
                if line == "restart\n":
                    restart(server)
                    process.stdin.write("restarted\n")
                    process.stdin.flush()
        finally:
            if process.poll() is None:
                process.stdin.close()
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
        return None if process.wait() == 0 else "".join(said[-60:])


# ---- redis-py, redis-cli, redis-benchmark ----------------------------------------------

class Python(unittest.TestCase):
    def setUp(self):
        import redis  # pylint: disable=import-outside-toplevel
        self.redis = redis
        self.server = new_server()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__, None, None, None)
        self.client = self.connect(client_name="app")
        self.addCleanup(self.client.close)
        self.has_multi = "multi" in self.client.command()

    def connect(self, **options):
        return self.redis.Redis(port=self.server.port, **options)

    def test_strings(self):
        c = self.client
        self.assertEqual(c.client_getname(), "app")
        self.assertTrue(c.set("k", "v", ex=100))
        self.assertIsNone(c.set("k", "w", nx=True))
        self.assertEqual(c.set("k", "w", get=True), b"v")
        self.assertEqual(c.mget("k", "nothing", "quick:7"), [b"w", None, b"7"])
        self.assertEqual(c.incrbyfloat("f", 0.5), 0.5)
        self.assertTrue(c.pexpire("k", 100000))
        self.assertGreater(c.pttl("k"), 50000)
        self.assertEqual(c.getex("k", persist=True), b"w")
        self.assertEqual(c.ttl("k"), -1)
        self.assertEqual(c.delete("k", "nothing"), 1)
        self.assertEqual(c.info("server")["redis_version"], "7.0.15")
        self.assertEqual(c.config_get("databases"), {"databases": "16"})
        self.assertIn("get", c.command())
        self.assertEqual(c.client_list()[0]["name"], "app")

    def test_errors(self):
        c = self.client
        c.set("text", "abc")
        with self.assertRaisesRegex(self.redis.ResponseError, "not an integer"):
            c.incr("text")
        with self.assertRaisesRegex(self.redis.ResponseError, "unknown command 'NOSUCH'"):
            c.execute_command("NOSUCH", "a")
        with self.assertRaisesRegex(self.redis.ResponseError, "LOADERR broken no such table"):
            c.get("broken:1")
        self.assertEqual(c.get("text"), b"abc")

    def test_pipeline(self):
        p = self.client.pipeline(transaction=False)
        for i in range(1000):
            p.set(f"p:{i}", i).get(f"p:{i}")
        p.get("slow:pipe").incr("slow:pipe").get("p:999")
        replies = p.execute(raise_on_error=False)
        self.assertEqual(replies[:2000:2], [True] * 1000)
        self.assertEqual(replies[1:2000:2], [b"%d" % i for i in range(1000)])
        self.assertEqual(replies[2000], b"pipe 1")
        self.assertIsInstance(replies[2001], self.redis.ResponseError)
        self.assertEqual(replies[2002], b"999")

    def test_transaction(self):
        if not self.has_multi:
            return
        c = self.client
        with c.pipeline() as p:
            p.set("t", 1).incr("t").get("slow:t").get("t")
            self.assertEqual(p.execute(), [True, 2, b"t 1", b"2"])
        with c.pipeline() as p:
            p.watch("t")
            c.set("t", 9)
            p.multi()
            p.set("t", 3)
            with self.assertRaises(self.redis.WatchError):
                p.execute()
        self.assertEqual(c.get("t"), b"9")
        self.assertEqual(c.transaction(lambda p: (p.multi(), p.incr("t")), "t"), [10])

    def test_big_and_binary(self):
        value = bytes(range(256)) * 40960
        self.client.set("big", value)
        self.assertEqual(self.client.get("big"), value)
        self.client.set(bytes(range(256)), b"\0\r\n")
        self.assertEqual(self.client.get(bytes(range(256))), b"\0\r\n")

    def test_pub_sub(self):
        p = self.client.pubsub(ignore_subscribe_messages=False)
        p.subscribe("news")
        p.psubscribe("n*")
        kinds = [p.get_message(timeout=30)["type"] for _ in range(2)]
        self.assertEqual(kinds, ["subscribe", "psubscribe"])
        for i in range(100):
            self.assertEqual(self.client.publish("news", i), 2)
        heard = [p.get_message(timeout=30) for _ in range(200)]
        self.assertEqual([int(m["data"]) for m in heard if m["type"] == "message"],
                         list(range(100)))
        self.assertEqual([int(m["data"]) for m in heard if m["type"] == "pmessage"],
                         list(range(100)))
        p.unsubscribe()
        self.assertEqual(p.get_message(timeout=30)["type"], "unsubscribe")
        self.assertEqual(self.client.publish("news", "one is left"), 1)
        p.close()

    def test_scan_iterator(self):
        self.client.mset({f"scan:{i}": i for i in range(500)})
        self.client.mset({f"other:{i}": i for i in range(100)})
        found = set(self.client.scan_iter("scan:*", count=50))
        self.assertEqual(found, {b"scan:%d" % i for i in range(500)})

    def test_timeout_and_health(self):
        hasty = self.connect(socket_timeout=0.2, health_check_interval=1)
        with self.assertRaises(self.redis.TimeoutError):
            hasty.get("hanging:1")

        def is_back():
            try:
                return hasty.get("quick:hasty")
            except self.redis.TimeoutError:
                return None
        self.assertEqual(until(is_back, what="a new connection"), b"hasty")
        hasty.close()

    def test_restart(self):
        self.client.set("old", 1)
        restart(self.server)

        def is_back():
            try:
                return self.client.set("new", 1)
            except self.redis.ConnectionError:
                return False
        until(is_back, what="a new connection")
        self.assertIsNone(self.client.get("old"))
        self.assertEqual(self.client.client_getname(), "app")

    def program(self, *command, **more):
        return subprocess.run([command[0], "-p", str(self.server.port), *command[1:]],
                              capture_output=True, text=True, timeout=120, check=False, **more)

    def test_redis_cli(self):
        for proto in ("-2", "-3"):
            run = self.program("redis-cli", proto, input="SET cli 1\nINCR cli\nGET slow:cli\n"
                               "MGET cli nothing\nNOSUCH\nTTL cli\nSCAN 0 MATCH cli\n")
            self.assertEqual(run.stdout, "OK\n2\ncli 1\n2\n\n"
                             "ERR unknown command 'NOSUCH', with args beginning with: \n\n"
                             "-1\n0\ncli\n")
        self.client.mset({f"scan:{i}": i for i in range(100)})
        run = self.program("redis-cli", "--scan", "--pattern", "scan:*")
        self.assertEqual(len(set(run.stdout.split())), 100)
        run = self.program("redis-cli", "--pipe", input="SET piped 1\r\n" * 1000)
        self.assertIn("errors: 0, replies: 1000", run.stdout)
        run = self.program("redis-cli", "-x", "SET", "from-stdin", input="x" * 100000)
        self.assertEqual(self.client.strlen("from-stdin"), 100000)

    def test_redis_benchmark(self):
        for more in ([], ["-P", "16"], ["-P", "16", "-d", "10000"], ["--threads", "2"], ["-3"]):
            run = self.program("redis-benchmark", "-t", "ping,set,get,incr,mset", "-n", "5000",
                               "-c", "20", "-r", "1000", "--csv", *more)
            names = [line.split(",")[0].strip('"') for line in run.stdout.splitlines()[1:]]
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertLessEqual({"PING_INLINE", "SET", "GET", "INCR", "MSET (10 keys)"},
                                 set(names), run.stderr)
            self.assertNotIn("error", (run.stdout + run.stderr).lower())


def run_python():
    try:
        import redis  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        skip("no redis-py (Debian: python3-redis)")
    if not shutil.which("redis-cli") or not shutil.which("redis-benchmark"):
        skip("no redis-cli and redis-benchmark (Debian: redis-tools)")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])


# ---- hiredis ---------------------------------------------------------------------------

def run_hiredis(program):
    with new_server() as server:
        trouble = converse(server, [program, str(server.port)])
    if trouble:
        sys.exit(trouble)


# ---- node-redis, ioredis ---------------------------------------------------------------

def install(directory):
    """By the lock file, without the packages' scripts; nothing if it was done before."""
    if not shutil.which("node") or not shutil.which("npm"):
        skip("no node and npm (Debian: nodejs, npm)")
    major = subprocess.run(["node", "-p", "process.versions.node.split('.')[0]"],
                           capture_output=True, text=True, check=True).stdout
    if int(major) < 18:
        skip(f"node {major.strip()} is too old")
    os.makedirs(directory, exist_ok=True)
    done = os.path.join(directory, "node_modules", ".done")
    with open(os.path.join(HERE, "node", "package-lock.json"), encoding="utf-8") as f:
        lock = f.read()
    if os.path.exists(done):
        with open(done, encoding="utf-8") as f:
            if f.read() == lock:
                return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, "node", name), directory)
    run = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                          "--prefer-offline"],
                         cwd=directory, capture_output=True, text=True, timeout=200, check=False,
                         stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        skip("npm ci failed: " + (run.stderr.strip().splitlines() or ["no reason given"])[0])
    with open(done, "w", encoding="utf-8") as f:
        f.write(lock)


def run_node(directory):
    install(directory)
    env = dict(os.environ, NODE_PATH=os.path.join(os.path.abspath(directory), "node_modules"))
    for library in ("node_redis", "ioredis"):
        for protocol in ("2", "3"):
            with new_server() as server:
                trouble = converse(server, ["node", os.path.join(HERE, "node", library + ".js"),
                                            str(server.port), protocol], env=env)
            if trouble:
                sys.exit(f"{library}, RESP{protocol}:\n{trouble}")
            print(f"{library}, RESP{protocol}: passed")


def main():
    part = sys.argv[2]
    if part == "python":
        run_python()
    elif part == "hiredis":
        run_hiredis(sys.argv[3])
    else:
        run_node(sys.argv[3])


if __name__ == "__main__":
    main()
