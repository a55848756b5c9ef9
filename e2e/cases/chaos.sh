#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [chaos] Jacobi, tsunami and inverse problem come to their results while they are resized and lose ranks, agents and pods at random.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/chaos.XXXXXX")
trap 'rm -rf "$out"' EXIT
# The reservoir and links, too: ./dev bench chaos. Jobs of other tests have such names, too.
export XDG_STATE_HOME=$out/state
python3 "$EMPI_SOURCE_DIR/apps/bench/chaos.py" --apps jacobi,tsunami,inverse --jobs 2 --kinds rank,rank,agent,pod --each 25 --length .3 --largest 4 --seed "${EMPI_CHAOS_SEED:-1}" --out "$out/jobs"
