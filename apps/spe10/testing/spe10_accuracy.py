#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench spe10-accuracy: the reservoir beside OPM Flow and exact solutions: the tables of docs/spe10.md.

Runs the bottom 16 layers on an adapted mesh, at level 4 and at level 6 around wells and front, and with --all all 85 layers
(where the data is), each beside what OPM Flow gave on the same deck, and the tests of the solver, which say what they
measured. The folder gets tables.md, and of each run its rates with pictures; figures are the total rate's differences on
day 30.

Usage: spe10_accuracy.py [--all] [--out DIR] [--data DIR]      (out/bench/spe10-accuracy; EMPI_DATA)
"""
# targets: empi-spe10 empi-spe10-report spe10_patch_test spe10_blocks_test spe10_flow_test spe10_coarsening_test spe10_pores_test spe10_wells_test spe10_solver_test
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from accuracy import arguments_of, run_tests, table, write_tables  # noqa: E402
from elastic import note  # noqa: E402

import against_opm  # noqa: E402

TESTS = ("spe10_patch_test", "spe10_blocks_test", "spe10_flow_test", "spe10_coarsening_test", "spe10_pores_test", "spe10_wells_test",
         "spe10_solver_test")
COLUMNS = ["total", "P1", "P2", "P3", "P4", "pressure"]
WORDS = {"adapted": "adapted, levels 2 to 4", "full": "level 4 everywhere", "fine": "level 4; 6 around wells and front"}


def shares(figures):
    return [f"{100 * figures[column]:+.2f} %" for column in COLUMNS]


def solutions_table(m):
    front, radial, mixed = "Flow.BuckleyLeverettFront", "Places/Radial.FlowIsTheExactOne", "Coarsening.MixedColumnsLetAsMuchThroughAsTheirBlocks"
    return table(["case", "found"], [
        ["linear pressure, any tensor, adapted meshes: largest error", m.largest("AnyRock/Patch.LinearPressureIsExact", "error", unit=" psi")],
        ["level mesh of blocks beside hypre on the seven-point matrix: largest difference", m.text("Blocks.LevelMeshIsTheSevenPointScheme", "error", unit=" psi")],
        ["the same with ky of its own; with inactive blocks",
         "; ".join(m.text(f"Blocks.{case}", "error", unit=" psi") for case in ("PermeabilityAlongYIsUsed", "NothingFlowsThroughInactiveBlocks"))],
        ["radial flow into a well, any place in a triangle: off by at most", m.largest(radial, "flow", unit=" %")],
        ["Buckley-Leverett, 8,192 triangles: front off by; order of L1", m.text(front, "front", unit=" %") + "; " + m.text(front, "order")],
        ["quarter five-spot: breakthrough at levels 4, 6, 8, pore volumes",
         m.text("Flow.FiveSpotBreakthroughConverges", "level4", "level6", "level8", digits=4)],
        ["vertical flow through columns of mixed classes, levels 2 and 3 over 4", m.text(mixed, "level2", "level3", unit=" %")],
        ["substeps of SPE10's uppermost layer with its porosity over those with .2", m.text("Pores.RealOnesDoNotStallTheTransport", "substeps", digits=3)],
        ["iterations to 1e-8, seven-point matrix, 16 layers", m.text("LinearSolver.IterationsOnTheRealField", "iterations")]])


def main():
    args, bench = arguments_of("spe10-accuracy", __doc__, ("--all", {"action": "store_true", "help": "all 85 layers, too: 10 minutes, 1.4 GB"}))
    rows, tables = [], []

    def run(name):
        note(f"running {name}")
        folder = args.out / name
        folder.mkdir(exist_ok=True)
        summary, off = against_opm.run("empi-spe10", args.data, name, folder)
        subprocess.run(["empi-spe10-report", str(folder)], check=True, stdout=subprocess.DEVNULL)
        bench.figure(f"{name}.total", off[30]["total"], "share")
        return summary, off

    try:
        for name, words in WORDS.items():
            summary, off = run(name)
            rows.append([words, f"{summary['columns_final']:,}", *shares(off[30])])
        tables.append("## Bottom 16 layers beside OPM Flow 2022.10, day 30\n\n" + table(["run", "columns", *COLUMNS], rows))
        if args.all:
            _, off = run("all")
            tables.append("## All 85 layers at level 4 beside OPM Flow 2024.10\n\n"
                          + table(["day", *COLUMNS], [[str(day), *shares(figures)] for day, figures in off.items()]))
    except against_opm.NoData as missing:
        note(f"OPM Flow is skipped: {missing}")
    tables.append("## Exact solutions\n\n" + solutions_table(run_tests(TESTS, args)))
    write_tables(args.out, "Accuracy of the reservoir", tables)


if __name__ == "__main__":
    main()
