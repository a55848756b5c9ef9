#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev test says of programs that fail, skip, die, leak, hang about and report nothing (together.py)."""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree as ET

import together

# Stands for a program of GoogleTest: cases of the pattern's names do what these say.
PROGRAM = textwrap.dedent("""\
    #!/usr/bin/env python3
    import json, os, sys, time
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    open(os.environ["RUNS"], "a").write(options["--gtest_filter"] + "\\n")
    cases = []
    for name in options["--gtest_filter"].split(":"):
        suite, case = name.replace("*/", "In/").replace("/*", "/0").split(".")
        if case == "Dies":
            os.abort()
        if case == "IsNot":
            continue
        if case == "Hangs" and options["--gtest_filter"].count(":") > 0:
            time.sleep(1000)
        result = {"name": case, "time": "0.25s", "result": "SKIPPED" if case == "Skips" else "COMPLETED"}
        if case == "Fails":
            result["failures"] = [{"failure": "expected 1, got 2"}]
        cases.append({"name": suite, "testsuite": [result]})
    path = options["--gtest_output"].removeprefix("json:")
    open(path, "w").write(json.dumps({"testsuites": cases}))
    if "Stays" in options["--gtest_filter"]:
        time.sleep(1000)
    together = options["--gtest_filter"].count(":") > 0
    bad = any(case["testsuite"][0].get("failures") for case in cases)
    sys.exit(bad or ("Leaks" in options["--gtest_filter"]) or ("Clash" in options["--gtest_filter"] and together))
""")

OTHER = {"name": "lint", "command": ["sh", "-c", "true"], "properties": [{"name": "WORKING_DIRECTORY", "value": "/"}]}


class Together(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="empi-together.")
        self.addCleanup(self.folder.cleanup)
        self.program = pathlib.Path(self.folder.name) / "some_test"
        self.program.write_text(PROGRAM)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.runs = pathlib.Path(self.folder.name) / "runs"

    def entry(self, case):
        return {"name": f"some_test.{case}", "command": [str(self.program), "--gtest_brief=1", f"--gtest_filter={case}"],
                "properties": [{"name": "ENVIRONMENT", "value": [f"RUNS={self.runs}"]},
                               {"name": "WORKING_DIRECTORY", "value": self.folder.name}]}

    def results(self, *cases):
        groups, others = together.groups_of([self.entry(case) for case in cases])
        self.assertEqual(others, [])
        found = {}
        for group in groups:
            found |= together.run(group)
        return {name.removeprefix("some_test."): words for name, words in found.items()}

    def test_all_run_in_one_process(self):
        self.assertEqual(self.results("A.Is", "*/B.Is/*", "C.Skips"), {"A.Is": "", "*/B.Is/*": "", "C.Skips": "skipped"})
        self.assertEqual(self.runs.read_text(), "A.Is:*/B.Is/*:C.Skips\n")

    def test_no_process_gets_too_many(self):
        self.results(*(f"A.Is{k}" for k in range(together.MOST + 1)))
        self.assertEqual(len(self.runs.read_text().splitlines()), 2)

    def test_a_failure_is_the_cases_own(self):
        self.assertEqual(self.results("A.Is", "A.Fails"), {"A.Is": "", "A.Fails": "expected 1, got 2"})

    def test_who_dies_is_found(self):
        found = self.results("A.Is", "A.Dies", "B.Is")
        self.assertEqual((found["A.Is"], found["B.Is"]), ("", ""))
        self.assertIn("status -6", found["A.Dies"])

    def test_a_case_that_there_is_not_has_failed(self):
        self.assertIn("status 0", self.results("A.Is", "A.IsNot")["A.IsNot"])

    def test_who_leaks_is_found(self):
        found = self.results("A.Is", "A.Leaks")
        self.assertEqual(found["A.Is"], "")
        self.assertIn("status 1", found["A.Leaks"])

    def test_a_leak_beside_a_case_that_skips_is_found(self):
        found = self.results("A.Skips", "A.Leaks")
        self.assertEqual(found["A.Skips"], "skipped")
        self.assertIn("status 1", found["A.Leaks"])

    def test_what_has_no_time_together_has_it_alone(self):
        self.addCleanup(setattr, together, "BOUND", together.BOUND)
        together.BOUND = 3
        self.assertEqual(self.results("A.Is", "A.Hangs"), {"A.Is": "", "A.Hangs": ""})

    def test_who_does_not_end_when_all_is_over_is_found(self):
        self.addCleanup(setattr, together, "BOUND", together.BOUND)
        together.BOUND = 2
        found = self.results("A.Is", "A.Stays")
        self.assertEqual(found["A.Is"], "")
        self.assertIn("no end within 2 s", found["A.Stays"])

    def test_what_fails_only_together_has_failed(self):
        self.assertIn("of none alone", self.results("A.Is", "A.Clash")["A.Clash"])

    def test_what_is_written_is_as_ctest_writes_it(self):
        place = pathlib.Path(self.folder.name)
        shown = json.dumps({"tests": [self.entry(case) for case in ("A.Is", "A.Fails", "B.Skips", "B.Dies")] + [OTHER]})
        said = subprocess.run([sys.executable, together.__file__, place], input=shown, capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 1, said)
        self.assertIn("4 cases in 1 processes: 2 failed, 1 skipped, ", said.stdout)
        cases = {case.get("name"): case for case in ET.parse(place / "tests-fast.xml").getroot().iter("testcase")}
        self.assertEqual({name.removeprefix("some_test."): case.get("status") for name, case in cases.items()},
                         {"A.Is": "run", "A.Fails": "fail", "B.Skips": "notrun", "B.Dies": "fail"})
        self.assertEqual(cases["some_test.A.Is"].get("time"), "0.250")
        self.assertEqual(cases["some_test.A.Fails"].findtext("system-out"), "expected 1, got 2")
        self.assertEqual((place / "tests-fast.txt").read_text().splitlines(), list(cases))
        self.assertEqual((place / "tests-fast-failed.txt").read_text(), "some_test.A.Fails\nsome_test.B.Dies\n")

    def test_other_tests_are_left_to_ctest(self):
        self.assertEqual(together.groups_of([OTHER]), ([], ["lint"]))


if __name__ == "__main__":
    os.environ.pop("GTEST_FILTER", None)
    unittest.main()
