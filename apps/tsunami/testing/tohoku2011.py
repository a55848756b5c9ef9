# SPDX-License-Identifier: Apache-2.0
"""Tohoku 2011 at DART buoys 21413 and 21418, with the sea floor of ETOPO5 and the source of NOAA's SIFT.

Reference: GeoClaw on the same files with 5' cells over the source, four hours, all slip at once: rms .0767 and .2236 m, after
the best shift .0731 and .1671 m, correlation .841 and .573, the maxima at 4842 and 1795 s. Bounds are today's figures and five
per cent. With the slip in its time (...-rupture.csv) the records are nearer to the buoys' than these are.

Usage: tohoku2011.py PROGRAM FAULTS [FINEST]
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing"))
import measured  # noqa: E402

import buoys  # noqa: E402

SKIPPED = 77
# rms, rms after the best shift (m), correlation, maximum (m); the maximum's time (s): GeoClaw's, or the buoy's, and how near.
AT_ONCE = {"21413": (.0845, .0770, .80, (.63, .81), 4842, .02), "21418": (.2608, .1844, .47, (1.35, 2.0), 1795, .02)}
IN_TIME = {"21413": (.0753, .0746, .82, (.62, .81), 4836, .02), "21418": (.1988, .1848, .68, (1.6, 2.0), 1956, .06)}
BOUNDS = IN_TIME if pathlib.Path(sys.argv[2]).stem.endswith("-rupture") else AT_ONCE

with tempfile.TemporaryDirectory(prefix="tohoku2011-") as out:
    try:
        summary = buoys.tohoku(sys.argv[1], measured.folder(), sys.argv[2], out, *sys.argv[3:])
    except buoys.NoData as missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)

print(f"finest cell {summary['finest_cell_km']:.1f} km, {summary['cell_updates']} cell updates")
for gauge in summary["gauges"].values():
    rms, shifted, correlation, (low, high), arrival, apart = BOUNDS[gauge["id"]]
    print(f"{gauge['id']}: rms {gauge['rms_m']:.4f} m, after a shift of {gauge['best_shift_s']:.0f} s "
          f"{gauge['rms_shifted_m']:.4f} m, correlation {gauge['correlation']:.3f}, maximum {gauge['max_m']:.3f} m at "
          f"{gauge['arrival_of_max_s']:.0f} s (observed {gauge['max_observed_m']:.3f} m at "
          f"{gauge['arrival_of_max_observed_s']:.0f} s)")
    assert gauge["samples"] == 220 and gauge["window_s"] == [1200, 14400], "another window"
    assert gauge["rms_m"] <= rms, "rms"
    assert gauge["rms_shifted_m"] <= shifted, "rms after the best shift"
    assert gauge["correlation"] >= correlation, "correlation"
    assert low <= gauge["max_m"] <= high, "maximum"
    assert abs(gauge["arrival_of_max_s"] / arrival - 1) <= apart, "arrival of the maximum"
