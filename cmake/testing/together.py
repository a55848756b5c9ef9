#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev test and ./dev test fast: the cases of one test program in one process of it, where ctest starts a process for each.

Most of what two thousand cases below a second take is the start of their program, of those under a sanitizer above all. A
case must not depend on who ran before it: one that fails here and not in ctest does. When a program dies, what it had not
reported runs again, each case by itself, so that it is known which. What is no GoogleTest case is left to ctest.

Reads what `ctest --show-only=json-v1` prints. Status 0: all is well; 1: not.

Usage: together.py            runs ctest for what is left to it
       together.py FOLDER     leaves it to whoever calls; FOLDER gets tests-fast.xml (as ctest --output-junit writes it),
                              tests-fast.txt (the names of those that ran) and tests-fast-failed.txt
"""
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

MOST = 40  # cases of a process: the rest of the program's go on beside it
BOUND = 300  # s, as of one case in cmake/testing.cmake; those that a process does not get to in it run again, each by itself
FILTER = "--gtest_filter="


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases that may share a process: {name in ctest: pattern of GoogleTest}."""
    command: tuple
    environment: tuple
    folder: str
    cases: dict = dataclasses.field(hash=False, compare=False)

    def only(self, cases):
        return dataclasses.replace(self, cases=cases)


def groups_of(tests):
    """The groups, and the names of those tests that are no cases of GoogleTest."""
    groups, others = {}, []
    for test in tests:
        properties = {entry["name"]: entry["value"] for entry in test["properties"]}
        command = test.get("command") or [""]
        if not command[-1].startswith(FILTER):
            others.append(test["name"])
            continue
        group = Group(tuple(command[:-1]), tuple(properties.get("ENVIRONMENT", ())), properties["WORKING_DIRECTORY"], {})
        groups.setdefault(group, group).cases[test["name"]] = command[-1].removeprefix(FILTER)
    parts = []
    for group in groups.values():
        names = list(group.cases)
        parts += [group.only({name: group.cases[name] for name in names[at:at + MOST]}) for at in range(0, len(names), MOST)]
    return parts, others


def reported_as(reported, pattern):
    return [case for name, case in reported.items() if fnmatch.fnmatchcase(name, pattern)]


def result_of(found):
    """Of a pattern's cases: "" (well), "skipped", the failures' words, or None: not all of them came to an end."""
    failures = [failure["failure"] for case in found for failure in case.get("failures", ())]
    if failures:
        return "\n".join(failures)
    if not found or any(case["result"] not in ("COMPLETED", "SKIPPED") for case in found):
        return None
    return "skipped" if any(case["result"] == "SKIPPED" for case in found) else ""


def failed(words):
    return bool(words) and words != "skipped"


def run(group, seconds=None):
    """{name: its result_of()}; what each took, as its program says, goes to `seconds`."""
    late = False
    with tempfile.TemporaryDirectory(prefix="empi-fast.") as folder:
        report = pathlib.Path(folder) / "report.json"
        try:
            ended = subprocess.run([*group.command, FILTER + ":".join(group.cases.values()), f"--gtest_output=json:{report}"],
                                   env=os.environ | dict(entry.split("=", 1) for entry in group.environment), cwd=group.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BOUND, check=False)
            status, output = ended.returncode, ended.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as ended:
            status, output, late = f"no end within {BOUND} s", (ended.stdout or b"").decode(errors="replace"), True
        suites = json.loads(report.read_text())["testsuites"] if report.exists() else []
    reported = {f"{suite['name']}.{case['name']}": case for suite in suites for case in suite["testsuite"]}
    found = {name: reported_as(reported, pattern) for name, pattern in group.cases.items()}
    results = {name: result_of(cases) for name, cases in found.items()}
    if seconds is not None:
        seconds |= {name: sum(float(case["time"].removesuffix("s")) for case in cases) for name, cases in found.items()}
    # Leaks, say, that are found when all is over. (Who was stopped in the middle has not reported.)
    silent = status != 0 and (not late or reported) and not any(map(failed, results.values()))
    lost = {name: pattern for name, pattern in group.cases.items() if silent or results[name] is None}
    if len(group.cases) == 1:
        return {name: f"status {status}\n{output}" if name in lost else result for name, result in results.items()}
    for name, pattern in lost.items():
        results |= run(group.only({name: pattern}), seconds)
    if silent and not any(map(failed, results.values())):
        results |= dict.fromkeys(lost, f"status {status} of these together, of none alone\n{output}")
    return results


def write(folder, results, seconds):
    suite = ET.Element("testsuite", name="fast", tests=str(len(results)))
    for name, words in results.items():
        status = "fail" if failed(words) else "notrun" if words else "run"
        case = ET.SubElement(suite, "testcase", name=name, classname=name, time=f"{seconds.get(name, 0):.3f}", status=status)
        ET.SubElement(case, "system-out").text = "".join(letter for letter in words if letter.isprintable() or letter in "\n\t")
    ET.ElementTree(suite).write(folder / "tests-fast.xml")
    for kind, names in {"": results, "-failed": [name for name, words in results.items() if failed(words)]}.items():
        (folder / f"tests-fast{kind}.txt").write_text("".join(f"{name}\n" for name in names))


def by_ctest(names):
    with tempfile.NamedTemporaryFile("w", prefix="empi-fast.") as file:
        file.write("\n".join(names) + "\n")
        file.flush()
        return subprocess.run(["ctest", "--output-on-failure", "--tests-from-file", file.name, "--parallel", str(os.cpu_count())],
                              stdin=subprocess.DEVNULL, check=False).returncode


def main(folder=None):
    start = time.monotonic()
    groups, others = groups_of(json.load(sys.stdin)["tests"])
    results, seconds = {}, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:  # some wait
        for found in pool.map(lambda group: run(group, seconds), sorted(groups, key=lambda group: -len(group.cases))):
            results |= found
            for name, words in found.items():
                if failed(words):
                    print(f"{name}: FAILED\n{words}", flush=True)
    failures = sum(map(failed, results.values()))
    skipped = sum(words == "skipped" for words in results.values())
    print(f"{len(results)} cases in {len(groups)} processes: {failures} failed, {skipped} skipped, {time.monotonic() - start:.0f} s", flush=True)
    status = 0
    if folder:
        write(pathlib.Path(folder), results, seconds)
    elif others:
        status = by_ctest(others)
    sys.exit(1 if failures or status else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
