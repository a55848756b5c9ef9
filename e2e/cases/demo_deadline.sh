#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [demo_deadline] `./dev demo deadline`: a deadline that cannot be met is said to be at risk, looser ones take fewer workers; pictures and a summary tell of it.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/demo-deadline.XXXXXX")
trap 'rm -rf "$out"' EXIT
EMPI_STATE_DIR=$out/state bash "$EMPI_SOURCE_DIR/scripts/demo.sh" deadline --quick --out "$out/due"
[[ -s $out/due/deadlines.png && -s $out/due/workers.png ]]
python3 - "$out/due/summary.json" <<'PYTHON'
import json
import sys

runs = json.load(open(sys.argv[1], encoding="utf-8"))["runs"]
assert len(runs) == 4 and all(run["result"] == "Succeeded" for run in runs), runs
assert runs[0]["said_at_risk"] and not runs[0]["met"], runs[0]
assert runs[-1]["mean_workers"] < runs[0]["mean_workers"], "a loose deadline takes fewer workers"
PYTHON
