#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench elastic-spe10: whether policy efficiency finds the best size of the SPE10 job, on 8 emulated slow pods.

  1. A sweep: a fifth of the job at every fixed size. A size that after half a minute has done less than half of the
     steps that the fastest one had done by then is ended; its time for the whole job is estimated from its steps.
  2. The whole job at the best of these sizes, and elastic from the largest: their times and core-seconds (workers
     held x time) as ratios.
  3. A fifth of the job elastic from one worker: where it settles.

Usage: elastic_spe10.py [DAYS] [--out DIR]    simulated days (240); DIR keeps all runs and draws their profiles
Between pods there is a delay; where the kernel has no sch_netem a limit of bandwidth stands for it. stderr says so,
and what was decided, and the load of the machine.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import elastic

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = SOURCE / "apps/spe10/bench/elastic.yaml"
SIZES = (2, 1, 4, 8)  # the likely best first: the others are compared with it while they run
MOST = max(SIZES)
PATIENCE = 30  # s before a size may be given up
NO_DELAY = ["--set", "local.networkDelayMicroseconds=0", "--set", "local.networkMegabitsPerSecond=100"]


class NoDelay(Exception):
    """The kernel cannot delay packets."""


class Bench(elastic.Bench):
    def __init__(self, out, days, network):
        super().__init__("elastic-spe10", out)
        self.days, self.network = days, network

    def simulate(self, name, days, settings, fastest=None):
        """One run of the job: its summary, with `steps` and whether it was `ended` as hopeless."""
        folder, log = self.out / name, self.out / f"{name}.log"
        command = ["empi", "run", MANIFEST, "--out", folder, *settings, *self.network, "--", "--days", f"{days:g}"]
        ended = False
        with log.open("w") as stream:
            start = time.monotonic()
            job = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
            while job.poll() is None:
                time.sleep(0.5)
                elapsed = time.monotonic() - start
                if fastest and not ended and elapsed > PATIENCE:
                    expected = fastest["steps"] * elapsed / fastest["run_time_s"]
                    if steps_of(folder) < 0.5 * min(expected, fastest["steps"]):
                        ended = subprocess.run(["empi", "cancel", "spe10-elastic"], stdout=subprocess.DEVNULL).returncode == 0
                if elapsed > 3600:
                    job.kill()
        text = log.read_text()
        if job.returncode != 0 and not ended:
            if "sch_netem" in text and not self.network:
                raise NoDelay
            self.fail(name, job.returncode)
        result = {**json.loads((folder / "summary.json").read_text()), "steps": steps_of(folder), "ended": ended}
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        elastic.note(f"{name}: {result['run_time_s']:.1f} s, {result['steps']} steps" + ", ended" * ended + f"; load {load}")
        elastic.note_decisions(result, ("Scale", "Keep", "Rebalance"))
        return result

    def fixed(self, size, days, fastest=None):
        settings = ["--set", "autoscaling.mode=Off", "--set", f"worker.replicas={size}"]
        return self.simulate(f"static-{size}" + ("" if days == self.days else "-short"), days, settings, fastest)

    def changing(self, start, days):
        return self.simulate(f"elastic-from-{start}", days, ["--set", f"worker.replicas={start}"])

    def measure(self):
        sweep = {}
        for size in SIZES:
            done = [run for run in sweep.values() if not run["ended"]]
            sweep[size] = self.fixed(size, self.days / 5, min(done, key=lambda r: r["run_time_s"], default=None))
        best = min((size for size in SIZES if not sweep[size]["ended"]), key=lambda size: sweep[size]["run_time_s"])
        return sweep, best, self.fixed(best, self.days), self.changing(MOST, self.days), self.changing(1, self.days / 5)


def steps_of(folder):
    try:
        return json.loads((folder / "progress.json").read_text())["step"]
    except (FileNotFoundError, json.JSONDecodeError):
        return 0


def final_size(run, start):
    return next((c["to"] for c in reversed(run["changes"]) if c.get("outcome") == "committed"), start)


def report(out, runs):
    names = [name for name in runs if (out / name / "cells.csv").exists()]
    subprocess.run(["empi-spe10-report", out / names[0], "--compare", *(out / name for name in names[1:])], check=True,
                   stdout=sys.stderr)


def bench(out, days):
    try:
        job = Bench(out, days, [])
        sweep, best, fixed, changing, from_one = job.measure()
    except NoDelay:
        elastic.note("no delay between pods, the kernel has no sch_netem: 100 Mbit/s between pods instead")
        job = Bench(out, days, NO_DELAY)
        sweep, best, fixed, changing, from_one = job.measure()
    job.figure("size_found", final_size(changing, MOST), "workers")
    job.figure("size_found_from_1", final_size(from_one, 1), "workers")
    job.figure("size_best", best, "workers")
    for size in sorted(SIZES):
        job.figure(f"step.{size}", sweep[size]["run_time_s"] / max(1, sweep[size]["steps"]), "s")
    job.figure("time_ratio", changing["run_time_s"] / fixed["run_time_s"], "ratio")
    most = sweep[MOST]
    time_most = most["run_time_s"] * fixed["steps"] / max(1, most["steps"])
    elastic.note(f"{MOST} workers for the whole job: {time_most:.0f} s, estimated from {most['steps']} of {fixed['steps']} steps")
    job.figure("time_ratio_max", changing["run_time_s"] / time_most, "ratio")
    job.figure("cpu_ratio", changing["core_seconds"] / (MOST * time_most), "ratio")
    job.figure("cpu_ratio_best", changing["core_seconds"] / fixed["core_seconds"], "ratio")
    job.figure("run_time", changing["run_time_s"], "s")
    return [f"static-{best}", f"elastic-from-{MOST}", f"static-{MOST}-short"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("days", type=float, nargs="?", default=240)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        report(args.out.resolve(), bench(args.out.resolve(), args.days))
        return
    with tempfile.TemporaryDirectory(prefix="elastic-spe10.") as folder:
        bench(pathlib.Path(folder), args.days)


if __name__ == "__main__":
    main()
