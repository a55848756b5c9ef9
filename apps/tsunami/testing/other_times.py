#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: a record whose seconds count from another event ends the program before its first step; one that the run is too short
for is told of on stderr, and the run is done.

Usage: other_times.py EMPI-TSUNAMI
"""
import pathlib
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory(prefix="other-times.") as folder:
    out, record = pathlib.Path(folder) / "out", pathlib.Path(folder) / "record.txt"
    record.write_text("".join(f"{time} 0\n" for time in range(7200, 14400, 60)))

    def run(window):
        return subprocess.run([sys.argv[1], "--data", "none", "--finest", "9", "--end", "30", "--snapshot-every", "0", "--maxima", "0",
                               "--gauge", f"g:-86:-18:{record}{window}", "--out", out], capture_output=True, text=True)
    other = run(":100-1200")
    assert other.returncode == 2 and "expected samples from 100 s to 1200 s, the window of gauge g, found times from 7200 s" in other.stderr, \
        (other.returncode, other.stderr)
    assert not (out / "tsunami.json").exists(), "the run has begun"
    trial = run(":7200-14400")
    assert trial.returncode == 0 and "gauge g will not be judged" in trial.stderr, (trial.returncode, trial.stderr)
