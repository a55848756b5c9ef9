#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets: all bench_surrogate_runs
"""bench elastic-tsunami, elastic-spe10, elastic-surrogate: what elasticity saves and costs, on 8 emulated slow pods.

  1. A sweep: the job at every fixed size. One that after half a minute is not half as far as the fastest was by then is
     ended; its time for the rest follows from its pace.
  2. The job elastic, at the best fixed size, and on all workers, in turn, as often as --repeats says.
  3. The offline plan: of all plans of sizes, known from the sweep, how long each part of the job takes at each, with the
     measured costs of changes, what the cheapest takes that is no slower than the elastic job, and the fastest that is no
     dearer.

Ratios are of the mean of the elastic runs: time_ratio, cpu_ratio (core-seconds: workers held x time) over static-max,
static_best.* over the best fixed size, time_ratio_best, cpu_ratio_best over the offline plan; NAME.low and .high are the
95 % interval of the elastic mean and the fixed one. elastic-combined: sums of the three jobs over the sums at their best
fixed sizes. elastic-surrogate.forward_runs is of ./dev bench surrogate-runs.

Usage: fair.py tsunami|spe10|surrogate|combined [--repeats N] [--out DIR]
       DIR keeps all runs; what it has is not run again
"""
import argparse
import bisect
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys

import elastic
import plan

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 30  # s before a size may be given up
PARTS = 40  # of a job, for each of which the offline plan has a size


@dataclasses.dataclass(frozen=True)
class Application:
    """A job to be compared: its manifest in apps/, which says where it starts."""
    manifest: str
    name: str  # of the job
    sizes: tuple  # likely best first: the others are compared with it while they run
    result: str  # of its summary, the same at any size

    @property
    def most(self):
        return max(self.sizes)


APPLICATIONS = {
    "tsunami": Application("tsunami/bench/elastic.yaml", "tsunami-elastic", (8, 4, 2, 1), "state_hash"),
    "spe10": Application("spe10/bench/elastic.yaml", "spe10-elastic", (4, 8, 2, 1), "cells_final"),
    "surrogate": Application("surrogate/bench/elastic.yaml", "surrogate-bench", (8, 4, 2, 1), "fingerprint"),
}


class Progress:
    """When how much of a run was done: iterations, or tasks of a program that has them."""

    def __init__(self, folder):
        self.times, self.done = [], []
        try:
            lines = (folder / "windows.jsonl").read_text().splitlines()
            windows = [json.loads(line) for line in lines if line.endswith("}")]
        except FileNotFoundError:
            windows = []
        amounts = [w.get("tasks", {}).get("ended", 0) if "tasks" in w else w["iterations"] for w in windows]
        first = next((k for k, amount in enumerate(amounts) if amount), len(windows))
        if first == len(windows):
            return
        begun = windows[first]["index"] * windows[first]["widthSeconds"]
        self.times, self.done = [0.0], [0]
        for window, amount in zip(windows[first:], amounts[first:]):
            self.times.append((window["index"] + 1) * window["widthSeconds"] - begun)
            self.done.append(self.done[-1] + amount)

    @property
    def total(self):
        return self.done[-1] if self.done else 0

    def at(self, amount, whole=None):
        """Seconds until so much was done. What was not goes on in the ratio that it had to the times of a `whole` run, over
        the last third."""
        if amount > self.total:
            since = 2 / 3 * self.total
            pace = (self.times[-1] - self.at(since)) / (whole.at(self.total) - whole.at(since))
            return self.times[-1] + pace * (whole.at(min(amount, whole.total)) - whole.at(self.total))
        k = max(1, bisect.bisect_left(self.done, amount))
        share = (amount - self.done[k - 1]) / max(1, self.done[k] - self.done[k - 1])
        return self.times[k - 1] + share * (self.times[k] - self.times[k - 1])

    def by(self, seconds):
        return self.done[max(0, bisect.bisect_right(self.times, seconds) - 1)] if self.done else 0


@dataclasses.dataclass
class Run:
    summary: dict
    progress: Progress
    ended: bool  # as hopeless

    @property
    def seconds(self):
        return self.summary["run_time_s"]

    @property
    def core_seconds(self):
        return self.summary["core_seconds"]


class Bench(elastic.Bench):
    def __init__(self, what, out):
        super().__init__(f"elastic-{what}", out)
        self.application = APPLICATIONS[what]

    def run_job(self, name, settings, fastest=None):
        folder = self.out / name

        def end(folder):
            if not fastest or not self.is_hopeless(Progress(folder), fastest.progress):
                return False
            return subprocess.run(["empi", "cancel", self.application.name], stdout=subprocess.DEVNULL).returncode == 0

        if not (folder / "summary.json").exists():
            arguments = [SOURCE / "apps" / self.application.manifest, *(word for s in settings for word in ("--set", s))]
            self.empi_run(name, *arguments, end=end)
        return self.read(name, folder)

    def read(self, name, folder):
        summary = json.loads((folder / "summary.json").read_text())
        run = Run(summary, Progress(folder), summary["result"] != "Succeeded")
        if run.progress.total == 0:
            self.fail(name, "it did nothing")
        elastic.note(f"{name}: {run.seconds:.1f} s, {run.core_seconds:.0f} core-seconds, {len(elastic.committed(summary))} changes"
                     + ", ended" * run.ended + f"; load {os.getloadavg()[0]:.1f}")
        elastic.note_decisions(run.summary, ("Scale", "Rebalance"))
        return run

    @staticmethod
    def is_hopeless(progress, fastest):
        return bool(progress.times) and progress.times[-1] > PATIENCE and progress.total < .5 * fastest.by(progress.times[-1])

    def fixed(self, name, size, fastest=None):
        return self.run_job(name, ["autoscaling.mode=Off", f"worker.replicas={size}"], fastest)

    def sweep(self):
        runs = {}
        for size in self.application.sizes:
            whole = [run for run in runs.values() if not run.ended]
            runs[size] = self.fixed(f"sweep-{size}", size, min(whole, key=lambda run: run.seconds, default=None))
        return runs

    def check(self, runs):
        """They did the same."""
        results = {run.summary[self.application.result] for run in runs if not run.ended}
        if len(results) > 1:
            sys.exit(f"bench {self.name}: the runs did not come to the same result: {self.application.result} {results}")


def fastest_of(sweep):
    return min((run for run in sweep.values() if not run.ended), key=lambda run: run.seconds)


def parts_of(sweep):
    """{workers: seconds of each part of the job}, and what a run takes beside: {workers: seconds}."""
    fastest = fastest_of(sweep)
    total = fastest.progress.total
    ends = [total * k / PARTS for k in range(PARTS + 1)]
    parts = {}
    for size, run in sweep.items():
        times = [run.progress.at(amount, fastest.progress) for amount in ends]
        parts[size] = [b - a for a, b in zip(times, times[1:])]
    beside = [run.seconds - run.progress.times[-1] for run in sweep.values() if not run.ended]
    return parts, max(0.0, statistics.median(beside))


def change_seconds(runs):
    """That a change keeps all ranks from computing, on the mean."""
    lost = [change["lost_ms"] / 1000 for run in runs for change in elastic.committed(run.summary)]
    return statistics.mean(lost) if lost else 0.0


def mean(runs, figure):
    return statistics.mean(getattr(run, figure) for run in runs)


def ratio(bench, name, figure, runs, others):
    """Of two means, with its interval: relative variances of both add up."""
    value = mean(runs, figure) / mean(others, figure)
    spread = sum((elastic.interval([getattr(run, figure) for run in some]) / mean(some, figure))**2 for some in (runs, others))**.5
    bench.figure(name, value, "ratio")
    bench.figure(f"{name}.low", value * (1 - spread), "ratio")
    bench.figure(f"{name}.high", value * (1 + spread), "ratio")


def offline(bench, sweep, runs):
    parts, beside = parts_of(sweep)
    cost = change_seconds(runs)
    fastest = plan.planned(parts, cost, 1, 0)
    elastic.note(f"a change costs {cost:.3f} s; beside its parts a run takes {beside:.1f} s; the fastest plan: {fastest.seconds:.1f} s "
                 f"on {fastest.sizes}")
    # What a run takes before the first iteration or after the last is charged to each plan at the size it begins with.
    seconds, core_seconds = mean(runs, "seconds"), mean(runs, "core_seconds")
    bench.figure("cpu_ratio_best", core_seconds / plan.least_core_seconds(parts, cost, seconds, beside), "ratio")
    bench.figure("time_ratio_best", seconds / plan.least_seconds(parts, cost, core_seconds, beside), "ratio")


def compare(what, out, repeats):
    """Its figures; what is needed to add them up with those of others."""
    bench = Bench(what, out)
    sweep = bench.sweep()
    best = next(size for size in sweep if sweep[size] is fastest_of(sweep))
    most = bench.application.most
    runs = {"elastic": [], "static-best": [], "static-max": []}
    for k in range(1, repeats + 1):
        runs["elastic"].append(bench.run_job(f"elastic-{k}", []))
        runs["static-max"].append(bench.fixed(f"static-max-{k}", most))
        # Where all workers are best, one run is both.
        runs["static-best"].append(runs["static-max"][-1] if best == most else bench.fixed(f"static-best-{k}", best))
    bench.check([*sweep.values(), *(run for some in runs.values() for run in some)])
    changing = runs["elastic"]
    bench.figure("size_best", best, "workers")
    for size in sorted(sweep):
        whole = sweep[best].progress
        bench.figure(f"seconds.{size}", sweep[size].progress.at(whole.total, whole), "s")
    for figure, name in (("seconds", "time"), ("core_seconds", "cpu")):
        ratio(bench, f"{name}_ratio", figure, changing, runs["static-max"])
        ratio(bench, f"static_best.{name}_ratio", figure, changing, runs["static-best"])
    offline(bench, sweep, changing)
    bench.figure("run_time", mean(changing, "seconds"), "s")
    bench.figure("changes", statistics.mean(len(elastic.committed(run.summary)) for run in changing), "count")
    bench.figure("adaptation_share", statistics.mean(run.summary["adaptation_share"] for run in changing), "ratio")
    if "idle_share" in changing[0].summary:
        bench.figure("idle_share", statistics.mean(run.summary["idle_share"] for run in changing), "ratio")
        bench.figure("idle_share_max", statistics.mean(run.summary["idle_share"] for run in runs["static-max"]), "ratio")
    if what == "surrogate":  # forward_runs, which no worker changes
        subprocess.run(["bench_surrogate_runs"], check=True)
    sums = {name: {figure: mean(some, figure) for figure in ("seconds", "core_seconds")} for name, some in runs.items()}
    (out / "sums.json").write_text(json.dumps(sums, indent=1) + "\n")
    return sums


def combined(out, repeats):
    each = []
    for what in APPLICATIONS:
        folder = out / what
        folder.mkdir(exist_ok=True)
        known = folder / "sums.json"
        each.append(json.loads(known.read_text()) if known.exists() else compare(what, folder, repeats))
    bench = elastic.Bench("elastic-combined", out)
    for figure, name in (("seconds", "time"), ("core_seconds", "cpu")):
        bench.figure(f"{name}_ratio", sum(sums["elastic"][figure] for sums in each) / sum(sums["static-best"][figure] for sums in each), "ratio")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=[*APPLICATIONS, "combined"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, help="keeps all runs")
    args = parser.parse_args()
    with elastic.folder_of(args.out, "elastic") as out:
        if args.what == "combined":
            combined(out, args.repeats)
        else:
            own = out / args.what
            own.mkdir(exist_ok=True)
            compare(args.what, own, args.repeats)


if __name__ == "__main__":
    main()
