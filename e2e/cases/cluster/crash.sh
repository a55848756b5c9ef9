#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# an operator that dies in front of every few writes brings a job through start, grow, shrink and end all the same
# images: operator runtime jacobi
# alone: it stops the operator
# long: for a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-crash-XXXXXX")
loop=
end_loop() {
  touch "$folder/over"
  if [[ -n $loop ]]; then
    pkill -P "$loop" || true
    wait "$loop" || true
  fi
  loop=
}
case_repair() {
  end_loop
  rm -rf "$folder"
  start_operator
} 2>/dev/null
openssl rand -hex 32 >"$folder/key"
stop_operator

# The first process dies in front of its first write, the next one in front of its second, and so on: nothing can be
# lost that matters. After 17 it begins again at 12, the least with which a process can make a pod of a job that has not
# run yet: before, it raises the fence, tries the template, and of two Secrets, Service and NetworkPolicy it finds that
# they exist, and looks whether they are as they should be. What writes of a kind come late in a job's life is asked for by
# $folder/next, a line for each process: the next one dies in front of that one.
crash_loop() {
  local write=0 at status
  while [[ ! -e $folder/over ]]; do
    write=$((write < 17 ? write + 1 : 12)) at=$write status=0
    if [[ -e $folder/next ]]; then
      at=$(head -n 1 "$folder/next")
      sed -i 1d "$folder/next"
      [[ -s $folder/next ]] || rm "$folder/next"
    fi
    (own_operator "$folder/key" "$folder/log" --crash-at-write "$at") || status=$?
    [[ $status == 70 || $status == 137 || -e $folder/over ]] || { echo "an operator ended with $status" >>"$folder/log"; sleep 0.5; }
  done
}
died_at() { grep -q "^crash at write [0-9]*: $1 " "$folder/log"; }
waits_for() { pgrep -P "$loop" -f -- "--crash-at-write $1" >/dev/null; }
# will_die_at KIND: from now on there is an operator that will not survive such a write.
will_die_at() {
  until waits_for "$1"; do
    echo "$1" >"$folder/next"
    pkill -KILL -P "$loop" || true # it may wait for a number that does not come
    wait_until 20 'the next operator is told' test ! -e "$folder/next"
    wait_until 5 'it is there' waits_for "$1" || true
  done
}
crash_loop &
loop=$!
job unlucky 1000
runs unlucky 2 120
will_die_at 'patch secrets'
printf '%s\n' 'patch services' 'patch networkpolicies' >"$folder/next"
k scale emj unlucky --replicas=3 >/dev/null
runs unlucky 3 120
iterates unlucky
will_die_at 'delete pods'
k scale emj unlucky --replicas=1 >/dev/null
runs unlucky 1 120
will_die_at 'patch elasticmpijobs/scale'
job fixed 1000 'del(.spec.worker.replicas) | .spec.worker.minReplicas = 2'
ends unlucky Succeeded 120
ends fixed Succeeded 120
expect 'the size left out was written' job_is fixed '.spec.worker.replicas == 2'
expect 'no worker was made twice, none was lost' job_is unlucky '.status.nextIndex == 3 and .status.restarts == 0'
expect 'the last change was the shrink' job_is unlucky '.status.lastResize | .from == 3 and .to == 1 and .result == "Committed"'
expect 'both have the same answer' test "$(fingerprint fixed)" = "$(fingerprint unlucky)"
will_die_at 'delete elasticmpijobs'
k patch emj fixed --type=merge -p '{"spec": {"runPolicy": {"ttlSecondsAfterFinished": 0}}}' >/dev/null
within 60 'and goes when its time is over' gone emj/fixed
end_loop
say 'died in front of:'
sed -nE 's/^crash at write [0-9]+: ([a-z_]+ [a-z/]+) .*/  \1/p' "$folder/log" | sort | uniq -c >&2
for kind in 'patch secrets' 'patch services' 'patch networkpolicies' 'create pods' 'delete pods' \
  'update elasticmpijobs/status' 'patch elasticmpijobs/scale' 'delete elasticmpijobs'; do
  expect "an operator died in front of: $kind" died_at "$kind"
done
expected_log='^crash at write|the lead is not known yet|stopping'
unexpected=$(unexpected_lines <"$folder/log")
expect "its log has nothing unexpected: $unexpected" test -z "$unexpected"
