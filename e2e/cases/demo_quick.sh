#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# [demo_quick] `./dev demo` runs to its end, grows and shrinks by measurement, shows pictures while it runs, leaves what it promises and no process.
set -euo pipefail
out=$(mktemp -d "${TMPDIR:-/tmp}/demo-quick.XXXXXX")
trap 'wait; rm -rf "$out"' EXIT
mkdir "$out/whole" "$out/ended"
watch() { python3 "$EMPI_SOURCE_DIR/e2e/cases/watch_demo.py" "$1" "$out/$1" -- bash "$EMPI_SOURCE_DIR/scripts/demo.sh" "${@:2}" --out "$out/$1"; }
# One is ended soon after its start, beside the other. The measured data is for the other: without any, the ocean is
# built in. A job of the same name needs a state folder of its own.
EMPI_DATA=/nonexistent EMPI_STATE_DIR=$out/state watch ended --quick >"$out/ended.txt" 2>&1 &
ended=$!
watch whole
# It shrinks when the wave has passed, unless messages, which a busy machine delays more than is emulated, have kept it from
# ever having more workers than that mesh can use.
python3 "$EMPI_SOURCE_DIR/e2e/cases/check_summary.py" "$out/whole" --grows 1 --shrinks-from 4 --tasks \
  --pictures wave gauge resources
status=0
wait "$ended" || status=$?
cat "$out/ended.txt"
[[ $status == 0 ]]
grep -q 'built-in ocean' "$out/ended.log"
