#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# when the leader hangs in mid-shrink another finishes it; commands with the old fence are refused
# images: operator runtime jacobi
# alone: it stops an operator that leads
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
operator_may_restart=true
expected_log='no longer the leader|the lease was not|409'
hanging=
case_repair() { [[ -z $hanging ]] || kill -CONT "$hanging" 2>/dev/null || true; }

job led 0 '.spec.worker.replicas = 4'
runs led 4
fence=$(value led .status.fence)
old=$(leader)
pid=$(processes_of_pod "$old" '^(/usr/local/bin/)?elastic-mpi-operator ')
expect "the leader's process is found" test -n "$pid"

k scale emj led --replicas=2 >/dev/null
wait_until 20 'the shrink has begun' job_is led '.status.resize.id != null or .status.lastResize != null'
kill -STOP "$pid" && hanging=$pid
say "stopped in phase $(value led '.status.resize.phase // "over"')"
taken_over() { [[ $(leader) != "$old" ]] && job_is led ".status.fence > $fence"; }
within 30 'another leads, and has taken the job with a higher fence' taken_over
runs led 2 30
iterates led

kill -CONT "$pid" && hanging=
within 30 'the old one ends' not_running "$pid"
# No failure of its own: 75, or on a very busy machine the kubelet's end of one that does not answer.
gave_up() {
  api "/api/v1/namespaces/$system/pods/$old" | jq -e --argjson lost "$lost_lease" '.status.containerStatuses[0].lastState.terminated.exitCode | IN($lost, 0, 137)' >/dev/null
}
within 30 'its exit status says that it lost the lease' gave_up
lead=$(pods led | head -n 1)
expect 'a command with the old fence is refused' answers 409 fence "$lead" job PUT /v1/change \
  "{\"id\": \"late\", \"fence\": $fence, \"epoch\": $(value led .status.epoch), \"add\": [], \"remove\": [\"$(uid_of "pod/$(pods led | tail -n 1)")\"], \"deadlineMillis\": 5000}"
expect 'a cancellation of it, too' answers 409 fence "$lead" job DELETE "/v1/change?id=late&fence=$fence"
expect 'a stop of it, too' answers 409 fence "$lead" job POST /v1/stop "{\"fence\": $fence, \"reason\": \"late\"}"
runs led 2 10
iterates led
k scale emj led --replicas=3 >/dev/null
runs led 3
within 60 'two operators are ready again' both_ready
