#!/usr/bin/env python3
"""bench elastic-tsunami: what elasticity saves and costs on 8 emulated slow pods.

Runs the same tsunami three times: with all workers from the start (static-max), with one (static-min), and
elastic by the threshold policy, and compares time and core-seconds (workers held x time) as ratios.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFESTS = {name: SOURCE / f"apps/tsunami/bench/{name}.yaml" for name in ("static-max", "static-min", "elastic")}


def run(name, out):
    print(f"# running {name}", file=sys.stderr, flush=True)
    log = out / f"{name}.log"
    with log.open("w") as stream:
        code = subprocess.run(["empi", "run", MANIFESTS[name], "--out", out / name], stdout=stream,
                              stderr=subprocess.STDOUT, timeout=1500).returncode
    if code != 0:
        sys.exit(f"bench elastic-tsunami: {name} failed with {code}:\n" + log.read_text()[-3000:])
    return json.loads((out / name / "summary.json").read_text())


def figure(name, value, unit):
    print(f"bench elastic-tsunami.{name} {value:.4g} {unit}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="elastic-tsunami.") as folder:
        runs = {name: run(name, pathlib.Path(folder)) for name in MANIFESTS}
    elastic, most, least = runs["elastic"], runs["static-max"], runs["static-min"]
    figure("cpu_ratio", elastic["core_seconds"] / most["core_seconds"], "ratio")
    figure("time_ratio", elastic["run_time_s"] / most["run_time_s"], "ratio")
    figure("time_ratio_min", least["run_time_s"] / most["run_time_s"], "ratio")
    figure("adaptation_share", elastic["adaptation_share"], "ratio")
    figure("changes", len([c for c in elastic["changes"] if c.get("outcome") == "committed"]), "count")
    figure("run_time", elastic["run_time_s"], "s")


if __name__ == "__main__":
    main()
