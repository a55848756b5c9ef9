#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Promise: on several ranks, of which only the first writes, PROGRAM ends with status 2 and one line that names the
# folder when it cannot write there; no rank is left waiting. Usage: unwritable.sh MPIEXEC PROGRAM
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$folder/file"
status=0
timeout 60 "$1" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,sm -n 3 \
  "$2" --out "$folder/file" >"$folder/output" 2>&1 || status=$?
cat "$folder/output"
if [[ $status != 2 ]]; then echo "expected exit status 2, not $status"; exit 1; fi
grep -qF ": $folder/file: expected a folder for the results" "$folder/output"
! grep -q 'terminate called' "$folder/output"
