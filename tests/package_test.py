#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the Debian package from a build directory and looks into it; installs
nothing.

usage: package_test.py BUILD_DIR [unittest arguments]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv[1])

FILES = """
etc/rondo/rondo.yaml
usr/bin/rondo
usr/include/rondo/cache.h
usr/lib/systemd/system/rondo.service
usr/lib/systemd/system/rondo.socket
usr/lib/sysusers.d/rondo.conf
usr/share/bash-completion/completions/rondo
usr/share/doc/rondo/LICENSE
usr/share/man/man1/rondo.1
usr/share/man/man3/librondo.3
usr/share/man/man5/rondo.yaml.5
""".split()


def run(*args, **options):
    return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=250, check=False,
                          **options)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="rondo-package-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        r = run("cpack", "-G", "DEB", "--config", f"{BUILD}/CPackConfig.cmake", "-B", cls.work,
                cwd=cls.work)
        assert r.returncode == 0, r.stdout
        (cls.deb,) = pathlib.Path(cls.work).glob("*.deb")
        for flag, place in (("-x", "root"), ("-e", "control")):
            r = run("dpkg-deb", flag, str(cls.deb), f"{cls.work}/{place}")
            assert r.returncode == 0, r.stdout
        cls.root = pathlib.Path(cls.work, "root")

    def test_files(self):
        for name in FILES:
            self.assertTrue((self.root / name).is_file(), name)
        self.assertTrue(list(self.root.glob("usr/lib/**/librondo.so.0")))
        self.assertEqual({p.name for p in self.root.iterdir()}, {"etc", "usr"})

    def test_fields(self):
        def field(name):
            return run("dpkg-deb", "-f", str(self.deb), name).stdout.strip()
        self.assertEqual(field("Package"), "rondo")
        self.assertRegex(field("Version"), r"\A\d+\.\d+\.\d+\Z")
        self.assertIn("libc6 ", field("Depends"))
        self.assertEqual(field("Conffiles"), "")

    def test_control(self):
        control = pathlib.Path(self.work, "control")
        self.assertEqual((control / "conffiles").read_text(encoding="ascii"),
                         "/etc/rondo/rondo.yaml\n")
        for name in ("postinst", "prerm"):
            self.assertTrue(os.access(control / name, os.X_OK), name)
            r = run("sh", "-n", str(control / name))
            self.assertEqual(r.returncode, 0, r.stdout)

    def test_program_runs(self):
        program = str(self.root / "usr/bin/rondo")
        r = run(program, "--version")
        self.assertEqual(r.returncode, 0, r.stdout)
        here = [p.name for p in self.root.glob("usr/lib/**/rondo-source-*.so")]
        for name in here:
            self.assertIn(f"lib/rondo/{name}\n".split("/", 1)[1], r.stdout)
        r = run(program, "check", str(self.root / "etc/rondo/rondo.yaml"))
        self.assertEqual(r.returncode, 0, r.stdout)


if __name__ == "__main__":
    for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            print(f"skipped: no {tool}")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
