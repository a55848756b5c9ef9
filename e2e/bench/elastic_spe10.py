#!/usr/bin/env python3
"""bench elastic-spe10: whether policy efficiency finds the best size of the SPE10 job, on 8 emulated slow pods.

Runs the job at every fixed size of the sweep and then elastic, started on all workers, and compares: the size it
settles on, its time and its core-seconds (workers held x time) as ratios over the best fixed size and over the
largest. Sizes that need more than three times as long as the best one so far are ended: then what is over them is an
upper bound, and stderr says so. Argument: simulated days (400). Between pods there is a delay; where the kernel has no sch_netem a limit of bandwidth stands for it, and
stderr says so.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = SOURCE / "apps/spe10/bench/elastic.yaml"
SIZES = (1, 2, 4, 8)
DAYS = sys.argv[1] if len(sys.argv) > 1 else "400"
NO_DELAY = ["--set", "local.networkDelayMicroseconds=0", "--set", "local.networkMegabitsPerSecond=100"]


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def run(name, out, *settings):
    note(f"running {name}")
    log = out / f"{name}.log"
    with log.open("w") as stream:
        code = subprocess.run(["empi", "run", MANIFEST, "--out", out / name, *settings, "--", "--days", DAYS],
                              stdout=stream, stderr=subprocess.STDOUT, timeout=3600).returncode
    text = log.read_text()
    if code == 0 or "DeadlineExceeded" in text:
        return {**json.loads((out / name / "summary.json").read_text()), "ended_early": code != 0}
    if "sch_netem" in text and NO_DELAY[1] not in settings:
        return None
    sys.exit(f"bench elastic-spe10: {name} failed with {code}:\n" + text[-3000:])


def runs_of(out, network):
    runs = {}
    for size in SIZES:
        fixed = ["--set", "autoscaling.mode=Off", "--set", f"worker.replicas={size}"]
        if runs:
            longest = 3 * min(r["run_time_s"] for r in runs.values()) + 10
            fixed += ["--set", f"runPolicy.activeDeadlineSeconds={longest:.0f}"]
        runs[size] = run(f"static-{size}", out, *fixed, *network)
        if runs[size] is None:
            return None
        note(f"{size} workers: {runs[size]['run_time_s']:.1f} s" + ", ended" * runs[size]["ended_early"])
    runs["elastic"] = run("elastic", out, *network)
    return runs


def figure(name, value, unit):
    print(f"bench elastic-spe10.{name} {value:.4g} {unit}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="elastic-spe10.") as folder:
        runs = runs_of(pathlib.Path(folder), [])
        if runs is None:
            note("no delay between pods, the kernel has no sch_netem: 100 Mbit/s between pods instead")
            runs = runs_of(pathlib.Path(folder), NO_DELAY)
    elastic, most = runs["elastic"], runs[SIZES[-1]]
    if most["ended_early"]:
        note(f"{SIZES[-1]} workers were ended early: time_ratio_max and cpu_ratio are upper bounds")
    best = min(SIZES, key=lambda size: runs[size]["run_time_s"])
    scaled = [d for d in elastic["decisions"] if d["action"] == "Scale"]
    for decision in elastic["decisions"]:
        note(f"{decision['action']} {decision['reason']}")
    figure("size_found", scaled[-1]["to"] if scaled else SIZES[-1], "workers")
    figure("size_best", best, "workers")
    figure("time_ratio", elastic["run_time_s"] / runs[best]["run_time_s"], "ratio")
    figure("time_ratio_max", elastic["run_time_s"] / most["run_time_s"], "ratio")
    figure("cpu_ratio", elastic["core_seconds"] / most["core_seconds"], "ratio")
    figure("cpu_ratio_best", elastic["core_seconds"] / runs[best]["core_seconds"], "ratio")
    figure("run_time", elastic["run_time_s"], "s")


if __name__ == "__main__":
    main()
