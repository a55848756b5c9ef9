#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What precompile.sh makes, remembers and forgets, and that it does without what cannot be written."""
import os
import pathlib
import subprocess
import tempfile
import textwrap
import unittest

SCRIPT = pathlib.Path(__file__).with_name("precompile.sh")

# Stands for clang: parses its input by repeating it, compiles that, and tells of every time it did either.
COMPILER = textwrap.dedent("""\
    #!/usr/bin/env bash
    while [[ $# -gt 0 ]]; do
      case $1 in
        --version) echo "clang of ${VERSION:-1}"; exit ;;
        -E) cat; exit ;;
        -o) output=$2; shift ;;
        -c) parsed=$2; shift ;;
        -MQ) target=$2; shift ;;
        -MF) depfile=$2; shift ;;
      esac
      shift
    done
    if [[ -n ${parsed:-} ]]; then
      echo compiled >>"$RUNS"
      [[ $parsed != */* ]] || exit 1 # it would be named in what is made
      { echo object of && cat "$parsed"; } >"$output"
    else
      echo parsed >>"$RUNS"
      cat >"$output"
      grep -q error "$output" && exit 1
      echo "$target: /usr/include/a" >"$depfile"
    fi
    """)


class Precompile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="empi-precompile.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"
        self.compiler = self.folder / "clang"
        self.compiler.write_text(COMPILER)
        self.compiler.chmod(0o755)
        self.runs = self.folder / "runs"

    def precompile(self, header, checkout="a", **environment):
        """What came of it, in order: parsed, archive, depfile; None when it failed."""
        place = self.folder / checkout / "R&D | it's: #1 \\1"
        place.mkdir(parents=True, exist_ok=True)
        (place / "x.hpp").write_text(header)
        self.runs.write_text("")
        run = subprocess.run([SCRIPT, "x.hpp", "x.pch", "x.a", self.compiler, "-O0"], cwd=place, capture_output=True, text=True,
                             env={**os.environ, "RUNS": str(self.runs), "CCACHE_DIR": str(self.cache), **environment})
        self.assertEqual([p.name for p in place.glob("x.pch.*") if p.name != "x.pch.d"], [], "it leaves something behind")
        if run.returncode:
            return None
        return [(place / name).read_text(errors="replace") for name in ("x.pch", "x.a", "x.pch.d")]

    def test_another_checkout_gets_the_same(self):
        first = self.precompile("int a;")
        self.assertEqual(self.runs.read_text(), "parsed\ncompiled\n")
        self.assertEqual(first[0], "int a;")
        self.assertIn("object of\nint a;", first[1])
        self.assertNotIn(str(self.folder), first[1])
        self.assertIn(r"/a/R&D\ |\ it's:\ \#1\ \1/x.pch: /usr/include/a", first[2])
        second = self.precompile("int a;", "b")
        self.assertEqual(self.runs.read_text(), "")
        self.assertEqual(second[:2], first[:2])
        self.assertIn(r"/b/R&D\ |\ it's:\ \#1\ \1/x.pch: /usr/include/a", second[2])

    def test_what_has_changed_is_made_anew(self):
        self.precompile("int a;")
        self.assertEqual(self.precompile("int b;")[0], "int b;")
        self.assertEqual(self.runs.read_text(), "parsed\ncompiled\n")
        self.precompile("int b;", VERSION="2")
        self.assertEqual(self.runs.read_text(), "parsed\ncompiled\n")

    def test_what_was_not_used_for_long_is_forgotten(self):
        for k in range(6):
            self.precompile(f"int a{k};")
            os.utime(max((self.cache / "precompiled").iterdir(), key=lambda path: path.stat().st_mtime), (k, k))
        self.precompile("int a0;")  # used again
        self.assertEqual(self.runs.read_text(), "")
        self.precompile("int a6;")
        self.assertEqual(len(list((self.cache / "precompiled").iterdir())), 6)
        self.precompile("int a0;")
        self.assertEqual(self.runs.read_text(), "")
        self.precompile("int a1;")
        self.assertEqual(self.runs.read_text(), "parsed\ncompiled\n")

    def test_forgets_nothing_of_others(self):
        other = self.folder / "a cache"
        self.cache = self.folder / "a cache of two words"
        other.mkdir()
        for k in range(8):
            self.precompile(f"int a{k};")
        self.assertEqual(len(list((self.cache / "precompiled").iterdir())), 6)
        self.assertTrue(other.exists())

    def test_what_is_half_there_is_made_anew(self):
        for file in ("x.pch", "x.a", "x.d"):
            self.precompile("int a;")
            [known] = (self.cache / "precompiled").iterdir()
            (known / file).unlink()
            self.assertEqual(self.precompile("int a;")[0], "int a;")
            self.assertEqual(self.runs.read_text(), "parsed\ncompiled\n")
            self.precompile("int a;")
            self.assertEqual(self.runs.read_text(), "")

    def test_nothing_is_remembered_of_what_failed(self):
        self.assertIsNone(self.precompile("error"))
        self.assertFalse((self.cache / "precompiled").exists())

    def test_goes_on_without_a_cache(self):
        no_folder = self.folder / "file"
        no_folder.write_text("")
        for cache in (str(no_folder), ""):
            self.assertEqual(self.precompile("int a;", CCACHE_DIR=cache)[0], "int a;")
            self.assertEqual(self.runs.read_text(), "parsed\ncompiled\n")


if __name__ == "__main__":
    unittest.main()
