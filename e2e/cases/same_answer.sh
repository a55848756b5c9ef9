#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [same_answer] A tsunami that is resized at random all the time ends in bitwise the same state as one of fixed size.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/same-answer.XXXXXX")
trap 'rm -rf "$out"' EXIT
apps=$EMPI_SOURCE_DIR/apps/tsunami
empi run "$apps/testing/fixed.yaml" --out "$out/fixed"
empi run "$apps/testing/restless.yaml" --out "$out/restless"
python3 - "$out" <<'EOF'
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])
fixed, restless = (json.loads((out / run / "summary.json").read_text()) for run in ("fixed", "restless"))
committed = [c for c in restless["changes"] if c.get("outcome") == "committed"]
print(f"fixed: state {fixed['state_hash']}, {fixed['cells_final']} cells")
print(f"restless: state {restless['state_hash']}, {restless['cells_final']} cells, {len(committed)} changes: "
      + ", ".join(f"{c['from']}->{c['to']}" for c in committed))
assert len(committed) >= 3, "the restless run must be resized at least three times"
assert fixed["state_hash"] == restless["state_hash"], "the states differ"
# What ranks did that have left counts too.
assert fixed["cell_updates"] == restless["cell_updates"], [s["cell_updates"] for s in (fixed, restless)]
EOF
