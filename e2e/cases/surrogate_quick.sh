#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [surrogate_quick] `./dev demo surrogate` grows in the middle of a phase, finds the obstacles, and computes the same bits as one process.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/surrogate-quick.XXXXXX")
trap 'rm -rf "$out"' EXIT
bash "$EMPI_SOURCE_DIR/scripts/demo.sh" surrogate --out "$out/demo"
python3 "$EMPI_SOURCE_DIR/e2e/cases/check_summary.py" "$out/demo" --grows 2 --no-gauges --no-cells \
  --pictures channel marginals corner traces error resources
# The manifest's own arguments, without agents.
args=$(sed -n 's/^ *args: \[\(.*\)\]$/\1/p' "$EMPI_SOURCE_DIR/apps/surrogate/surrogate-quick.yaml" | tr -d ',"')
read -ra words <<<"$args"
empi-surrogate "${words[@]}" --out "$out/alone"
python3 - "$out" <<'EOF'
import csv, json, pathlib, sys
out = pathlib.Path(sys.argv[1])
summary = json.loads((out / "demo/summary.json").read_text())
alone = json.loads((out / "alone/surrogate.json").read_text())
assert summary["fingerprint"] == alone["fingerprint"], "the bits depend on who computed them"
assert summary["surrogate_error"] <= .06 and summary["reference_points"] == 500, "the surrogate's error"
assert summary["worst_split_rhat"] < 1.02 and summary["least_bulk_ess"] > 400, "the chains have not converged"
for p in summary["parameters"]:
    assert abs(p["mean"] - p["true"]) < 4 * p["sd"], f"{p['name']} is not where the posterior says"
with open(out / "demo/phases.csv", newline="") as file:
    phases = list(csv.DictReader(file))
begins = [(float(p["begin_s"]), float(p["end_s"])) for p in phases]
assert int(phases[-1]["workers"]) > 1, "the last phase had one worker"
assert all(a[1] <= b[0] + .01 for a, b in zip(begins, begins[1:])), "phases overlap"
print(f"error {summary['surrogate_error']:.4f} with {summary['grid_points']} points, fingerprint {summary['fingerprint']}, "
      f"{len(phases)} phases in {begins[-1][1] - begins[0][0]:.0f} s")
EOF
