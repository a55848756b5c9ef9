#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every GoogleTest case of the built test programs is a ctest case, and every such ctest case exists.

ctest's list is read in the sources when CMake configures; a case that this missed would never run. And slow.txt beside this
names tests that there are.
Usage: every_case.py BUILD-FOLDER
"""
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys

ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}


def cases_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], env=ENVIRONMENT, capture_output=True, text=True,
                            timeout=60, check=True).stdout
    suite = ""
    for line in listed.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            yield suite + line.strip()
        elif line.endswith("."):
            suite = line.strip()


def gone(known):
    """A build may have tests without their sanitizers, or with them only."""
    plain = {name.removeprefix("asan.").removeprefix("tsan.") for name in known}
    for line in (pathlib.Path(__file__).parent / "slow.txt").read_text().splitlines():
        if not line.startswith("#"):
            name = line.split(" ", 1)[1].removeprefix("asan.").removeprefix("tsan.")
            if not any(test == name or test.startswith(name + ".") for test in plain):
                yield f"slow.txt: there is no test {line}"


def main():
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=sys.argv[1], capture_output=True, text=True, check=True)
    filters = collections.defaultdict(list)
    tests = json.loads(shown.stdout)["tests"]
    for test in tests:
        command = test.get("command", [])
        if len(command) == 3 and command[2].startswith("--gtest_filter="):
            filters[command[0]].append(command[2].removeprefix("--gtest_filter="))
    programs = {program: patterns for program, patterns in filters.items() if pathlib.Path(program).exists()}
    assert programs, "no test program is built"
    # Some cases run with a sanitizer, some without: each program has all of them. Of one that is not built ctest tells no command.
    of_name = collections.defaultdict(list)
    for test in tests:
        name, _, case = test["name"].removeprefix("asan.").removeprefix("tsan.").partition(".")
        of_name[name] += [case, f"*/{case}/*"]
    wrong = []
    count = 0
    for program, patterns in sorted(programs.items()):
        name = pathlib.Path(program).name
        cases = list(cases_of(program))
        count += len(cases)
        wrong += [f"{name}: {case} is in no ctest case" for case in cases
                  if not any(fnmatch.fnmatchcase(case, pattern) for pattern in of_name[name])]
        # A whole program leaves out what runs without its sanitizer, -SUITE.CASE:SUITE.CASE, and need not have it.
        wrong += [f"{name}: there is no case {one}, of {pattern}" for pattern in patterns
                  for one in pattern.removeprefix("-").split(":")
                  if not any(fnmatch.fnmatchcase(case, one) for case in cases)
                  and not (pattern.startswith("-") and one in of_name[name])]
    wrong += gone({test["name"] for test in tests})
    print(f"{count} cases of {len(programs)} programs")
    if wrong:
        sys.exit("\n".join(wrong))


main()
