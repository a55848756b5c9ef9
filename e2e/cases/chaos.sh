#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [chaos] Each program comes to its result while it is resized and loses ranks, agents, pods and links at random, each for half a minute.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/chaos.XXXXXX")
trap 'rm -rf "$out"' EXIT
# Jobs of other tests have such names, too.
export XDG_STATE_HOME=$out/state
python3 "$EMPI_SOURCE_DIR/apps/bench/chaos.py" --jobs 2 --each 25 --length .3 --largest 4 --seed "${EMPI_CHAOS_SEED:-1}" --out "$out/jobs"
