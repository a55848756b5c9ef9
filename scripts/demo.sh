#!/usr/bin/env bash
# ./dev demo [--quick] [--out DIR]: the Chile 2010 tsunami as a malleable job on this machine.
# ./dev demo spe10 [--quick] [--out DIR] [--layers N|all]: the SPE10 oil reservoir.
# ./dev demo surrogate [--quick] [--out DIR]: the Bayesian inverse problem with a surrogate.
# Runs inside the Debian 13 root with the built programs on PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
case=tsunami quick='' out='' layers=''
if [[ ${1:-} == spe10 || ${1:-} == surrogate || ${1:-} == tsunami ]]; then
  case=$1
  shift
fi
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=-quick ;;
    --out)
      [[ $# -gt 1 ]] || { echo 'demo: --out needs a folder' >&2; exit 2; }
      out=$2
      shift
      ;;
    --layers)
      [[ $case == spe10 ]] || { echo 'demo: --layers is for ./dev demo spe10' >&2; exit 2; }
      [[ ${2:-} == all || ${2:-} =~ ^[1-9][0-9]?$ ]] || { echo 'demo: --layers needs a number from 1 to 85, or all' >&2; exit 2; }
      layers=$2
      shift
      ;;
    -h | --help)
      echo 'Usage: ./dev demo [--quick] [--out DIR]     pictures and summary.json go to DIR (default out/demo)'
      echo '       ./dev demo spe10 [--quick] [--out DIR] [--layers N|all]     an oil reservoir (default out/spe10)'
      echo '       ./dev demo surrogate [--quick] [--out DIR]     four obstacles found in a fluid channel (default out/surrogate)'
      exit 0
      ;;
    *)
      echo "demo: unknown option '$1'; see ./dev demo --help" >&2
      exit 2
      ;;
  esac
  shift
done
default=demo
[[ $case == tsunami ]] || default=$case
out=$(realpath -m "${out:-$here/out/$default}")
mkdir -p "$out"

if [[ $case == spe10 ]]; then
  manifest=$here/apps/spe10/spe10$quick.yaml
  if [[ -n $layers ]]; then
    sed "s/--layers, \"[0-9]*\"/--layers, \"$layers\"/" "$manifest" >"$out/job.yaml"
    manifest=$out/job.yaml
  fi
  if [[ ! -e $EMPI_DATA/spe10_model2/spe_perm.dat && -z $(compgen -G "$EMPI_DATA/spe10_model2/spe10_kx_mD_f32le.bin*") ]]; then
    echo "demo: no SPE10 data in $EMPI_DATA/spe10_model2 (docs/reservoir.md says where from): using a log-normal field"
  fi
elif [[ $case == surrogate ]]; then
  manifest=$here/apps/surrogate/surrogate$quick.yaml
else
  manifest=$here/apps/tsunami/chile2010$quick.yaml
  if [[ ! -e $EMPI_DATA/chile2010/dtopo_usgs100227.tt3 ]]; then
    echo "demo: no data in $EMPI_DATA (scripts/fetch_data.sh gets it): using the built-in analytic ocean with an Okada source"
  fi
fi
echo "demo: the job is $manifest"
empi run "$manifest" --out "$out"
"empi-$case-report" "$out"
