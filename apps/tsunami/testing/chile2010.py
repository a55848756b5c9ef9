# SPDX-License-Identifier: Apache-2.0
"""Chile 2010 at DART buoy 32412: the accuracy that the README promises.

A calm sea already has an rms error of .054 m there, so correlation, maximum and arrival are asked beside it.
Reference: GeoClaw's .0334 m over the same window (7200 s to 32135 s) and the buoy's own 432 sample times.

Usage: chile2010.py PROGRAM
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing"))
import measured  # noqa: E402

import buoys  # noqa: E402

SKIPPED = 77
GEOCLAW_RMS_M = .0334

with tempfile.TemporaryDirectory(prefix="chile2010-") as out:
    try:
        summary = buoys.chile(sys.argv[1], measured.folder(), out)
    except buoys.NoData as missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)

gauge = summary["gauges"]["32412"]
print(f"finest cell {summary['finest_cell_km']:.1f} km: rms {gauge['rms_m']:.4f} m, correlation "
      f"{gauge['correlation']:.3f}, maximum {gauge['max_m']:.3f} m at {gauge['arrival_of_max_s']:.0f} s "
      f"(observed {gauge['max_observed_m']:.3f} m at {gauge['arrival_of_max_observed_s']:.0f} s)")
assert gauge["window_s"] == [7200, 32135], "another window"
assert gauge["rms_m"] <= GEOCLAW_RMS_M, "rms"
assert gauge["correlation"] >= .7, "correlation"
assert .14 <= gauge["max_m"] <= .26, "maximum"
# Shores are as fine as they get from the start: nothing is refined across them later.
assert summary["volume_added"] == 0, "water that refining added"
assert abs(gauge["arrival_of_max_s"] - gauge["arrival_of_max_observed_s"]) <= 600, "arrival of the maximum"
