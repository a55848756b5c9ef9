#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench elastic-surrogate: what elasticity saves and costs for the inverse problem, on 8 emulated slow pods.

Runs the same job with 8 workers from start to end, and elastic from one worker by the policy `tasks`; compares time and
core-seconds (workers held x time) as ratios, and checks that both computed the same bits. adaptation_share is the part of the
core-seconds that changes have kept ranks from tasks (docs/malleable.md); idle_share is all that was outside of tasks,
changes and the ends of phases among them.
"""
import pathlib
import sys
import tempfile

from elastic import Bench, note_decisions

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = SOURCE / "apps/surrogate/bench/elastic.yaml"


def main():
    with tempfile.TemporaryDirectory(prefix="elastic-surrogate.") as folder:
        bench = Bench("elastic-surrogate", pathlib.Path(folder))
        most = bench.run("static-max", MANIFEST, "--set", "autoscaling.mode=Off", "--set", "worker.replicas=8")
        elastic = bench.run("elastic", MANIFEST)
    if elastic["fingerprint"] != most["fingerprint"]:
        sys.exit("bench elastic-surrogate: the runs did not compute the same bits")
    note_decisions(elastic)
    bench.compare(elastic, most)
    bench.figure("adaptation_share", elastic["adaptation_share"], "ratio")
    bench.figure("idle_share", elastic["idle_share"], "ratio")
    bench.figure("idle_share_max", most["idle_share"], "ratio")


if __name__ == "__main__":
    main()
