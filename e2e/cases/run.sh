#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs cases against the cluster of $KUBECONFIG, one line each: case NAME ok|FAILED|skipped|unsteady SECONDS
# Cases in namespaces of their own run EMPI_CASES_AT_ONCE (3) at a time. Afterwards, one after the other, run those that
# stop, replace or cut what the others need: they say `# alone: WHY` below their third line. Of either kind those that say
# `# long: WHY` begin first, so that none of them runs when all others are over. At the end, if no more than EMPI_ONCE_MORE (0)
# have failed, they are tried once more, alone: `unsteady` is one that ends well then. EMPI_CASE_CLAIMS is a folder in which
# this and the same on another cluster say which cases each has taken.
# Usage: run.sh FOLDER [CASE...] | list      (through ./dev e2e)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/$1"
shift

all=()
for file in *.sh; do
  all+=("${file%.sh}")
done

# The third line of a case says what is promised.
if [[ ${1:-} == list ]]; then
  for name in "${all[@]}"; do printf '%-18s %s\n' "$name" "$(sed -n '3s/^# //p' "$name.sh")"; done
  exit 0
fi

[[ $# -gt 0 ]] || set -- "${all[@]}"
# Three wait beside each other; where there is no core for each, two.
at_once=${EMPI_CASES_AT_ONCE:-$(($(nproc) > 2 ? 3 : 2))}
[[ $at_once =~ ^[1-9][0-9]?$ ]] || { echo "EMPI_CASES_AT_ONCE: '$at_once' is no number from 1 to 99" >&2; exit 2; }
[[ ${EMPI_PATIENCE:-4} =~ ^[1-9][0-9]?$ ]] || { echo "EMPI_PATIENCE: '$EMPI_PATIENCE' is no number from 1 to 99" >&2; exit 2; }
logs=$(realpath ../../..)/out/e2e
mkdir -p "$logs"
[[ ${EMPI_ONCE_MORE:-0} =~ ^[0-9]$ ]] || { echo "EMPI_ONCE_MORE: '$EMPI_ONCE_MORE' is no number from 0 to 9" >&2; exit 2; }
# What hangs is ended. Who tries all that there is to try (./dev e2e full) has time.
seconds=${EMPI_CASE_TIMEOUT:-$([[ ${EMPI_FULL:-} == yes ]] && echo 3600 || echo 900)}
declare -A count=([ok]=0 [skipped]=0 [unsteady]=0) case_of=() began=()
failed=()
trap 'end_running; exit 130' INT TERM

# shellcheck disable=SC2317  # the trap calls it
end_running() {
  local pid
  for pid in "${!case_of[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  wait
}

begin() { # NAME: in the background
  # timeout leads a group of its own: whoever ends it ends all of the case.
  timeout --kill-after=20 "$seconds" bash "$1.sh" >"$logs/$1.log" 2>&1 &
  case_of[$!]=$1 began[$!]=$SECONDS
}

# Waits until one of those that run has ended, and says how.
finish_one() { # [WELL]: what a case is that has ended well
  local pid=0 status=0 name verdict
  wait -n -p pid "${!case_of[@]}" || status=$?
  name=${case_of[$pid]}
  case $status in
    0) verdict=${1:-ok} ;;
    77) verdict=skipped ;;
    *)
      verdict=FAILED
      failed+=("$name")
      tail -n 30 "$logs/$name.log" | sed 's/^/  | /'
      sed '/^e2e: --- /,$d' "$logs/$name.log" | tail -n 12 | sed "s/^/  $name: /"
      [[ $status != 124 && $status != 137 ]] || echo "  | it was ended after $seconds s"
      ;;
  esac
  echo "case $name $verdict $((SECONDS - began[$pid]))"
  [[ $verdict == FAILED ]] || count[$verdict]=$((count[$verdict] + 1))
  unset "case_of[$pid]" "began[$pid]"
}

says() { sed -n '4,7p' "$2.sh" | grep -q "^# $1: "; } # alone|long CASE
take() { [[ -z ${EMPI_CASE_CLAIMS:-} ]] || mkdir "$EMPI_CASE_CLAIMS/$1" 2>/dev/null; } # CASE: unless somebody has

alone=() together=() long_alone=() long_together=()
for name in "$@"; do
  kind=$(says alone "$name" && echo alone || echo together)
  ! says long "$name" || kind=long_$kind
  declare -n of_kind=$kind
  of_kind+=("$name")
done
together=("${long_together[@]}" "${together[@]}") alone=("${long_alone[@]}" "${alone[@]}")
# What is in a shared log may be the doing of any of them (lib/log.sh).
export EMPI_CASES_BESIDE="${together[*]}"
for name in "${together[@]}"; do
  while [[ ${#case_of[@]} -ge $at_once ]]; do finish_one; done
  ! take "$name" || begin "$name"
done
while [[ ${#case_of[@]} -gt 0 ]]; do finish_one; done
if [[ -n ${EMPI_CASE_CLAIMS:-} ]]; then # where no cluster runs cases beside each other any more, others have room (scripts/inside_tests.sh)
  rm -f "$EMPI_CASE_CLAIMS/.together-${EMPI_CLUSTER:-}"
  [[ -n $(compgen -G "$EMPI_CASE_CLAIMS/.together-*") ]] || touch "$EMPI_CASE_CLAIMS/.alone"
fi
EMPI_CASES_BESIDE=
for name in "${alone[@]}"; do
  take "$name" || continue
  begin "$name"
  finish_one
done
again=("${failed[@]}")
if [[ ${#again[@]} -le ${EMPI_ONCE_MORE:-0} ]]; then
  failed=()
  for name in "${again[@]}"; do
    mv "$logs/$name.log" "$logs/$name.first.log"
    begin "$name"
    finish_one unsteady
  done
fi
echo "cases: ${count[ok]} ok, ${#failed[@]} failed, ${count[skipped]} skipped, ${count[unsteady]} unsteady, $SECONDS s"
[[ ${#failed[@]} == 0 ]]
