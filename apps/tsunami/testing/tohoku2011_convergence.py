# SPDX-License-Identifier: Apache-2.0
"""Tohoku 2011 at DART buoys 21413 and 21418, with the finest cell halved: how much of each record is the mesh's.

Measured, from level 17 to 19 until 8300 s: 13.5 and 25 % rms of the record, maxima .663 to .751 m and 1.745 to 2.125 m (1.87 m were
observed); with the rupture in time 13.4 and 20 %. The issue's 10 % does not hold (decision R12').

Usage: tohoku2011_convergence.py PROGRAM FAULTS [COARSE FINE]
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing"))
import measured  # noqa: E402

import buoys  # noqa: E402
import records  # noqa: E402

SKIPPED = 77
WINDOW = (1200, 8300)  # s
# Most of the difference over the record's own rms, of its maximum, and of that one's time in s.
BOUNDS = {"21413": (.15, .15, 60), "21418": (.28, .25, 60)}


def main():
    coarse, fine = sys.argv[3:5] if len(sys.argv) > 4 else ("17", "19")
    gauges = {}
    for finest in (coarse, fine):
        with tempfile.TemporaryDirectory(prefix=f"tohoku2011-{finest}-") as out:
            try:
                summary = buoys.tohoku(sys.argv[1], measured.folder(), sys.argv[2], out, finest, end="8400")
            except buoys.NoData as missing:
                print(f"skipped: {missing}")
                sys.exit(SKIPPED)
            gauges[finest] = {gauge: records.record(out, gauge) for gauge in BOUNDS}
            print(f"finest cell {summary['finest_cell_km']:.2f} km, {summary['cell_updates']} cell updates: " + ", ".join(
                f"{gauge} rms {seen['rms_m']:.4f} m, after the best shift {seen['rms_shifted_m']:.4f} m, correlation {seen['correlation']:.3f}"
                for gauge, seen in summary["gauges"].items()), flush=True)
    broken = []
    for gauge, (most, most_of_maximum, most_seconds) in BOUNDS.items():
        a, b = gauges[coarse][gauge], gauges[fine][gauge]
        change = records.difference(a, b, *WINDOW) / records.rms(lambda time: records.at(b, time), *WINDOW)
        (high, when), (finer, later) = records.highest(a, *WINDOW), records.highest(b, *WINDOW)
        print(f"{gauge}: levels {coarse} and {fine} differ by {100 * change:.1f} % rms; maximum {high:.3f} m at {when:.0f} s, "
              f"then {finer:.3f} m at {later:.0f} s")
        broken += [f"{gauge}: the record"] * (change > most)
        broken += [f"{gauge}: its maximum"] * (abs(finer / high - 1) > most_of_maximum)
        broken += [f"{gauge}: the time of its maximum"] * (abs(later - when) > most_seconds)
    assert not broken, broken


if __name__ == "__main__":
    main()
