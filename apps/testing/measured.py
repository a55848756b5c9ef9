# SPDX-License-Identifier: Apache-2.0
"""Measured data, which is not part of the project: where tests and benchmarks look for it when they run."""
import os
import pathlib

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


def folder():
    """The one that EMPI_DATA names, else ../shared/data beside the checkout; it need not be there."""
    return pathlib.Path(os.environ.get("EMPI_DATA") or CHECKOUT.parent / "shared/data")
