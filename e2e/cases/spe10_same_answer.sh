#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [spe10_same_answer] A reservoir that is resized at random all the time ends like one of fixed size, to the solver's tolerance.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/spe10-same.XXXXXX")
trap 'rm -rf "$out"' EXIT
apps=$EMPI_SOURCE_DIR/apps/spe10
empi run "$apps/testing/fixed.yaml" --out "$out/fixed"
empi run "$apps/testing/restless.yaml" --out "$out/restless"
python3 - "$out" <<'EOF'
import csv, json, pathlib, sys
out = pathlib.Path(sys.argv[1])
fixed, restless = (json.loads((out / run / "summary.json").read_text()) for run in ("fixed", "restless"))
committed = [c for c in restless["changes"] if c.get("outcome") == "committed"]
print(f"{len(committed)} changes: " + ", ".join(f"{c['from']}->{c['to']}" for c in committed))
assert len(committed) >= 3, "the restless run must be resized at least three times"
assert fixed["cells_final"] == restless["cells_final"], "the meshes differ"
for run in (fixed, restless):
    assert abs(run["water_balance"]) < 1e-12, "water was lost or made"
rows = []
for run in ("fixed", "restless"):
    with open(out / run / "production.csv", newline="") as file:
        rows.append(list(csv.DictReader(file)))
assert len(rows[0]) == len(rows[1]), "the steps differ"
worst = 0
for a, b in zip(*rows):
    for name in a:
        if name in ("ranks", "iterations"):
            continue
        x, y = float(a[name]), float(b[name])
        # Printed with seven digits; water of a dry well is too small to compare.
        if abs(x) > 1e-2:
            worst = max(worst, abs(x - y) / abs(x))
print(f"largest relative difference of the production curves: {worst:.2g}")
assert worst <= 1e-5, "the curves differ"
EOF
