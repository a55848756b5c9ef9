#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench elastic-tsunami: what elasticity saves and costs on 8 emulated slow pods.

Runs the same tsunami three times: with all workers from the start (static-max), with one (static-min), and
elastic by the threshold policy, and compares time and core-seconds (workers held x time) as ratios.
"""
import pathlib
import tempfile

from elastic import Bench

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def main():
    with tempfile.TemporaryDirectory(prefix="elastic-tsunami.") as folder:
        bench = Bench("elastic-tsunami", pathlib.Path(folder))
        most, least, elastic = (bench.run(name, SOURCE / f"apps/tsunami/bench/{name}.yaml")
                                for name in ("static-max", "static-min", "elastic"))
    bench.compare(elastic, most)
    bench.figure("time_ratio_min", least["run_time_s"] / most["run_time_s"], "ratio")
    bench.figure("adaptation_share", elastic["adaptation_share"], "ratio")


if __name__ == "__main__":
    main()
