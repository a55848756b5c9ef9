#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs empi-tsunami and empi-spe10 on three ranks. Promise: VTK's own reader, which is ParaView's, finds in each snapshot
pieces that cover the domain once, with the arrays and times that the guides name.
Usage: EMPI_WITH=python3-vtk9 ./dev run apps/testing/snapshots_in_vtk.py (part of ./dev e2e other-readers)"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
    from vtkmodules.vtkIOHDF import vtkHDFReader
except ImportError as error:
    sys.exit(f"snapshots_in_vtk.py: {error}: EMPI_WITH=python3-vtk9 makes a root that has it")

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,sm"]
RANKS = 3


def arrays(data):
    all_of = [data.GetArray(k) for k in range(data.GetNumberOfArrays())]
    return {array.GetName(): [array.GetTuple1(i) for i in range(array.GetNumberOfTuples())] for array in all_of}


# The pieces of a file, and the numbers that are of all of it.
def read(path):
    reader = vtkHDFReader()
    assert reader.CanReadFile(str(path)), path
    reader.SetFileName(str(path))
    if hasattr(reader, "SetMergeParts"):  # before VTK 9.4 pieces were always merged
        reader.SetMergeParts(False)
    reader.Update()
    output = reader.GetOutputDataObject(0)
    pieces = [output]
    if output.IsA("vtkPartitionedDataSet"):
        pieces = [output.GetPartition(k) for k in range(output.GetNumberOfPartitions())]
        assert len(pieces) == RANKS, len(pieces)
    return pieces, arrays(output.GetFieldData())


# `measure`: of cells, which add up to `size`.
def check(program, arguments, stem, times, measure, size, names):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        subprocess.run(MPIRUN + ["-n", str(RANKS), program, "--out", folder] + arguments, check=True, stdout=subprocess.DEVNULL)
        files = json.loads((out / f"{stem}.vtkhdf.series").read_text())["files"]
        assert [file["time"] for file in files] == times, files
        for file in files:
            pieces, fields = read(out / file["name"])
            assert fields["TimeValue"] == [file["time"]] and fields["ranks"] == [RANKS], fields
            whole = cells = 0
            for piece in pieces:
                sizes = vtkCellSizeFilter()
                sizes.SetInputData(piece)
                sizes.Update()
                found = arrays(sizes.GetOutput().GetCellData())
                assert names <= set(found), set(found)
                whole += sum(map(abs, found[measure]))
                cells += piece.GetNumberOfCells()
                if "h" in found:
                    assert all(abs(eta - b - h) < 1e-3 for eta, b, h in zip(found["eta"], found["b"], found["h"]))
                else:
                    assert all(0 <= s <= 1 for s in found["saturation"])
            assert abs(whole / size - 1) < 1e-5, f"{whole} of {size}"
            print(f"{program}: {file['name']}: {cells} cells in {len(pieces)} pieces")
        assert cells == json.loads((out / f"{stem}.json").read_text())["cells_final"], cells


check("empi-tsunami", ["--data", "none", "--finest", "12", "--end", "3000", "--snapshot-every", "1500", "--maxima", "0"],
      "tsunami", [0, 1500, 3000], "Area", 60 * 60,  # degrees
      {"eta", "h", "hu", "hv", "b", "level", "owner"})
check("empi-spe10", ["--data", "/none", "--layers", "2", "--coarsest", "0", "--finest", "1", "--days", "0.5", "--snapshot-every", "0.25"],
      "spe10", [0, .25, .5], "Volume", 1200 * 2200 * 2 * 2,  # ft
      {"saturation", "pressure", "permeability", "level", "owner"})
