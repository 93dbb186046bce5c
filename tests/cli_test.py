#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program from outside: what `rondo` prints, and how it ends.

usage: cli_test.py RONDO [unittest arguments]
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from rondo_server import Server

RONDO = os.path.abspath(sys.argv[1])
TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(*args, **options):
    return subprocess.run([RONDO, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=240, check=False, **options)


class Case(unittest.TestCase):
    def usage_error(self, *args, says):
        r = run(*args)
        self.assertEqual(r.returncode, 2, r)
        self.assertEqual(r.stdout, "")
        self.assertIn(says, r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)


class Program(Case):
    def test_version_names_the_sources(self):
        r = run("--version")
        self.assertEqual(r.returncode, 0)
        self.assertRegex(r.stdout, r"\Arondo \d+\.\d+\.\d+\nsources:\n")
        self.assertRegex(r.stdout, r"(?m)^ *scripted +built in$")

    def test_help(self):
        r = run("--help")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        for word in re.findall(r"(?m)^  ([a-z]+) ", r.stdout.split("commands:\n")[1].split("\n\n")[0]):
            h = run(word, "--help")
            self.assertEqual((h.returncode, h.stderr), (0, ""), word)
            self.assertIn(f"usage: rondo {word}", h.stdout)
            self.assertIn("examples:", h.stdout, word)

    def test_unknown_command(self):
        r = run("sing")
        self.assertEqual((r.returncode, r.stdout), (2, ""))
        self.assertTrue(r.stderr.startswith("rondo: unknown command 'sing'\n"))
        self.assertEqual(run().returncode, 2)

    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            r = subprocess.run([RONDO, "ring", "-r", "1", "--quiet"], stdout=full,
                               stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(r.returncode, 1)
        self.assertEqual(r.stderr, "rondo: cannot write the output\n")


class Ring(Case):
    def test_lines_of_the_article(self):
        r = run("ring", "--nodes", "4", "--rounds", "20000", "--threads", "1")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        lines = r.stdout.splitlines()
        expected = [r"constructing nodes", r"Took \d+ms to construct 4 nodes",
                    r"connecting nodes", r"\d{13} 0: Starting messages",
                    r"\d{13} 0: Around ring 10000 times", r"\d{13} 0: Around ring 20000 times"]
        for line, pattern in zip(lines, expected):
            self.assertRegex(line, rf"\A{pattern}\Z")
        rest = lines[len(expected):-1]
        self.assertEqual(sorted(l.split(" ", 1)[1] for l in rest if "Stopping" in l),
                         ["1: Stopping", "2: Stopping", "3: Stopping"])
        timer = [l for l in rest if l.startswith("Start=")]
        self.assertEqual(len(timer), 1)
        start, stop, elapsed = map(int, re.fullmatch(
            r"Start=(\d+) Stop=(\d+) Elapsed=(\d+)", timer[0]).groups())
        self.assertEqual(stop - start, elapsed)
        self.assertEqual(len(rest), 4)
        self.assertRegex(lines[-1], r"\A80000 messages in .* 1 worker .*1 dropped as expected")

    def test_json(self):
        for threads in ("auto", "0", "1", "3"):
            r = run("ring", "--json", "--nodes", "30", "--rounds", "200", "--tokens", "7",
                    "--threads", threads)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            j = json.loads(r.stdout)
            self.assertEqual(r.stdout.count("\n"), 1)
            self.assertEqual((j["nodes"], j["rounds"], j["tokens"]), (30, 200, 7))
            self.assertEqual(j["messages"], 30 * 200 * 7)
            self.assertEqual(j["dropped"], 1)
            if threads.isdigit():
                self.assertEqual(j["threads"], max(1, int(threads)))
            for key in ("construct_ms", "elapsed_ms", "ns_per_message"):
                self.assertGreater(j[key], 0)

    def test_one_node_and_thread_per_node(self):
        r = run("ring", "--json", "--nodes", "1", "--rounds", "1000")
        self.assertEqual(json.loads(r.stdout)["messages"], 1000)
        r = run("ring", "--json", "--nodes", "5", "--rounds", "100", "--thread-per-node")
        j = json.loads(r.stdout)
        self.assertEqual((j["messages"], j["threads"], j["design"]), (500, 5, "thread-per-node"))

    def test_spread(self):
        j = json.loads(run("ring", "--json", "--spread", "--threads", "2", "-r", "50").stdout)
        self.assertEqual((j["messages"], j["threads"]), (5000, 2))

    def test_compare(self):
        r = run("ring", "--compare", "--rounds", "300", "--nodes", "10", "--json")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        rows = json.loads(r.stdout)
        self.assertEqual([(x["article_construct_ms"], x["article_elapsed_ms"]) for x in rows],
                         [(15, 270104), (11, 493073), (6, 84727), (5, 62593), (5, 60660)])
        self.assertNotIn("elapsed_ms", rows[0])
        self.assertTrue(all(x["elapsed_ms"] > 0 for x in rows[1:]))
        self.assertEqual([x["extrapolated"] for x in rows[1:]], [False] * 4)
        r = run("ring", "--compare", "--rounds", "100000", "--budget", "1ms")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^a thread per node .*extrapolated from \d+ rounds$")

    def test_quiet(self):
        r = run("ring", "--quiet", "--rounds", "10")
        self.assertEqual(r.stdout.count("\n"), 1)
        self.assertTrue(r.stdout.startswith("1000 messages in "))

    def test_mistakes(self):
        self.usage_error("ring", "--nodes", "0", says="--nodes 0: a whole number from 1")
        self.usage_error("ring", "--rounds", "0", says="--rounds 0: a whole number from 1")
        self.usage_error("ring", "--threads", "-1", says="--threads -1: auto, 0 or a number")
        self.usage_error("ring", "--nodes", "3", "--tokens", "4", says="--tokens 4: at most one a")
        self.usage_error("ring", "--nodes", says="--nodes: a value is wanted")
        self.usage_error("ring", "--fast", says="unknown option --fast")
        self.usage_error("ring", "100", says="unexpected argument '100'")
        self.usage_error("ring", "--thread-per-node", "--threads", "2", says="exclude each other")
        self.usage_error("ring", "--compare", "--threads", "2", says="--compare chooses")
        self.usage_error("ring", "--full", says="go with --compare")
        self.usage_error("ring", "--budget", "5s", says="go with --compare")
        self.usage_error("ring", "--spread", "--thread-per-node", says="exclude each other")
        self.usage_error("ring", "--nodes", "100000000", "--rounds", "9223372036854775807",
                         says="more than 2^64")


class Ritual(Case):
    def ritual(self, *args):
        r = run("ritual", "--json", "--delay", "100ms", *args)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        return json.loads(r.stdout)

    def test_one_load_a_key(self):
        for threads in ("0", "1", "2", "10", "auto"):
            j = self.ritual("--threads", threads)
            self.assertEqual((j["callers"], j["loads"], j["answers"]), (10, 2, 10), threads)
            self.assertEqual(j["misses"] - j["joined"], 2)
            self.assertEqual(j["hits"] + j["misses"], 10)
        self.assertEqual(self.ritual("--threads", "0")["threads"], 0)
        self.assertEqual(self.ritual("--threads", "10")["threads"], 10)

    def test_every_caller_that_misses_loads(self):
        j = self.ritual("--single-flight", "off", "--threads", "10")
        self.assertEqual(j["loads"], j["misses"])
        self.assertEqual((j["joined"], j["answers"]), (0, 10))
        self.assertGreater(j["loads"], 2)

    def test_lines_of_the_article(self):
        r = run("ritual", "--delay", "50ms")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        lines = r.stdout.splitlines()
        for line in lines[:2]:
            self.assertRegex(line, r"\ATimeAndSpace: Processing summoning by Cultist \d+ for "
                                   r"(Cthulhu|Yog-Sothoth)\Z")
        self.assertEqual(len({l.rsplit(" ", 1)[1] for l in lines[:2]}), 2)
        self.assertRegex(lines[-1], r"\ASummoning time for 2 AOs: \d+\Z")

    def test_who_is_not_in_the_table_is_absent(self):
        j = self.ritual("--ancient-ones", "Cthulhu,Nobody", "--cultists", "3")
        self.assertEqual((j["callers"], j["answers"], j["absent"], j["failed"]), (6, 3, 3, 0))

    def test_compare(self):
        r = run("ritual", "--single-flight", "compare", "--delay", "20ms")
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = [l.split() for l in r.stdout.splitlines()[1:]]
        self.assertEqual(rows[0], ["the", "article", "0", "off", "6", "4", "30132"])
        self.assertEqual(rows[1], ["the", "article", "10", "off", "5", "5", "5153"])
        self.assertEqual([row[:3] for row in rows[2:]],
                         [["rondo", "0", "off"], ["rondo", "10", "off"],
                          ["rondo", "0", "on"], ["rondo", "10", "on"]])
        self.assertEqual([row[3] for row in rows[4:]], ["2", "2"])

    def test_configuration_file(self):
        example = os.path.join(TREE, "examples", "fhtagn.yaml")
        j = self.ritual("-c", example)
        self.assertEqual((j["loads"], j["answers"], j["threads"]), (2, 10, 10))
        j = self.ritual("-c", example, "--threads", "0")
        self.assertEqual((j["loads"], j["threads"]), (2, 0))

    def test_mistakes(self):
        self.usage_error("ritual", "--cultists", "0", says="--cultists 0")
        self.usage_error("ritual", "--delay", "5", says="--delay 5")
        self.usage_error("ritual", "--single-flight", "maybe", says="one of on, off, compare")
        self.usage_error("ritual", "--ancient-ones", "Cthulhu,,x", says="names between commas")
        self.usage_error("ritual", "--connect", "127.0.0.1:1", "--threads", "2",
                         says="the server's configuration decides")
        r = run("ritual", "-c", "/nonexistent.yaml")
        self.assertEqual(r.returncode, 1)
        self.assertIn("/nonexistent.yaml", r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)

    def test_as_clients_of_a_server(self):
        with open(os.path.join(TREE, "examples", "fhtagn.yaml"), encoding="utf-8") as f:
            config = f.read().replace("delay: 5s", "delay: 200ms")
        with Server(RONDO, config) as server:
            for _ in range(2):  # the keys are deleted first
                r = run("ritual", "--json", "--connect", f"127.0.0.1:{server.port}")
                self.assertEqual((r.returncode, r.stderr), (0, ""))
                j = json.loads(r.stdout)
                self.assertEqual((j["callers"], j["loads"], j["answers"]), (10, 2, 10))
                self.assertIsNone(j["threads"])
            self.assertRegex(server.stdout(), r"(?m)^TimeAndSpace: Processing summoning by "
                                              r"Cultist-\d+ for Cthulhu$")

    def test_nobody_at_the_address(self):
        r = run("ritual", "--connect", "127.0.0.1:1")
        self.assertEqual(r.returncode, 1)
        self.assertIn("127.0.0.1:1: Connection refused", r.stderr)
        r = run("ritual", "--connect", "nonsense")
        self.assertEqual(r.returncode, 1)
        self.assertIn("an address is HOST:PORT", r.stderr)

    def test_configuration_with_three_mistakes(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("caches:\n  fhtagn:\n    keys: \"fhtagn:{name}\"\n    ttl: 10\n"
                    "    threds: 10\n    source:\n      type: scriptd\n")
            f.flush()
            r = run("ritual", "-c", f.name)
        self.assertEqual(r.returncode, 1)
        for line in (4, 5, 7):
            self.assertIn(f"{f.name}:{line}:", r.stderr)
        self.assertEqual(r.stderr.count("\n"), 3, r.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
