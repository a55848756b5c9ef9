#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: what turns out in mid-run to have no answer ends the program with status 2 and one line that says what does not
fit: here measurements that no parameters explain, since the model's outputs are beyond all of them.

Usage: no_answer_test.py PROGRAM, empi-surrogate
"""
import pathlib
import subprocess
import sys
import tempfile

PROBLEM = """
parameters: [{name: a, low: 0, high: 1}]
outputs: 2
model: {command: [sh, -c, "echo 1e300 1e300 >outputs.txt"]}
observed: [1, 2]
noise: 0.5
"""

with tempfile.TemporaryDirectory(prefix="no-answer-") as scratch:
    problem = pathlib.Path(scratch, "problem.yaml")
    problem.write_text(PROBLEM)
    done = subprocess.run([sys.argv[1], "--problem", str(problem), "--out", str(pathlib.Path(scratch, "out")), "--level", "2",
                           "--most-points", "20", "--reference-points", "8", "--samples", "64", "--burn-in", "64"],
                          capture_output=True, text=True, timeout=100)
said = [line for line in done.stderr.splitlines() if line.startswith("inverse problem: ")]
assert done.returncode == 2, f"status {done.returncode}: {done.stderr}"
assert len(said) == 1 and "none of 1000 starts" in said[0] and "noise" in said[0], done.stderr
