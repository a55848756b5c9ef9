# SPDX-License-Identifier: Apache-2.0
"""Packages of PyPI that Debian does not have: a test that wants one is skipped (77) where it is not installed.

EMPI_PYPI names a folder with them for this Python: pip install --target FOLDER 'arviz<1' h5py netcdf4 xarray rasterio umbridge
"""
import importlib
import os
import pathlib
import sys

FOLDER = os.environ.get("EMPI_PYPI")


def need(*names):
    """These modules, in this order."""
    if FOLDER:
        sys.path.insert(0, str(pathlib.Path(FOLDER).absolute()))
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        print(f"skipped: {error}; EMPI_PYPI names a folder with what pip has installed")
        sys.exit(77)
