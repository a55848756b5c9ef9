#!/usr/bin/env bash
# ./dev demo [--quick] [--out DIR]: the Chile 2010 tsunami as a malleable job on this machine.
# Runs inside the Debian 13 root with the built programs on PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
manifest=$here/apps/tsunami/chile2010.yaml
out=
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) manifest=$here/apps/tsunami/chile2010-quick.yaml ;;
    --out)
      [[ $# -gt 1 ]] || { echo 'demo: --out needs a folder' >&2; exit 2; }
      out=$2
      shift
      ;;
    -h | --help)
      echo 'Usage: ./dev demo [--quick] [--out DIR]     pictures and summary.json go to DIR (default out/demo)'
      exit 0
      ;;
    *)
      echo "demo: unknown option '$1'; see ./dev demo --help" >&2
      exit 2
      ;;
  esac
  shift
done
out=$(realpath -m "${out:-$here/out/demo}")
mkdir -p "$out"

if [[ ! -e $EMPI_DATA/chile2010/dtopo_usgs100227.tt3 ]]; then
  echo "demo: no data in $EMPI_DATA (scripts/fetch_data.sh gets it): using the built-in analytic ocean with an Okada source"
fi
echo "demo: the job is $manifest"
empi run "$manifest" --out "$out"
empi-tsunami-report "$out"
