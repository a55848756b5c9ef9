#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets: jobs empi-tsunami
"""bench five-tsunamis: five tsunamis of different length, which come one after the other, share 16 emulated slow pods.

How long a step takes on each number of workers is measured once, and each job alone on all of them: from that follow the
fixed sizes that are worth trying. The elastic run is repeated, and its mean compared with
- static_best: each has a fixed share from its arrival to its end; the best of the splits that are predicted to be best
- sequential: one after the other on all workers
- sequential_best: each has the same fixed size, the one that is predicted to be best, and they start in their order as they fit
- equal: each has an equal share.
All ratios are of the time from the first arrival to the last end, elastic over the other, but for turnaround_ratio: the mean
time from arrival to end, over that of the best static split. NAME.low and NAME.high are the 95 % interval of the mean of the repeats.
With perfect scaling nothing can be gained, so efficiency_full, one job's parallel efficiency on all workers, has to be .40 to .50.

Usage: five_tsunamis.py [--repeats N] [--splits N] [--scale X] [--out DIR]     X: the length of all jobs; DIR keeps the runs
"""
import argparse
import itertools
import pathlib
import statistics
import sys

import sweep
from elastic import Bench, Shared, folder_of, interval, note

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFEST, QUEUE = SOURCE / "apps/tsunami/bench/five.yaml", SOURCE / "apps/tsunami/bench/five-queue.yaml"
WORKERS = 16
STAGGER = 5  # s between two arrivals
JOBS = {"wide": 7500, "small": 2500, "middle": 5000, "tiny": 1250, "last": 3750}  # simulated seconds, of meshes that are much alike
PACE = 50  # of them in a second on 4 workers, nearly: what their users say of how long they take
CELL_TIME, SERIAL_TIME = 600, 270000  # microseconds of a step, for each cell and in all
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)  # that are measured; those between follow
EFFICIENCY = (.40, .50)
START = 2.0  # seconds until the ranks of a job that has just been given workers compute, and from their end to its end


def manifest(folder, name, scale, fixed=None):
    """The job; `fixed`: of that size and no other."""
    text = MANIFEST.read_text()
    words = {"NAME": name, "LEAST": fixed or 1, "MOST": fixed or WORKERS, "REPLICAS": fixed or 4, "END": round(scale * JOBS[name]),
             "SECONDS": max(1, round(scale * JOBS[name] / PACE)),
             "CELL": CELL_TIME, "SERIAL": SERIAL_TIME, "MODE": '"Off"' if fixed else "Auto"}
    for word, value in words.items():
        assert word in text, word
        text = text.replace(word, str(value))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def run_shared(bench, name, scale, sizes=None):
    """All jobs by one `empi run`."""
    folder = bench.out / name
    files = {job: manifest(folder, job, scale, sizes and sizes[k]) for k, job in enumerate(JOBS)}
    return Shared(bench, name, files, WORKERS, STAGGER, "--queue", QUEUE)


def step_times(bench, scale):
    """Seconds of a step on each number of workers: one of mean work, since the mesh grows while the sizes are measured."""
    alone = manifest(bench.out / "sweep", "wide", scale)
    text = alone.read_text()
    scheduling = text[text.index("  scheduling:\n"):]
    for queued, other in ((scheduling, ""), ("{name: throughput}", "{name: efficiency}"), ("mode: Auto", 'mode: "Off"')):
        assert queued in text, queued
        text = text.replace(queued, other)
    alone.write_text(text)
    sweep.JOBS["five"] = (alone, [], [])
    rows = {size: sweep.measure(bench.out, "five", size) for size in SIZES}
    work = statistics.mean(row["work"] for row in rows.values())
    measured = {size: row["seconds"] * work / row["work"] for size, row in rows.items()}
    times = sweep.at_each_size(measured)
    note("a step: " + ", ".join(f"{size}: {times[size] * 1000:.0f} ms" for size in SIZES))
    return times


def splits():
    """Shares of all workers, one for each job."""
    for cuts in itertools.combinations(range(1, WORKERS), len(JOBS) - 1):
        yield tuple(b - a for a, b in zip((0, *cuts), (*cuts, WORKERS)))


def makespan_of_split(seconds, sizes):
    return max(STAGGER * k + START + seconds[k][size] for k, size in enumerate(sizes))


def makespan_in_order(seconds, size):
    """Each on so many workers, in the order of their arrivals, as soon as that many are free."""
    free_at, ends = [0.0] * (WORKERS // size), []
    begin = 0.0
    for k, times in enumerate(seconds):
        begin = max(begin, STAGGER * k, min(free_at))
        ends.append(begin + START + times[size])
        free_at[free_at.index(min(free_at))] = ends[-1]
    return max(ends)


def figures(bench, elastic, best, others):
    def ratio(name, values, other):
        mean, half = statistics.mean(values) / other, interval(values) / other
        bench.figure(name, mean, "ratio")
        bench.figure(f"{name}.low", mean - half, "ratio")
        bench.figure(f"{name}.high", mean + half, "ratio")

    makespans = [run.makespan for run in elastic]
    ratio("static_best_ratio", makespans, best.makespan)
    for name, run in others.items():
        ratio(f"{name}_ratio", makespans, run.makespan)
    ratio("turnaround_ratio", [run.turnaround for run in elastic], best.turnaround)
    bench.figure("makespan", statistics.mean(makespans), "s")
    bench.figure("changes", statistics.mean(run.changes for run in elastic), "count")


def measure(bench, args):
    times = step_times(bench, args.scale)
    efficiency = times[1] / (WORKERS * times[WORKERS])
    bench.figure("efficiency_full", efficiency, "ratio")
    if not EFFICIENCY[0] <= efficiency <= EFFICIENCY[1]:
        sys.exit(f"bench five-tsunamis: a job on all {WORKERS} workers has an efficiency of {efficiency:.2f}, and not of "
                 f"{EFFICIENCY[0]} to {EFFICIENCY[1]}: what is gained or lost would say little")
    sequential = run_shared(bench, "sequential", args.scale, [WORKERS] * len(JOBS))
    alone = [summary["core_seconds"] / WORKERS for summary in sequential.summaries]
    note("alone on all: " + ", ".join(f"{job} {seconds:.0f} s" for job, seconds in zip(JOBS, alone)))
    seconds = [{size: one * times[size] / times[WORKERS] for size in times} for one in alone]
    tried = sorted(splits(), key=lambda sizes: makespan_of_split(seconds, sizes))[:args.splits]
    static = {}
    for sizes in tried:
        note(f"split {sizes}: {makespan_of_split(seconds, sizes):.0f} s expected")
        static[sizes] = run_shared(bench, "static-" + "-".join(map(str, sizes)), args.scale, sizes)
    best = min(static.values(), key=lambda run: run.makespan)
    same = min(times, key=lambda size: makespan_in_order(seconds, size))
    note(f"in order on {same} each: {makespan_in_order(seconds, same):.0f} s expected")
    equal = [WORKERS // len(JOBS) + (k < WORKERS % len(JOBS)) for k in range(len(JOBS))]
    others = {"sequential": sequential, "sequential_best": run_shared(bench, "sequential-best", args.scale, [same] * len(JOBS)),
              "equal": run_shared(bench, "equal", args.scale, equal)}
    figures(bench, [run_shared(bench, f"elastic-{k + 1}", args.scale) for k in range(args.repeats)], best, others)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--out", type=pathlib.Path, help="keeps the runs")
    args = parser.parse_args()
    with folder_of(args.out, "five-tsunamis") as out:
        measure(Bench("five-tsunamis", out), args)


if __name__ == "__main__":
    main()
