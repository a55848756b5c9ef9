#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets: jobs empi-tsunami empi-spe10 empi-surrogate
"""bench three-programs: a tsunami, a reservoir and an inverse problem share 8 emulated slow pods, the last as the buffer.

The tsunami and the reservoir have their own policies; what they cannot use, or not yet, the tasks of the inverse problem
take. Compared are the times from the first start to the last end, elastic over the other:
- sequential: one after the other on all workers
- split: each has a fixed share; the best of three, in which one of them has half of all workers
turnaround_ratio: the mean time from start to end, over that of the best split.

Usage: three_programs.py [--repeats N] [--out DIR]
"""
import argparse
import pathlib
import re
import statistics

from elastic import Bench, Shared, folder_of

APPS = pathlib.Path(__file__).resolve().parents[1]
WORKERS = 8
STAGGER = 1  # s
JOBS = {"tsunami-elastic": "tsunami", "spe10-elastic": "spe10", "surrogate-bench": "surrogate"}
SPLITS = ((4, 2, 2), (2, 4, 2), (2, 2, 4))


def manifest(folder, job, size=None):
    """The job of `bench elastic-...` in a queue; with `size`: of that and no other."""
    text = (APPS / JOBS[job] / "bench/elastic.yaml").read_text()
    text = re.sub(r"^    (replicas|minReplicas|maxReplicas): \d+\n", "", text, flags=re.MULTILINE)
    sizes = {"replicas": size or 2, "minReplicas": size or 1, "maxReplicas": size or WORKERS}
    text = text.replace("  worker:\n", "  worker:\n" + "".join(f"    {field}: {value}\n" for field, value in sizes.items()), 1)
    text = text.replace("spec:\n", "spec:\n  scheduling: {queueName: main}\n", 1)
    if size:
        text = text.replace("    mode: Auto\n", '    mode: "Off"\n', 1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{job}.yaml"
    path.write_text(text)
    return path


def run(bench, name, sizes=None):
    files = {job: manifest(bench.out / name, job, sizes and sizes[k]) for k, job in enumerate(JOBS)}
    return Shared(bench, name, files, WORKERS, STAGGER)


def measure(bench, repeats):
    elastic = [run(bench, f"elastic-{k + 1}") for k in range(repeats)]
    sequential = run(bench, "sequential", [WORKERS] * len(JOBS))
    best = min((run(bench, "split-" + "-".join(map(str, sizes)), sizes) for sizes in SPLITS), key=lambda split: split.makespan)
    makespan = statistics.mean(one.makespan for one in elastic)
    bench.figure("sequential_ratio", makespan / sequential.makespan, "ratio")
    bench.figure("split_ratio", makespan / best.makespan, "ratio")
    bench.figure("turnaround_ratio", statistics.mean(one.turnaround for one in elastic) / best.turnaround, "ratio")
    bench.figure("makespan", makespan, "s")
    bench.figure("changes", statistics.mean(one.changes for one in elastic), "count")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, help="keeps the runs")
    args = parser.parse_args()
    with folder_of(args.out, "three-programs") as out:
        measure(Bench("three-programs", out), args.repeats)


if __name__ == "__main__":
    main()
