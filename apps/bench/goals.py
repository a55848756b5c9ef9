#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets: jobs empi-jacobi
"""bench deadline, bench budget: Jacobi on emulated slow pods that keeps to six deadlines, or to budgets.

What a run of one size takes is measured first, at each size, as bench sweep does; for budgets before and after each
run, since the machine's pace drifts by as much as the prices of two sizes differ. The deadlines are those of figures
2 and 3 of seed 002, as multiples of the shortest run that there is: one that no size meets, five that some size does.

Usage: goals.py deadline|budget [--out DIR]     DIR keeps the runs; runs.csv there has a row for each
"""
import argparse
import csv
import os
import pathlib

import sweep
from elastic import Bench, folder_of, note, note_decisions

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = "apps/jacobi/bench/goals.yaml"
ITERATIONS = {"deadline": 480, "budget": 1440}  # a budget pays for the start and the first windows, too, which static runs do not have
SIZES = (8, 6, 5, 4, 3, 2)  # that are measured; those between follow
DEADLINES = (0.8, 1.2, 1.35, 1.6, 2.0, 2.5)  # of the shortest run
BUDGETS = (7, 5, 3)  # each as much as a run on so many workers costs
ROOM = 1.1  # of such a budget
STATIC = {"deadline": 30, "budget": 15}  # seconds that a size is measured for
START = 2.0  # seconds until the ranks of a job that has just been asked for compute, and from their end to its end


def manifest(out, iterations):
    """The job, for so many iterations."""
    text = (SOURCE / MANIFEST).read_text()
    assert '--iterations, "480"' in text
    (out / "job.yaml").write_text(text.replace('--iterations, "480"', f'--iterations, "{iterations}"'))


def run_times(out, goal):
    """Seconds of a whole run at each size, measured in folder `out`."""
    out.mkdir(exist_ok=True)
    sweep.JOBS["goals"] = (MANIFEST, [], [])
    measured = {size: START + ITERATIONS[goal] * sweep.measure(out, "goals", size, STATIC[goal])["seconds"] for size in SIZES}
    times = sweep.at_each_size(measured)
    note("static runs: " + ", ".join(f"{size}: {seconds:.0f} s" for size, seconds in times.items()))
    return times


def run(bench, name, policy, scheduling):
    settings = ["autoscaling.mode=Auto", f"autoscaling.policy.name={policy}", f"scheduling.{scheduling}"]
    summary = bench.run(name, bench.out / "job.yaml", *(word for s in settings for word in ("--set", s)))
    note(f"{name}: {summary['finish_s']:.1f} s, {summary['core_seconds'] / 3600:.4f} worker hours; load {os.getloadavg()[0]:.0f}")
    note_decisions(summary, {"Scale"})
    for risk in summary["risks"]:
        note(f"  {risk['type']} {risk['reason']}: {risk['message']}")
    return summary


def mean_workers(summary):
    return summary["core_seconds"] / summary["finish_s"]


def deadlines(bench, rows):
    """All that a size can meet are met, none much too early; of the others it is said."""
    times = run_times(bench.out / "static", "deadline")
    met, early, ratio, workers = True, 0.0, 0.0, []
    for factor in DEADLINES:
        deadline = round(factor * min(times.values()))
        summary = run(bench, f"deadline-{deadline}", "deadline", f"deadlineSeconds={deadline}")
        rows.append({"goal": deadline, "finish_s": summary["finish_s"], "workers": mean_workers(summary),
                     "worker_hours": summary["core_seconds"] / 3600})
        enough = [size for size, seconds in times.items() if seconds <= deadline]
        if not enough:
            said = any(risk["type"] == "DeadlineAtRisk" for risk in summary["risks"])
            bench.figure("infeasible_said", said, "bool")
            continue
        workers.append(mean_workers(summary))
        met = met and summary["finish_s"] <= deadline
        ratio = max(ratio, summary["core_seconds"] / min(size * times[size] for size in enough))
        if min(enough) > min(times):  # one size fewer would miss it
            early = max(early, 1 - summary["finish_s"] / deadline)
    bench.figure("met", met, "bool")
    bench.figure("early", early, "ratio")
    bench.figure("worker_hours_ratio", ratio, "ratio")
    bench.figure("monotone", workers == sorted(workers, reverse=True), "bool")


def budgets(bench, rows):
    """Each run is compared with those of a fixed size at the mean of the paces before and after it."""
    slowest, overrun = 0.0, 0.0
    before = run_times(bench.out / "static-before", "budget")
    for size in BUDGETS:
        budget = ROOM * size * before[size] / 3600
        summary = run(bench, f"budget-{size}", "budget", f'budget="{budget:.4f}"')
        after = run_times(bench.out / f"static-after-{size}", "budget")
        static = {n: (before[n] + after[n]) / 2 for n in before}
        quickest = min((seconds for n, seconds in static.items() if n * seconds / 3600 <= budget), default=static[size])
        rows.append({"goal": budget, "finish_s": summary["finish_s"], "workers": mean_workers(summary),
                     "worker_hours": summary["core_seconds"] / 3600, "static_s": quickest})
        slowest = max(slowest, summary["finish_s"] / quickest)
        overrun = max(overrun, summary["core_seconds"] / 3600 / budget - 1)
        before = after
    bench.figure("time_ratio", slowest, "ratio")
    bench.figure("overrun", max(0.0, overrun), "ratio")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("goal", choices=["deadline", "budget"])
    parser.add_argument("--out", type=pathlib.Path, help="keeps the runs")
    args = parser.parse_args()
    with folder_of(args.out, "goals") as out:
        bench = Bench(args.goal, out)
        manifest(out, ITERATIONS[args.goal])
        rows = []
        (deadlines if args.goal == "deadline" else budgets)(bench, rows)
        with (out / "runs.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
