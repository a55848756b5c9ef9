#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What there is to know of a run of .ci/run: what took longest (ten objects, ten tests, ten cases on the cluster), and at
the very end, where a log that is cut still has it, each test and case that failed, with its last words. What failed beside
the rest and ended well when it was tried once more, alone, is unsteady: that is said, too, with what it said at first.

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


def runs(build):
    """The tests of each run: the fast ones, what computes, what waits, what wants a quiet machine, what runs beside it, and once more (scripts/inside_tests.sh)."""
    names = ("tests-fast", "tests-beside", "tests", "tests-quiet", "tests-ranks", "tests-again")
    files = (build / f"{name}.xml" for name in names)
    return [list(ET.parse(junit).getroot().iter("testcase")) for junit in files if junit.exists()]


def tests(build):
    return {case.get("name"): float(case.get("time")) for run in runs(build) for case in run}


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


def why_it_failed(case):
    lines = (case.findtext("system-out") or "").splitlines()
    # GoogleTest says why where it fails, and the logs of many pods may follow.
    first = next((at for at, line in enumerate(lines) if line.endswith("Failure")), max(0, len(lines) - 12))
    return lines[first : first + 6] + lines[max(first + 6, len(lines) - 6) :]


def failed_tests(build):
    """Name, whether it ended well at last, and the lines of its output that say why, for each test that failed."""
    last = {case.get("name"): case.get("status") for run in runs(build) for case in run}
    failed = {case.get("name"): why_it_failed(case) for run in runs(build) for case in run if case.get("status") == "fail"}
    skipped = sum(status not in ("run", "fail") for status in last.values())
    print(f"ci: {len(last)} tests, {sum(status == 'fail' for status in last.values())} failed, {skipped} skipped")
    for name, why in failed.items():
        yield name, last[name] != "fail", why


def failed_cases(log):
    """The same of cases; run.sh writes what was not so above the line of each."""
    lines = log.read_text().splitlines()
    verdicts = [(at, *line.split()[1:3]) for at, line in enumerate(lines) if line.startswith("case ")]
    last = {name: verdict for _, name, verdict in verdicts}
    print(f"ci: {len(last)} cases, {sum(verdict == 'FAILED' for verdict in last.values())} failed")
    for name, at in {name: at for at, name, verdict in verdicts if verdict == "FAILED"}.items():
        reasons = [line for line in lines[:at] if line.startswith(f"  {name}: ")]
        yield name, last[name] != "FAILED", reasons or lines[max(0, at - 12) : at]


def show_failed(what, read, path):
    if not path.exists():
        print(f"ci: whether {what} failed is not known: there is no {path}")
        return
    for name, well_at_last, why in read(path):
        print(f"ci: {'unsteady' if well_at_last else 'failed'}: {name}", *(f"  | {line[:240]}" for line in why), sep="\n")


build = pathlib.Path(sys.argv[1])
log = pathlib.Path(sys.argv[2])
show("objects", objects, build / ".ninja_log")
show("tests", tests, build)
show("cases", cases, log)
show_failed("tests", failed_tests, build)
show_failed("cases", failed_cases, log)
