#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the tree: who includes whom, and what may not stand in a file.

    check_tree.py ROOT          prints every violation; exit 1 if there is one
    check_tree.py --self-test   proves on a made-up tree that each is found

Modules: src/LAYER/noun.h, noun.c and noun_part.c (or .h) are one module, `noun`.
"""
import os
import re
import subprocess
import sys
import tempfile

# Which layers a layer may include, besides itself.
BELOW = {"base": [], "proto": ["base"], "runtime": ["base", "proto"]}
for lower, upper in [("runtime", "cache"), ("cache", "source"), ("source", "config"),
                     ("config", "server"), ("config", "module")]:
    BELOW[upper] = BELOW[lower] + [lower]
BELOW["cli"] = BELOW["server"] + ["server", "module"]

C99_HEADERS = {"stdarg.h", "stdbool.h", "stddef.h", "stdint.h"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
BANNED = [
    (re.compile(r"thread_" r"fence"), "no standalone fences"),
    (re.compile(r"(?<!\w)assert\s*\("), "RONDO_CHECK, not assert"),
]
BANNED_HEADERS = {"stdatomic.h": "base/atomic.h", "threads.h": "base/sync.h",
                  "assert.h": "base/check.h"}
NEEDS_SPDX = re.compile(r"(\.(c|h|cpp|py|sh|cmake|in|yml|yaml|sql)|CMakeLists\.txt)$")


def tracked(root):
    """The files of the tree: git's, or all of them where there is no git."""
    try:
        run = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
        names = [n for n in run.stdout.decode().split("\0") if n] if run.returncode == 0 else []
    except OSError:
        names = []
    if not names:
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in ("build", ".git")]
            names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))


def code_only(text):
    """C without comments and without what strings say; lines stay."""
    def blank(match):
        return '""' if match[0][0] in "\"'" else " " + "\n" * match[0].count("\n")
    return COMMENT.sub(blank, text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_text(name, text, say):
    for i, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            say(name, i, "trailing whitespace")
        if MARKS.search(line):
            say(name, i, "a mark of unfinished work")
    is_script = text.startswith("#!")
    if (NEEDS_SPDX.search(name) or is_script) and not any(
            "SPDX-License-Identifier: MIT" in line for line in text.split("\n")[:2]):
        say(name, 1, "no SPDX line on line 1 or 2")


def check_include(name, kind, target, line, names, say):
    """Includes point down, and only at what exists."""
    parts = name.split("/")
    layer = target.split("/")[0]
    if target in BANNED_HEADERS:
        say(name, line, "<%s>: use %s" % (target, BANNED_HEADERS[target]))
    if parts[0] == "include":
        if not (target.startswith("rondo/") or (kind == "<" and target in C99_HEADERS)):
            say(name, line, "a public header includes %s" % target)
    elif parts[0] == "src" and kind == '"' and layer != "rondo":
        own = parts[1]
        if "src/" + target not in names:
            say(name, line, 'no src/%s: write "layer/noun.h"' % target)
        elif own in BELOW and layer != own and layer not in BELOW[own]:
            say(name, line, "%s includes upward: %s" % (own, target))


def modules_of(names):
    """Path -> module, for all that is in a layer and no test."""
    stems = {}
    for name in names:
        match = re.fullmatch(r"src/(\w+)/(?:.*/)?(\w+)\.[ch]", name)
        if match and match[1] in BELOW and not match[2].endswith("_test"):
            stems[name] = (match[1], match[2])
    headers = {stems[n] for n in stems if n.endswith(".h")}
    result = {}
    for name, (layer, stem) in stems.items():
        words = stem.split("_")
        heads = ["_".join(words[:i]) for i in range(1, len(words))]
        noun = next((h for h in heads if (layer, h) in headers), stem)
        result[name] = layer + "/" + noun
    return result


def check_cycles(edges, say):
    """edges: module -> {module: (file, line)}."""
    done, path = set(), []

    def visit(module):
        if module in path:
            ring = path[path.index(module):] + [module]
            say(*edges[path[-1]][module], "modules in a ring: " + " -> ".join(ring))
        elif module not in done:
            path.append(module)
            for other in sorted(edges.get(module, {})):
                visit(other)
            path.pop()
            done.add(module)

    for module in sorted(edges):
        visit(module)


def check_tour(text, modules, say):
    """docs/tour.md names every module in its layer's section."""
    sections = dict(re.findall(r"(?ms)^## `src/(\w+)`(.*?)(?=^## |\Z)", text))
    for module in sorted(set(modules.values())):
        layer, noun = module.split("/")
        if "`%s`" % noun not in sections.get(layer, ""):
            say("docs/tour.md", 1, "does not name src/%s" % module)


def check(root):
    found, edges = [], {}

    def say(name, line, what):
        found.append("%s:%d: %s" % (name, line, what))

    names = tracked(root)
    known, modules = set(names), modules_of(names)
    for name in names:
        with open(os.path.join(root, name), "rb") as f:
            data = f.read()
        if b"\0" in data or name.startswith("fuzz/corpus/"):
            continue
        text = data.decode("utf-8", "replace")
        check_text(name, text, say)
        if name == "docs/tour.md":
            check_tour(text, modules, say)
        if not re.search(r"\.(c|h|cpp)$", name):
            continue
        code = code_only(text)
        for pattern, what in BANNED:
            for match in pattern.finditer(code):
                say(name, line_of(code, match.start()), what)
        for match in INCLUDE.finditer(text):
            line, target = line_of(text, match.start()), match[2]
            check_include(name, match[1], target, line, known, say)
            mine, other = modules.get(name), modules.get("src/" + target)
            if mine and other and mine != other:
                edges.setdefault(mine, {}).setdefault(other, (name, line))
    check_cycles(edges, say)
    return found


SPDX = "/* SPDX-License-Identifier: MIT */\n"
GOOD = {
    "include/rondo/a.h": SPDX + '#include "rondo/b.h"\n#include <stdint.h>\n',
    "include/rondo/b.h": SPDX,
    "src/base/mem.h": SPDX + "/* never assert(x) */\n_Static_assert(1, \"assert(1)\");\n",
    "src/base/mem_test.c": SPDX + '#include "base/log.h"\nvoid f(void) { my_assert(1); }\n',
    "src/base/log.h": SPDX + '#include "base/mem.h"\n#include "rondo/a.h"\n#include <stdio.h>\n',
    "src/base/log_part.h": SPDX + '#include "base/log.h"\n',
    "src/base/log.c": SPDX + '#include "base/log_part.h"\n',
    "src/proto/resp.c": SPDX + '#include "base/mem.h"\n',
    "src/cli/main.c": SPDX + '#include "proto/resp.h"\n#include "server/server.h"\n',
    "src/proto/resp.h": SPDX,
    "src/server/server.h": SPDX,
    "scripts/run": "#!/bin/sh\n# SPDX-License-Identifier: MIT\nmktemp x.XXXXXX\n",
    "README.md": "No licence line here.\n",
    "docs/tour.md": "## `src/base`\n`mem` `log`\n## `src/proto`\n`resp`\n## `src/server`\n"
                    "`server`\n## `src/cli`\n`main`\n",
}
# (file, text, what must be said, on which line)
BAD = [
    ("src/base/up.c", SPDX + '#include "proto/resp.h"\n', "base includes upward", 2),
    ("src/server/side.c", SPDX + '#include "cli/main.h"\n', "server includes upward", 2),
    ("src/base/near.c", SPDX + '\n#include "mem.h"\n', "no src/mem.h", 3),
    ("include/rondo/c.h", SPDX + '#include "base/mem.h"\n', "a public header includes", 2),
    ("include/rondo/d.h", SPDX + "#include <pthread.h>\n", "a public header includes", 2),
    ("src/base/ring_a.c", SPDX + '#include "base/ringb.h"\n', "modules in a ring", 2),
    ("src/base/f.c", SPDX + "void f(void) { atomic_thread_" "fence(5); }\n", "no standalone", 2),
    ("src/base/g.c", SPDX + "#include <stdatomic.h>\n", "use base/atomic.h", 2),
    ("src/base/h.c", SPDX + "#  include <threads.h>\n", "use base/sync.h", 2),
    ("src/base/i.c", SPDX + "/* a\n b */ void f(void) { assert (1); }\n", "not assert", 3),
    ("src/base/j.c", "\n\n" + SPDX, "no SPDX line", 1),
    ("scripts/bare", "#!/bin/sh\n", "no SPDX line", 1),
    ("cmake/x.cmake", "# nothing\n", "no SPDX line", 1),
    ("docs/a.md", "fine\nTO" "DO: more\n", "unfinished", 2),
    ("src/base/k.c", SPDX + "int x; /* FIX" "ME */\n", "unfinished", 2),
    ("src/base/l.c", SPDX + "int x; // X" "XX\n", "unfinished", 2),
    ("docs/tour.md", "## `src/base`\n`mem` `ring` `ringb`\n## `src/cli`\n`main` `log`\n"
                     "## `src/proto`\n`resp`\n## `src/server`\n`server`\n", "does not name src/base/log", 1),
    ("docs/b.md", "one\ntwo \n", "trailing whitespace", 2),
]
EXTRA = {"src/cli/main.h": SPDX, "src/base/ringb.h": SPDX + '#include "base/ring.h"\n',
         "src/base/ring.h": SPDX}


def write_tree(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)


def self_test():
    errors = []
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, GOOD)
        errors += ["wrongly found: " + f for f in check(root)]
    for name, text, what, line in BAD:
        with tempfile.TemporaryDirectory() as root:
            tree = {**GOOD, **EXTRA, name: text}
            if name != "docs/tour.md":
                del tree["docs/tour.md"]  # it would have to name each of these
            write_tree(root, tree)
            found = check(root)
            # A ring may be reported at any of its edges.
            where = "" if "ring" in what else "%s:%d:" % (name, line)
            if len(found) != 1 or what not in found[0] or not found[0].startswith(where):
                errors.append("%s: wanted '%s', found %s" % (name, what, found))
    return errors


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    print("\n".join(found) if found else "nothing to complain about")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
