#!/usr/bin/env bash
# Runs cases against the cluster of $KUBECONFIG, one line each: case NAME ok|FAILED|skipped SECONDS
# Usage: run.sh FOLDER [CASE...] | list      (through ./dev e2e)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/$1"
shift

all=()
for file in *.sh; do
  all+=("${file%.sh}")
done

# The second line of a case says what is promised.
if [[ ${1:-} == list ]]; then
  for name in "${all[@]}"; do printf '%-18s %s\n' "$name" "$(sed -n '2s/^# //p' "$name.sh")"; done
  exit 0
fi

[[ $# -gt 0 ]] || set -- "${all[@]}"
logs=$(realpath ../../..)/out/e2e
mkdir -p "$logs"
seconds=${EMPI_CASE_TIMEOUT:-900}
failed=0
declare -A count=([ok]=0 [FAILED]=0 [skipped]=0)
running=
trap 'if [[ -n $running ]]; then kill -TERM "$running"; wait "$running"; fi; exit 130' INT TERM
for name in "$@"; do
  started=$SECONDS
  status=0
  # timeout leads a group of its own: whoever ends it ends all of the case.
  timeout --kill-after=20 "$seconds" bash "$name.sh" >"$logs/$name.log" 2>&1 &
  running=$!
  wait "$running" || status=$?
  case $status in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    *)
      verdict=FAILED
      failed=1
      tail -n 30 "$logs/$name.log" | sed 's/^/  | /'
      [[ $status != 124 && $status != 137 ]] || echo "  | it was ended after $seconds s"
      ;;
  esac
  echo "case $name $verdict $((SECONDS - started))"
  count[$verdict]=$((count[$verdict] + 1))
done
echo "cases: ${count[ok]} ok, ${count[FAILED]} failed, ${count[skipped]} skipped, $SECONDS s"
exit $failed
