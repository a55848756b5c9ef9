#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Promise: on several ranks that all write one snapshot, PROGRAM ends with status 2 and one line that names the snapshot and
# the reason when the disk is full; nothing is left of that snapshot, and those before it stay.
# Usage: full_disk.sh MPIEXEC PROGRAM ARGUMENTS...
set -euo pipefail
if [[ ${1:-} != --inside ]]; then
  unshare --mount true 2>/dev/null || { echo "cannot mount a small file system here"; exit 77; }
  exec unshare --mount -- bash "$0" --inside "$@"
fi
mpiexec=$2 program=$3
folder=$(mktemp -d)
trap 'umount "$folder"; rmdir "$folder"' EXIT
mount -t tmpfs -o size=480k none "$folder"
status=0
output=$(timeout 60 "$mpiexec" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,sm -n 3 \
  "$program" --out "$folder/out" "${@:4}" 2>&1) || status=$?
echo "$output"
ls "$folder/out"
[[ $status == 2 ]] || { echo "expected exit status 2, not $status"; exit 1; }
[[ $(grep -cE "^[a-z0-9-]+: $folder/out/snapshot-000[1-9]\.vtkhdf: expected to write this file, found No space left on device; " <<<"$output") == 1 ]]
if grep 'HDF5' <<<"$output"; then exit 1; fi # the library's own complaints
[[ -s $folder/out/snapshot-0000.vtkhdf ]]
[[ -z $(compgen -G "$folder/out/*.part") ]]
