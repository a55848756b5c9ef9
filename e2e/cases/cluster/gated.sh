#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# workers whose pods somebody else admits wait without harm, and run when they are let in
# images: operator runtime jacobi
# full: it waits for what must not happen
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
gate='.spec.worker.template.spec.schedulingGates = [{name: "example.com/admission"}]'
all_gated() { pods_are "$1" "length == $2 and all(.[]; any(.status.conditions[]?; .reason == \"SchedulingGated\"))"; }
admit() {
  local pod
  for pod in $(pods "$1"); do k patch pod "$pod" --type=merge -p '{"spec": {"schedulingGates": null}}' >/dev/null; done
}
queue '.spec.pendingSeconds = 2'
job gated 0 "$queued | $gate | .spec.worker.replicas = 3 | .spec.worker.minReplicas = 2 | .spec.worker.maxReplicas = 3"
within 20 'its pods wait for somebody else' all_gated gated 3
# Another job finds no node in that time, and gives up what it has: as long as that is not long enough for a gate.
job nowhere 0 "$queued | .spec.worker.template.spec.nodeSelector = {\"example.com/no\": \"such\"} | .spec.worker.replicas = 2 | .spec.worker.maxReplicas = 2"
within 40 'one that no node takes has been given back' job_is nowhere '.status.queue.attempts >= 1'
expect 'a gate is no failure' job_is gated '.status.state == "Starting" and .status.allocation.workers == 3 and .status.queue.attempts == 0'
expect 'its pods are there' all_gated gated 3
within 20 'the queue counts them as held' queue_is '.status.pools[0].heldMilliCPU >= 180'
admit gated
runs gated 3
iterates gated
