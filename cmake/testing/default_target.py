#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The default target is the product: nothing that only tests or benchmarks use is compiled for it.

Usage: default_target.py BUILD-FOLDER
"""
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])


def included(source):
    """What a source that was made of several (cmake/compiling.cmake) compiles."""
    return re.findall(r'^#include "(.*)"$', (build / source).read_text(), re.M)


inputs = subprocess.run(["ninja", "-C", sys.argv[1], "-t", "inputs", "all"], capture_output=True, text=True, check=True)
lines = inputs.stdout.splitlines()
sources = [line for line in lines if line.endswith(".cpp")]
sources += [source for line in sources if pathlib.Path(line).parent.name == "unity" for source in included(line)]
assert sources, "the default target compiles nothing?"
wrong = [source for source in sources if re.search(r"/testing/|_(test|bench)\.cpp$", source)]
for source in wrong:
    print(f"{source}: compiled by default: say empi_test_programs, empi_benchmarks or EXCLUDE_FROM_ALL")
sys.exit(1 if wrong else 0)
