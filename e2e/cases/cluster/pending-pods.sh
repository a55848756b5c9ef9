#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# workers that no node takes are given back, that is said, not tried in a storm, and they come when there is room
# images: operator runtime jacobi
# alone: it labels nodes
# full: it waits for a pause of half a minute
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
label=example.com/pending-pods
begin_case
case_repair() {
  queue_goes
  kubectl label node --all "$label-" >/dev/null 2>&1 || true
}
mapfile -t nodes < <(kubectl get nodes -l '!node-role.kubernetes.io/control-plane' -o name | head -n 3)
expect 'there are three nodes' test "${#nodes[@]}" = 3
kubectl label "${nodes[0]}" "${nodes[1]}" "$label=yes" >/dev/null
apart='.spec.worker.template.spec.affinity = {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
  {topologyKey: "kubernetes.io/hostname", labelSelector: {matchLabels: {"elasticmpi.io/job-name": .metadata.name}}}]}}'
queue ".spec.pools[0].nodeSelector = {\"$label\": \"yes\"} | .spec.pendingSeconds = 5 | .spec.growth.cooldownSeconds = 1"
job apart 0 "$queued | $apart | .spec.worker.replicas = 3 | .spec.worker.minReplicas = 2 | .spec.worker.maxReplicas = 3"
runs apart 2 90
expect 'the third was given back, and why is said' job_is apart '.status.allocation.workers == 2 and .status.queue.cause == "Unplaceable" and (.status.queue.reason | test("no node has had room for 1 worker"))'
tried=$(value apart .status.queue.attempts)
expect 'it was tried once' test "$tried" = 1
within 20 'the queue offers it to nobody meanwhile' queue_is '.status.pools[0].unplaceableMilliCPU == 60'
iterates apart
within 60 'it is tried again after its pause' job_is apart ".status.queue.attempts == 2 or .status.resize.id != null or .status.awaited != null"
kubectl label "${nodes[2]}" "$label=yes" >/dev/null
runs apart 3 150
expect 'it was never started again' job_is apart '.status.restarts == 0'
expect 'and tried a few times only' job_is apart '.status.queue.attempts <= 3'
