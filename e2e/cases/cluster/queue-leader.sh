#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the leader hangs between a promise and the start that it is for: the next one goes on, and asks nobody twice
# images: operator runtime jacobi
# alone: it stops an operator that leads
# full: like [leader-change], which CI runs
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
need_own_cluster
begin_case
operator_may_restart=true
expected_log='no longer the leader|the lease was not|409|another operator has taken it'
hanging=
case_repair() {
  [[ -z $hanging ]] || kill -CONT "$hanging" 2>/dev/null || true
  queue_goes
}
queue .
# It lets go at the end of an iteration: the promise stands for seconds.
job wide 0 "$queued | .spec.worker.replicas = 8 | .spec.worker.minReplicas = 2 | .spec.worker.template.spec.containers[0].args[-1] = \"3000\""
runs wide 8
old=$(leader)
pid=$(processes_of_pod "$old" '^(/usr/local/bin/)?elastic-mpi-operator ')
expect "the leader's process is found" test -n "$pid"
fence=$(get_queue | jq .status.fence)
job stiff 0 "$queued | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = 4"
wait_until 20 'it is promised what it needs' job_is stiff '.status.allocation.promised == 4'
kill -STOP "$pid" && hanging=$pid
expect 'it has not started' job_is stiff '.status.state == "Queued"'
taken_over() { [[ $(leader) != "$old" ]] && queue_is ".status.fence > $fence"; }
within 30 'another leads, and has taken the queue' taken_over
runs stiff 4 60
kill -CONT "$pid" && hanging=
not_running() { [[ ! -e /proc/$1 ]]; }
within 30 'the old one ends' not_running "$pid"
runs wide 4
expect 'the donor was asked once, and never started again' job_is wide '.status.nextChange == 2 and .status.restarts == 0'
within 20 'no more is given out than there is' queue_is '.status.pools[0] | .heldMilliCPU == .capacityMilliCPU and .promisedMilliCPU == 0'
within 60 'two operators are ready again' both_ready
