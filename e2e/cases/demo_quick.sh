#!/usr/bin/env bash
# [demo_quick] `./dev demo --quick` runs to its end, grows and shrinks by measurement, and leaves what it promises.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/demo-quick.XXXXXX")
trap 'rm -rf "$out"' EXIT
bash "$EMPI_SOURCE_DIR/scripts/demo.sh" --quick --out "$out"
python3 "$EMPI_SOURCE_DIR/e2e/cases/check_summary.py" "$out" --grows 1 --shrinks 1 \
  --pictures wave gauge resources
