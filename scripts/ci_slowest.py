#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What took longest in a run of .ci/run: ten objects, ten tests, ten cases on the cluster.

Usage: ci_slowest.py BUILD-FOLDER CASES-LOG
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


def tests(junit):
    return {case.get("name"): float(case.get("time")) for case in ET.parse(junit).getroot().iter("testcase")}


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


build = pathlib.Path(sys.argv[1])
show("objects", objects, build / ".ninja_log")
show("tests", tests, build / "tests.xml")
show("cases", cases, pathlib.Path(sys.argv[2]))
