#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hit ratios of replacement policies on made-up traces.

The cache's own (S3-FIFO, as built) beside plain references of SIEVE, W-TinyLFU
and LRU.  Nothing here is timed: the same command gives the same table on every
machine.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import lib  # noqa: E402

TRACES = {"zipf70": "zipf 0.7", "zipf99": "zipf 0.99", "scan": "zipf 0.99 with scans",
          "loop": "loops", "shift": "shifting hot set"}
POLICIES = {"s3fifo": "S3-FIFO", "sieve": "SIEVE", "tinylfu": "W-TinyLFU", "lru": "LRU"}
PERCENTS = (1, 10, 25)
PAGE = os.path.join(lib.TOP, "docs", "eviction.md")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def measure(program, keys, reads):
    """{(trace, percent): {policy: hits in %}}"""
    table, progress = {}, lib.Progress(len(TRACES) * len(PERCENTS) * len(POLICIES))
    for trace in TRACES:
        for percent in PERCENTS:
            for policy in POLICIES:
                progress.step("%s %s %d %%" % (trace, policy, percent))
                run = subprocess.run([program, trace, policy, str(percent), str(keys), str(reads)],
                                     capture_output=True, text=True, check=True)
                table.setdefault((trace, percent), {})[policy] = json.loads(run.stdout)[
                    "hit_percent"]
    progress.write("")
    return table


def markdown(table):
    lines = ["| trace | room | " + " | ".join(POLICIES.values()) + " |",
             "|---|---|" + "---|" * len(POLICIES)]
    for (trace, percent), row in table.items():
        best = max(row.values())
        cells = [("**%.1f**" if row[p] == best else "%.1f") % row[p] for p in POLICIES]
        lines.append("| %s | %d %% | %s |" % (TRACES[trace], percent, " | ".join(cells)))
    mean = {p: sum(row[p] for row in table.values()) / len(table) for p in POLICIES}
    lines.append("| mean of all | | " + " | ".join("%.1f" % mean[p] for p in POLICIES) + " |")
    return "\n".join(lines)


def write_page(text):
    with open(PAGE) as f:
        page = f.read()
    between = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.S)
    with open(PAGE, "w") as f:
        f.write(between.sub(lambda _: BEGIN + "\n" + text + "\n" + END, page))


def save(path, table, keys, reads):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump({"keys": keys, "reads": reads,
                   "hit_percent": [{"trace": t, "percent": p, **row}
                                   for (t, p), row in table.items()]}, f, indent=1)
        f.write("\n")


def check(program):
    """The test: what must hold for any right implementation, at a small size."""
    table = measure(program, 1000, 40000)
    failures = []

    def must(is_true, what):
        if not is_true:
            failures.append(what)
            print("FAILED: " + what)

    for key, row in table.items():
        must(all(0 <= v <= 100 for v in row.values()), "%s: %s" % (key, row))
    for trace in TRACES:
        for policy in POLICIES:
            grows = [table[trace, p][policy] for p in PERCENTS]
            must(trace == "loop" or grows == sorted(grows),
                 "%s %s: less room, more hits: %s" % (trace, policy, grows))
    must(table["loop", 1]["lru"] == 0, "LRU hits in a loop that it has no room for")
    must(table["zipf99", 10]["s3fifo"] > table["zipf99", 10]["lru"], "S3-FIFO is no better than LRU")
    must(table["scan", 10]["s3fifo"] > table["scan", 10]["lru"], "a scan hurts S3-FIFO like LRU")
    must(measure(program, 1000, 40000) == table, "two runs differ")
    for arguments in (["zipf99", "magic", "1", "1000", "100"], ["x", "lru", "1", "1000", "100"],
                      ["loop", "lru", "0", "1000", "100"], ["loop"]):
        run = subprocess.run([program] + arguments, capture_output=True)
        must(run.returncode == 2, "takes %s" % arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new", "evict.json")
        save(path, table, 1000, 40000)
        with open(path) as f:
            must(len(json.load(f)["hit_percent"]) == len(table), "the JSON lacks rows")
    print("%d failures" % len(failures))
    return 1 if failures else 0


def main():
    p = argparse.ArgumentParser(prog="scripts/bench evict", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="a tenth of the keys and reads")
    p.add_argument("--keys", type=int, default=100000, metavar="N", help="keys (100,000)")
    p.add_argument("--reads", type=int, default=4000000, metavar="N", help="reads (4,000,000)")
    p.add_argument("--write-doc", action="store_true", help="also put the table into docs/eviction.md")
    p.add_argument("--results", metavar="DIR", default=os.path.join(lib.BENCH, "results"),
                   help="where the results go (bench/results)")
    p.add_argument("--program", default=os.path.join(lib.TOP, "build", "release", "bench", "bench_evict"),
                   help=argparse.SUPPRESS)
    p.add_argument("--plan", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.plan:
        print("targets bench_evict")
        return 0
    if args.check:
        return check(args.program)
    part = 10 if args.quick else 1
    keys, reads = args.keys // part, args.reads // part
    table = measure(args.program, keys, reads)
    save(os.path.join(args.results, "evict.json"), table, keys, reads)
    text = "Hits in %%, %s keys, %s reads:\n\n%s" % (lib.number(keys), lib.number(reads), markdown(table))
    print(text)
    if args.write_doc:
        write_page("Written by `./scripts/bench evict --write-doc`. " + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
