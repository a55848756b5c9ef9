#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: a gauge in a harbour narrower than its cell is refused; with cells that fit into the harbour it is not.

Usage: dry_gauge.py EMPI-TSUNAMI
"""
import pathlib
import subprocess
import sys
import tempfile


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="dry-gauge.") as folder:
        topography = pathlib.Path(folder) / "harbour.asc"
        # 2 by 2 degrees at .02: sea in the west, hills in the east with a harbour of .08 degrees among them.
        rows = []
        for j in range(101):
            rows.append(" ".join("-20" if abs(i - 75) <= 2 and abs(j - 50) <= 2 else "300" if i > 50 else "-500" for i in range(101)))
        topography.write_text("101 ncols\n101 nrows\n0 xllcorner\n0 yllcorner\n.02 cellsize\n-9999 nodata_value\n" + "\n".join(rows) + "\n")
        faults = pathlib.Path(folder) / "faults.csv"
        faults.write_text("lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m\n0.4,1,5,20,10,0,20,90,1\n")

        def run(*options):
            return subprocess.run([program, "--data", "none", "--topography", topography, "--faults", faults, "--west", "0", "--east", "2",
                                   "--south", "0", "--north", "2", "--roots-x", "1", "--roots-y", "1", "--gauge", "harbour:1.5:1", "--end", "1", "--snapshot-every", "0", "--maxima", "0",
                                   "--out", str(pathlib.Path(folder) / "out"), *options], capture_output=True, text=True)
        coarse = run("--coarsest", "4", "--finest", "8", "--coast", "4")
        if coarse.returncode != 2 or "gauge harbour:1.5 E, 1 N: expected a cell with water" not in coarse.stderr:
            sys.exit(f"coarse cells: status {coarse.returncode}, {coarse.stderr}")
        fine = run("--coarsest", "4", "--finest", "16")
        if fine.returncode != 0:
            sys.exit(f"fine cells: status {fine.returncode}, {fine.stderr}")


if __name__ == "__main__":
    main()
