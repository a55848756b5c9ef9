#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: gdalinfo finds in maxima.nc, without being told anything, where it is on the earth, units, and what stands for no value.

Skipped (77) without gdalinfo (Debian's gdal-bin). Usage: maxima_in_gdal.py EMPI-TSUNAMI
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

if shutil.which("gdalinfo") is None:
    print("skipped: there is no gdalinfo; EMPI_WITH=gdal-bin makes a root that has it")
    sys.exit(77)

UNITS = {"max_elevation": "m", "max_speed": "m s-1", "max_flood_depth": "m", "arrival_time": "s"}
with tempfile.TemporaryDirectory(prefix="maxima-in-gdal.") as folder:
    subprocess.run([sys.argv[1], "--data", "none", "--finest", "9", "--end", "30", "--snapshot-every", "0", "--maxima", "0.5",
                    "--out", folder], check=True, stdout=subprocess.DEVNULL)
    path = pathlib.Path(folder) / "maxima.nc"
    for name, units in UNITS.items():
        said = subprocess.run(["gdalinfo", "-json", f"NETCDF:{path}:{name}"], check=True, capture_output=True, text=True)
        info = json.loads(said.stdout)
        assert info["size"] == [120, 120], info["size"]
        corners = info["cornerCoordinates"]
        for corner, place in (("upperLeft", (-120, 0)), ("lowerRight", (-60, -60))):
            assert max(abs(a - b) for a, b in zip(corners[corner], place)) < 1e-9, corners
        assert "GEOGCRS" in info["coordinateSystem"]["wkt"] or "GEOGCS" in info["coordinateSystem"]["wkt"], info["coordinateSystem"]
        band, = info["bands"]
        assert band["noDataValue"] == -9999 and band["unit"] == units, band
        print(f"{name}: {info['size']}, {band['unit']}")
