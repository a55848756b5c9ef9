# SPDX-License-Identifier: Apache-2.0
"""./dev test without a choice (scripts/inside_tests.sh): each test once, what waits when no cases run beside each other, what
wants a quiet machine when all are over, what computes on several ranks when nobody else only computes, and whoever fails is known,
once more where few do. The tests are a script of our own; ctest is the real one."""
import fcntl
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE = 60  # s
# A program of GoogleTest, or a test without it: says that it ran, and does what its name says.
PROGRAM = r"""#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys, time
place = pathlib.Path(__file__).parent
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
free = subprocess.run(["flock", "--shared", "--nonblock", place / "lock", "true"]).returncode == 0
cases = []
for name in options.get("--gtest_filter", sys.argv[1]).split(":"):
    with (place / "runs").open("a") as runs:
        runs.write(f"{name} {'after' if free else 'beside'}\n")
    bad = "Fails" in name or "Unsteady" in name and not (place / name).exists()
    (place / name).touch()
    if "Stays" in name:
        time.sleep(1000)
    cases.append({"name": name.split(".")[0], "testsuite": [{"name": name.split(".")[1], "time": "0.1s", "result": "COMPLETED",
                 **({"failures": [{"failure": "it said why"}]} if bad else {})}]})
if "--gtest_output" in options:
    pathlib.Path(options["--gtest_output"].removeprefix("json:")).write_text(json.dumps({"testsuites": cases}))
sys.exit(bad)
"""
# What inside.sh has, as far as it is used.
CALL = """set -euo pipefail
project=$1 preset=release run=(ctest --output-on-failure --timeout 300 --output-junit) jobs=(--parallel 4)
say() { echo "dev: $*"; }
die() { say "$*"; exit 2; }
session_nice() { :; }
alone_in() { "${@:2}"; }
not_built() { local status=$?; echo 'it does not build'; return "$status"; }
source "$project/scripts/inside_tests.sh"
run_all_tests "${@:2}"
"""


class AllTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="empi-all-tests.")
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)
        (self.place / "program").write_text(PROGRAM)
        (self.place / "program").chmod(0o755)
        self.cases_run = (self.place / "lock").open("w")
        self.addCleanup(self.cases_run.close)
        fcntl.flock(self.cases_run, fcntl.LOCK_EX)

    def cases_end(self):
        fcntl.flock(self.cases_run, fcntl.LOCK_UN)

    def start(self, tests, *arguments, **settings):
        """`tests`: {name: label}; those of label `fast` are cases of GoogleTest, those of `shell` do nothing."""
        lines = []
        for name, label in tests.items():
            argument = f"--gtest_filter={name}" if label == "fast" else name
            command = '"true"' if label == "shell" else f'"{self.place}/program" "{argument}"'
            lines += [f"add_test([=[{name}]=] {command})",
                      f'set_tests_properties([=[{name}]=] PROPERTIES LABELS "{label}" WORKING_DIRECTORY "{self.place}")']
        (self.place / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EMPI_")}
        with (self.place / "said").open("w") as said:
            process = subprocess.Popen(["bash", "-c", CALL, "bash", SOURCE, *arguments], cwd=self.place, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**inherited, "EMPI_BUSY_LOCK": str(self.place / "lock"), "EMPI_CASES_ALONE": str(self.place / "alone"),
                                            **settings})
        self.addCleanup(process.kill)
        return process

    def runs(self):
        path = self.place / "runs"
        return path.read_text().splitlines() if path.exists() else []

    def said(self):
        return (self.place / "said").read_text()

    def wait_until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"in vain: {what}; it said: {self.said()}")
            time.sleep(0.02)

    def all_after_the_cases(self, tests, **options):
        self.cases_end()
        return self.start(tests, **options).wait(PATIENCE)

    def test_each_runs_once_and_what_waits_after_the_cases(self):
        process = self.start({"A.Fast": "fast", "A.Other": "fast", "B.Computes": "computes", "C.Waits": "processes;waits", "D.Long": "long"})
        self.wait_until("what computes has run", lambda: len(self.runs()) == 3)
        self.assertEqual(sorted(self.runs()), ["A.Fast beside", "A.Other beside", "B.Computes beside"])
        self.cases_end()
        self.assertEqual(process.wait(PATIENCE), 0, self.said())
        self.assertEqual(self.runs()[3:], ["C.Waits after"])
        self.assertIn("2 cases in 1 processes: 0 failed", self.said())
        self.assertEqual(self.said().count("100% tests passed, 0 tests failed out of 1"), 2, self.said())

    def test_what_waits_begins_when_cases_are_alone_and_what_wants_a_quiet_machine_does_not(self):
        process = self.start({"A.Fast": "fast", "C.Waits": "waits", "D.Measures": "e2e;quiet", "D.Timed": "waits;quiet"})
        self.wait_until("what is fast has run", lambda: self.runs())
        self.assertEqual(self.runs(), ["A.Fast beside"])
        (self.place / "alone").touch()
        self.wait_until("what waits has run", lambda: "C.Waits beside" in self.runs())
        self.assertEqual(len(self.runs()), 2)
        self.cases_end()
        self.assertEqual(process.wait(PATIENCE), 0, self.said())
        self.assertEqual(sorted(self.runs()[2:]), ["D.Measures after", "D.Timed after"])

    def test_what_wants_a_quiet_machine_does_not_wait_for_what_waits(self):
        process = self.start({"C.Stays": "waits", "D.Measures": "quiet"})
        (self.place / "alone").touch()
        self.wait_until("what waits runs", lambda: "C.Stays beside" in self.runs())
        self.cases_end()
        self.wait_until("the other has run", lambda: "D.Measures after" in self.runs())
        os.killpg(process.pid, signal.SIGINT)
        self.assertNotEqual(process.wait(PATIENCE), 0)
        self.wait_until("all are gone", lambda: not self.of_this_session(process.pid))

    def test_what_waits_does_not_wait_for_what_computes(self):
        process = self.start({"A.Fast": "fast", "B.Stays": "computes", "C.Waits": "waits"})
        self.wait_until("what computes runs", lambda: "B.Stays beside" in self.runs())
        self.cases_end()
        self.wait_until("what waits has run", lambda: "C.Waits after" in self.runs())
        self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGINT)  # as a terminal's Ctrl-C
        self.assertNotEqual(process.wait(PATIENCE), 0)
        self.wait_until("all are gone", lambda: not self.of_this_session(process.pid))

    def test_what_computes_on_several_ranks_begins_when_what_only_computes_is_over(self):
        process = self.start({"A.Fast": "fast", "B.Computes": "computes", "C.Waits": "waits", "E.OnRanks": "computes;ranks"})
        self.wait_until("it has run", lambda: "E.OnRanks beside" in self.runs())
        self.assertEqual(self.runs(), ["A.Fast beside", "B.Computes beside", "E.OnRanks beside"])
        self.cases_end()
        self.assertEqual(process.wait(PATIENCE), 0, self.said())
        self.assertEqual(self.runs()[3:], ["C.Waits after"])

    def test_what_computes_on_several_ranks_begins_at_the_latest_with_what_wants_a_quiet_machine(self):
        process = self.start({"B.Stays": "computes", "D.Stays": "quiet", "E.OnRanks": "computes;ranks"})
        self.wait_until("what computes runs", lambda: "B.Stays beside" in self.runs())
        self.cases_end()
        self.wait_until("all have begun", lambda: sorted(self.runs()[1:]) == ["D.Stays after", "E.OnRanks after"])
        os.killpg(process.pid, signal.SIGINT)
        self.assertNotEqual(process.wait(PATIENCE), 0)
        self.wait_until("all are gone", lambda: not self.of_this_session(process.pid))

    def of_this_session(self, number):
        found = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == number and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    def test_whoever_fails_is_known(self):
        tests = {"A.Fast": "fast", "A.FailsFast": "fast", "B.FailsToCompute": "computes", "C.FailsToWait": "waits", "C.Waits": "waits",
                 "D.Fails": "quiet"}
        self.assertEqual(self.all_after_the_cases(tests), 8, self.said())
        listed = (self.place / "Testing/Temporary/LastTestsFailed.log").read_text().split()
        self.assertEqual(sorted(listed), ["2:A.FailsFast", "3:B.FailsToCompute", "4:C.FailsToWait", "6:D.Fails"])
        self.assertNotIn("once more", self.said())
        self.assertIn("it said why", self.said())

    def test_few_are_tried_once_more(self):
        tests = {"A.Fast": "fast", "A.UnsteadyFast": "fast", "B.Unsteady": "computes", "C.Unsteady": "waits", "D.Unsteady": "quiet"}
        self.assertEqual(self.all_after_the_cases(tests, EMPI_ONCE_MORE="4"), 0, self.said())
        names = [line for line in self.said().splitlines() if "tried once more: " in line][0].split("once more: ")[1].split()
        self.assertEqual(sorted(names), ["A.UnsteadyFast", "B.Unsteady", "C.Unsteady", "D.Unsteady"])
        for name in tests:
            self.assertEqual(sum(run.startswith(name + " ") for run in self.runs()), 1 + ("Unsteady" in name), self.runs())

    def test_many_are_not(self):
        self.assertEqual(self.all_after_the_cases({f"C.Unsteady{k}": "waits" for k in range(4)}, EMPI_ONCE_MORE="3"), 8, self.said())
        self.assertNotIn("once more", self.said())

    def test_what_could_not_run_is_not_forgiven(self):
        (self.place / "bin").mkdir()
        (self.place / "bin/python3").write_text("#!/bin/sh\nexit 3\n")  # of together.py, for one
        (self.place / "bin/python3").chmod(0o755)
        path = f"{self.place}/bin:{os.environ['PATH']}"
        self.assertEqual(self.all_after_the_cases({"A.Fast": "fast", "C.Waits": "shell"}, EMPI_ONCE_MORE="3", PATH=path), 3, self.said())
        self.assertIn("100% tests passed", self.said(), "what waits has run all the same")
        self.assertNotIn("once more", self.said())

    def test_what_must_compile_and_does_not(self):
        (self.place / "bin").mkdir()
        (self.place / "bin/cmake").write_text("#!/bin/sh\necho of the compiler; exit 1\n")
        (self.place / "bin/cmake").chmod(0o755)
        settings = {"EMPI_TEST_TARGETS": "check-it", "EMPI_ONCE_MORE": "3", "PATH": f"{self.place}/bin:{os.environ['PATH']}"}
        self.assertNotIn(self.all_after_the_cases({"C.Unsteady": "waits"}, **settings), (0, 8), self.said())
        self.assertIn("of the compiler\n", self.said())
        self.assertIn("not built: check-it", self.said())
        self.assertNotIn("once more", self.said())

    def test_what_somebody_wants_of_ctest_is_ctests(self):
        self.cases_end()
        process = self.start({"A.Fast": "fast", "B.Computes": "computes", "C.Waits": "waits"}, "--repeat", "until-fail:2")
        self.assertEqual(process.wait(PATIENCE), 0, self.said())
        self.assertEqual(sorted(run.split()[0] for run in self.runs()), sorted(["A.Fast", "B.Computes", "C.Waits"] * 2))


if __name__ == "__main__":
    unittest.main()
