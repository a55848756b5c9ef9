#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The default target is the product: nothing that only tests or benchmarks use is compiled for it.

Usage: default_target.py BUILD-FOLDER
"""
import re
import subprocess
import sys

inputs = subprocess.run(["ninja", "-C", sys.argv[1], "-t", "inputs", "all"], capture_output=True, text=True, check=True)
sources = [line for line in inputs.stdout.splitlines() if line.endswith(".cpp")]
assert sources, "the default target compiles nothing?"
wrong = [source for source in sources if re.search(r"/testing/|_(test|bench)\.cpp$", source)]
for source in wrong:
    print(f"{source}: compiled by default: say empi_test_programs, empi_benchmarks or EXCLUDE_FROM_ALL")
sys.exit(1 if wrong else 0)
