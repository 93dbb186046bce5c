# SPDX-License-Identifier: MIT
"""What all benchmarks share: running programs in turn, and showing what came out.

A benchmark is a folder beside this file with a run.py that defines its jobs and
its peers and calls main().  Words used here:

    entry    one peer, one job, one number of workers: one line of the table
    sample   one run of an entry: the line of JSON that its program printed

Repetitions are the outer loop and entries the inner one, so that whatever the
machine does meanwhile happens to all peers alike; ratios are taken between runs
of one repetition, and their median is shown.
"""
import argparse
import json
import os
import platform
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(BENCH)
TIMEOUT_S = 180


class Skip(Exception):
    """A peer is not there; the text says why."""


class Unit:
    """How a job's figure is shown: `of(sample)`, and whether more is better; and
    the time that ratios compare, if any."""

    def __init__(self, name, of, more_is_better=False, time_field="ns_per_message"):
        self.name, self.of, self.more_is_better = name, of, more_is_better
        self.time_field = time_field


NS = Unit("ns per message", lambda s: s["ns_per_message"])
RATE = Unit("million messages/s", lambda s: 1000 / s["ns_per_message"], True)


class Job:
    def __init__(self, name, title, unit, extras=(), most=None):
        """extras: (heading, function of a sample or None if it does not apply);
        `most`: repetitions that are enough, where repeating says nothing new."""
        self.name, self.title, self.unit, self.extras = name, title, unit, extras
        self.most = most


class Peer:
    """A program to compare.  `jobs`: job name -> workers; `command(job, workers,
    scale)` -> argument list; `build()` makes the program or raises Skip."""

    def __init__(self, name, packages, jobs, command, scale, build=None):
        self.name, self.packages, self.jobs = name, packages, jobs
        self.command, self.scale, self.build = command, scale, build


class Entry:
    def __init__(self, peer, job, workers):
        self.peer, self.job, self.workers = peer, job, workers
        self.samples = []
        self.key = "%s %s %d" % (job.name, peer.name, workers)

    def figures(self):
        return [self.job.unit.of(s) for s in self.samples]

    def is_enough(self, turn):
        return self.job.most is not None and turn >= self.job.most


class Style:
    """How a benchmark differs from others: what the number of an entry counts,
    how many repetitions of how many seconds there are (those of --quick second),
    which entries --quick leaves out, and options of its own, (flags, keywords),
    that `take` is called with."""

    def __init__(self, count="workers", repeat=(5, 1), seconds=(0.7, 0.05),
                 is_quick=lambda e: e.workers <= 2, options=(), take=lambda args: None):
        self.count, self.repeat, self.seconds = count, repeat, seconds
        self.is_quick, self.options, self.take = is_quick, options, take


# ------------------------------------------------------------------ building ---

def tool(name, package):
    """The path of a command, Debian's before any other; Skip if there is none."""
    for folder in ["/usr/bin"] + os.environ.get("PATH", "").split(":"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    raise Skip("needs the package %s" % package)


def needs_file(path, package):
    if not os.path.exists(path):
        raise Skip("needs the package %s" % package)
    return path


def is_fresh(target, sources):
    return os.path.exists(target) and all(
        os.path.getmtime(target) >= os.path.getmtime(s) for s in sources)


def compile_with(command, env=None, cwd=None):
    """Runs a compiler; a failure is shown, since the program is ours."""
    run = subprocess.run(command, cwd=cwd, env={**os.environ, **(env or {})},
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        raise Skip("does not compile: %s\n%s" % (shlex.join(command), run.stdout + run.stderr))


# ------------------------------------------------------------------- running ---

class Progress:
    """One line on a terminal, nothing in a pipe."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.is_on = sys.stderr.isatty()

    def step(self, text):
        if self.is_on:
            left = ""
            if self.done:
                seconds = (time.monotonic() - self.start) / self.done * (self.total - self.done)
                left = ", %d:%02d left" % divmod(int(seconds), 60)
            self.write("[%d/%d] %s%s" % (self.done + 1, self.total, text, left))
        self.done += 1

    def write(self, text):
        if self.is_on:
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()


def run_program(command, timeout_s=TIMEOUT_S):
    """Runs a program, returns its sample.  A sample with "wrong" set says what
    was wrong with its answer, or that there was none."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 start_new_session=True)
        is_late = threading.Event()

        def end():
            is_late.set()
            os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(timeout_s, end)
        timer.start()
        try:
            # Not child.wait(): that keeps the child's memory figure to itself.
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        if is_late.is_set():
            return {"wrong": "no answer in %g s" % timeout_s}
        sample = parse_answer(out, err, child.returncode)
        sample["peak_bytes"] = usage.ru_maxrss * 1024
        return sample


def parse_answer(out, err, code):
    texts = []
    for f in (out, err):
        f.seek(0)
        texts.append(f.read().decode(errors="replace").strip())
    try:
        sample = json.loads(texts[0].splitlines()[-1])
    except (IndexError, ValueError):
        last = (texts[1] or texts[0] or "nothing").splitlines()[-1]
        return {"wrong": "ended with %d and said: %s" % (code, last)}
    if not isinstance(sample, dict) or sample.get("ok") is not True or code != 0:
        sample = sample if isinstance(sample, dict) else {}
        sample.setdefault("wrong", "ended with %d, answer not right" % code)
    return sample


def run_all(entries, repeat, handover, say, target_s, timeout_s=TIMEOUT_S):
    """Fills the entries' samples; returns what was wrong, one line each.
    `handover()` measures the distance of two cores, before each run that uses
    more than one."""
    progress, wrong, broken = Progress(repeat * len(entries)), [], set()
    for turn in range(repeat):
        for e in entries:
            progress.step("%s, run %d of %d" % (e.key, turn + 1, repeat))
            if e.key in broken or e.is_enough(turn):
                continue
            near = handover() if e.workers > 1 else None
            scale = e.peer.scale(e.job.name, e.workers, target_s)
            sample = run_program(e.peer.command(e.job.name, e.workers, scale), timeout_s)
            if "wrong" in sample:
                progress.write("")
                wrong.append("%s: %s" % (e.key, sample["wrong"]))
                say("WRONG: " + wrong[-1])
                broken.add(e.key)
                continue
            sample["turn"] = turn
            if near is not None:
                sample["handover_ns"] = near
            e.samples.append(sample)
    progress.write("")
    return wrong


def handover_program(path):
    """A function that measures the one-way hand-over between two cores, or None
    where there is one core only."""
    if not os.path.exists(path):
        return lambda: None

    def measure():
        sample = run_program([path])
        return sample.get("handover_ns") if sample.get("two_cores") else None
    return measure


# ------------------------------------------------------------------- figures ---

def spread(values):
    """(median, min, max)"""
    return statistics.median(values), min(values), max(values)


def ratio(entry, base):
    """How many times the base's time the entry needs, pair by pair; the median."""
    field = entry.job.unit.time_field
    if field is None:
        return None
    times = {s["turn"]: s[field] for s in base.samples}
    pairs = [s[field] / times[s["turn"]] for s in entry.samples if s["turn"] in times]
    return statistics.median(pairs) if pairs else None


def base_of(entry, entries, base_peer):
    """The base's entry for the same job: with as many workers, else its first."""
    same = [e for e in entries if e.peer.name == base_peer and e.job is entry.job and e.samples]
    return next((e for e in same if e.workers == entry.workers), same[0] if same else None)


def number(x):
    if x is None:
        return "-"
    if x == 0 or x >= 1000:
        return "{:,.0f}".format(x)
    return "%.*f" % (0 if x >= 100 else 1 if x >= 10 else 2, x)


def median_of(samples, of):
    values = [v for v in (of(s) for s in samples) if v is not None]
    return statistics.median(values) if values else None


def without_empty(heads, rows):
    """The same without columns that say nothing in any row."""
    keep = [i for i in range(len(heads)) if any(r[i] != "-" for r in rows)]
    return [heads[i] for i in keep], [[r[i] for i in keep] for r in rows]


def tables(entries, base_peer, count):
    """(job, headings, rows of text) for each job that has samples."""
    result = []
    for job in dict.fromkeys(e.job for e in entries):
        rows = []
        for e in (e for e in entries if e.job is job and e.samples):
            mid, low, high = spread(e.figures())
            base = base_of(e, entries, base_peer)
            times = ratio(e, base) if base else None
            rows.append([e.peer.name, str(e.workers), number(mid), number(low), number(high),
                         number(times)]
                        + [number(median_of(e.samples, of)) for _, of in job.extras]
                        + [number(median_of(e.samples, lambda s: s.get("handover_ns")))])
        heads = ["peer", count, "median", "min", "max", "time / %s" % base_peer]
        heads += [h for h, _ in job.extras] + ["hand-over ns"]
        if rows:
            result.append((job, *without_empty(heads, rows)))
    return result


def text_report(entries, base_peer, count):
    lines = []
    for job, heads, rows in tables(entries, base_peer, count):
        widths = [max(len(r[i]) for r in [heads] + rows) for i in range(len(heads))]
        lines += ["", "%s: %s (%s)" % (job.name, job.title, job.unit.name)]
        for row in [heads] + rows:
            cells = [c.ljust(w) if i == 0 else c.rjust(w)
                     for i, (c, w) in enumerate(zip(row, widths))]
            lines.append("  " + "  ".join(cells))
    return "\n".join(lines)


def markdown_report(entries, base_peer, count):
    lines = []
    for job, heads, rows in tables(entries, base_peer, count):
        lines += ["", "## %s: %s" % (job.name, job.title), "", "In %s." % job.unit.name, "",
                  "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpus": len(os.sched_getaffinity(0)), "model": model,
            "kernel": platform.release(), "load": os.getloadavg()[0]}


# ---------------------------------------------------------------------- main ---

def options(name, doc, jobs, peers, style):
    p = argparse.ArgumentParser(prog="scripts/bench %s" % name, description=doc,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="short runs, fewer of them")
    p.add_argument("--jobs", metavar="J1,J3", help="only these: " + ", ".join(j.name for j in jobs))
    p.add_argument("--peers", metavar="A,B", help="only these: " + ", ".join(p.name for p in peers))
    p.add_argument("--repeat", type=int, metavar="N", help="runs of each entry (%d; quick: %d)" % style.repeat)
    p.add_argument("--seconds", type=float, metavar="S", help="length of a run (%g; quick: %g)" % style.seconds)
    for flags, keywords in style.options:
        p.add_argument(*flags, **keywords)
    p.add_argument("--write-doc", action="store_true", help="also write docs/bench-%s.md" % name)
    p.add_argument("--report", action="store_true",
                   help="run nothing: show the results of the last run once more")
    p.add_argument("--results", metavar="DIR", default=os.path.join(BENCH, "results"),
                   help="where the results go (bench/results)")
    p.add_argument("--plan", action="store_true", help=argparse.SUPPRESS)
    return p


def chosen(names, things, parser, what):
    """The things that a comma list names; J8 stands for J8a and J8b."""
    if not names:
        return things
    result = []
    for n in names.split(","):
        found = [t for t in things if t.name == n] or [
            t for t in things if t.name[:-1] == n and t.name[-1].isalpha()]
        if not found:
            parser.error("no %s '%s': %s" % (what, n, ", ".join(t.name for t in things)))
        result += found
    return [t for t in things if t in result]


def build_peers(peers, say):
    there, progress = [], Progress(0)
    for p in peers:
        progress.write("building %s" % p.name)
        try:
            if p.build:
                p.build()
            there.append(p)
            progress.write("")
        except Skip as why:
            progress.write("")
            say("%s: skipped, %s" % (p.name, why))
    return there


def save(path, entries, info):
    data = dict(info)
    data["entries"] = [{"peer": e.peer.name, "job": e.job.name, "workers": e.workers,
                        "unit": e.job.unit.name, "samples": e.samples,
                        **dict(zip(("median", "min", "max"), spread(e.figures())))}
                       for e in entries if e.samples]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")


def load(path, jobs, peers):
    """(entries, the rest) of a saved run."""
    with open(path) as f:
        data = json.load(f)
    job_of, peer_of = {j.name: j for j in jobs}, {p.name: p for p in peers}
    entries = []
    for saved in data.pop("entries"):
        if saved["job"] in job_of and saved["peer"] in peer_of:
            e = Entry(peer_of[saved["peer"]], job_of[saved["job"]], saved["workers"])
            e.samples = saved["samples"]
            entries.append(e)
    return entries, data


def conditions(info):
    """One line about the machine and the run."""
    m = info["machine"]
    return "%d processors (%s), Linux %s, %d run%s each of about %s s, load before: %.1f" % (
        m["cpus"], m["model"], m["kernel"], info["repeat"], "" if info["repeat"] == 1 else "s",
        number(info["seconds"]), m["load"])


def show(name, title, entries, info, base_peer, goals, style, args):
    """Prints the tables and writes the plot and, if asked, the page."""
    from svg import plot
    print(conditions(info))
    print(text_report(entries, base_peer, style.count))
    met = goals(entries) if goals else []
    if met:
        print("\nGoals, as ratios within this run:")
        print("\n".join("  " + line for line in met))
    with open(os.path.join(args.results, name + ".svg"), "w") as f:
        f.write(plot(title, conditions(info), entries, style.count))
    if args.write_doc:
        with open(os.path.join(TOP, "docs", "bench-%s.md" % name), "w") as f:
            f.write("# %s\n\nWritten by `./scripts/bench %s --write-doc`; how to read it: "
                    "[bench.md](bench.md).\n\n%s.\n\n![plot](../bench/results/%s.svg)\n"
                    % (title, name, conditions(info), name))
            f.write(markdown_report(entries, base_peer, style.count) + "\n")
            if met:
                f.write("\n## Goals\n\n" + "\n".join("- " + line for line in met) + "\n")


def main(name, title, doc, jobs, peers, handover, base_peer, goals=None, targets=(), argv=None,
         style=Style()):
    """Runs a benchmark; returns the exit code."""
    parser = options(name, doc, jobs, peers, style)
    args = parser.parse_args(argv)
    style.take(args)
    wanted_jobs = chosen(args.jobs, jobs, parser, "job")
    wanted_peers = chosen(args.peers, peers, parser, "peer")
    if args.plan:
        print("targets", *targets)
        for p in wanted_peers:
            print("packages", p.name, *p.packages)
        return 0
    path = os.path.join(args.results, name + ".json")
    if args.report:
        try:
            entries, info = load(path, jobs, peers)
        except OSError as e:
            parser.error("no results yet: %s" % e)
        show(name, title, entries, info, base_peer, goals, style, args)
        return 1 if info["wrong"] else 0

    def say(text):
        print(text, flush=True)

    repeat = args.repeat or style.repeat[args.quick]
    seconds = args.seconds or style.seconds[args.quick]
    info = {"machine": machine(), "repeat": repeat, "seconds": seconds}
    there = build_peers(wanted_peers, say)
    entries = [Entry(p, j, w) for j in wanted_jobs for p in there for w in p.jobs.get(j.name, ())]
    entries = [e for e in entries if not args.quick or style.is_quick(e)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        info["wrong"] = run_all(entries, repeat, handover, say, seconds)
    except KeyboardInterrupt:
        say("\ninterrupted: nothing is saved")
        return 130
    save(path, entries, info)
    show(name, title, entries, info, base_peer, goals, style, args)
    if info["wrong"] or not any(e.samples for e in entries):
        print("\nFAILED:\n" + "\n".join("  " + w for w in info["wrong"] or ["nothing was run"]))
        return 1
    return 0
