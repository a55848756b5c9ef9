#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the library against libmpi itself, not against the generator: every MPI function that libmpi exports and
mpi.h (or the list below) declares with an MPI_Comm argument must be defined by libelastic_mpi, and every other one
too, unless it is known to be passed through.

usage: check_complete.py libmpi.so libelastic_mpi.so mpi.h [more headers]
"""
import re
import subprocess
import sys

PASSED_THROUGH = {"MPI_Wtime", "MPI_Wtick", "MPI_Pcontrol", "MPI_Aint_add", "MPI_Aint_diff"}
# Exported for binaries of MPI 1, declared nowhere, without communicators.
REMOVED = {"MPI_Address", "MPI_Errhandler_create", "MPI_Type_extent", "MPI_Type_hindexed", "MPI_Type_hvector",
           "MPI_Type_lb", "MPI_Type_struct", "MPI_Type_ub"}
QUERIES = {"MPIX_Query_cuda_support", "MPIX_Query_rocm_support"}


def defined(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    # Mixed case are the C functions; all lower or upper case are Fortran's.
    return {n for n in (l.split()[-1].split("@")[0] for l in lines.splitlines())
            if re.match(r"MPIX?_(T_)?[A-Za-z][a-z]", n)}


def main():
    libmpi, ours = defined(sys.argv[1]), defined(sys.argv[2])
    headers = re.sub(r"(?m)^\s*#(.*\\\n)*.*$", "", "".join(open(h).read() for h in sys.argv[3:]))
    if len(libmpi) < 400:
        raise SystemExit(f"found only {len(libmpi)} MPI functions in {sys.argv[1]}, expected more than 400")
    with_comm = {n for n in libmpi - REMOVED if re.search(r"\b" + n + r"\s*\([^;]*?\bMPI_Comm\b", headers)}
    if "MPI_Send" not in with_comm or len(with_comm) < 150:
        raise SystemExit(f"found only {len(with_comm)} functions with a communicator: headers not understood")
    untranslated = sorted((with_comm | {"MPI_Errhandler_get", "MPI_Errhandler_set"}) - ours)
    uncounted = sorted(libmpi - ours - PASSED_THROUGH - REMOVED - QUERIES)
    for name in untranslated:
        print(f"{name} takes a communicator, but the library has no wrapper for it", file=sys.stderr)
    for name in uncounted:
        print(f"{name} is exported by libmpi, but the library has no wrapper for it", file=sys.stderr)
    sys.exit(1 if untranslated or uncounted else 0)


if __name__ == "__main__":
    main()
