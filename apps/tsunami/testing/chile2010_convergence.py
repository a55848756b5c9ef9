# SPDX-License-Identifier: Apache-2.0
"""Chile 2010 at DART buoy 32412, `--finest 17` beside 18: how much of the record is the mesh's.

Measured: the first wave differs by 6.2 % rms, the window in which the buoy is judged by .0110 m (28 % of the record's rms: what
comes later is below `--refine`, and travels in cells as coarse as they like). The bounds are a little above.

Usage: chile2010_convergence.py PROGRAM
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing"))
import measured  # noqa: E402

import buoys  # noqa: E402
import records  # noqa: E402

SKIPPED = 77
FIRST_WAVE, WINDOW = (9000, 13000), (7200, 32135)  # s
MOST_OF_FIRST_WAVE, MOST_OF_WINDOW_M = .08, .0125


def compare(coarse, fine):
    """Differences of two runs: of the first wave over its own rms; in the window, m."""
    a, b = records.record(coarse, "32412"), records.record(fine, "32412")
    first = records.difference(a, b, *FIRST_WAVE) / records.rms(lambda time: records.at(b, time), *FIRST_WAVE)
    return first, records.difference(a, b, *WINDOW)


def main():
    with tempfile.TemporaryDirectory(prefix="chile2010-17-") as coarse, tempfile.TemporaryDirectory(prefix="chile2010-18-") as fine:
        try:
            for finest, out in (("17", coarse), ("18", fine)):
                buoys.chile(sys.argv[1], measured.folder(), out, finest)
        except buoys.NoData as missing:
            print(f"skipped: {missing}")
            sys.exit(SKIPPED)
        first, whole = compare(coarse, fine)
    print(f"levels 17 and 18 differ by {100 * first:.1f} % rms of the first wave, by {whole:.4f} m in the window")
    assert first <= MOST_OF_FIRST_WAVE, "first wave"
    assert whole <= MOST_OF_WINDOW_M, "window"


if __name__ == "__main__":
    main()
