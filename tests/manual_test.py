#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual pages are clean and name every option; the shell completes them.

usage: manual_test.py RONDO [unittest arguments]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

RONDO = os.path.abspath(sys.argv[1])
TOP = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted((TOP / "docs/man").glob("*.[135]"))


def run(*args, **options):
    return subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False, **options)


def commands():
    text = run(RONDO, "--help").stdout.split("commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", text, re.M)


def options_of(command):
    return re.findall(r"^ {2,}(?:-\w, )? *--([a-z][a-z-]*)", run(RONDO, command, "--help").stdout,
                      re.M)


def page(name):
    return (TOP / "docs/man" / name).read_text(encoding="utf-8")


class Pages(unittest.TestCase):
    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_clean(self):
        self.assertEqual(len(PAGES), 3)
        for file in PAGES:
            found = run("mandoc", "-Tlint", str(file)).stdout.splitlines()
            # Whether the others are installed here is no matter.
            self.assertEqual([f for f in found if "referenced manual not found" not in f], [])

    def test_every_option_of_the_program(self):
        text = page("rondo.1")
        self.assertGreaterEqual(len(commands()), 4)
        for command in commands():
            section = re.search(rf"^\.Ss rondo {command}$(.*?)(?=^\.S[sh])", text, re.M | re.S)
            self.assertTrue(section, command)
            self.assertIn("help", options_of(command))
            for option in options_of(command):
                self.assertRegex(section.group(1), rf"(?m)^\.It .*Fl \\-{option}( |$)", command)

    def test_every_option_of_the_configuration(self):
        table = (TOP / "src/config/option.c").read_text(encoding="utf-8")
        server, caches = page("rondo.yaml.5").split(".Sh OPTIONS OF A CACHE")
        rows = re.findall(r'^    ROW\("(\w+)", \w+,\s+(SERVER|CACHE)', table, re.M)
        self.assertGreater(len(rows), 25)
        for name, scope in rows:
            self.assertTrue(f".It Ic {name}\n" in (server if scope == "SERVER" else caches),
                            f"{name} is not in rondo.yaml.5: run scripts/make-manual")
        named = re.findall(r"^\.It Ic (\w+)$", server + caches, re.M)
        self.assertEqual(sorted(named), sorted(name for name, _ in rows))

    def test_every_function_of_the_library(self):
        exported = (TOP / "src/librondo.symbols").read_text(encoding="utf-8")
        for name in re.findall(r"^\.Fn (\w+)", page("librondo.3"), re.M):
            self.assertRegex(exported, rf"\b{name}\b")


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Completion(unittest.TestCase):
    def complete(self, *words):
        quoted = " ".join(f"'{w}'" for w in words)
        r = run("bash", "--norc", "-c",
                f"source '{TOP}/contrib/completion/rondo.bash'; COMP_WORDS=({quoted}); "
                f"COMP_CWORD={len(words) - 1}; _rondo '{RONDO}'; "
                "printf '%s\\n' \"${COMPREPLY[@]}\"", cwd=TOP)
        self.assertEqual(r.stderr, "")
        return r.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete("rondo", ""), [*commands(), "--help", "--version"])
        self.assertEqual(self.complete("rondo", "se"), ["serve"])

    def test_options(self):
        for command in commands():
            self.assertEqual(self.complete("rondo", command, "--"),
                             [f"--{o}" for o in options_of(command)])
        self.assertEqual(self.complete("rondo", "serve", "--dr"), ["--drain-timeout"])

    def test_files(self):
        self.assertEqual(self.complete("rondo", "serve", "-c", "examples/users.y"),
                         ["examples/users.yaml"])
        self.assertEqual(self.complete("rondo", "check", "examples/users.y"), ["examples/users.yaml"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
