#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [demo_queue] `./dev demo queue`: five tsunamis share one machine, all succeed, some at the same time, somebody yields or grows; a profile and a summary tell of it.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/demo-queue.XXXXXX")
trap 'rm -rf "$out"' EXIT
EMPI_DATA=/nonexistent EMPI_STATE_DIR=$out/state bash "$EMPI_SOURCE_DIR/scripts/demo.sh" queue --quick --out "$out/queue"
[[ -s $out/queue/profile.png ]]
python3 - "$out/queue/summary.json" <<'PYTHON'
import json
import sys

summary = json.load(open(sys.argv[1], encoding="utf-8"))
jobs = summary["jobs"]
assert len(jobs) == 5 and all(job["result"] == "Succeeded" for job in jobs), jobs
assert any(a["queued_s"] < b["queued_s"] < a["end_s"] for a in jobs for b in jobs), "one after the other"
assert sum(job["changes"] for job in jobs) > 0, "nobody changed its size"
assert 0 < summary["worker_seconds"] <= 8.5 * summary["makespan_s"], summary
PYTHON
