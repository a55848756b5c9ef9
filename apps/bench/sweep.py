#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets: jobs empi-jacobi empi-tsunami empi-spe10
"""bench sweep: how long an iteration takes at each fixed size, of the jobs that policy efficiency is tested on.

Each size runs by `empi run` on emulated slow pods until enough of it is measured, and is then cancelled. The rows on
stderr are those of operator/decide/testing/measured_curves.hpp: size, seconds of an iteration, load balance,
communication efficiency. Where the program reports work, the iteration is one of mean work of all sizes, so that
meshes which grow during the run compare.

Usage: sweep.py spe10|tsunami|jacobi [SIZE ...] [--out DIR]     sizes (1 2 3 4 6 8); DIR keeps the runs
"""
import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import elastic

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Manifest, settings; a kernel without sch_netem cannot delay packets, a limit of bandwidth stands for it.
JOBS = {
    "spe10": ("apps/spe10/bench/elastic.yaml", ["local.networkDelayMicroseconds=0", "local.networkMegabitsPerSecond=100"],
              ["--days", "240"]),
    "tsunami": ("apps/tsunami/bench/elastic.yaml", [], []),
    "jacobi": ("apps/jacobi/jacobi.yaml", ["local.slowdownFactor=16"], []),
}
WARM_UP = 3  # windows of the first iterations
LEAST_ITERATIONS, LEAST_SECONDS, MOST_SECONDS = 6, 12, 60  # measured


def windows_of(folder):
    """The windows in which the efficiency is known, from the first in which an iteration has ended on."""
    try:
        with (folder / "profile.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["efficiency"] and row["epoch"]]
    except (FileNotFoundError, TypeError):
        return []
    begun = next((k for k, row in enumerate(rows) if float(row["iterations"]) > 0), len(rows))
    return [{name: float(value) for name, value in row.items()} for row in rows[begun + WARM_UP:]]


def whole_iterations(windows):
    """From the end of one iteration to the end of another: their windows, and the seconds between."""
    ends = [k for k, window in enumerate(windows) if window["iterations"] > 0]
    if not ends:
        return [], 0
    return windows[ends[0] + 1:ends[-1] + 1], windows[ends[-1]]["time_s"] - windows[ends[0]]["time_s"]


def job_name(manifest):
    return next(line.split(":")[1].strip() for line in manifest.read_text().splitlines() if line.strip().startswith("name:"))


def measure(out, what, size, least_seconds=LEAST_SECONDS):
    manifest, settings, arguments = JOBS[what]
    manifest, folder = SOURCE / manifest, out / f"{what}-{size}"
    settings = ["autoscaling.mode=Off", "autoscaling.windowSeconds=1", f"worker.replicas={size}", *settings]
    command = ["empi", "run", manifest, "--out", folder, *(word for s in settings for word in ("--set", s)), "--", *arguments]
    with (out / f"{what}-{size}.log").open("w") as log:
        job = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        began, cancelled, windows = None, False, []
        while job.poll() is None:
            time.sleep(0.5)
            windows = windows_of(folder)
            began = began or (time.monotonic() if windows else None)
            measured, seconds = whole_iterations(windows)
            enough = seconds >= least_seconds and sum(w["iterations"] for w in measured) >= LEAST_ITERATIONS
            if not cancelled and began and (enough or time.monotonic() - began > MOST_SECONDS):
                cancelled = subprocess.run(["empi", "cancel", job_name(manifest)], stdout=subprocess.DEVNULL).returncode == 0
    if job.returncode != 0 and not cancelled:
        sys.exit(f"bench sweep: {what} on {size} failed with {job.returncode}:\n" + (out / f"{what}-{size}.log").read_text()[-3000:])
    measured, seconds = whole_iterations(windows_of(folder))
    iterations = sum(window["iterations"] for window in measured)
    if iterations == 0:
        sys.exit(f"bench sweep: {what} on {size} ended no iteration in {MOST_SECONDS} s")
    elastic.note(f"{what} on {size}: {iterations:.0f} iterations in {seconds:.0f} s; load {os.getloadavg()[0]:.0f}")
    mean = {name: sum(window[name] for window in measured) / len(measured)
            for name in ("load_balance", "communication_efficiency")}
    return {"seconds": seconds / iterations, "work": sum(w["work_units"] for w in measured) / iterations,
            **mean}


def at_each_size(measured):
    """Of all sizes from the least to the largest that was measured, by size: those between go by 1/size."""
    values = {}
    for size in range(min(measured), max(measured) + 1):
        below = max(s for s in measured if s <= size)
        above = min(s for s in measured if s >= size)
        share = 0 if above == below else (1 / size - 1 / below) / (1 / above - 1 / below)
        values[size] = measured[below] + share * (measured[above] - measured[below])
    return values


def bench(out, what, sizes):
    rows = {size: measure(out, what, size) for size in sizes}
    work = sum(row["work"] for row in rows.values()) / len(rows)
    for size, row in rows.items():
        seconds = row["seconds"] * (work / row["work"] if work > 0 else 1)
        print(f"bench sweep.{what}.{size} {seconds:.4g} s", flush=True)
        elastic.note(f"{{{size}, {seconds:.4g}, {row['load_balance']:.3f}, {row['communication_efficiency']:.3f}}},")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("sizes", type=int, nargs="*", default=[1, 2, 3, 4, 6, 8])
    parser.add_argument("--out", type=pathlib.Path, help="keeps the runs")
    args = parser.parse_args()
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        bench(args.out.resolve(), args.job, args.sizes)
        return
    with tempfile.TemporaryDirectory(prefix="sweep.") as folder:
        bench(pathlib.Path(folder), args.job, args.sizes)


if __name__ == "__main__":
    main()
