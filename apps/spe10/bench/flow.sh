#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# targets: empi-spe10
# bench spe10-flow: wall time of 30 days of SPE10's bottom 16 layers over OPM Flow's on the same deck, one process with
# one thread each.
# Usage: bench_flow.sh      needs the program flow (Debian: libopm-simulators-bin) and the data set
set -euo pipefail
if ! command -v flow >/dev/null; then
  echo "bench: spe10-flow needs OPM Flow, which is no part of the root; once, as root:
  ./dev shell 'apt-get update && apt-get install -y --no-install-recommends libopm-simulators-bin'   # 150 MB" >&2
  exit 0
fi
deck=$EMPI_DATA/spe10_model2/opm_flow_bottom16/SPE10B16.DATA
[[ -e $deck ]] || { echo "bench: spe10-flow needs $deck" >&2; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/spe10-flow.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 - "$EMPI_DATA/spe10_model2" "$work/PERM16.INC" <<'EOF'
import lzma, pathlib, struct, sys
data, blocks, bottom = pathlib.Path(sys.argv[1]), 1122000, 211200
kx = struct.unpack(f"<{blocks}f", lzma.open(data / "spe10_kx_mD_f32le.bin.xz").read())[-bottom:]
bits = lzma.open(data / "spe10_kvclass_bits.bin.xz").read()
first = blocks - bottom
kz = [k * (.3 if bits[(first + b) // 8] >> ((first + b) % 8) & 1 else 1e-4) for b, k in enumerate(kx)]
with open(sys.argv[2], "w") as out:
    for name, values in (("PERMX", kx), ("PERMY", kx), ("PERMZ", kz)):
        out.write(name + "\n" + "\n".join(f"{v:.6g}" for v in values) + "\n/\n")
EOF
cp "$deck" "$work/"
TIMEFORMAT='%R %U'
seconds() { # COMMAND...: wall time, then processor time, which other work on the machine disturbs less
  { time "$@" >"$work/log" 2>&1; } 2>"$work/time" || { tail -n 20 "$work/log" >&2; exit 1; }
  tail -n 1 "$work/time"
}
ours=$(seconds empi-spe10 --out "$work/ours" --layers 16 --days 30 --snapshot-every 0)
flow=$(seconds flow --threads-per-process=1 --output-dir="$work/flow" "$work/SPE10B16.DATA")
read -r ours ours_cpu <<<"$ours"
read -r flow flow_cpu <<<"$flow"
echo "note: empi-spe10 $ours s, flow $flow s; processor time $ours_cpu and $flow_cpu s" >&2
awk -v a="$ours" -v b="$flow" -v c="$ours_cpu" -v d="$flow_cpu" \
  'BEGIN { printf "bench spe10-flow.ratio %.3f ratio\nbench spe10-flow.cpu_ratio %.3f ratio\n", a / b, c / d }'
