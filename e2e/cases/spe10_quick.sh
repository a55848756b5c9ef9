#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [spe10_quick] `./dev demo spe10` starts on all workers, is made smaller by measurement, and leaves what it promises.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/spe10-quick.XXXXXX")
trap 'rm -rf "$out"' EXIT
export EMPI_DATA=${EMPI_DATA:-/nonexistent}
bash "$EMPI_SOURCE_DIR/scripts/demo.sh" spe10 --out "$out"
python3 "$EMPI_SOURCE_DIR/e2e/cases/check_summary.py" "$out" --shrinks 1 --no-gauges --pictures water cut production resources
empi-spe10-report --vtu --compare "$out" -- "$out" # with itself: one profile twice
python3 - "$out" <<'EOF'
import csv, json, pathlib, re, sys
import xml.etree.ElementTree as ET
out = pathlib.Path(sys.argv[1])
summary = json.loads((out / "summary.json").read_text())
assert abs(summary["water_balance"]) < 1e-12, "water was lost or made"
assert 0 <= summary["saturation_range"][0] and summary["saturation_range"][1] <= 1, "saturations"
with open(out / "production.csv", newline="") as file:
    rows = list(csv.DictReader(file))
assert abs(float(rows[-1]["day"]) - summary["days"]) < 1e-6, "the curves end early"
assert len({row["ranks"] for row in rows}) > 1, "the curves know nothing of a resize"
with open(out / "cells.csv", newline="") as file:
    first = next(csv.DictReader(file))
assert float(first["simulated_s"]) == 0 and int(first["ranks"]) == 8, f"the profile begins with {first}"

# Where a time was foretold, the decision also holds what it was measured to be.
for decision in summary["decisions"]:
    if "predicted_s" in decision:
        assert decision["iteration_s"] > 0 and decision["predicted_s"] > 0, decision
print(f"last decision: {summary['decisions'][-1]['reason']}")

# ParaView: each day's pieces hold all prisms, with all their values.
days = [d.get("file") for d in ET.parse(out / "spe10.pvd").getroot().iter("DataSet")]
assert len(days) == len(list(out.glob("snapshot-*.vtkhdf"))), days
assert [f["name"] for f in json.loads((out / "spe10.vtkhdf.series").read_text())["files"]] == sorted(f.name for f in out.glob("snapshot-*.vtkhdf"))
for day in days:
    root = ET.parse(out / day).getroot()
    names = {a.get("Name") for a in root.iter("PDataArray")}
    assert {"saturation", "pressure_psi", "permeability_mD", "level", "owner"} <= names, names
    heads = [(out / piece.get("Source")).read_bytes()[:4000].decode("latin-1") for piece in root.iter("Piece")]
    prisms = sum(int(re.search(r'NumberOfCells="(\d+)"', head)[1]) for head in heads)
    assert prisms > 0, day
assert prisms == summary["cells_final"], f"{prisms} prisms in {days[-1]}"
EOF
[[ -s $out/profiles.png ]]
