# SPDX-License-Identifier: Apache-2.0
"""What scripts/tidy.py looks at, and what it need not look at again: with a program in clang-tidy's place."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parent.parent / 'tidy.py'
# Notes whom it was asked about; says that a source with the word BAD is.
CLANG_TIDY = '''#!/bin/sh
[ "$1" = --version ] && { cat "$0.version"; exit; }
for source; do :; done
echo "$source" >>"$0.asked"
if grep -q CRASH "$source"; then echo 'it broke' >&2; exit 3; fi
grep -n BAD "$source" | sed "s#^\\([0-9]*\\):.*#$PWD/$source:\\1:1: warning: bad [check]#"
exit 0
'''


class Tidy(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = pathlib.Path(self.temporary.name).resolve() / 'checkout'
        self.tool = self.root.parent / 'clang-tidy'
        self.tool.parent.mkdir(exist_ok=True)
        self.tool.write_text(CLANG_TIDY)
        self.tool.chmod(0o755)
        self.write(self.root.parent / 'clang-tidy.version', '1')
        self.make(self.root)

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def make(self, root, flags=''):
        for name, text in {'.clang-tidy': 'Checks: all', 'a/a.hpp': 'int a();\n', 'a/a.cpp': '#include "a/a.hpp"\n',
                           'b.cpp': 'int b() { return 1; }\n'}.items():
            self.write(root / name, text)
        entries = [{'directory': str(root / 'build'), 'file': str(root / name),
                    'command': f'c++ -I{root} {flags} -o it.o -c {root / name}'} for name in ('a/a.cpp', 'b.cpp')]
        self.write(root / 'build/compile_commands.json', json.dumps(entries))

    def tidy(self, *options, root=None, sources='b.cpp\na/a.cpp\nnot_built.cpp\n'):
        """(whom clang-tidy was asked about, what was found, what was said)"""
        asked = self.root.parent / 'clang-tidy.asked'
        asked.unlink(missing_ok=True)
        run = subprocess.run([sys.executable, TIDY, '--build', 'build', '--known', str(self.root.parent / 'known'),
                              '--clang-tidy', str(self.tool), *options], cwd=root or self.root, input=sources,
                             text=True, capture_output=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        return sorted(asked.read_text().split()) if asked.exists() else [], run.stdout, run.stderr

    def test_what_was_clean_is_not_looked_at_again(self):
        self.assertEqual(self.tidy()[0], ['a/a.cpp', 'b.cpp'])
        asked, found, said = self.tidy()
        self.assertEqual((asked, found), ([], ''))
        self.assertIn('looked at 0 sources, 2 were known to be clean', said)

    def test_what_has_a_finding_is_looked_at_until_it_has_none(self):
        self.write(self.root / 'b.cpp', 'int b();\nint BAD();\n')
        for _ in range(2):
            asked, found, _ = self.tidy(sources='b.cpp\n')
            self.assertEqual((asked, found), (['b.cpp'], 'b.cpp:2:1: warning: bad [check]\n'))
        self.write(self.root / 'b.cpp', 'int b();\n')
        self.assertEqual(self.tidy(sources='b.cpp\n')[:2], (['b.cpp'], ''))

    def test_a_header_that_changes_is_a_change(self):
        self.tidy()
        self.write(self.root / 'a/a.hpp', 'int a(int);\n')
        self.assertEqual(self.tidy()[0], ['a/a.cpp'])
        (self.root / 'a/a.hpp').unlink()
        self.assertEqual(self.tidy()[0], ['a/a.cpp'])

    def test_so_are_checks_tools_and_commands(self):
        self.tidy()
        self.write(self.root / '.clang-tidy', 'Checks: others')
        self.assertEqual(len(self.tidy()[0]), 2)
        self.write(self.root.parent / 'clang-tidy.version', '2')
        self.assertEqual(len(self.tidy()[0]), 2)
        self.make(self.root, flags='-DOTHER')
        self.assertEqual(len(self.tidy()[0]), 2)
        self.assertEqual(len(self.tidy()[0]), 0)

    def test_another_clone_knows_it_too(self):
        self.tidy()
        clone = self.root.parent / 'elsewhere'
        self.make(clone)
        self.assertEqual(self.tidy(root=clone)[0], [])

    def test_no_time(self):
        asked, _, said = self.tidy('--seconds', '0')
        self.assertEqual(asked, [])
        self.assertIn('not at 2 more for want of time', said)
        self.assertEqual(len(self.tidy()[0]), 2)

    def test_a_clang_tidy_that_fails_is_a_finding(self):
        self.write(self.root / 'b.cpp', 'int CRASH();\n')
        for _ in range(2):
            self.assertEqual(self.tidy(sources='b.cpp\n')[1], 'b.cpp: error: clang-tidy failed: it broke\n')

    def test_a_record_that_was_cut_off_is_none(self):
        self.tidy()
        for record in (self.root.parent / 'known').iterdir():
            record.write_text(record.read_text()[:20])
        self.assertEqual(len(self.tidy()[0]), 2)


if __name__ == '__main__':
    unittest.main()
