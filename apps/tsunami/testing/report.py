#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: where a run's time goes is told by the tasks of the thesis' table 5.3, which add up to the time that it took; the report
shows them, and with --compare the workers of another run beside its own (figure 5.6 (b)).

Usage: report.py EMPI-TSUNAMI EMPI-TSUNAMI-REPORT
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TASKS = ["grid refinement", "grid conformity check", "load balancing", "time step computation", "resource adaptation", "others"]

with tempfile.TemporaryDirectory(prefix="report.") as folder:
    own, other = pathlib.Path(folder) / "own", pathlib.Path(folder) / "other"
    begin = time.monotonic()
    subprocess.run([sys.argv[1], "--data", "none", "--finest", "12", "--end", "3600", "--snapshot-every", "0", "--maxima", "0",
                    "--out", own], check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - begin
    tasks = json.loads((own / "tsunami.json").read_text())["seconds_by_task"]
    assert sorted(tasks) == sorted(TASKS), tasks
    assert all(seconds >= 0 for seconds in tasks.values()), tasks
    assert tasks["grid refinement"] > 0 and tasks["grid conformity check"] > 0, tasks
    assert tasks["time step computation"] > tasks["load balancing"], tasks
    # From the first step to the end; before it MPI starts, and the mesh is made.
    clock = [float(line.split(",")[0]) for line in (own / "cells.csv").read_text().splitlines()[1:]]
    assert .9 * (clock[-1] - clock[0]) <= sum(tasks.values()) < took, (tasks, clock, took)

    other.mkdir()
    (other / "cells.csv").write_text("wall_clock_s,simulated_s,cells,ranks\n10,0,900,1\n20,1800,1200,4\n30,3600,1000,2\n")
    subprocess.run([sys.argv[2], own, "--compare", other], check=True, stdout=subprocess.DEVNULL)
    page = (own / "index.html").read_text()
    shares = [float(re.search(f"<td>{task}</td><td>([0-9.]+) %</td>", page)[1]) for task in TASKS]
    assert abs(sum(shares) - 100) < .5, shares
    assert (own / "profiles.png").stat().st_size > 1000 and (own / "profiles.svg").exists()
    assert "profiles.png" in page and "Workers over the run time of several runs" in page
    refused = subprocess.run([sys.argv[2], own, "--compare", folder], capture_output=True, text=True)
    assert refused.returncode == 2 and "cells.csv: expected the profile of a run" in refused.stderr, refused
print(f"{took:.2f} s:", ", ".join(f"{task} {seconds:.3f}" for task, seconds in tasks.items()))
