#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine without a root: kills ./dev while it makes one, and expects that the next call makes one. The time at
# which that began goes to FILE.
# Usage: interrupted_root.sh FILE
set -euo pipefail
shopt -s nullglob
cache=${EMPI_CACHE:-$HOME/.cache/elastic-mpi}
half_made() { local found=("$cache"/root-*.new/var/lib/dpkg/status); [[ ${#found[@]} -gt 0 && -s ${found[0]} ]]; }

./dev shell true &
making=$!
deadline=$((SECONDS + 2400)) # CI gives this what processors the others leave
until half_made; do
  kill -0 "$making" 2>/dev/null || { echo 'interrupted_root: ./dev ended before it had half a root' >&2; exit 1; }
  [[ $SECONDS -lt $deadline ]] || { echo 'interrupted_root: gave up waiting for half a root' >&2; kill "$making"; exit 1; }
  sleep 0.1
done
kill -KILL "$making"
wait "$making" 2>/dev/null || true
echo "$EPOCHSECONDS" >"$1"
./dev shell true
