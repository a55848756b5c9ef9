#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# an operator that dies in front of any write from the promise to the start of a rigid job: it starts, by one shrink of another
# images: operator runtime jacobi
# alone: it stops the operator
# full: as many starts as one takes writes, each with another death; operator/kube/queue_crash_test.cpp tries the same against a server of its own
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
need_own_cluster
begin_case
folder=$(mktemp -d "${TMPDIR:-/tmp}/e2e-queue-crash-XXXXXX")
operator='' watcher=''
end_operator() {
  [[ -n $operator ]] || return 0
  kill "$operator" 2>/dev/null || true
  wait "$operator" 2>/dev/null || true
  operator=
}
case_repair() {
  end_operator
  [[ -z $watcher ]] || kill "$watcher" 2>/dev/null || true
  queue_goes
  rm -rf "$folder"
  start_operator
}
openssl rand -hex 32 >"$folder/key"
stop_operator
begin_operator() { # [OPTIONS]
  end_operator
  (own_operator "$folder/key" "$folder/log" --queues "$@") &
  operator=$!
}
has_died() { ! kill -0 "$operator" 2>/dev/null; }

room=4 # workers of 60m
living='map(select(.status.phase == "Pending" or .status.phase == "Running")
  | select(any(.status.containerStatuses[]?; .name == "worker" and .state.terminated != null) | not)) | length'
watch_room() {
  local pods
  while sleep 0.2; do
    pods=$(api "/api/v1/namespaces/$namespace/pods?labelSelector=elasticmpi.io/role%3Dworker" | jq ".items | $living") || continue
    if [[ $pods -gt $room ]]; then echo "$pods" >>"$folder/over"; fi
  done
}
queue '.spec.growth.cooldownSeconds = 1 | .spec.pools[0].quota.cpu = "240m"'
begin_operator
job wide 0 "$queued | .spec.worker.replicas = $room | .spec.worker.minReplicas = 2"
runs wide "$room" 120
watch_room &
watcher=$!
changes=$(value wide .status.nextChange)

# Each process counts its writes from its start, with what it takes to take over queue and jobs.
for ((write = 1; write <= 60; ++write)); do
  begin_operator --crash-at-write "$write"
  job stiff 0 "$queued | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = 2"
  over() { has_died || running stiff 2; }
  wait_until 60 "the operator dies in front of write $write, or all is done" over || fail "neither happens: write $write"
  survived=true
  if has_died; then
    survived=false
    say "$(grep '^crash at write' "$folder/log" | tail -n 1)"
    begin_operator
    wait_until 90 'the job starts' running stiff 2 || fail "killed in front of write $write it does not start: $(why stiff)"
  fi
  expect "the donor was asked once (write $write)" job_is wide ".status.joinedReplicas == 2 and .status.nextChange == $((++changes)) and .status.restarts == 0"
  expect 'no pod of it was made twice' job_is stiff '.status.nextIndex == 2 and .status.restarts == 0'
  if $survived; then break; fi
  k delete emj stiff --wait=false >/dev/null
  wait_until 90 'the donor has grown again' running wide "$room" || fail "after write $write: the donor does not get back what it had"
  changes=$(value wide .status.nextChange) # one or more, as the pods went
done
expect 'the last one has lived through all of it' test "$survived" = true
expect 'nothing was over-committed' test ! -e "$folder/over"
say 'died in front of:'
sed -nE 's/^crash at write [0-9]+: ([a-z_]+ [a-z/]+) .*/  \1/p' "$folder/log" | sort | uniq -c >&2
died_at() { grep -q "^crash at write [0-9]*: $1 " "$folder/log"; }
for kind in 'update elasticqueues/status' 'update elasticmpijobs/status' 'create pods' 'delete pods'; do
  expect "an operator died in front of: $kind" died_at "$kind"
done
end_operator
expected_log='^crash at write|the lead is not known yet|stopping'
unexpected=$(unexpected_lines <"$folder/log")
expect "its log has nothing unexpected: $unexpected" test -z "$unexpected"
