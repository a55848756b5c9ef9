#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: ArviZ opens posterior.nc, groups and dimensions as it names them, and has our R-hat and effective samples to 1e-6.

ArviZ is no package of Debian's: without it this is skipped (77), and diagnostics_test.cpp compares with what it once said.
EMPI_PYPI names a folder with it: apps/testing/pypi.py.
Usage: arviz_test.py PROGRAM, example_oscillator
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "testing"))
import pypi

(arviz,) = pypi.need("arviz")

with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch) / "out"
    subprocess.run([sys.argv[1], str(folder)], check=True, stdout=subprocess.DEVNULL)
    ours = json.loads((folder / "surrogate.json").read_text())
    data = arviz.from_netcdf(folder / "posterior.nc")
    for group in ("posterior", "sample_stats", "observed_data"):
        assert group in data.groups(), f"no group {group} among {data.groups()}"
    assert list(data.observed_data["y"].values) == ours["observed"]
    assert data.sample_stats["lp"].dims == ("chain", "draw")
    for parameter in ours["parameters"]:
        values = data.posterior[parameter["name"]]
        assert values.dims == ("chain", "draw"), values.dims
        for name, theirs in (("split_rhat", arviz.rhat(values.values, method="rank")),
                             ("bulk_ess", arviz.ess(values.values, method="bulk")),
                             ("mcse", arviz.mcse(values.values, method="mean"))):
            difference = abs(parameter[name] / float(theirs) - 1)
            assert difference < 1e-6, f"{name} of {parameter['name']}: {parameter[name]}, ArviZ has {theirs}"
            print(f"{name} of {parameter['name']}: {parameter[name]:.6g}, relative difference {difference:.1e}")
