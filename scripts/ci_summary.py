#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What there is to know of a run of .ci/run: what took longest (ten objects, ten tests, ten cases on the cluster), and at
the very end, where a log that is cut still has it, each test and case that failed, with its last words.

Usage: ci_summary.py BUILD-FOLDER CASES-LOG
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET


def objects(log):
    # start, end, time of the output, output, hash; the last line of an output is the newest
    seconds = {}
    for line in log.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith(".o"):
            seconds[re.sub(r"CMakeFiles/([^/]+)\.dir/", r"[\1] ", fields[3])] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def suites(build):
    """What ctest did beside the cases on the cluster, and after them (scripts/inside.sh)."""
    return [ET.parse(junit).getroot() for junit in sorted(build.glob("tests*.xml"))]


def tests(build):
    return {case.get("name"): float(case.get("time")) for suite in suites(build) for case in suite.iter("testcase")}


def cases(log):
    return {found[1]: float(found[2]) for found in re.finditer(r"^case (\S+) \S+ (\d+)$", log.read_text(), re.M)}


def show(what, read, path):
    if not path.exists():
        print(f"ci: the slowest {what} are not known: there is no {path}")
        return
    seconds = read(path)
    print(f"ci: the slowest of {len(seconds)} {what}, {sum(seconds.values()):.0f} s in all:")
    for name in sorted(seconds, key=seconds.get, reverse=True)[:10]:
        print(f"  {seconds[name]:7.1f} s  {name}")


def failed_tests(build):
    """Name and the lines of its output that say why, for each test that failed."""
    every = suites(build)
    sums = {what: sum(int(suite.get(what, 0)) for suite in every) for what in ("tests", "failures", "skipped")}
    print(f"ci: {sums['tests']} tests, {sums['failures']} failed, {sums['skipped']} skipped")
    for case in (case for suite in every for case in suite.iter("testcase")):
        if case.get("status") == "fail":
            lines = (case.findtext("system-out") or "").splitlines()
            # GoogleTest says why where it fails, and the logs of many pods may follow.
            first = next((at for at, line in enumerate(lines) if line.endswith("Failure")), max(0, len(lines) - 12))
            yield case.get("name"), lines[first : first + 6] + lines[max(first + 6, len(lines) - 6) :]


def failed_cases(log):
    """Name and what was not so, for each case that failed; run.sh writes it above the case's line."""
    lines = log.read_text().splitlines()
    print(f"ci: {sum(line.startswith('case ') for line in lines)} cases")
    for at, line in enumerate(lines):
        if found := re.match(r"case (\S+) FAILED", line):
            reasons = [line for line in lines[:at] if line.startswith(f"  {found[1]}: ")]
            yield found[1], reasons or lines[max(0, at - 12) : at]


def show_failed(what, read, path):
    if not path.exists():
        print(f"ci: whether {what} failed is not known: there is no {path}")
        return
    for name, why in read(path):
        print(f"ci: failed: {name}", *(f"  | {line[:240]}" for line in why), sep="\n")


build = pathlib.Path(sys.argv[1])
log = pathlib.Path(sys.argv[2])
show("objects", objects, build / ".ninja_log")
show("tests", tests, build)
show("cases", cases, log)
show_failed("tests", failed_tests, build)
show_failed("cases", failed_cases, log)
