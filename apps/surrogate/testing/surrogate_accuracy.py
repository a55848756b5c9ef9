#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench surrogate-accuracy: the inverse problem beside published flows, and its surrogate: the tables of docs/surrogate.md.

Runs the tests of flow and refinement, which say what they measured, the surrogate of the channel with each treatment of the
border, and the job's defaults. The folder gets tables.md; figures are the surrogate error (seed 000, equation 7.33) at 3,000
points, and the drag on the cylinder over Schaefer and Turek's.

Usage: surrogate_accuracy.py [--out DIR]          (out/bench/surrogate-accuracy)
"""
# targets: empi-surrogate empi-surrogate-report surrogate_flow_test surrogate_cylinder_test surrogate_inversion_test bench_surrogate_runs
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from accuracy import arguments_of, run_tests, table, write_tables  # noqa: E402
from elastic import note  # noqa: E402

TESTS = ("surrogate_flow_test", "surrogate_cylinder_test", "surrogate_inversion_test")
CYLINDERS = {"10": "Cylinder.ConvergesToSchaeferAndTurek", "20": "Cylinder.ConvergesToSchaeferAndTurek",
             "40": "CylinderLong.ComesCloserToSchaeferAndTurek"}
DRAG, PRESSURE = 5.58, .1174  # the middles of Schaefer and Turek's intervals


def flow_table(m):
    return table(["case", "found"], [
        [f"lid-driven cavity at Re {re}, 129 x 129 cells: u and v off Ghia's by at most", m.text(f"Cavity.Re{re}", "deviation")]
        for re in (100, 400, 1000)]
        + [["Poiseuille, 32 cells: L2 error of the mean velocity; order",
            m.text("Flow.PoiseuilleConvergesAtSecondOrder", "error", unit=" %") + "; " + m.text("Flow.PoiseuilleConvergesAtSecondOrder", "order", digits=3)]])


def cylinder_table(m):
    rows = []
    for cells, case in CYLINDERS.items():
        drag, lift, pressure = (m.of(case, key + cells) for key in ("drag", "lift", "pressure"))
        rows.append([cells, f"{drag:.3f} ({100 * (drag / DRAG - 1):+.1f} %)", f"{lift:.4f}",
                     f"{pressure:.4f} ({100 * (pressure / PRESSURE - 1):+.1f} %)"])
    rows.append(["Schaefer and Turek", "5.57 to 5.59", ".0104 to .0110", ".1172 to .1176"])
    return table(["cells across the cylinder", "drag", "lift", "pressure difference"], rows)


def surrogate(out, name, *arguments):
    """surrogate.json of a run."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    note(f"running the channel, {name}")
    subprocess.run(["empi-surrogate", *arguments, "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "surrogate.json").read_text())


def border_table(builds):
    """builds: {treatment of the border: [{points, error}]}, as many of each."""
    rows = []
    for steps in zip(*builds.values()):
        rows.append([", ".join(dict.fromkeys(f"{step['points']:,.0f}" for step in steps)), *(f"{step['error']:.2g}" for step in steps)])
    return table(["grid points", *(f"`{border}`" for border in builds)], rows)


def runs_table(m):
    """How many forward runs each criterion of refinement needs."""
    found = subprocess.run(["bench_surrogate_runs"], check=True, capture_output=True, text=True).stderr
    ours, theirs = re.search(r"# error \S+: (\d+) runs, by the surplus of points that are there (\d+)", found).groups()
    case = "RefineBy.ThePosteriorNeedsFewerRunsForThePosterior"
    return table(["runs until", "`surplus`", "`children`", "`posterior`"], [
        ["the channel's error is .01", theirs, ours, ""],
        ["the oscillator's posterior is right within .01 of total variation",
         *(m.text(case, by, digits=4) for by in ("surplus", "children", "posterior"))]])


def posterior_table(result):
    return table(["parameter", "mean", "5 %", "95 %", "R-hat", "effective samples"], [
        [p["name"], f"{p['mean']:.3f}", f"{p['q05']:.3f}", f"{p['q95']:.3f}", f"{p['split_rhat']:.4f}", f"{p['bulk_ess']:.0f}"]
        for p in result["parameters"]])


def main():
    args, bench = arguments_of("surrogate-accuracy", __doc__)
    measured = run_tests(TESTS, args)
    builds = {}
    for border in ("none", "points", "modified"):
        builds[border] = surrogate(args.out, f"border-{border}", "--boundary", border, "--refine-by", "surplus", "--tolerance", "0",
                                   "--level", "2", "--growth", "2", "--most-points", "3000", "--samples", "64", "--burn-in", "8")["builds"]
        bench.figure(f"{border}.error", builds[border][-1]["error"], "share")
    usual = surrogate(args.out, "default")
    subprocess.run(["empi-surrogate-report", str(args.out / "default")], check=True, stdout=subprocess.DEVNULL)
    bench.figure("cylinder.drag", measured.of(CYLINDERS["40"], "drag40") / DRAG, "ratio")
    bench.figure("default.error", usual["surrogate_error"], "share")
    write_tables(args.out, "Accuracy of the inverse problem", [
        "## The flow\n\n" + flow_table(measured), "## Around a cylinder, Schaefer and Turek 2D-1\n\n" + cylinder_table(measured),
        "## Surrogate error by the treatment of the border\n\n" + border_table(builds),
        "## Forward runs by the criterion of refinement\n\n" + runs_table(measured),
        f"## The posterior at the defaults ({usual['grid_points']} grid points, error {usual['surrogate_error']:.2g})\n\n" + posterior_table(usual)])


if __name__ == "__main__":
    main()
