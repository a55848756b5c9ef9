#!/usr/bin/env bash
# [spe10_quick] `./dev demo spe10 --quick` starts on all workers, is made smaller by measurement, and leaves what it promises.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/spe10-quick.XXXXXX")
trap 'rm -rf "$out"' EXIT
: "${EMPI_DATA:=$EMPI_SOURCE_DIR/../shared/data}"
export EMPI_DATA
bash "$EMPI_SOURCE_DIR/scripts/demo.sh" spe10 --quick --out "$out"
python3 "$EMPI_SOURCE_DIR/e2e/cases/check_summary.py" "$out" --shrinks 1 --no-gauges --pictures water cut production resources
python3 - "$out" <<'EOF'
import csv, json, pathlib, sys
out = pathlib.Path(sys.argv[1])
summary = json.loads((out / "summary.json").read_text())
assert abs(summary["water_balance"]) < 1e-12, "water was lost or made"
assert 0 <= summary["saturation_range"][0] and summary["saturation_range"][1] <= 1, "saturations"
with open(out / "production.csv", newline="") as file:
    rows = list(csv.DictReader(file))
assert abs(float(rows[-1]["day"]) - summary["days"]) < 1e-6, "the curves end early"
assert len({row["ranks"] for row in rows}) > 1, "the curves know nothing of a resize"
EOF
