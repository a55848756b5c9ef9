#!/usr/bin/env python3
"""bench elastic-surrogate: what elasticity saves and costs for the inverse problem, on 8 emulated slow pods.

Runs the same job with 8 workers from start to end, and elastic from one worker by the policy `tasks`; compares time and
core-seconds (workers held x time) as ratios, and checks that both computed the same bits. adaptation_share is the time
that changes took from the ranks over the run time (the thesis: .0006).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = SOURCE / "apps/surrogate/bench/elastic.yaml"
RUNS = {"static-max": ["--set", "autoscaling.mode=Off", "--set", "worker.replicas=8"], "elastic": []}


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def run(name, out):
    note(f"running {name}")
    log = out / f"{name}.log"
    with log.open("w") as stream:
        code = subprocess.run(["empi", "run", MANIFEST, "--out", out / name, *RUNS[name]], stdout=stream,
                              stderr=subprocess.STDOUT, timeout=1500).returncode
    if code != 0:
        sys.exit(f"bench elastic-surrogate: {name} failed with {code}:\n" + log.read_text()[-3000:])
    return json.loads((out / name / "summary.json").read_text())


def figure(name, value, unit):
    print(f"bench elastic-surrogate.{name} {value:.4g} {unit}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="elastic-surrogate.") as folder:
        runs = {name: run(name, pathlib.Path(folder)) for name in RUNS}
    elastic, most = runs["elastic"], runs["static-max"]
    if elastic["fingerprint"] != most["fingerprint"]:
        sys.exit("bench elastic-surrogate: the runs did not compute the same bits")
    for decision in elastic["decisions"]:
        note(f"{decision['action']} {decision['reason']}")
    figure("cpu_ratio", elastic["core_seconds"] / most["core_seconds"], "ratio")
    figure("time_ratio", elastic["run_time_s"] / most["run_time_s"], "ratio")
    figure("adaptation_share", elastic["adaptation_share"], "ratio")
    figure("changes", len([c for c in elastic["changes"] if c.get("outcome") == "committed"]), "count")
    figure("run_time", elastic["run_time_s"], "s")


if __name__ == "__main__":
    main()
