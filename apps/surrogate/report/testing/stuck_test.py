#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: a run whose chains are stuck says so in one line, so does its report, and both end as others do; of somebody's model
neither speaks of the channel.

Usage: stuck_test.py PROGRAM REPORT, empi-surrogate and empi-surrogate-report
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Nothing but noise to whoever takes steps: after n of them, one in n is the best so far, and others are refused.
MODEL = """
import math
def f(p):
    u = 1e12 * p[0] + 1.7 * p[1]
    return [2 + math.sin(1e12 * u), 2 + math.cos(1.3e12 * u)]
"""
PROBLEM = """
parameters: [{name: left, low: 0, high: 1e-12}, {name: right, low: 0, high: 1}]
outputs: 2
model: {python: "model.py:f"}
truth: [0.25e-12, 0.5]
relativeNoise: 1e-9
"""

with tempfile.TemporaryDirectory(prefix="stuck-") as scratch:
    folder = pathlib.Path(scratch)
    (folder / "model.py").write_text(MODEL)
    (folder / "problem.yaml").write_text(PROBLEM)
    run = subprocess.run([sys.argv[1], "--problem", str(folder / "problem.yaml"), "--out", str(folder / "out"), "--level", "2",
                          "--most-points", "5", "--reference-points", "8", "--ensembles", "2", "--chains", "1", "--samples", "16",
                          "--burn-in", "2000", "--thin", "1", "--delayed-acceptance"], capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, f"status {run.returncode}: {run.stderr}"
    said = [line for line in run.stderr.splitlines() if "the chains are stuck" in line]
    assert len(said) == 1 and "R-hat of left, right is no finite number" in said[0], run.stderr
    found = json.loads((folder / "out/surrogate.json").read_text())
    assert found["stuck"] == ["left", "right"] and found["worst_split_rhat"] is None, found
    assert all(p["split_rhat"] is None for p in found["parameters"]), found["parameters"]
    report = subprocess.run([sys.argv[2], str(folder / "out")], capture_output=True, text=True, timeout=100)
    assert report.returncode == 0, f"status {report.returncode}: {report.stderr}"
    assert "chains that are stuck" in report.stdout and re.search(r"left = [\d.]+e-1\d", report.stdout), report.stdout
    page = (folder / "out/index.html").read_text()
    assert "problem.yaml" in page and "bstacles" not in page, page
    # A run that is not over: what is known is in progress.json.
    (folder / "out/surrogate.json").unlink()
    report = subprocess.run([sys.argv[2], str(folder / "out")], capture_output=True, text=True, timeout=100)
    assert report.returncode == 2 and "surrogate.json" in report.stderr, report.stderr
    page = (folder / "out/index.html").read_text()
    assert "problem.yaml" in page and "bstacles" not in page, page
