# SPDX-License-Identifier: Apache-2.0
"""Measured data, which is not part of the project: where tests look for it when they run."""
import os
import pathlib


def folder():
    """The one that EMPI_DATA names, as ./dev does; it need not be there."""
    return pathlib.Path(os.environ.get("EMPI_DATA") or "/nonexistent")
