#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: xarray finds in maxima.nc, without being told anything, coordinates, units, the grid's mapping and no value where
there is none; heights are those of the cells of the snapshots, to the bit; rasterio (GDAL, QGIS) puts it where it is.

Skipped (77) without xarray and rasterio: apps/testing/pypi.py. Usage: maxima_in_xarray.py EMPI-TSUNAMI
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "testing"))
import pypi

xarray, h5py, numpy, rasterio, _ = pypi.need("xarray", "h5py", "numpy", "rasterio", "netCDF4")

WEST, EAST, SOUTH, NORTH, SPACING = -120, -60, -60, 0, 0.8
UNITS = {"max_elevation": "m", "max_speed": "m s-1", "max_flood_depth": "m", "arrival_time": "s"}


# Values by the point of the raster: a list for each, of the cells that it lies in (two on an edge).
def cells_at(snapshot, lon, lat):
    with h5py.File(snapshot) as file:
        grid = file["VTKHDF"]
        corners = grid["Points"][:, :2].astype(float)[grid["Connectivity"][:].reshape(-1, 3)]
        data = {name: grid["CellData"][name][:] for name in ("eta", "h", "hu", "hv", "b")}
    places = {}
    for cell, triangle in enumerate(corners):
        low, high = triangle.min(axis=0), triangle.max(axis=0)
        for j in numpy.nonzero((lat > low[1] - 1e-4) & (lat < high[1] + 1e-4))[0]:
            for i in numpy.nonzero((lon > low[0] - 1e-4) & (lon < high[0] + 1e-4))[0]:
                sides = [(triangle[k] - triangle[k - 1], (lon[i], lat[j]) - triangle[k - 1]) for k in range(3)]
                turns = [a[0] * b[1] - a[1] * b[0] for a, b in sides]
                if min(turns) > -1e-4 or max(turns) < 1e-4:
                    places.setdefault((j, i), []).append(cell)
    return places, data


def check_values(data, out):
    # The mesh is the same at the start and after the only step.
    places, first = cells_at(out / "snapshot-0000.vtkhdf", data.lon.values, data.lat.values)
    _, last = cells_at(out / "snapshot-0001.vtkhdf", data.lon.values, data.lat.values)
    assert len(places) == data.lon.size * data.lat.size, len(places)
    wet = {"dry": 0, "wet": 0, "edge": 0}
    for (j, i), cells in places.items():
        expected = []
        for cell in cells:
            heights = [state["eta"][cell] for state in (first, last) if state["h"][cell] > 1e-3]
            expected.append(max(heights) if heights else numpy.nan)
        found = data.max_elevation.values[j, i]
        wet["dry" if numpy.isnan(found) else "wet"] += 1
        wet["edge"] += len(cells) > 1
        assert any(found == value or numpy.isnan(found) and numpy.isnan(value) for value in expected), \
            f"at {j}, {i}: {found}, cells have {expected}"
    print("points:", wet)
    assert wet["dry"] > 100 and wet["wet"] > 1000 and wet["edge"] < 1000, wet
    moving = 0
    for (j, i), (cell, *others) in places.items():  # hu, hv and h of the file are rounded
        if others or last["h"][cell] <= 0.1 or first["h"][cell] <= 0.1:
            continue
        expected = max(numpy.hypot(state["hu"][cell], state["hv"][cell]) / state["h"][cell] for state in (first, last))
        moving += expected > 1e-3
        assert abs(data.max_speed.values[j, i] - expected) <= 1e-6 * expected, f"at {j}, {i}: {expected} m/s"
    assert moving > 10, moving
    assert float(data.arrival_time.max()) <= 30 and float(data.arrival_time.min()) == 0


def check_rasterio(path, data):
    with rasterio.open(f"netcdf:{path}:max_elevation") as raster:
        assert numpy.allclose(raster.bounds, (WEST, SOUTH, EAST, NORTH)), raster.bounds
        assert raster.crs.is_geographic, raster.crs
        assert raster.nodata == -9999, raster.nodata
        values = raster.read(1, masked=True).filled(numpy.nan)
        assert numpy.array_equal(values, data.max_elevation.values[::-1], equal_nan=True), "rows of GDAL begin in the north"
        row, column = raster.index(-72.4, -36.4)
        there = data.max_elevation.sel(lon=-72.4, lat=-36.4, method="nearest").item()
        assert there == values[row, column] or numpy.isnan(there) and numpy.isnan(values[row, column])


def main():
    with tempfile.TemporaryDirectory(prefix="maxima-in-xarray.") as folder:
        out = pathlib.Path(folder)
        subprocess.run([sys.argv[1], "--data", "none", "--finest", "12", "--end", "30", "--snapshot-every", "30", "--maxima",
                        str(SPACING), "--out", folder], check=True, stdout=subprocess.DEVNULL)
        with xarray.open_dataset(out / "maxima.nc", decode_coords="all") as data:
            assert data.attrs["Conventions"] == "CF-1.8"
            for axis, units, name, low, high in (("lon", "degrees_east", "longitude", WEST, EAST),
                                                 ("lat", "degrees_north", "latitude", SOUTH, NORTH)):
                values = data[axis]
                assert values.units == units and values.standard_name == name, values.attrs
                assert numpy.allclose(numpy.diff(values), SPACING)
                assert numpy.allclose([values[0] - SPACING / 2, values[-1] + SPACING / 2], [low, high])
            assert "crs" in data.coords, "no variable names the grid's mapping"
            assert data.crs.grid_mapping_name == "latitude_longitude" and data.crs.earth_radius == 6367500
            assert set(data.data_vars) == set(UNITS)
            for name, units in UNITS.items():
                field = data[name]
                assert field.dims == ("lat", "lon") and field.dtype == numpy.float32, field
                assert field.units == units and field.encoding["grid_mapping"] == "crs", field.attrs
                assert field.encoding["_FillValue"] == -9999 and not (field == -9999).any()
            check_values(data, out)
            check_rasterio(out / "maxima.nc", data)


if __name__ == "__main__":
    main()
