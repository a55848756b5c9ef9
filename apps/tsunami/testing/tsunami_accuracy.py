#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench tsunami-accuracy: the tsunami beside buoys, exact solutions and laboratories: the tables of docs/tsunami.md.

Runs Chile 2010 on three meshes and Tohoku 2011 with both solvers (where their data is), and the tests of the solver, which
say what they measured. The folder gets tables.md, and of each run the record of its gauges with a picture; figures are the rms
errors at the buoys.

Usage: tsunami_accuracy.py [--out DIR] [--data DIR]          (out/bench/tsunami-accuracy; EMPI_DATA)
"""
# targets: empi-tsunami empi-tsunami-report swe_second_order_test swe_benchmark_test swe_border_test swe_nthmp_test
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from accuracy import arguments_of, run_tests, table, write_tables  # noqa: E402
from elastic import note  # noqa: E402

import buoys  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TESTS = ("swe_second_order_test", "swe_benchmark_test", "swe_border_test", "swe_nthmp_test")
GEOCLAW = {"32412": {"rms": .0334, "correlation": .79},
           "21413": {"rms": .0767, "shifted": .0731, "correlation": .841, "max": .735, "at": 4842},
           "21418": {"rms": .2236, "shifted": .1671, "correlation": .573, "max": 1.490, "at": 1795}}


def chile_table(runs):
    observed = next(iter(runs.values()))["gauges"]["32412"]
    rows = [["observed", "", "", "", f"{observed['max_observed_m']:.3f} m", f"{observed['arrival_of_max_observed_s']:.0f} s"],
            ["GeoClaw, its example", "19 km", f"{GEOCLAW['32412']['rms']} m", f"{GEOCLAW['32412']['correlation']}", "", ""]]
    for finest, summary in runs.items():
        gauge = summary["gauges"]["32412"]
        rows.append([f"`--finest {finest}`", f"{summary['finest_cell_km']:.0f} km", f"{gauge['rms_m']:.4f} m",
                     f"{gauge['correlation']:.2f}", f"{gauge['max_m']:.3f} m", f"{gauge['arrival_of_max_s']:.0f} s"])
    return table(["run", "finest cell", "rms", "correlation", "maximum", "at"], rows)


def tohoku_table(runs):
    head, rows = [""], [["rms"], ["rms after the best shift"], ["correlation"], ["maximum"], ["at"]]
    for buoy in buoys.TOHOKU_BUOYS:
        known = GEOCLAW[buoy]
        head += [f"{buoy}, observed", "GeoClaw"]
        gauge = next(iter(runs.values()))["gauges"][buoy]
        for row, cells in zip(rows, [["", f"{known['rms']} m"], ["", f"{known['shifted']} m"], ["", f"{known['correlation']}"],
                                     [f"{gauge['max_observed_m']:.3f} m", f"{known['max']} m"],
                                     [f"{gauge['arrival_of_max_observed_s']:.0f} s", f"{known['at']} s"]]):
            row += cells
        for solver, summary in runs.items():
            head.append("in time, `--solver augrie`" if solver == "rupture" else f"`--solver {solver}`")
            gauge = summary["gauges"][buoy]
            for row, cell in zip(rows, [f"{gauge['rms_m']:.4f} m", f"{gauge['rms_shifted_m']:.4f} m ({gauge['best_shift_s']:.0f} s)",
                                        f"{gauge['correlation']:.3f}", f"{gauge['max_m']:.3f} m", f"{gauge['arrival_of_max_s']:.0f} s"]):
                row.append(cell)
    return table(head, rows)


def solutions_table(m):
    bowl, basin, moving = "Thacker.TheBowlIsBetterAtSecondOrderThanAtFirst", "StandingWave.IsOfSecondOrderInShallowWater", "StandingWave.IsOfSecondOrderWhileTheMeshChanges"
    beach, monai = "SolitaryWave.RunsUpASimpleBeach", "BenchmarkProblem7.TheWaveInMonaiValley"
    current = "Current.OverABumpKeepsItsDischargeAndItsHead"
    incoming = "Wave.ComesInWithTheHeightAndTheSpeedOfALongWave"
    rows = [
        ["Thacker's bowl, L1 at T/4, T/2, T"] + [m.text(bowl, *[f"{kind}{k}" for k in range(3)], unit=" %") for kind in ("first", "second", "augmented")]
        + ["2.2, 3.1, 4.5 %, cells half as wide"],
        ["standing wave in 20 m, 16,384 cells: error; order", m.text(basin, "error_first", unit=" %"), m.text(basin, "error", unit=" %") + "; " + m.text(basin, "order"), "", ""],
        ["the same on a mesh that changes each third step", m.text(moving, "error_first", unit=" %"), m.text(moving, "error", unit=" %") + "; " + m.text(moving, "order"), "", ""],
        ["edge of a source, 1 m in 4000 m: passed above or below", "", m.text("Step.DoesNotRing", "passed", unit=" %"), "", ""],
        ["NTHMP BP1: run-up too high by; profiles differ by, of the run-up", "", m.text(beach, "run_up", unit=" %") + "; " + m.text(beach, "profiles", unit=" %"), "", ""],
        ["NTHMP BP4: run-up of a wave of .0185 d (measured .0757); of .30 d, which breaks (.55)", "",
         m.text("BenchmarkProblem4.ASmallWaveRunsUp", "run_up", digits=3) + "; " + m.text("BenchmarkProblem4.ABreakingWaveRunsUp", "run_up", digits=3), "", ""],
        ["NTHMP BP7, Monai valley: highest at gauges 5, 7, 9 (measured .0369, .0390, .0454 m); run-up in the valley (.08 to .10 m)", "",
         m.text(monai, "gauge5", "gauge7", "gauge9", digits=3, unit=" m") + "; " + m.text(monai, "run_up", unit=" m"), "", ""],
        ["Green's law, 200 m to 50 m: too high by", "", m.text("GreensLaw.HoldsInShallowWater", "height", unit=" %"), "", ""],
        ["a steady current over a bump of .3 of the depth: discharge varies by; head by, of what the water gains", *(m.text(current, "discharge_" + name, unit=" %") + "; " + m.text(current, "head_" + name, unit=" %") for name in ("hllc1", "hllc2", "augrie2")), ""],
        ["a step from 4000 m to 200 m: height passed on over the exact one", "", m.text("Step.LetsThroughWhatTheSpeedsSay", "height_hllc"), m.text("Step.LetsThroughWhatTheSpeedsSay", "height"), ""],
        ["open border, thrown back at right angles; up to 45 degrees", "",
         m.text("OpenBorder.ThrowsNothingBackAtRightAngles", "back", unit=" %") + "; " + m.text("OpenBorder.ThrowsLittleBack", "back", unit=" %"), "", ""],
        ["waves that meet a border at 45 and at 60 degrees: `open` (exact: 17 and 33 %); `sponge` of 1.4 times their length", "",
         m.text("Sponge.ThrowsBackLessThanAnOpenBorder", "open45", "open60", unit=" %") + "; " + m.text("Sponge.ThrowsBackLessThanAnOpenBorder", "sponge45", "sponge60", unit=" %"), "", ""],
        ["`wave`: a sine over 200 m of water, 40 cells to its length, after two lengths: height over the exact one; late by, of its way", "",
         m.text(incoming, "height0", digits=3) + "; " + m.text(incoming, "late0", unit=" %"), "", ""],
    ]
    return table(["case", "`--order 1`", "`--order 2`", "and `--solver augrie`", "GeoClaw"], rows)


def main():
    args, bench = arguments_of("tsunami-accuracy", __doc__)
    out = args.out
    tables = []
    try:
        runs = {}
        for finest in ("15", "16", "17"):
            note(f"running Chile 2010, --finest {finest}")
            runs[finest] = buoys.chile("empi-tsunami", args.data, out / f"chile2010-{finest}", finest)
            subprocess.run(["empi-tsunami-report", str(out / f"chile2010-{finest}")], check=True, stdout=subprocess.DEVNULL)
        tables.append("## Chile 2010 at DART buoy 32412\n\n" + chile_table(runs))
        bench.figure("chile2010.rms", runs["17"]["gauges"]["32412"]["rms_m"], "m")
    except buoys.NoData as missing:
        note(f"Chile 2010 is skipped: {missing}")
    try:
        runs, seconds = {}, {}
        for name, source, solver, more in (("rupture", "rupture", "augrie", ()), ("hllc", "faults", "hllc", ()), ("augrie", "faults", "augrie", ()),
                                           ("augrie --kajiura", "faults", "augrie", ("--kajiura",))):
            note(f"running Tohoku 2011, {name}")
            start, folder = time.monotonic(), out / ("tohoku2011-" + name.replace(" --", "-"))
            runs[name] = buoys.tohoku("empi-tsunami", args.data, HERE.parent / f"tohoku2011-{source}.csv", folder, solver=solver, more=more)
            seconds[name] = time.monotonic() - start
            subprocess.run(["empi-tsunami-report", str(folder)], check=True, stdout=subprocess.DEVNULL)
        tables.append("## Tohoku 2011\n\n" + tohoku_table(runs))
        for buoy in buoys.TOHOKU_BUOYS:
            for name, figure in (("augrie", f"tohoku2011.{buoy}"), ("rupture", f"tohoku2011-rupture.{buoy}")):
                gauge = runs[name]["gauges"][buoy]
                bench.figure(f"{figure}.rms", gauge["rms_m"], "m")
                bench.figure(f"{figure}.shifted_rms", gauge["rms_shifted_m"], "m")
        bench.figure("tohoku2011.updates_per_s", runs["augrie"]["cell_updates"] / seconds["augrie"], "1/s")
    except buoys.NoData as missing:
        note(f"Tohoku 2011 is skipped: {missing}")
    tables.append("## Exact solutions and laboratories\n\n" + solutions_table(run_tests(TESTS, args)))
    write_tables(out, "Accuracy of the tsunami", tables)


if __name__ == "__main__":
    main()
