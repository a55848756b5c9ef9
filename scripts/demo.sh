#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev demo [--full] [--out DIR]: the Chile 2010 tsunami as a malleable job on this machine, a minute or two.
# ./dev demo tohoku [--full] [--out DIR]: that of Tohoku 2011, which the thesis computes; needs measured data.
# ./dev demo spe10 [--full] [--out DIR] [--layers N|all]: the SPE10 oil reservoir.
# ./dev demo surrogate [--full] [--out DIR]: the Bayesian inverse problem with a surrogate.
# ./dev demo queue [--full] [--out DIR]: five tsunamis that share eight workers.
# ./dev demo deadline [--full] [--out DIR]: Jacobi under deadlines from infeasible to loose.
# Runs inside the Debian 13 root with the built programs on PATH. A report beside the job, at the lowest priority,
# draws what the job has written so far.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
case=tsunami size=-quick out='' layers='' targets_only=''
if [[ ${1:-} == --targets ]]; then # what ./dev is to build for these arguments
  targets_only=yes
  shift
fi
case ${1:-} in
  spe10 | surrogate | tsunami | tohoku | queue | deadline)
    case=$1
    shift
    ;;
esac
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) size=-quick ;; # as without it
    --full) size='' ;;
    --out)
      [[ $# -gt 1 ]] || { echo 'demo: --out needs a folder' >&2; exit 2; }
      out=$2
      shift
      ;;
    --layers)
      [[ $case == spe10 ]] || { echo 'demo: --layers is for ./dev demo spe10' >&2; exit 2; }
      [[ ${2:-} == all || (${2:-} =~ ^[1-9][0-9]?$ && $2 -le 85) ]] || { echo 'demo: --layers needs a number from 1 to 85, or all' >&2; exit 2; }
      layers=$2
      shift
      ;;
    -h | --help)
      [[ -z $targets_only ]] || exit 0
      echo 'Usage: ./dev demo [--full] [--out DIR]     a tsunami; pictures, index.html and summary.json go to DIR (default out/demo)'
      echo '       ./dev demo tohoku [--full] [--out DIR]     that of Tohoku 2011, beside two buoys; needs measured data (default out/tohoku)'
      echo '       ./dev demo spe10 [--full] [--out DIR] [--layers N|all]     an oil reservoir (default out/spe10)'
      echo '       ./dev demo surrogate [--full] [--out DIR]     four obstacles found in a fluid channel (default out/surrogate)'
      echo '       ./dev demo queue [--full] [--out DIR]     five tsunamis, one after the other, in one queue (default out/queue)'
      echo '       ./dev demo deadline [--full] [--out DIR]     one program under several deadlines (default out/deadline)'
      echo 'Takes about two minutes (deadline: four); with --full finer and many times longer. --quick is the short form, as without it.'
      exit 0
      ;;
    *)
      echo "demo: unknown option '$1'; see ./dev demo --help" >&2
      exit 2
      ;;
  esac
  shift
done
app=$case
[[ $case != tohoku ]] || app=tsunami
if [[ -n $targets_only ]]; then
  if [[ $case == queue ]]; then echo empi-tsunami empi-queue-report
  elif [[ $case == deadline ]]; then echo empi-jacobi empi-queue-report
  else echo "empi-$app" "empi-$app-report"
  fi
  exit 0
fi
default=demo
[[ $case == tsunami ]] || default=$case
out=$(realpath -m "${out:-$here/out/$default}")
mkdir -p "$out"

tell_emulation() { # MANIFEST
  sed -n 's/.*--cell-time[=", ]*\([0-9]*\).*/demo: slow nodes are emulated: the step of a cell takes \1 us more, slept (--cell-time)/p' "$1"
}

# Name, finest level, simulated seconds: the first is large, and small ones come while it runs.
queue_of_tsunamis() {
  local jobs='wide 15 21600|small 13 10800|middle 14 14400|tiny 13 7200|last 14 10800' stagger=3 cell_time=25 job
  local name finest end manifests=()
  if [[ -z $size ]]; then
    jobs='wide 17 43200|small 15 21600|middle 16 28800|tiny 14 21600|last 16 21600'
    stagger=10 cell_time=10
  fi
  mkdir -p "$out/jobs"
  while read -r name finest end; do
    job=$out/jobs/$name.yaml
    sed -e "s/NAME/$name/; s/FINEST/$finest/; s/END/$end/; s/CELL_TIME/$cell_time/" "$here/apps/tsunami/queue.yaml" >"$job"
    manifests+=("$job")
  done <<<"${jobs//|/$'\n'}"
  echo "demo: five tsunamis share eight workers, one more each $stagger s; results in $out"
  tell_emulation "$job"
  local status=0
  empi run "${manifests[@]}" --workers 8 --stagger "$stagger" --out "$out" || status=$?
  # Of those that have run, whatever became of the others.
  empi-queue-report "$out" || [[ $status != 0 ]]
  return "$status"
}

# The first deadline cannot be met: that run is as fast as it can be, and the others are so many per cent of it.
deadlines_of_jacobi() {
  local percents='135 190 260' iterations=200 manifest=$out/jacobi.yaml shortest percent
  if [[ -z $size ]]; then percents='115 135 160 200 250' iterations=400; fi
  sed "s/--iterations, \"[0-9]*\"/--iterations, \"$iterations\"/" "$here/apps/jacobi/bench/goals.yaml" >"$manifest"
  echo "demo: Jacobi on up to eight emulated slow workers, one deadline after the other; results in $out"
  echo 'run,deadline_s' >"$out/deadlines.csv"
  run_due() { # SECONDS
    echo "due-$1,$1" >>"$out/deadlines.csv"
    echo "demo: a deadline of $1 s"
    empi run "$manifest" --set autoscaling.mode=Auto --set autoscaling.policy.name=deadline --set "scheduling.deadlineSeconds=$1" --out "$out/due-$1"
  }
  run_due 5
  shortest=$(sed -n 's/^ *"finish_s": \([0-9]*\).*/\1/p' "$out/due-5/summary.json")
  for percent in $percents; do run_due $((shortest * percent / 100 + 1)); done
  empi-queue-report "$out"
}

# A name as it stands in a replacement of sed's s||| and there in YAML's '...', whatever is in it.
quoted() { sed -e 's/[&|\\]/\\&/g' -e "s/'/''/g" <<<"$1"; }

# The manifest, with its files where they are. The short form has cells of twice the width on emulated slow workers.
tohoku() { # writes $out/job.yaml
  local sea='' name cells=--finest=17
  for name in etopo5.cdf etopo5_npac_i16le.bin etopo5_npac_i16le.bin.xz; do
    if [[ -z $sea && -e $EMPI_DATA/tohoku2011/$name ]]; then sea=$EMPI_DATA/tohoku2011/$name; fi
  done
  if [[ -z $sea ]]; then
    echo "demo: no sea floor in $EMPI_DATA/tohoku2011: EMPI_DATA=\$PWD/data scripts/fetch_data.sh tohoku2011 gets it, and the buoys' records; EMPI_DATA=\$PWD/data ./dev demo tohoku takes them" >&2
    exit 2
  fi
  if [[ $sea == *.xz ]]; then
    python3 -c 'import lzma, sys; open(sys.argv[2], "wb").write(lzma.open(sys.argv[1]).read())' "$sea" "$out/sea-floor.bin"
    cp "${sea%.bin.xz}.txt" "$out/sea-floor.txt"
    sea=$out/sea-floor.bin
  fi
  if [[ -n $size ]]; then cells='--finest=15\n              - --cell-time=6'; fi
  sed -e "s|--topography=tohoku2011/etopo5.cdf|'--topography=$(quoted "$sea")'|" \
    -e "s|--faults=\(apps/tsunami/.*\)|'--faults=$(quoted "$here")/\1'|; s/--finest=17/$cells/" \
    "$here/apps/tsunami/tohoku2011.yaml" >"$out/job.yaml"
  [[ -z $size ]] || printf '  local: {networkEmulation: Calls, networkDelayMicroseconds: 300}\n' >>"$out/job.yaml"
}

if [[ $case == queue ]]; then
  queue_of_tsunamis
  exit
elif [[ $case == deadline ]]; then
  deadlines_of_jacobi
  exit
elif [[ $case == spe10 ]]; then
  manifest=$here/apps/spe10/spe10$size.yaml
  if [[ -n $layers ]]; then
    sed "s/--layers, \"[0-9]*\"/--layers, \"$layers\"/" "$manifest" >"$out/job.yaml"
    manifest=$out/job.yaml
  fi
  if [[ ! -e $EMPI_DATA/spe10_model2/spe_perm.dat && -z $(compgen -G "$EMPI_DATA/spe10_model2/spe10_kx_mD_f32le.bin*") ]]; then
    echo "demo: no SPE10 data in $EMPI_DATA/spe10_model2 (docs/spe10.md says where from): using a log-normal field"
  fi
elif [[ $case == surrogate ]]; then
  manifest=$here/apps/surrogate/surrogate$size.yaml
elif [[ $case == tohoku ]]; then
  tohoku
  manifest=$out/job.yaml
else
  manifest=$here/apps/tsunami/chile2010$size.yaml
  if [[ ! -e $EMPI_DATA/chile2010/dtopo_usgs100227.tt3 ]]; then
    echo "demo: no data in $EMPI_DATA (scripts/fetch_data.sh gets it): using the built-in ocean, which is synthetic, with an Okada source"
  fi
fi
echo "demo: the job is $manifest"
tell_emulation "$manifest"
echo "demo: watch it in a browser: $out/index.html (from the first picture on)"

job='' painter=''
end_painter() {
  [[ -n $painter ]] || return 0
  # Even for its end it needs a processor, which others may have for a long time. Only root may say so.
  renice -n 0 -p "$painter" >/dev/null 2>&1 || true
  kill "$painter" 2>/dev/null || true # unless it has seen the job's end itself
  wait "$painter" 2>/dev/null || true
  rm -f "$out"/*.part"$painter" # what it was writing
  painter=''
}
trap 'if [[ -n $job ]]; then kill -TERM "$job" 2>/dev/null || true; fi' INT TERM HUP
trap end_painter EXIT

started=$EPOCHSECONDS
# A shell's background commands ignore Ctrl-C and read nothing unless told otherwise.
env --default-signal=INT,QUIT empi run "$manifest" --out "$out" <&0 &
job=$!
nice -n 19 "empi-$app-report" --follow "$job" "$out" </dev/null >/dev/null 2>&1 &
painter=$!
# A signal ends a wait early; afterwards the shell still knows how the job ended.
while kill -0 "$job" 2>/dev/null; do wait "$job" 2>/dev/null || true; done
status=0
wait "$job" 2>/dev/null || status=$?
job=''
end_painter

# Of a job that failed as well, if it has run at all: the pictures are as far as it came.
if [[ $status == 0 ]]; then
  "empi-$app-report" "$out"
elif [[ -e $out/summary.json && $(stat -c %Y "$out/summary.json") -ge $started ]]; then
  "empi-$app-report" "$out" || true
fi
exit "$status"
